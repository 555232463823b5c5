#!/usr/bin/env bash
# `tandem bench` as a user calls it: wrong uses, JSON and Markdown, on a small model so that it takes moments. In the long
# form all rows of a mixture, and a part of a larger model.
. tests/scratch.sh
if [[ ! -x ${program%/*}/tandem-bench ]]; then
    echo 'skip bench: tandem-bench was not built (needs libvterm)'
    exit 0
fi

refuses() { # name, a word of the message, arguments...
    local name=$1 word=$2
    shift 2
    "$program" bench "$@" >"$tmp/out" 2>"$tmp/err"
    check "$name" test "$?" = 2 -a -n "$(grep -F -- "$word" "$tmp/err")"
}

refuses unknown_suite "there are:" nonsense
refuses no_pace "unknown option '--pace'" power --pace 3
refuses bad_budget "--budget" power --budget soon
refuses few_runs "3 to 10000" power --runs 2
refuses bad_list "--prompt-tokens" model -m $tiny -p 32,x --budget 1s

"$program" bench handover dispatch -m $tiny --runs 3 --quick --budget 9s --json "$tmp/rows.json" --md \
    >"$tmp/out" 2>"$tmp/err"
cp "$tmp/out" "$tmp/markdown"
check runs_to_the_end test "$?" = 0
check tells_machine_and_command grep -q "^_handover, $tiny, .*; \`tandem bench handover dispatch -m $tiny" "$tmp/out"
check prints_markdown grep -q '^| tokens | direct ms | rate GB/s |' "$tmp/out"
check names_what_is_left_out grep -q 'left out: 32768 tokens' "$tmp/out"
check counts_its_runs grep -q '"n": *3' "$tmp/rows.json"
check says_keys_and_values grep -q 'keys and values f16' "$tmp/out"

# A reader that has enough ends it, without a word.
timeout 100 "$program" bench dispatch kernels -m $tiny --runs 10000 --quick 2>"$tmp/err" | head -1 >"$tmp/out"
check ends_with_its_reader test "${PIPESTATUS[0]}" = 1 -a -s "$tmp/out" -a ! -s "$tmp/err"

# A model with a short context, and another kernel set.
cp -r $tiny "$tmp/short"
sed -i 's/"max_position_embeddings": *[0-9]*/"max_position_embeddings": 200/' "$tmp/short/config.json"
"$program" bench ttft -m "$tmp/short" --rows single --runs 3 --quick --kernels scalar >"$tmp/out" 2>"$tmp/err"
check names_what_the_context_lacks grep -q 'left out: 410 tokens' "$tmp/out"
check measures_what_it_has grep -q '^  133 ' "$tmp/out"
check names_the_kernels grep -q "^ttft: .*, $tmp/short@scalar$" "$tmp/out"
"$program" bench dispatch -m "$tmp/short" --rows 'no such row' --runs 3 --quick --budget 5s >"$tmp/out" 2>"$tmp/err"
check rows_that_are_nowhere test "$?" = 2 -a -n "$(grep -F "holds 'no such row'" "$tmp/err")"
"$program" bench kernels --quick --budget 0.1s --kernels scalar >"$tmp/out" 2>"$tmp/err"
check says_what_is_left_out test "$(grep -c '^  left out, the budget has no time for it: q8_0 packing; q8_0 1; q8_0 4' "$tmp/out")" = 1
check the_file_makes_the_same_markdown cmp "$tmp/markdown" <(python3 src/bench/measured.py markdown "$tmp/rows.json")
PATH=/nonexistent "${program%/*}/tandem-bench" dispatch -m $tiny --md >"$tmp/out" 2>"$tmp/err"
check markdown_needs_python test "$?" = 1 -a ! -s "$tmp/out" -a "$(grep -c 'Python.* is lacking' "$tmp/err")" = 1

# Another bench takes time, too.
mkdir "$tmp/other" && cp "$(type -P sleep)" "$tmp/other/tandem-bench"
"$tmp/other/tandem-bench" 60 &
other=$!
"$program" bench dispatch -m $tiny --runs 3 --quick --budget 1s >"$tmp/out" 2>"$tmp/err"
kill $other
wait $other 2>/dev/null
check counts_other_benches grep -q 'start: .*other running Tandems: [1-9]' "$tmp/out"

# The two programs.
cp "$program" "$tmp/tandem"
PATH=/nonexistent "$tmp/tandem" bench kernels >"$tmp/out" 2>"$tmp/err"
check without_tandem_bench_status_1 test "$?" = 1
check and_a_line_that_says_why test "$(cat "$tmp/err")" = "tandem bench: tandem-bench: not there: Tandem was built without \
libvterm (\`make deps all install\` builds it with it)"
printf '#!/bin/bash\nprintf "%%s\\n" "$@"' >"$tmp/tandem-bench"
chmod +x "$tmp/tandem-bench"
check found_beside_it_with_the_same_arguments test "$("$tmp/tandem" bench --rows 'a b' kernels -- -x)" = $'--rows\na b\nkernels\n--\n-x'
mkdir "$tmp/bin" && mv "$tmp/tandem-bench" "$tmp/bin"
check found_on_the_path test "$(PATH=$tmp/bin:$PATH "$tmp/tandem" bench kernels)" = kernels
check same_help cmp <("$program" bench --help) <("${program%/*}/tandem-bench" --help)
mkdir "$tmp/config/tandem" -p && echo 'temp = hot' >"$tmp/config/tandem/config"
"${program%/*}/tandem-bench" kernels >"$tmp/out" 2>"$tmp/err"
check reads_the_configuration test "$?" = 2 -a -n "$(grep -F 'config:1' "$tmp/err")"
rm "$tmp/config/tandem/config"
cp "${program%/*}/tandem-bench" "$tmp/alone"
mv "$tmp/tandem" "$tmp/elsewhere"
"$tmp/alone" screen -m $tiny --quick --budget 2m >"$tmp/out" 2>"$tmp/err"
check without_tandem_no_screen test "$?" = 1 -a -n "$(grep -F 'the program tandem, which is measured, is not beside' "$tmp/err")"
check the_chat_program_knows_no_libvterm test "$(ldd "$program" 2>/dev/null | grep -c libvterm)" = 0
# A mixture, and a part of a model, from which the whole is computed.
rows=(--rows '74 512') part=synthetic:gpt2/1:q4_0 layers=12
[[ ${TANDEM_LONG:-} ]] && rows=() part=synthetic:0.8b/1:q4_0 layers=24
"$program" bench model -m tests/goldens/tiny-d "${rows[@]}" --runs 3 --quick --budget 20s >"$tmp/out" 2>"$tmp/err"
check measures_long_dispatches_of_a_mixture grep -qE '^  [0-9]+ +74 +512 ' "$tmp/out"
check computes_nothing_of_a_whole test -z "$(grep 'whole computed' "$tmp/out")"
"$program" bench model -m $part --runs 3 --quick --budget 30s -t 1 -p 32 -n 4 --dispatch 32 >"$tmp/out" 2>"$tmp/err"
check computes_the_whole test "$(grep -c 'whole computed tok/s' "$tmp/out")" = 2
check says_what_is_computed grep -q "1 of $layers layers were measured; whole: computed from these and the head" "$tmp/out"
