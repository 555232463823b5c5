#!/usr/bin/env bash
# Lines of C have at most 120 columns (.clang-format), files at most 800 lines. Longer ones that are older than this test are
# allowed where the patterns below say so: take a pattern out once its files are wrapped, and put none in.
set -u
cd "$(dirname "$0")/.." || exit 2
lines='^tests/src/watch/test_monitor_json\.c'
files='^$'
export LC_ALL=C.UTF-8
failed=0
check() { # name, findings, one a line
    if [[ $2 ]]; then sed 's/^/# /' <<<"$2"; echo "not ok $1"; failed=1; else echo "ok $1"; fi
}
check 'lines have at most 120 columns' \
    "$(grep -rnE '^.{121,}' engine ui src tests --include='*.[ch]' | cut -d: -f1,2 | grep -vE "$lines")"
check 'files have at most 800 lines' "$(find engine ui src tests -name '*.[ch]' -exec awk \
    'FNR == 801 { print FILENAME ": more than 800 lines" }' {} + | grep -vE "$files")"
exit $failed
