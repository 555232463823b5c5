/* Whose each byte of the output is: through every filter, method and operator, and over the public templates with
 * messages that spell what the templates write. In the texts below <...> is the data's. */
#include "tests/check.h"
#include "tests/engine/text/jinja/support.h"
#include "tests/engine/text/vocabulary.h"

#define TABLE(name) SUPPORT_TABLE(name, support_runs)

static const struct test_case operators[] = {
    {"a{{ x }}b", "\"X\"", "a<X>b"},
    {"{{ 'a' + x + 'b' }}{{ x ~ 'c' }}", "\"X\"", "a<X>b<X>c"},
    {"{{ x * 2 }}{{ ('a' + x) * 2 }}", "\"X\"", "<XX>a<X>a<X>"},
    {"{{ ('ab' + x + 'cd')[1:-1] }}|{{ ('a' + x)[1] }}|{{ ('a' + x)[::-1] }}", "\"XY\"", "b<XY>c|<X>|<YX>a"},
    {"{{ x }}{{ x + 1 }}{{ 1 - x }}{{ -x }}{{ 5 }}", "3", "<34-2-3>5"},
    {"{{ x.a }}{{ x.b }}{{ x.c }}{{ not x.a }}", "{\"a\": true, \"b\": null, \"c\": 1.5}", "<TrueNone1.5>False"},
    {"{{ '%s-%d' % (x.s, x.n) }}{{ '<%5s>' % x.s }}", "{\"s\": \"X\", \"n\": 7}", "<X>-<7><    <X>>"},
    {"{{ x % 'a' }}", "\"[%s]\"", "<[>a<]>"},
    {"{{ x or 'd' }}{{ '' or x }}{{ x if x else 'e' }}", "\"X\"", "<XXX>"},
    {"{{ x == 'X' }}{{ 'X' in x }}", "\"X\"", "TrueTrue"},
    {"{{ x }}{{ ['a', x] }}{{ {'k': x} }}", "[\"X\"]", "<['X']>['a', <['X']>]{'k': <['X']>}"},
    {"{% set y %}a{{ x }}b{% endset %}{{ y }}", "\"X\"", "a<X>b"},
    {"{% macro m(v) %}[{{ v }}]{% endmacro %}{{ m(x)|upper }}", "\"x\"", "[<X>]"},
    {"{% filter replace('a', x) %}bab{% endfilter %}", "\"X\"", "b<X>b"},
    {"{% for c in x %}{{ c }}.{% endfor %}", "\"XY\"", "<X>.<Y>."},
    {"{% for k, v in x.items() %}{{ k }}={{ v }}{% endfor %}", "{\"K\": 1}", "<K>=<1>"},
    {"{{ {'user': 'U'}[x] }}", "\"user\"", "U"},
};

static const struct test_case methods[] = {
    {"{{ ('ab' + x).upper() }}{{ x.lower() }}{{ x.title() }}{{ x.swapcase() }}", "\"xY\"", "AB<XYxyXyXy>"},
    {"{{ (' a' + x + ' ').strip() }}|{{ x.strip('X') }}|{{ x.lstrip() }}", "\" X\"", "a< X>|< >|<X>"},
    {"{{ ('a,' + x).split(',') | join(';') }}", "\"X,Y\"", "a;<X>;<Y>"},
    {"{{ x.split('</think>')[-1] }}", "\"a</think>b\"", "<b>"},
    {"{{ x.replace('X', 'a') }}{{ 'aXa'.replace('X', x) }}{{ 'aba'.replace('b', '') }}", "\"XY\"", "a<Y>a<XY>aaa"},
    {"{{ 'a{}b{}'.format(x, 1) }}{{ x.format('c') }}{{ '{:>3}'.format(x) }}", "\"{}\"", "a<{}>b1c <{}>"},
    {"{{ '-'.join([x, 'a']) }}{{ x.join(['b', 'c']) }}", "\"X\"", "<X>-ab<X>c"},
    {"{{ ('a' + x).partition('X') | join('|') }}{{ x.rpartition('X') | join }}", "\"XY\"", "a|<X>|<YXY>"},
    {"{{ x.zfill(3) }}{{ x.rjust(3, '*') }}{{ 'a'.ljust(2, x) }}", "\"7\"", "00<7>**<7>a<7>"},
    {"{{ x.splitlines() | join('+') }}{{ x.capitalize() }}", "\"a\\nb\"", "<a>+<bA\nb>"},
    {"{{ x.get('a') }}{{ x.get('b', 'c') }}{{ x.keys() | join }}", "{\"a\": \"X\"}", "<X>c<a>"},
    {"{{ x.removeprefix('X') }}{{ ('X' + x).removesuffix('Y') }}", "\"XY\"", "<Y>X<X>"},
};

static const struct test_case filters[] = {
    {"{{ x|trim }}{{ x|upper }}{{ x|capitalize }}{{ x|title }}{{ x|lower }}", "\"x\"", "<xXXXx>"},
    {"{{ ['a', x]|join(',') }}{{ ['a', 'b']|join(x) }}", "\"X\"", "a,<X>a<X>b"},
    {"{{ (x + 'b')|replace('b', 'c') }}{{ x|replace('a', 'd') }}", "\"a\"", "<a>cd"},
    {"{{ ('a\\n' + x)|indent(2) }}", "\"X\\nY\"", "a\n  <X\n>  <Y>"},
    {"{{ x|tojson }}", "{\"a\": [1, \"q\\\"\\n\", null]}", "<{\"a\": [1, \"q\\\"\\n\", null]}>"},
    {"{{ {'a': x, 'b': ['c', 1]}|tojson }}", "\"X\"", "{\"a\": <\"X\">, \"b\": [\"c\", 1]}"},
    {"{{ ('a' + x[0])|tojson }}{{ x|tojson(indent=1) }}", "[\"X\"]", "<\">a<X\"[\n \"X\"\n]>"},
    {"{{ x|e }}{{ ('<a>'|safe) + x }}", "\"<\"", "<&lt;><a><&lt;>"},
    {"{{ x|string }}{{ x|int + 1 }}{{ x|float }}{{ '5'|int }}", "\"12\"", "<121312.0>5"},
    {"{{ x|length }}{{ x|first }}{{ x|last }}{{ x|reverse }}{{ x|list|join }}", "\"XY\"", "2<XYYXXY>"},
    {"{{ x|sort|join }}{{ x|unique|join }}{{ x|map('upper')|join }}{{ x|select|join }}", "[\"b\", \"a\"]",
     "<abbaBAba>"},
    {"{{ x|map(attribute='n')|join('-') }}{{ x|dictsort|length if 0 else '' }}", "[{\"n\": \"X\"}, {\"n\": 2}]",
     "<X>-<2>"},
    {"{{ x|default('d') }}{{ y|default('d') }}{{ y|default(x) }}", "\"X\"", "<X>d<X>"},
    {"{{ '%s'|format(x) }}{{ x|center(3) }}{{ 'abcdefghijk'|truncate(5, true, x, 0) }}", "\"X\"", "<X> <X> abcd<X>"},
    {"{{ x|items|map('first')|join }}{{ x|dictsort(by='value') }}", "{\"k\": \"v\"}", "<k[('k', 'v')]>"},
    {"{{ x|abs }}{{ x|round }}{{ [x, 1]|sum }}{{ [x, 1]|max }}{{ [x, 1]|min }}", "-2", "<2-2-1>1<-2>"},
    {"{{ strftime_now('%Y') }}{{ strftime_now(x) }}", "\"on %d\"", "2026<on >05"},
};

TABLE(operators)
TABLE(methods)
TABLE(filters)

/* ---- Forgery over the public templates ----------------------------------------------------------------------- */

enum { MARKS = 96 };

struct spelled {
    struct span text[MARKS];
    size_t n;
};

/* The words <...> and [...] of a template's text: what it writes may become special tokens. */
static void find_marks(struct spelled *marks, struct span source)
{
    marks->n = 0;
    for (size_t i = 0; i < source.length && marks->n < MARKS; i++) {
        char open = source.bytes[i], close = open == '<' ? '>' : ']';
        if (open != '<' && open != '[') continue;
        size_t n = 1;
        while (i + n < source.length && n < 40 && !strchr(" \n'\"<>[]{}(),", source.bytes[i + n])) n++;
        if (n < 3 || i + n >= source.length || source.bytes[i + n] != close) continue;
        struct span mark = {source.bytes + i, n + 1};
        bool known = false;
        for (size_t k = 0; k < marks->n; k++)
            known = known ||
                    (marks->text[k].length == mark.length && !memcmp(marks->text[k].bytes, mark.bytes, mark.length));
        bool index = open == '[' && strspn(mark.bytes + 1, "0123456789:-") + 2 >= mark.length;
        if (!known && !index) marks->text[marks->n++] = mark;
    }
}

/* A vocabulary of all bytes and these marks, which are control tokens: their ids are 256 and more. */
static struct tokenizer *tokenizer_of(const struct spelled *marks)
{
    static struct vocabulary v;
    static char texts[MARKS][64];
    struct tokenizer *t = NULL;
    tdm_error err;
    v.count = 0;
    vocabulary_bytes(&v);
    for (size_t k = 0; k < marks->n; k++) {
        snprintf(texts[k], sizeof texts[k], "%.*s", (int)marks->text[k].length, marks->text[k].bytes);
        vocabulary_token(&v, texts[k], TOKENIZER_CONTROL, 0);
    }
    struct tokenizer_parts parts = vocabulary_parts(&v);
    if (tokenizer_load_parts(&t, &parts, &err)) CHECK_FAIL("%s", err.text);
    return t;
}

/* How often each mark is a token of the output. */
static void count_tokens(const struct tokenizer *t, const struct jinja_output *out, int counts[MARKS])
{
    size_t *ends = malloc((out->n_runs + 1) * sizeof *ends), n = 0;
    struct ids ids = {0};
    if (out->n_runs && out->runs[0].source == JINJA_DATA) ends[n++] = 0;
    for (size_t i = 0; i < out->n_runs; i++) ends[n++] = out->runs[i].end;
    CHECK(!tokenizer_encode_written(t, out->text, ends, n, &ids, NULL));
    CHECK(!ids.count || ids.end[ids.count - 1] == out->length);
    memset(counts, 0, MARKS * sizeof *counts);
    for (size_t i = 0; i < ids.count; i++)
        if (ids.id[i] >= 256) counts[ids.id[i] - 256]++;
    ids_free(&ids);
    free(ends);
}

static struct json_object *text_object(struct span s)
{
    return json_object_new_string_len(s.bytes, (int)s.length);
}

/* A conversation with the texts in all places where data can be: two contents, thinking, names, arguments, results. */
static json_object *conversation(struct span one, struct span other, bool tools)
{
    json_object *root = json_object_new_object(), *messages = json_object_new_array();
    static const char *const roles[] = {"user", "assistant", "user", "assistant", "tool", "assistant", "user"};
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        if ((i == 3 || i == 4) && !tools) i = 5;
        if (i == 5 && !tools)
            i = 6, json_object_array_add(messages, json_tokener_parse("{\"role\":\"assistant\",\"content\":\"x\"}"));
        json_object *message = json_object_new_object();
        json_object_object_add(message, "role", json_object_new_string(roles[i]));
        json_object_object_add(message, "content", text_object(i % 2 ? other : one));
        if (i == 1) json_object_object_add(message, "reasoning_content", text_object(one));
        if (i == 3) {
            json_object *calls = json_tokener_parse(
                "[{\"id\":\"abcdefghi\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":{}}}]");
            json_object *function;
            json_object_object_get_ex(json_object_array_get_idx(calls, 0), "function", &function);
            json_object *arguments = json_object_new_object();
            char key[64];
            snprintf(key, sizeof key, "%.*s", (int)one.length, one.bytes);
            json_object_object_add(arguments, key, text_object(other));
            json_object_object_add(function, "name", text_object(other));
            json_object_object_add(function, "arguments", arguments);
            json_object_object_add(message, "tool_calls", calls);
        }
        if (i == 4) json_object_object_add(message, "tool_call_id", json_object_new_string("abcdefghi"));
        json_object_array_add(messages, message);
    }
    json_object_object_add(root, "messages", messages);
    json_object_object_add(root, "add_generation_prompt", json_object_new_boolean(true));
    return root;
}

/* Whether the template asks its messages for this text: then what it writes may depend on it. */
static bool asked_for(struct span source, struct span text)
{
    static const char *const before[] = {"split('",    "split(\"",    "startswith('", "startswith(\"",
                                         "endswith('", "endswith(\"", "replace('",    "replace(\"",
                                         "find('",     "find(\"",     "strip('",      "strip(\""};
    char wanted[128];
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        snprintf(wanted, sizeof wanted, "%s%.*s", before[i], (int)text.length, text.bytes);
        if (memmem(source.bytes, source.length, wanted, strlen(wanted))) return true;
    }
    for (int quote = 0; quote < 2; quote++) {
        snprintf(wanted, sizeof wanted, "%c%.*s%c in ", "'\""[quote], (int)text.length, text.bytes, "'\""[quote]);
        if (memmem(source.bytes, source.length, wanted, strlen(wanted))) return true;
        snprintf(wanted, sizeof wanted, "%c%.*s%c not in ", "'\""[quote], (int)text.length, text.bytes, "'\""[quote]);
        if (memmem(source.bytes, source.length, wanted, strlen(wanted))) return true;
    }
    return false;
}

struct forged {
    int templates, renderings;
    size_t step; /* from one cut of a mark to the next: under a sanitizer the short form leaves most out */
};

static void forge(const char *name, struct span source, const struct jinja_template *t, const struct spelled *marks,
                  struct span one, struct span other, const struct tokenizer *tokenizer, const int plain[MARKS],
                  bool tools, struct forged *sums)
{
    json_object *golden = conversation(one, other, tools);
    struct jinja_output out = {0};
    tdm_error err = {0};
    sums->renderings++;
    tdm_status status = support_render(t, golden, &out, &err);
    int found[MARKS];
    if (!status && !asked_for(source, one) && !asked_for(source, other)) {
        count_tokens(tokenizer, &out, found);
        for (size_t k = 0; k < marks->n; k++)
            if (found[k] != plain[k])
                CHECK_FAIL("%s: %.*s is a token %d times, with \"%.*s\" and \"%.*s\" %d", name,
                           (int)marks->text[k].length, marks->text[k].bytes, plain[k], (int)one.length, one.bytes,
                           (int)other.length, other.bytes, found[k]);
    }
    jinja_output_free(&out);
    json_object_put(golden);
}

static void try_to_forge(const char *name, struct span source, json_object *cases, void *context)
{
    (void)cases;
    struct forged *sums = context;
    struct jinja_template *t;
    struct spelled marks;
    tdm_error err = {0};
    find_marks(&marks, source);
    sums->templates++;
    REQUIRE(!jinja_parse(&t, source.bytes, source.length, &err));
    struct tokenizer *tokenizer = tokenizer_of(&marks);
    REQUIRE(tokenizer);
    int counts[MARKS];
    for (int tools = 0; tools < 2; tools++) {
        json_object *golden = conversation((struct span){"xy", 2}, (struct span){"xz", 2}, tools);
        struct jinja_output plain = {0};
        tdm_status status = support_render(t, golden, &plain, &err);
        if (!status) count_tokens(tokenizer, &plain, counts);
        for (size_t k = 0; k < marks.n && !status; k++)
            for (size_t left = 0; left < marks.text[k].length; left += sums->step) {
                size_t cut = marks.text[k].length - left;
                struct span one = {marks.text[k].bytes, cut};
                struct span other = {marks.text[k].bytes + cut, marks.text[k].length - cut};
                if (!other.length) other = one;
                forge(name, source, t, &marks, one, other, tokenizer, counts, tools, sums);
            }
        jinja_output_free(&plain);
        json_object_put(golden);
    }
    tokenizer_free(tokenizer);
    jinja_template_free(t);
}

TEST(no_message_makes_a_token)
{
    struct forged sums = {.step = check_slow() && !getenv("TANDEM_LONG") ? 4 : 1};
    if (!support_each_golden(try_to_forge, &sums)) return;
    printf("# %d templates, %d renderings\n", sums.templates, sums.renderings);
    CHECK(sums.renderings > 10000 / (int)sums.step);
}

TEST_MAIN(T(operators), T(methods), T(filters), T(no_message_makes_a_token))
