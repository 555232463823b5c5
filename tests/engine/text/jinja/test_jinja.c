/* Each construct of the language, as Jinja2 3.1.6 renders it in transformers' environment; and what is refused, in our
 * words. The variable x is the JSON text beside the template. */
#include "tests/check.h"
#include "tests/engine/text/jinja/support.h"

static const struct test_case expressions[] = {
    {"a{{ 1 }}b", NULL, "a1b"},
    {"{{ \"a\" ~ 1 ~ none ~ true ~ 1.5 ~ [1,'a'] }}", NULL, "a1NoneTrue1.5[1, 'a']"},
    {"{{ 1 + 2 * 3 - 4 / 2 }}", NULL, "5.0"},
    {"{{ -2 ** 2 }} {{ 2 ** 3 ** 2 }} {{ +5 }} {{ - -5 }} {{ -true }} {{ true + true }}", NULL, "4 64 5 5 -1 2"},
    {"{{ 1 < 2 < 3 }} {{ 1 < 2 > 3 }} {{ 1 == 1.0 }} {{ 'a' < 'b' }} {{ [1,2] < [1,3] }} {{ (1,2) == [1,2] }}", NULL,
     "True False True True True False"},
    {"{{ 'b' in 'abc' }} {{ 1 in [1] }} {{ 'a' in {'a':1} }} {{ 'z' not in 'abc' }} {{ 1 in (2,3) }} {{ not 1 in [1] "
     "}}",
     NULL, "True True True True False False"},
    {"{{ '' or 'x' }} {{ 0 and 1 }} {{ [] or {} }} {{ not '' }} {{ 'a' and 'b' or 'c' }}", NULL, "x 0 {} True b"},
    {"{{ x }}", "null", "None"},
    {"{{ x }}", "{\"a\": [1, 2.5, \"q'\\\"\\n\", true, null], \"b\": {}, \"c\": \"\303\251\\u0001\\u200b\"}",
     "{'a': [1, 2.5, 'q\\'\"\\n', True, None], 'b': {}, 'c': '\303\251\\x01\\u200b'}"},
    {"{{ 0.1 + 0.2 }} {{ 1e16 }} {{ 1e15 }} {{ 123456789.123 }} {{ 1e-5 }} {{ 0.0001 }} {{ 1.0 }} {{ 5e-324 }} {{ "
     "1.7976931348623157e308 }} {{ 1/3 }} {{ -0.0 }} {{ 2.5e20 }}",
     NULL,
     "0.30000000000000004 1e+16 1000000000000000.0 123456789.123 1e-05 0.0001 1.0 5e-324 1.7976931348623157e+308 "
     "0.3333333333333333 -0.0 2.5e+20"},
    {"{{ 0x1F }} {{ 0b101 }} {{ 0o17 }} {{ 1_000 }} {{ 1_0.5 }}", NULL, "31 5 15 1000 10.5"},
    {"{{ '}}' }}{{ {'a': {'b': 1}}['a']['b'] }}{{ {'a': {}} }}", NULL, "}}1{'a': {}}"},
    {"{{ {'a':1} == {'a':1.0} }} {{ [1,[2]] == [1,[2]] }} {{ 'a' == 1 }} {{ none == none }} {{ true == 1 }} {{ 'a' != "
     "'b' }} {{ {1:2}[1.0] }} {{ {true:2}[1] }} {{ {(1,2):3}[(1,2)] }}",
     NULL, "True True False True True True 2 2 3"},
    {"{{ true }} {{ True }} {{ none }} {{ None }} {{ false }} {{ () }} {{ (1,) }} {{ [] }} {{ {} }}", NULL,
     "True True None None False () (1,) [] {}"},
    {"{{ x.0 }} {{ x.1.a }}", "[1, {\"a\": 2}]", "1 2"},
};

static const struct test_case methods[] = {
    {"{{ 7 // 2 }} {{ -7 // 2 }} {{ 7 % -3 }} {{ -7 % 3 }} {{ 2 ** 10 }} {{ 2 ** -1 }} {{ 7.5 // 2 }} {{ -7.5 % 2 }}",
     NULL, "3 -4 -2 2 1024 0.5 3.0 0.5"},
    {"{{ 'a b  c'.split() }} {{ 'a,b,c'.split(',') }} {{ 'a,b,c'.split(',', 1) }} {{ 'a,b,c'.rsplit(',', 1) }} {{ ' a "
     "b c '.split(none, 1) }} {{ ' a b c '.rsplit(none, 1) }} {{ ''.split() }} {{ ''.split(',') }} {{ "
     "'aXXb'.split('X') }} {{ 'a b'.split(maxsplit=0) }} {{ ' a b '.rsplit(none,0) }}",
     NULL,
     "['a', 'b', 'c'] ['a', 'b', 'c'] ['a', 'b,c'] ['a,b', 'c'] ['a', 'b c '] [' a b', 'c'] [] [''] ['a', '', 'b'] ['a "
     "b'] [' a b']"},
    {"{{ 'a\\nb\\r\\nc\\n'.splitlines() }} {{ 'a\\nb'.splitlines(true) }} {{ 'a=b=c'.partition('=') }} {{ "
     "'a=b=c'.rpartition('=') }} {{ 'abc'.partition('x') }} {{ 'abc'.rpartition('x') }}",
     NULL, "['a', 'b', 'c'] ['a\\n', 'b'] ('a', '=', 'b=c') ('a=b', '=', 'c') ('abc', '', '') ('', '', 'abc')"},
    {"{{ 'hello'.startswith('he') }} {{ 'hello'.startswith(('x','he')) }} {{ 'hello'.endswith('lo') }} {{ "
     "'hello'.startswith('l', 2) }} {{ 'hello'.find('l') }} {{ 'hello'.rfind('l') }} {{ 'hello'.find('z') }} {{ "
     "'h\303\251llo'.find('l') }} {{ 'hello'.count('l') }} {{ 'hello'.index('e') }} {{ 'hello'.endswith('l', 0, 3) }} "
     "{{ 'aaa'.count('') }}",
     NULL, "True True True True 2 3 -1 2 2 1 True 4"},
    {"{{ 'a'.upper() }} {{ 'A'.lower() }} {{ 'aB'.swapcase() }} {{ 'abc'.capitalize() }} {{ 'a'.isalpha() }} {{ "
     "'1'.isdigit() }} {{ 'a1'.isalnum() }} {{ ' '.isspace() }} {{ 'A'.isupper() }} {{ 'a'.islower() }} {{ "
     "''.isalpha() }} {{ 'a1'.islower() }} {{ '\303\237'.upper() }} {{ '\303\211'.lower() }}",
     NULL, "A a Ab Abc True True True True True True False True SS \303\251"},
    {"{{ 'a{}b{}'.format(1, 'x') }} {{ '{1}{0}'.format('a','b') }} {{ '{n}'.format(n=3) }} {{ '{{}}'.format() }} {{ "
     "'{:>5}|{:<5}|{:^5}|{:05d}|{:.2f}|{:x}'.format('a','b','c',42,3.14159,255) }} {{ '{0[0]}{0[1]}'.format([1,2]) }} "
     "{{ '{!r}'.format('a') }} {{ '{:,}'.format(1) if 0 else '' }}{{ '{:*^7}'.format('ab') }} {{ '{:5}|{:5}'.format(3, "
     "'a') }} {{ '{:+d}'.format(3) }} {{ '{}'.format(none) }}",
     NULL, "a1bx ba 3 {}     a|b    |  c  |00042|3.14|ff 12 'a' **ab***     3|a     +3 None"},
    {"{{ strftime_now('%Y-%m-%d %H:%M:%S %d %B %b %A %a %y %j %p %I %e %-d %-m %F %T %D %R %%') }}", NULL,
     "2026-11-05 09:03:07 05 November Nov Thursday Thu 26 309 AM 09  5 5 11 2026-11-05 09:03:07 11/05/26 09:03 %"},
    {"{{ loop }}{% for i in [1] %}{{ loop }}{% endfor %}", NULL, "<LoopContext 1/1>"},
};

static const struct test_case filters[] = {
    {"{{ 'h\303\251llo'[1:3] }} {{ 'hello'[::-1] }} {{ [1,2,3,4][1:] }} {{ [1,2,3,4][:-1] }} {{ [1,2,3,4][::2] }} {{ "
     "'abc'[5:] }}| {{ 'abc'[-2:] }} {{ [1,2,3][2:0:-1] }} {{ (1,2,3)[:1] }}",
     NULL, "\303\251l olleh [2, 3, 4] [1, 2, 3] [1, 3] | bc [3, 2] (1,)"},
    {"{{ x|tojson }}",
     "{\"a\": [1, 2.50, \"q'\\\"\\n\\u0001\303\251/<>&\", true, null], \"b\": {}, \"c\": [], \"d\": 1e30, \"e\": 1e-7, "
     "\"f\": 100.0}",
     "{\"a\": [1, 2.5, \"q'\\\"\\n\\u0001\303\251/<>&\", true, null], \"b\": {}, \"c\": [], \"d\": 1e+30, \"e\": "
     "1e-07, \"f\": 100.0}"},
    {"{{ x|tojson(indent=2) }}", "{\"a\": [1, {\"b\": [], \"c\": {}}], \"d\": \"e\"}",
     "{\n  \"a\": [\n    1,\n    {\n      \"b\": [],\n      \"c\": {}\n    }\n  ],\n  \"d\": \"e\"\n}"},
    {"{{ x|tojson(indent=4, sort_keys=true) }}", "{\"b\": 1, \"a\": {\"z\": 1, \"y\": 2}}",
     "{\n    \"a\": {\n        \"y\": 2,\n        \"z\": 1\n    },\n    \"b\": 1\n}"},
    {"{{ x|tojson(separators=(',', ':')) }}|{{ x|tojson(ensure_ascii=true) }}",
     "{\"b\": [1,2], \"a\": \"\303\251\360\237\230\200\"}",
     "{\"b\":[1,2],\"a\":\"\303\251\360\237\230\200\"}|{\"b\": [1, 2], \"a\": \"\\u00e9\\ud83d\\ude00\"}"},
    {"{{ {1:2, none:3, true:4, 1.5:5}|tojson }}", NULL, "{\"1\": 4, \"null\": 3, \"1.5\": 5}"},
    {"{{ 'a\\n\\t\\x41\\u00e9\\U0001F600\\'\\\"\\\\ \\q \\101' }}|{{ 'con' 'cat' }}", NULL,
     "a\n\tA\303\251\360\237\230\200'\"\\ \\q A|concat"},
    {"{{ x.foo }}|{{ x['foo'] }}|{{ none.foo }}|{{ (1).foo }}|{{ 'a'.foo }}", "{}", "||||"},
    {"{{ 'abc'|upper }} {{ 'ABC'|lower }} {{ 'heLLo wORLD-foo (bar'|title }} {{ 'heLLo wORLD'|capitalize }} {{ \"it's "
     "a-b\"|title }} {{ \"it's a-b\".title() }}",
     NULL, "ABC abc Hello World-Foo (Bar Hello world It's A-B It'S A-B"},
    {"[{{ '  a b '|trim }}] [{{ 'xxaxx'|trim('x') }}] [{{ '  a '.lstrip() }}] [{{ '  a '.rstrip() }}] [{{ "
     "'abcab'.strip('ab') }}] [{{ '\\u3000a\\u2028'|trim }}]",
     NULL, "[a b] [a] [a ] [  a] [c] [a]"},
    {"{{ 'aXbXc'|replace('X','-') }} {{ 'aaa'|replace('a','b',2) }} {{ 'aaa'.replace('a','b',1) }} {{ "
     "'abc'|replace('','-') }} {{ 5|replace('5','6') }}",
     NULL, "a-b-c bba baa -a-b-c- 6"},
    {"{{ ['a','b']|join(', ') }} {{ [1,none,2.0]|join }} {{ [{'n':1},{'n':2}]|join('-', attribute='n') }} {{ "
     "'-'.join(['a','b']) }} {{ 'abc'|join('.') }}",
     NULL, "a, b 1None2.0 1-2 a-b a.b.c"},
    {"{{ [1,2,3]|map('string')|list }} {{ [{'a':1},{'a':2},{}]|map(attribute='a', default=0)|list }} {{ "
     "['a','b']|map('upper')|join }} {{ [{'a':{'b':[7]}}]|map(attribute='a.b.0')|list }}",
     NULL, "['1', '2', '3'] [1, 2, 0] AB [7]"},
    {"{{ [0,1,2]|select|list }} {{ [1,2,3]|select('odd')|list }} {{ [1,2,3]|reject('equalto', 2)|list }} {{ "
     "[{'a':1},{'a':0}]|selectattr('a')|list }} {{ [{'a':1},{'a':2}]|rejectattr('a','eq',1)|list }} {{ "
     "[{'a':'x'}]|selectattr('a','in',['x'])|list }} {{ none|select|list }}",
     NULL, "[1, 2] [1, 3] [1, 3] [{'a': 1}] [{'a': 2}] [{'a': 'x'}] []"},
    {"{{ [3,1,2]|sort }} {{ ['b','A','c']|sort }} {{ ['b','A']|sort(case_sensitive=true) }} {{ "
     "[1,2]|sort(reverse=true) }} {{ [{'a':2},{'a':1}]|sort(attribute='a') }} {{ "
     "[{'a':2,'b':1},{'a':1,'b':1}]|sort(attribute='b,a') }}",
     NULL, "[1, 2, 3] ['A', 'b', 'c'] ['A', 'b'] [2, 1] [{'a': 1}, {'a': 2}] [{'a': 1, 'b': 1}, {'a': 2, 'b': 1}]"},
    {"{{ {'b':1,'A':2}|dictsort }} {{ {'b':1,'a':2}|dictsort(by='value') }} {{ {'b':1,'a':2}|dictsort(reverse=true) }} "
     "{{ {'b':1}|items|list }}",
     NULL, "[('A', 2), ('b', 1)] [('b', 1), ('a', 2)] [('b', 1), ('a', 2)] [('b', 1)]"},
    {"{{ 'abc'|length }} {{ 'h\303\251\303\251'|length }} {{ {'a':1}|count }} {{ 'abc'|list }} {{ {'a':1}|list }} {{ "
     "'abc'|reverse }} {{ [1,2]|reverse|list }}",
     NULL, "3 3 1 ['a', 'b', 'c'] ['a'] cba [2, 1]"},
    {"{{ '5'|int }} {{ 'x'|int }} {{ 'x'|int(7) }} {{ '5.7'|int }} {{ 5.9|int }} {{ ' 12 '|int }} {{ "
     "'0x1f'|int(base=16) }} {{ true|int }} {{ none|int }} {{ '1_000'|int }} {{ '5'|float }} {{ 'x'|float }} {{ "
     "'1e3'|float }} {{ [1]|int }}",
     NULL, "5 0 7 5 5 12 31 1 0 1000 5.0 0.0 1000.0 0"},
    {"{{ 3.7|round }} {{ 3.14159|round(2) }} {{ 3.2|round(0,'ceil') }} {{ 3.7|round(method='floor') }} {{ 2.5|round }} "
     "{{ 5|round }} {{ -5|abs }} {{ 1.5|abs }}",
     NULL, "4.0 3.14 4.0 3.0 2.0 5 5 1.5"},
    {"{{ 'a\\nb\\n\\nc'|indent }}|{{ 'a\\nb'|indent(2, true) }}|{{ 'a\\n\\nb'|indent(2, blank=true) }}|{{ "
     "'a\\nb\\n'|indent(2) }}|{{ 'a\\nb'|indent('> ') }}|{{ ''|indent(2) }}|{{ ''|indent(2, true) }}|{{ "
     "'a\\n'|indent(2,true,true) }}|{{ 'a\\r\\nb\\x0cc'|indent(1) }}|",
     NULL, "a\n    b\n\n    c|  a\n  b|a\n  \n  b|a\n  b\n|a\n> b||  |  a\n  |a\n b\n c|"},
    {"[{{ 'a'.ljust(3) }}] [{{ 'a'.rjust(3, '*') }}] [{{ 'a'.center(4) }}] [{{ 'ab'.center(5) }}] [{{ '5'.zfill(3) }}] "
     "[{{ '-5'.zfill(4) }}] [{{ 'ab'|center(6) }}] {{ 'prefix-a'.removeprefix('prefix-') }} {{ "
     "'a.txt'.removesuffix('.txt') }}",
     NULL, "[a  ] [**a] [ a  ] [  ab ] [005] [-005] [  ab  ] a a"},
    {"{{ '%s-%d-%r' % ('a', 5, 'b') }} {{ '%5s|%-5s|%05d|%.2f|%x|%%' % ('a','b',42,3.14159,255) }} {{ '%(a)s' % "
     "{'a':1} }} {{ '%s' % [1] }} {{ '%s %s'|format('a', 2) }} {{ '%.2s' % 'abc' }}",
     NULL, "a-5-'b'     a|b    |00042|3.14|ff|% 1 [1] a 2 ab"},
    {"{{ {'a':1}.get('a') }} {{ {'a':1}.get('b') }} {{ {'a':1}.get('b', 2) }} {{ {'a':1,'b':2}.keys()|list }} {{ "
     "{'a':1}.values()|list }} {{ {'a':1}.keys() }} {{ {'a':1}.copy() }} {{ [1,2,1].count(1) }} {{ [1,2].index(2) }}",
     NULL, "1 None 2 ['a', 'b'] [1] dict_keys(['a']) {'a': 1} 2 1"},
    {"{{ range(3)|list }} {{ range(1,4)|list }} {{ range(5,0,-2)|list }} {{ range(3) }} {{ range(3)|length }} {{ "
     "range(3)[1] }} {{ dict(a=1, b=2) }} {{ dict({'a':1}, c=3) }} {{ dict([('a',1)]) }}",
     NULL, "[0, 1, 2] [1, 2, 3] [5, 3, 1] range(0, 3) 3 1 {'a': 1, 'b': 2} {'a': 1, 'c': 3} {'a': 1}"},
    {"{{ [1] + [2] + [3] }} {{ (1,) + (2,) }} {{ 'ab' * 2 }} {{ 2 * [1] }} {{ 'a' * -1 }}|", NULL,
     "[1, 2, 3] (1, 2) abab [1, 1] |"},
    {"{{ none|upper }} {{ none|string }} {{ none|trim }} {{ [1]|upper }} {{ 1|lower }} {{ true|upper }}", NULL,
     "NONE None None [1] 1 TRUE"},
    {"{{ [[1,2],[3]]|sum(start=[]) }} {{ [{'a':1},{'a':3}]|sum('a') }}", NULL, "[1, 2, 3] 4"},
    {"{{ [1,2,3,4,5]|batch(2)|list }} {{ [1,2,3]|batch(2,'x')|list }} {{ [1,2,3,4,5]|slice(2)|list }} {{ "
     "[1,2,3,4,5]|slice(3,'x')|list }}",
     NULL, "[[1, 2], [3, 4], [5]] [[1, 2], [3, 'x']] [[1, 2, 3], [4, 5]] [[1, 2], [3, 4], [5, 'x']]"},
    {"{{ 'hello world foo'|truncate(11) }} {{ 'hello world foo bar'|truncate(11) }} {{ 'hello world foo "
     "bar'|truncate(11,true) }} {{ 'a b c'|wordcount }}",
     NULL, "hello world foo hello... hello wo... 3"},
    {"{{ 1.5|int }} {{ 1e3|int }} {{ -1.5|int }} {{ '-3'|int }} {{ '+3'|int }} {{ ''|int }} {{ '\331\243'|int if 0 "
     "else '' }}",
     NULL, "1 1000 -1 -3 3 0 "},
    {"{{ x[0].role == 'user' and x|length > 0 }} {{ x[1:]|length }} {{ x[-1]['content'] }} {{ "
     "(x|selectattr('role','equalto','user')|list|last).content }}",
     "[{\"role\": \"user\", \"content\": \"a\"}, {\"role\": \"assistant\", \"content\": \"b\"}]", "True 1 b a"},
    {"{{ 'a'|upper ~ 'b'|lower }} {{ ('a' ~ 'b')|upper }} {{ -5|abs }} {{ (-5)|abs }} {{ 1 + 2|string|length }} {{ not "
     "true|string }}",
     NULL, "Ab AB 5 5 2 False"},
    {"{{ [1,2,3]|join(',')|length }} {{ [[1,'a'],[2,'b']]|map('last')|join }} {{ {'a':[1,2]}.a|map('string')|join('+') "
     "}} {{ ['x']|map('replace','x','y')|list }} {{ [1,2,3]|select('gt',1)|list }} {{ "
     "['a','b']|map('upper')|map('lower')|list }}",
     NULL, "5 ab 1+2 ['y'] [2, 3] ['a', 'b']"},
};

static const struct test_case undefined_and_tests[] = {
    {"{{ 'y' if 1 else 'n' }} {{ 'y' if 0 }} {{ ('y' if 0) is defined }} {{ 1 if 0 else 2 if 0 else 3 }}", NULL,
     "y  False 3"},
    {"{{ [1,2,3][0] }} {{ [1,2,3][-1] }} {{ 'h\303\251llo'[1] }} {{ 'h\303\251llo'[-1] }} {{ [1][5] is defined }} {{ "
     "{'a':1}['b'] is defined }}",
     NULL, "1 3 \303\251 o False False"},
    {"{{ {'a':1}.a }} {{ {'a':{'b':2}}.a.b }} {{ {'items':1}['items'] }} {{ {'items':1}.items is callable }} {{ "
     "{'a':1}.items() }}",
     NULL, "1 2 1 True dict_items([('a', 1)])"},
    {"{{ undef }}|{{ undef is defined }}|{{ undef|default('d') }}|{{ ''|default('e') }}|{{ ''|default('e', true) }}|{{ "
     "none|d('n') }}",
     NULL, "|False|d||e|None"},
    {"{{ undef == undef2 }} {{ undef == none }} {{ undef|length }} {{ undef|list }} {{ undef|string }}| {{ undef|join "
     "}}| {{ [undef] }} {{ 'a' in undef }} {{ undef|trim }}|{{ undef ~ 'x' }}",
     NULL, "True False 0 [] | | [Undefined] False |x"},
    {"{{ ['a','A','b']|unique|list }} {{ [1,2,1]|unique|list }} {{ [1,2]|first }} {{ [1,2]|last }} {{ []|first is "
     "defined }} {{ 'abc'|first }} {{ 'abc'|last }} {{ [1,2,3]|sum }} {{ [1,5,2]|max }} {{ ['b','A']|min }}",
     NULL, "['a', 'b'] [1, 2] 1 2 False a c 6 5 A"},
    {"{{ '<a>&\"\\''|e }} {{ '<a>'|safe }} {{ ('<a>'|safe) + '<b>' }} {{ '<b>' + ('<a>'|safe) }} {{ ('<a>'|safe) ~ "
     "'<b>' }} {{ ('<a>'|e)|e }} {{ '<a>'|e|forceescape }} {{ ('<'|safe)|upper + '<' }} {{ ('<'|safe) is escaped }}",
     NULL, "&lt;a&gt;&amp;&#34;&#39; <a> <a>&lt;b&gt; &lt;b&gt;<a> <a><b> &lt;a&gt; &amp;lt;a&amp;gt; <&lt; True"},
    {"{{ [1].append is defined }} {{ [1].foo is defined }}", NULL, "False False"},
    {"{{ 1 is number }} {{ 1.0 is number }} {{ true is number }} {{ 1 is integer }} {{ true is integer }} {{ 1.0 is "
     "float }} {{ 'a' is string }} {{ {} is mapping }} {{ [] is iterable }} {{ 'a' is iterable }} {{ 1 is iterable }} "
     "{{ [] is sequence }} {{ {} is sequence }} {{ 'a' is sequence }} {{ 1 is sequence }} {{ none is none }} {{ true "
     "is true }} {{ 1 is true }} {{ false is false }} {{ true is boolean }} {{ range is callable }} {{ {}.items() is "
     "sequence }} {{ {}.items() is iterable }} {{ ([]|map('upper')) is sequence }} {{ undef is sequence }} {{ undef is "
     "iterable }}",
     NULL,
     "True True True True False True True True True True False True True True False True True False True True True "
     "False True False True True"},
    {"{{ 3 is odd }} {{ 4 is even }} {{ 6 is divisibleby 3 }} {{ 6 is divisibleby(4) }} {{ 1 is eq 1 }} {{ 1 is ne(2) "
     "}} {{ 1 is lt 2 }} {{ 1 is in [1] }} {{ 'a' is in 'abc' }} {{ 1 is not none }} {{ 'A' is upper }} {{ 'a' is "
     "lower }} {{ none is sameas none }} {{ 'upper' is filter }} {{ 'odd' is test }} {{ 1 is sameas true }} {{ not 1 "
     "is odd }} {{ 1 is ge 1 and 2 is gt 1 }}",
     NULL, "True True True False True True True True True True True True True True True False False True"},
    {"{{ undef|items|list }}", NULL, "[]"},
    {"{{ 'a'['b'] is defined }} {{ 'a'[1.5] is defined }} {{ [1]['a'] is defined }}", NULL, "False False False"},
    {"{{ \"a\" if x is string else \"b\" if x is mapping else \"c\" }}", "{}", "b"},
    {"{{ x|map(attribute='a')|first }} {{ x|attr('b') is defined }} {{ {'a':1}|attr('a') is defined }} {{ "
     "{'a':1}|attr('items') is callable }}",
     "[{\"a\": 5}]", "5 False False True"},
    {"{{ x is defined and x is not none }} {{ y is defined and y }} {{ y and y.z }}", "1", "True False "},
};

static const struct test_case statements[] = {
    {"{% set a = 1 %}{% for i in [1] %}{% set a = 2 %}{{ a }}{% endfor %}{{ a }}", NULL, "21"},
    {"{% set ns = namespace(a=1, b='c') %}{% for i in [1,2] %}{% set ns.a = ns.a + i %}{% endfor %}{{ ns.a }}{{ ns.b "
     "}}{{ ns.zz is defined }}",
     NULL, "4cFalse"},
    {"{% set a, b = 1, 2 %}{{ a }}{{ b }}{% set t = 1, %}{{ t }}", NULL, "12(1,)"},
    {"{% set a %}x{{ 1 }}y{% endset %}{{ a }}{% set b | upper | replace('X','z') %}x{{ 1 }}y{% endset %}{{ b }}", NULL,
     "x1yz1Y"},
    {"{% if 1 %}{% set q = 5 %}{% endif %}{{ q }}{% if 0 %}{% set w = 1 %}{% endif %}[{{ w }}]", NULL, "5[]"},
    {"{% filter upper %}abc {{ 'd' }}{% endfilter %}{% filter replace('a','b')|title %}aac def{% endfilter %}", NULL,
     "ABC DBbc Def"},
    {"{% with a=1, b=2 %}{{ a }}{{ b }}{% endwith %}{{ a is defined }}", NULL, "12False"},
    {"{% generation %}gen{{ 1 }}{% endgeneration %}|{% set v = 0 %}{% generation %}{% set v = 1 %}{% endgeneration "
     "%}{{ v }}",
     NULL, "gen1|0"},
    {"{% if 0 %}{{ 1|nosuch }}{% endif %}ok", NULL, "ok"},
    {"{% set g = [1,2]|map('string') %}{{ g|list }}{{ g|list }}", NULL, "['1', '2'][]"},
    {"{% print 1, 'a' %}", NULL, "1a"},
    {"{% if x %}a{% elif x is none %}b{% else %}c{% endif %}{% if x is not none and x %}d{% endif %}", "null", "b"},
};

static const struct test_case loops[] = {
    {"{% for i in [1,2,3] %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ "
     "loop.last }}{{ loop.length }}{{ loop.depth }} {% endfor %}",
     NULL, "1032TrueFalse31 2121FalseFalse31 3210FalseTrue31 "},
    {"{% for i in [] %}x{% else %}empty{% endfor %}", NULL, "empty"},
    {"{% for i in range(6) if i is odd %}{{ i }}{{ loop.length }},{% else %}none{% endfor %}", NULL, "13,33,53,"},
    {"{% for a, b in {'x':1,'y':2}.items() %}{{ a }}={{ b }};{% endfor %}", NULL, "x=1;y=2;"},
    {"{% for (a, b), c in [((1,2),3)] %}{{ a }}{{ b }}{{ c }}{% endfor %}", NULL, "123"},
    {"{% for i in range(10) %}{% if i == 2 %}{% continue %}{% endif %}{% if i == 5 %}{% break %}{% endif %}{{ i }}{% "
     "endfor %}",
     NULL, "0134"},
    {"{% for i in [1,1,2] %}{{ loop.changed(i) }} {{ loop.cycle('a','b') }} {{ loop.previtem is defined }} {{ "
     "loop.nextitem }};{% endfor %}",
     NULL, "True a False 1;False b True 2;True a True ;"},
    {"{% for i in [{'n':1,'c':[{'n':2,'c':[]}]}] recursive %}{{ i.n }}{{ loop.depth0 }}[{{ loop(i.c) }}]{% endfor %}",
     NULL, "10[21[]]"},
    {"{% for k in {'b':1,'a':2} %}{{ k }}{% endfor %}|{% for c in 'h\303\251y' %}{{ c }}.{% endfor %}|{% for q in "
     "undefined_thing %}x{% endfor %}",
     NULL, "ba|h.\303\251.y.|"},
    {"{% for m in x %}{% for c in m.content %}{{ c.type }}{{ loop.index }}{% if not loop.last %},{% endif %}{% endfor "
     "%};{% endfor %}",
     "[{\"content\": [{\"type\":\"text\"},{\"type\":\"image\"}]}, {\"content\": []}]", "text1,image2;;"},
};

static const struct test_case macros[] = {
    {"{% macro m(a, b=2, c=b) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(1) }} {{ m(1, 3) }} {{ m(1, c=9) }} {{ m(a=4) "
     "}} [{{ m() }}]",
     NULL, "122 133 129 422 [22]"},
    {"{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, z=3) }}", NULL, "(1, 2){'z': 3}"},
    {"{% macro m(x) %}<{{ caller(x) }}>{% endmacro %}{% call(y) m(5) %}got {{ y }}{% endcall %}", NULL, "<got 5>"},
    {"{% macro m() %}{{ glob }}{% endmacro %}{% set glob = 1 %}{{ m() }}{% set glob = 2 %}{{ m() }}", NULL, "12"},
    {"{% macro f(n) %}{% if n > 0 %}{{ n }}{{ f(n-1) }}{% endif %}{% endmacro %}{{ f(4) }}", NULL, "4321"},
    {"{% macro m() %}{% set z = 3 %}{{ z }}{% endmacro %}{{ m() }}{{ z is defined }}", NULL, "3False"},
    {"{% macro a(x) -%} [{{ x }}] {%- endmacro %}{{ a('q') ~ a(1) }}{{ a('z')|length }}{{ a('y') + 'x' }}", NULL,
     "[q][1]3[y]x"},
};

static const struct test_case white_space[] = {
    {"{% raw %}{{ x }}{% endraw %}|  {%- raw -%}  a {% b %}  {%- endraw %} c", NULL, "{{ x }}|a {% b %} c"},
    {"  {% if 1 %}\n  a\n  {% endif %}\n  b", NULL, "  a\n  b"},
    {"a  {%- if 1 -%}  b  {%- endif -%}  c", NULL, "abc"},
    {"  {%+ if 1 %}\nx{%+ endif %}\ny{% if 1 +%}\nz{% endif %}", NULL, "  xy\nz"},
    {"a\n  {# comment #}\nb {#- c -#} d {# {{ }} #}e", NULL, "a\nbd e"},
    {"{{ 'a' -}}  \n b {{- 'c' }}\n\nd\n", NULL, "abc\n\nd"},
    {"{% set a = 1 -%}  {{ a }}{%- set b = 2 -%}  {{ b }}", NULL, "12"},
    {"{{ \"\\u00e9\" }}{{ 'a' \"b\" }}{{ \"multi\nline\" }}", NULL, "\303\251abmulti\nline"},
    {"{%- set ns = namespace(found=false) -%}{%- for m in x if m.role == 'user' -%}{%- set ns.found = true -%}{%- "
     "endfor -%}{{ ns.found }}",
     "[{\"role\": \"user\"}]", "True"},
    {"a {%- set x = 1 %} b\n{%- set y = 2 %}\n c {%- if true %} d {% endif -%} e", NULL, "a b c d e"},
    {"{% if true %}\n{% if true %}\n    x\n{% endif %}\n{% endif %}\n", NULL, "    x\n"},
    {"{{- '\\n' }}x{{ '\\n' -}} \n y", NULL, "\nx\ny"},
    {"  {{ 1 }}\n\t{% if 1 %}  z{% endif %}  \n", NULL, "  1\n  z  "},
    {"{%- for i in [1,2] %}\n  - {{ i }}\n{%- endfor %}\nend", NULL, "  - 1  - 2end"},
};

static const struct test_case refusals[] = {
    {"{{ undef.foo }}", NULL, "ERROR: line 1: 'undef' is undefined"},
    {"{{ undef + 1 }}", NULL, "ERROR: line 1: 'undef' is undefined"},
    {"{{ x.foo.bar }}", "{}", "ERROR: line 1: 'dict object' has no attribute 'foo'"},
    {"{{ [].append(1) }}", NULL, "ERROR: line 1: access to attribute 'append' of 'list object' is unsafe"},
    {"{{ {}.update({}) }}", NULL, "ERROR: line 1: access to attribute 'update' of 'dict object' is unsafe"},
    {"{{ x.pop('a') }}", "{\"a\": 1}", "ERROR: line 1: access to attribute 'pop' of 'dict object' is unsafe"},
    {"{{ raise_exception('no ' ~ 'way') }}", NULL, "ERROR: no way"},
    {"{{ [1,2]|map('upper')|length }}", NULL, "ERROR: line 1: object of type 'generator' has no len()"},
    {"{{ [1,2]|map('string')|tojson }}", NULL, "ERROR: line 1: Object of type generator is not JSON serializable"},
    {"{{ undef|tojson }}", NULL, "ERROR: line 1: Object of type Undefined is not JSON serializable"},
    {"{{ {'a': undef}|tojson }}", NULL, "ERROR: line 1: Object of type Undefined is not JSON serializable"},
    {"{{ 1 + 'a' }}", NULL, "ERROR: line 1: unsupported operand type(s) for +: 'int' and 'str'"},
    {"{{ 'a' + 1 }}", NULL, "ERROR: line 1: can only concatenate str (not \"int\") to str"},
    {"{{ 'a' + [1] }}", NULL, "ERROR: line 1: can only concatenate str (not \"list\") to str"},
    {"{{ [1] + 'a' }}", NULL, "ERROR: line 1: can only concatenate list (not \"str\") to list"},
    {"{{ 1 < 'a' }}", NULL, "ERROR: line 1: '<' not supported between instances of 'int' and 'str'"},
    {"{{ 1 in 'a' }}", NULL, "ERROR: line 1: 'in <string>' requires string as left operand, not int"},
    {"{{ 1 in 5 }}", NULL, "ERROR: line 1: argument of type 'int' is not iterable"},
    {"{{ none + 1 }}", NULL, "ERROR: line 1: unsupported operand type(s) for +: 'NoneType' and 'int'"},
    {"{{ 1 / 0 }}", NULL, "ERROR: line 1: division by zero"},
    {"{{ 'a'() }}", NULL, "ERROR: line 1: 'str' object is not callable"},
    {"{{ undef() }}", NULL, "ERROR: line 1: 'undef' is undefined"},
    {"{{ none|length }}", NULL, "ERROR: line 1: object of type 'NoneType' has no len()"},
    {"{% for x in none %}{% endfor %}", NULL, "ERROR: line 1: 'NoneType' object is not iterable"},
    {"{% for x in 5 %}{% endfor %}", NULL, "ERROR: line 1: 'int' object is not iterable"},
    {"{% for a, b in [1] %}{% endfor %}", NULL, "ERROR: line 1: 'int' object is not iterable"},
    {"{% for a, b in [(1,2,3)] %}{% endfor %}", NULL, "ERROR: line 1: too many values to unpack (expected 2)"},
    {"{% set x.y = 1 %}", "{}", "ERROR: line 1: cannot assign attribute on non-namespace object"},
    {"{{ x|nosuch }}", "1", "ERROR: line 1: No filter or test named 'nosuch'."},
    {"{{ 1 is nosuch }}", NULL, "ERROR: line 1: No filter or test named 'nosuch'."},
    {"{% if 1 %}{{ 1|nosuch }}{% endif %}", NULL, "ERROR: line 1: No filter named 'nosuch'."},
    {"{% nosuch %}", NULL, "ERROR: line 1: expected a tag, found 'nosuch'"},
    {"{% if 1 %}", NULL, "ERROR: line 1: expected endif, found the template's end"},
    {"{% endif %}", NULL, "ERROR: line 1: expected a tag, found 'endif'"},
    {"{{ 1", NULL, "ERROR: line 1: expected '}}', found the template's end"},
    {"{{ 'a }}", NULL, "ERROR: line 1: expected the end of a string"},
    {"{% for %}{% endfor %}", NULL, "ERROR: line 1: expected a name, found '%}'"},
    {"{{ (1 }}", NULL, "ERROR: line 1: unexpected '}'"},
    {"{{ 1 + }}", NULL, "ERROR: line 1: expected an expression, found '}}'"},
    {"{{ [1, }}", NULL, "ERROR: line 1: unexpected '}'"},
    {"{% raw %}x", NULL, "ERROR: line 1: expected endraw, found the template's end"},
    {"{# x", NULL, "ERROR: line 1: expected '#}', found the template's end"},
    {"{% break %}", NULL, "ERROR: line 1: 'break' outside of a loop"},
    {"{{ 'a' is string is string }}", NULL, "ERROR: line 1: You cannot chain multiple tests with is"},
    {"{{ {[1]:2} }}", NULL, "ERROR: line 1: unhashable type: 'list'"},
    {"{{ 'x'.join([1]) }}", NULL, "ERROR: line 1: sequence item 0: expected str instance, int found"},
    {"{{ 10 // 3 * 2 ~ 'x' ~ 5 % 3 }} {{ 1 ~ 2 + 3 }} {{ 'a' ~ 'b' == 'ab' }} {{ 2 + 3 ~ 4 }}", NULL,
     "ERROR: line 1: can only concatenate str (not \"int\") to str"},
};
#define TABLE(name) SUPPORT_TABLE(name, support_text)

TABLE(expressions)
TABLE(methods)
TABLE(filters)
TABLE(undefined_and_tests)
TABLE(statements)
TABLE(loops)
TABLE(macros)
TABLE(white_space)
TABLE(refusals)

TEST(a_failure_names_its_line)
{
    CHECK_STR("ERROR: line 3: 'b' is undefined", support_text("a\n{{ 1 }}\n{{ b.c }}", NULL));
    CHECK_STR("ERROR: line 2: expected endif, found the template's end", support_text("a\n{% if 1 %}\nb", NULL));
    CHECK_STR("ERROR: line 2: division by zero",
              support_text("{% macro m(n) %}\n{{ 1 / n }}{% endmacro %}\n{{ m(0) }}", NULL));
}

TEST(what_is_not_there_fails_where_it_is_run)
{
    CHECK_STR("ok 1", support_text("ok {{ x|nosuch if x is string else x }}", "1"));
    CHECK_STR("ok", support_text("{% if x is string %}{{ x is nosuch }}{% endif %}ok", "1"));
    CHECK_STR("ERROR: line 1: No filter named 'nosuch'.", support_text("{{ 1 if x|nosuch else 2 }}", "1"));
    CHECK_STR("ERROR: line 2: No filter or test named 'nosuch'.",
              support_text("a\n{% for i in [] %}{{ i|nosuch }}{% endfor %}", "1"));
    CHECK_STR("ERROR: line 1: No filter or test named 'nosuch'.", support_text("{{ (1 if x else 2)|nosuch }}", "1"));
}

TEST(variables_are_found_by_name)
{
    struct jinja_template *t;
    static const char source[] = "{# thinking #}{% if enable_thinking %}effort{% endif %}"
                                 "{{ a.documents|trim }}{% set tools = 1 %}{{ f(style=2) is upper }}";
    REQUIRE(!jinja_parse(&t, source, strlen(source), NULL));
    CHECK(jinja_names(t, "enable_thinking"));
    CHECK(!jinja_names(t, "thinking"));
    CHECK(!jinja_names(t, "effort"));
    CHECK(jinja_names(t, "a") && jinja_names(t, "f"));
    static const char *const others[] = {"documents", "trim", "tools", "style", "upper"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) CHECK(!jinja_names(t, others[i]));
    jinja_template_free(t);
}

TEST(json)
{
    CHECK_STR(
        "{'a': [1, -2.5, 1e+20, 'x\\ny']} 9223372036854775807 9.223372036854776e+18",
        support_text(
            "{{ x.v }} {{ x.i }} {{ x.b }}",
            "{\"v\": {\"a\": [1, -2.5, 1e20, \"x\\ny\"]}, \"i\": 9223372036854775807, \"b\": 9223372036854775808}"));
    CHECK(!strncmp(support_text("{{ x }}", "[1,"), "ERROR: x:", 9));
    CHECK(!strncmp(support_text("{{ x }}", "[-]"), "ERROR: x:", 9));
}

TEST(many_keys)
{
    static char text[16000];
    size_t n = (size_t)sprintf(text, "{");
    for (int i = 0; i < 500; i++) n += (size_t)sprintf(text + n, "\"k%d\": %d, ", i, i);
    sprintf(text + n, "\"k7\": \"twice\"}");
    CHECK_STR("500 twice 499 False k0",
              support_text("{{ x|length }} {{ x.k7 }} {{ x['k499'] }} {{ 'k500' in x }} {{ x|first }}", text));
}

TEST_MAIN(T(expressions), T(methods), T(filters), T(undefined_and_tests), T(statements), T(loops), T(macros),
          T(white_space), T(refusals), T(a_failure_names_its_line), T(what_is_not_there_fails_where_it_is_run),
          T(variables_are_found_by_name), T(json), T(many_keys))
