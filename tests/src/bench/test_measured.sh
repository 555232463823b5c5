#!/usr/bin/env bash
# src/bench/measured.py: tables put into a Markdown file are there and nothing else changes, again and again; what was not
# measured is refused with its line; charts are SVG, and what they show is escaped.
. tests/scratch.sh
if ! command -v python3 >/dev/null; then
    echo 'skip measured: python3 is not installed'
    exit 0
fi
measured=src/bench/measured.py

# s/p of two models: the first also as another kernel set computes it, and what it shall reach; s/q of none.
cat >"$tmp/rows" <<'END'
{"suite":"s","part":"p","model":"m","title":"a < title","parameters":["n","who"],"measures":[{"name":"x_y","unit":"ms"},{"name":"z","unit":""}],"notes":["fast enough"],"conclusions":["concluded"]}
{"suite":"s","part":"p","model":"m","n":74,"who":"b","measure":"x_y","values":[5]}
{"suite":"s","part":"p","model":"m","n":16,"who":"a","measure":"x_y","values":[1,2,3]}
{"suite":"s","part":"p","model":"m","n":16,"who":"a","measure":"z","values":[4]}
{"suite":"s","part":"p","model":"other","title":"t","parameters":["n","who"],"measures":[{"name":"x_y","unit":"ms"}],"notes":[]}
{"suite":"s","part":"p","model":"other","n":13,"who":"a","measure":"x_y","values":[148.75]}
{"suite":"before","model":"m","command":"tandem bench s","machine":{},"ceilings":{"read_gbs":9}}
{"suite":"s","model":"m","command":"tandem bench s","machine":{},"ceilings":{"read_gbs":20,"int8_gops":900},"stolen":0.123}
{"suite":"s","part":"p","model":"m@k","title":"t","parameters":["n","who"],"measures":[{"name":"x_y","unit":"ms"},{"name":"z","unit":""}],"notes":[]}
{"suite":"s","part":"p","model":"m@k","n":16,"who":"a","measure":"x_y","values":[6,7,8]}
{"suite":"s","part":"p","model":"m@goal","title":"t","parameters":["n","who"],"measures":[{"name":"x_y","unit":"ms"}],"notes":[]}
{"suite":"s","part":"p","model":"m@goal","n":74,"who":"b","measure":"x_y","values":[4.125]}
{"suite":"s","part":"q","model":"no model","title":"t","parameters":["n"],"measures":[{"name":"v","unit":"x"}],"notes":[]}
{"suite":"s","part":"q","model":"no model","n":1,"measure":"v","values":[1]}
{"suite":"s","part":"q","model":"no model","n":16,"measure":"v","values":[2,2,9]}
END
command='_`tandem bench s`; memory was read at 20.0 GB/s; the host took 12 % of the CPU time_'

fills() { # name, words, what stands between the marks (%s: the command that measured)
    local expected
    printf 'before\n<!-- bench %s -->\nold\n<!-- end -->\nafter\n' "$2" >"$tmp/F.md"
    expected=$(printf "before\n<!-- bench $2 -->\n\n$3\n<!-- end -->\nafter"; echo .)
    python3 $measured tables "$tmp/F.md" "$tmp/rows" 2>"$tmp/err"
    check "$1" test "$(cat "$tmp/F.md"; echo .)" = "$(printf '%s' "${expected%.}"; echo; echo .)"
    cp "$tmp/F.md" "$tmp/once.md"
    python3 $measured tables "$tmp/F.md" "$tmp/rows" 2>"$tmp/err"
    check "$1, again" cmp -s "$tmp/once.md" "$tmp/F.md"
}
fills 'a table' 's/p m' "| n | who | x y ms | z | n |\n|---|---|---:|---:|---:|\n| 16 | a | 2.00 (1.00-3.00) | 4.00 | 1-3 |
| 74 | b | 5.00 | - | 1 |\n\n${command//%/%%}\n"
fills 'rows, a column and notes' 's/p m columns=z rows=16|a notes' "| n | who | z | n |\n|---|---|---:|---:|\n| 16 | a | 4.00 | 1-3 |
\n- fast enough\n- concluded\n\n${command//%/%%}\n"
# 13 stands beside 16, and is named; nothing stands beside 74.
fills 'another model beside' 's/p m columns=x_y beside=other' "| n | who | x y ms | n | other: n | other: x y ms |
|---|---|---:|---:|---:|---:|\n| 16 | a | 2.00 (1.00-3.00) | 1-3 | 13 | 148.75 |\n| 74 | b | 5.00 | 1 | - | - |\n\n${command//%/%%}\n"
# Columns that nothing stands in are not there, nor the range.
fills 'its other set and its goal beside' 's/p m columns=x_y beside=*@k,*@goal medians ceilings' "| n | who | x y ms | n | k: x y ms | \
k: n | goal: x y ms |\n|---|---|---:|---:|---:|---:|---:|\n| 16 | a | 2.00 | 1-3 | 7.00 | 3 | - |
| 74 | b | 5.00 | 1 | - | - | 4.125 |\n\n_\`tandem bench s\`; memory was read at 20.0 GB/s; arithmetic on vector registers: \
int8 900 Gop/s; the host took 12 %% of the CPU time_\n"
fills 'what is lacking beside, optional' 's/p m@k columns=x_y beside=*@goal optional' "| n | who | x y ms | n |\n|---|---|---:|---:|
| 16 | a | 7.00 (6.00-8.00) | 3 |\n"
fills 'turned' 's/p m turned columns=x_y,none optional' "| n | 16 | 74 |\n|---|---:|---:|\n| who | a | b |
| x y ms | 2.00 (1.00-3.00) | 5.00 |\n| n | 1-3 | 1 |\n\n${command//%/%%}\n"
fills 'a table that lacks a measure' 's/p other,m columns=z rows=13,16' "| model | n | who | z | n |\n|---|---|---|---:|---:|
| other | 13 | a | - | 1 |\n| m | 16 | a | 4.00 | 1-3 |\n\n${command//%/%%}\n"
fills 'rows by whole parameters, a blank as _, ratios' 's/q no_model rows=1' "| n | v x | n |\n|---|---:|---:|\n| 1 | no ratio (n 1) | 1 |\n"
fills 'a ratio that spreads' 's/q no_model rows=16' "| n | v x | n |\n|---|---:|---:|\n| 16 | no ratio (spread 175 %%) | 3 |\n"
fills 'a note' 's/p m note=concl' "**Concluded**\n"
fills 'not measured' 's/r m optional' "_Not measured._\n"
printf 'nothing\nis asked' >"$tmp/F.md"
python3 $measured tables "$tmp/F.md" "$tmp/rows"
check 'nothing is asked' test "$(cat "$tmp/F.md")" = $'nothing\nis asked'

refuses() { # words of the message, a document
    printf "$2" >"$tmp/F.md"
    cp "$tmp/F.md" "$tmp/once.md"
    ! python3 $measured tables "$tmp/F.md" "$tmp/rows" 2>"$tmp/err"
    check "refused: $1" test $? = 0 -a -n "$(grep -F "$1" "$tmp/err")" -a "$(wc -l <"$tmp/err")" = 1
    check "nothing is written: $1" cmp -s "$tmp/F.md" "$tmp/once.md"
}
end='-->\n<!-- end -->\n'
refuses 'F.md: line 2: expected a suite and a model' "x\n<!-- bench s/p $end"
refuses "'colums=x' is not understood" "<!-- bench s/p m colums=x $end"
refuses "'columns=' is not understood" "<!-- bench s/p m columns= $end"
refuses "expected '-->'" '<!-- bench s/p m\n<!-- end -->\n'
refuses 'nothing was measured of s r with m' "<!-- bench s/r m $end"
refuses 'nothing was measured of s p with n' "<!-- bench s/p n $end"
refuses "no measure 'q'" "<!-- bench s/p m columns=q $end"
refuses 'no row' "<!-- bench s/p m rows=99 $end"
refuses 'nothing is known of s p with *@q' "<!-- bench s/p m beside=*@q $end"
refuses "begins with 'slow'" "<!-- bench s/p m note=slow $end"
refuses "expected '<!-- end -->' at the end" '<!-- bench s/p m -->\nold\n'
refuses "expected '<!-- end -->' before" "<!-- bench s/p m -->\n<!-- bench s/p m $end"

# ---- Files of rows are untrusted: what does not hold what it promises is refused with its line

table='{"suite":"s","part":"p","model":"m","title":"t","parameters":["a"],"measures":[{"name":"x","unit":"ms"}],"notes":["n"],"conclusions":["c"]}'
row() { # measure, values, more members
    echo "{\"suite\":\"s\",\"part\":\"p\",\"model\":\"m\",\"a\":7,\"measure\":\"$1\",\"values\":$2${3-}}"
}
wrong() { # name, where, lines...
    printf '%s\n' "${@:3}" >"$tmp/wrong"
    check "refused: $1" grep -qF "measured.py: $tmp/wrong: line $2: expected a line of tandem bench --json" \
        <(python3 $measured markdown "$tmp/wrong" 2>&1 >/dev/null)
}
wrong 'no object' 1 '[]'
wrong 'no model' 1 '{"suite":"s"}'
wrong 'half a line' 1 '{"suite":"s",'
wrong 'no table of the row' 1 "$(row x '[1]')"
wrong 'another measure' 2 "$table" "$(row y '[1]')"
wrong 'no number' 2 "$table" "$(row x '[null]')"
wrong 'a text for a number' 2 "$table" "$(row x '["1"]')"
wrong 'not finite' 2 "$table" "$(row x '[1e999]')"
wrong 'no list' 2 "$table" "$(row x 1)"
wrong 'no parameter' 2 "${table//\"a\"/\"b\"}" "$(row x '[1]')"
wrong 'no title' 1 '{"suite":"s","part":"p","model":"m"}'
printf '%s\n' "${table/t\",/\\u001b[2J\\u202e<\",}" "$(row x '[2]')" >"$tmp/odd"
check 'nothing steers the terminal' test "$(python3 $measured markdown "$tmp/odd")" = $'\n### s: ?[2J?<, m\n
| a | x ms | n |\n|---|---:|---:|\n| 7 | 2.00 | 1 |\n\n- n\n- c'

# ---- All tables: rows of several files are joined, what is said of them stands there once

ran_on='{"suite":"s","model":"m","command":"tandem bench s","seconds":61.4,"weight_types":"f32","kernels":"k","kv":"f16",
"units":"a prefills, b decodes","machine":{"cpu":"c","cores":1,"cpus":2,"caches":"l"},"ceilings":{"int8_gops":1000,
"bf16_gops":100,"fp32_gops":10,"matrix_int8_gops":null,"matrix_bf16_gops":null,"read_gbs":9},"start":{"mhz":null,"governor":
null,"power":"no battery","load":1.25,"other_tandems":0},"end":{"mhz":2000,"governor":"g","power":"no battery","load":1.5,
"other_tandems":2},"stolen":0.016}'
{ echo "$table"; row x '[1,2]'; echo "${ran_on//$'\n'/}"; } >"$tmp/first"
{ echo "${table/\"c\"/\"another\"}"; row x '[3.5]'; } >"$tmp/second"
markdown='
### s: t, m

| a | x ms | n |
|---|---:|---:|
| 7 | 2.00 (1.00-3.50) | 3 |

- n
- c
- another

_s, m, 61 s on c: 1 cores of 2, l; a prefills, b decodes; keys and values f16; kernels k; ceilings: int8 1,000 Gop/s, bf16 100, '\
'fp32 10.0, reading 9.00 GB/s; start: - MHz, governor not told, no battery, load average 1.2, other running Tandems: 0; end: '\
'2,000 MHz, governor g, no battery, load average 1.5, other running Tandems: 2; the host took 2 % of the CPU time; '\
'`tandem bench s`_'
check 'all tables' test "$(python3 $measured markdown "$tmp/first" "$tmp/second")" = "$markdown"
check 'all tables, of standard input' test "$(cat "$tmp/first" "$tmp/second" | python3 $measured markdown)" = "$markdown"
check 'its reader may leave' test "$(python3 $measured markdown "$tmp/first" 2>&1 | head -c 1 | wc -c)" = 1

# ---- Charts

svg() { python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$1"; }
python3 $measured bars s/p m "$tmp/rows" >"$tmp/bars.svg"
check 'bars are an SVG' svg "$tmp/bars.svg"
holds 'bars: the title is escaped' "$(<"$tmp/bars.svg")" 'a &lt; title'
holds 'bars: what a row is about' "$(<"$tmp/bars.svg")" '74 n, b<'
holds 'bars: light and dark' "$(<"$tmp/bars.svg")" 'prefers-color-scheme:dark'
check 'bars: one a row' test "$(grep -c 'class="b"' "$tmp/bars.svg")" = 2
cat >"$tmp/trace" <<'END'
{"traceEvents": [{"ph":"M","tid":1,"args":{"name":"prefill cpu:0 native"}}, {"ph":"M","tid":2,"args":{"name":"decode cpu:1 native"}},
 {"ph":"X","tid":1,"name":"history","ts":0,"dur":500000}, {"ph":"X","tid":1,"name":"lent","ts":0,"dur":500000},
 {"ph":"X","tid":2,"name":"decode","ts":1000200,"dur":900000}, {"ph":"M","tid":3,"args":{"name":"turns"}},
 {"ph":"X","tid":3,"name":"turn 1","ts":1000000,"dur":1000000}, {"ph":"X","tid":3,"name":"Enter to first token","ts":1000000,"dur":200}]}
END
python3 $measured timeline 'a < model' <"$tmp/trace" >"$tmp/timeline.svg"
check 'a timeline is an SVG' svg "$tmp/timeline.svg"
holds 'timeline: turns and model' "$(<"$tmp/timeline.svg")" '1 turns on two units, a &lt; model'
holds 'timeline: the last Enter' "$(<"$tmp/timeline.svg")" 'first token after 0.2 ms'
# Two spans in each picture, and what the colours mean.
check 'timeline: a rectangle a span' test "$(grep -c '^<rect x=' "$tmp/timeline.svg")" = $((2 * 2 + 7))
check 'a trace without turns is refused' test "$(echo '{"traceEvents":[]}' | python3 $measured timeline m 2>&1)" = 'measured.py: the trace has no turns'
check 'wrong use' test "$(python3 $measured pies 2>&1 >/dev/null | wc -l)" -gt 2
