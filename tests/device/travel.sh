#!/usr/bin/env bash
# What travels to a machine with a GPU is the working tree with the kit (make device-kit) in it, and its size counts. A
# run there needs the kit, the built-in model and the documents that name commands, and no sources, tests or old figures;
# this script, to bring them back.
#
#   tests/device/travel.sh narrow   takes all else out of the working tree (git sparse-checkout; nothing is lost)
#   tests/device/travel.sh whole    brings it back
#   tests/device/travel.sh list     the tracked files that travel once it is narrow
set -eu
cd "$(git rev-parse --show-toplevel)"
stays=(engine src ui tests 'assets/*.jsonl')
goes=tests/device

case ${1:-} in
    list) git ls-files -- . "${stays[@]/#/:!}"; git ls-files -- "$goes" ;;
    narrow)
        changed=$(git status --porcelain -- "${stays[@]}" ":!$goes")
        if [[ $changed ]]; then
            printf '%s: commit first what would be left behind:\n%s\n' "$0" "$changed" >&2
            exit 1
        fi
        git sparse-checkout set --no-cone '/*' "${stays[@]/#/!/}" "/$goes/" ;;
    whole) git sparse-checkout disable ;;
    *) sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
