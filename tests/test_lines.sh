#!/usr/bin/env bash
# Lines of C have at most 120 columns (.clang-format), files at most 800 lines. Longer ones that are older than this test are
# allowed where the patterns below say so: take a pattern out once its files are wrapped, and put none in. Some words are not
# used, since they leave open who or how many: a comment names the thread, the program, the caller or the number; a limit is MAX.
# Others are not standard English of the field: lack of memory, restarts, reports.
set -u
cd "$(dirname "$0")/.." || exit 2
lines='^tests/src/watch/test_monitor_json\.c'
files='^$'
vague='nobody|somebody|anybody|everybody|someone|anyone|everyone|no one|one types|people|whoever|so many|gets to know|not told|been said|which is said|by turns|be had|to and fro|whomever'
vague+='|is had|told to leave|for want of|want of memory|made anew|begins? anew|begun anew|goes on behind|sees to it|is known of'
vague+='|stands for none|(leaves?|left) it unsaid|(leaves?|left) unsaid|which is why|what becomes of|tells of'
export LC_ALL=C.UTF-8
failed=0
check() { # name, findings, one a line
    if [[ $2 ]]; then sed 's/^/# /' <<<"$2"; echo "not ok $1"; failed=1; else echo "ok $1"; fi
}
check 'lines have at most 120 columns' \
    "$(grep -rnE '^.{121,}' engine ui src tests --include='*.[ch]' | cut -d: -f1,2 | grep -vE "$lines")"
check 'files have at most 800 lines' "$(find engine ui src tests -name '*.[ch]' -exec awk \
    'FNR == 801 { print FILENAME ": more than 800 lines" }' {} + | grep -vE "$files")"
# In comments: what the program says to its user is not looked at.
check 'comments name who and how many' "$(grep -rnwiE "$vague" engine ui src --include='*.[ch]' |
    grep -viE "\"[^\"]*\b($vague)\b[^\"]*\"" | cut -d: -f1,2)"
check 'limits are called MAX' "$(grep -rnwE '[A-Z0-9_]+_MOST|MOST(_[A-Z0-9_]+)?' engine ui src tests --include='*.[ch]' |
    cut -d: -f1,2)"
exit $failed
