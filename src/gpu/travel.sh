#!/usr/bin/env bash
# What travels to a machine with a GPU is the working tree with the kit (make device-kit) in it, and its size counts. A
# run there needs the kit, the built-in model and the documents that name commands, and no tests or old figures.
#
#   src/gpu/travel.sh narrow   takes all else out of the working tree (git sparse-checkout; nothing is lost)
#   src/gpu/travel.sh whole    brings it back
#   src/gpu/travel.sh list     the tracked files that travel once it is narrow
set -eu
cd "$(git rev-parse --show-toplevel)"
stays=(tests 'assets/*.jsonl')

case ${1:-} in
    list) git ls-files -- . "${stays[@]/#/:!}" ;;
    narrow)
        changed=$(git status --porcelain -- "${stays[@]}")
        if [[ $changed ]]; then
            printf '%s: commit first what would be left behind:\n%s\n' "$0" "$changed" >&2
            exit 1
        fi
        git sparse-checkout set --no-cone '/*' "${stays[@]/#/!/}" ;;
    whole) git sparse-checkout disable ;;
    *) sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
