#!/usr/bin/env bash
# Kill -9 at random moments of a conversation: the session file always loads and has every turn that had ended.
# TANDEM_LONG=1: 200 times instead of 10.
set -u
program=$(realpath "${TANDEM:-build/tandem}")
tmp=$(mktemp -d /tmp/tandem-kill-XXXXXX)
trap 'rm -rf "$tmp"' EXIT
export HOME=$tmp XDG_CONFIG_HOME=$tmp/config XDG_STATE_HOME=$tmp/state
unset TANDEM_DATADIR
model=$(realpath tests/goldens/tiny-a)
sessions=$tmp/state/tandem/sessions
times=10
[[ ${TANDEM_LONG:-} ]] && times=200
RANDOM=7

# Finished replies in the session file; fails where it isn't whole JSON.
finished() {
    python3 -c 'import json,sys
print(sum(m["role"] == "assistant" and m.get("finish") == "length" for m in json.load(open(sys.argv[1]))["messages"]))' "$1"
}
talk() { # lines that a user would type, faster than he could
    for i in {1..400}; do echo "message $i" && sleep 0.02; done
}

damaged=0 lost=0 seen=0 unread=0
for (( round = 1; round <= times; round++ )); do
    rm -rf "$tmp/state"
    "$program" chat --plain -m "$model" --ignore-eos -n 4 --seed 1 < <(talk 2>/dev/null) >/dev/null 2>"$tmp/err" &
    pid=$!
    for (( wait = 0; wait < 1000; wait++ )); do # until the first turn has ended, so that there is something to lose
        grep -q ' out, ' "$tmp/err" && break
        sleep 0.02
    done
    sleep "0.$(printf %03d $(( RANDOM % 600 )))"
    kill -9 $pid
    wait $pid 2>/dev/null
    turns=$(grep -c ' out, ' "$tmp/err") # a turn's line is written when it has been saved
    (( seen += turns ))
    for file in "$sessions"/*.json; do
        [[ -e $file ]] || { (( turns > 0 )) && (( lost++ )); continue; }
        found=$(finished "$file") || { (( damaged++ )); continue; }
        (( found >= turns )) || (( lost++ ))
        "$program" chat --plain -m "$model" --resume </dev/null >/dev/null 2>"$tmp/err" || (( unread++ ))
    done
done 2>/dev/null

check() { # name, count that must be 0
    if [[ $2 == 0 ]]; then echo "ok $1"; else echo "# $2 of $times times"; echo "not ok $1"; fi
}
echo "# killed $times times after $seen turns"
check 'the session file is whole' $damaged
check 'no turn that had ended is lost' $lost
check 'the session is resumed' $unread
if (( seen >= times )); then echo 'ok there were turns to lose'; else echo 'not ok there were turns to lose'; fi
