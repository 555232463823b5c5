#!/usr/bin/env bash
# Kill -9 at random moments of a conversation: the session file always loads and has every turn that had ended.
# TANDEM_LONG=1: 200 times instead of 10.
. tests/scratch.sh
sessions=$tmp/state/tandem/sessions
times=10
[[ ${TANDEM_LONG:-} ]] && times=200
RANDOM=7

# Finished replies in the session file; fails where it isn't whole JSON.
finished() {
    python3 -c 'import json,sys
messages = json.load(open(sys.argv[1]))["messages"]
print(sum(m["role"] == "assistant" and m.get("finish") == "length" for m in messages))' "$1"
}
talk() { # lines that a user would type, faster than he could
    for i in {1..400}; do echo "message $i" && sleep 0.02; done
}

damaged=0 lost=0 seen=0 unread=0
for (( round = 1; round <= times; round++ )); do
    rm -rf "$tmp/state"
    : >"$tmp/err" # what the last round has written is no turn of this one
    "$program" chat --plain -m "$tiny" --ignore-eos -n 4 --seed 1 < <(talk 2>/dev/null) >/dev/null 2>"$tmp/err" &
    pid=$!
    # Until the first turn has ended, so that there is something to lose.
    until grep -q ' out, ' "$tmp/err" || ! kill -0 $pid 2>/dev/null; do sleep 0.02; done
    sleep "0.$(printf %03d $(( RANDOM % 600 )))"
    kill -9 $pid
    wait $pid 2>/dev/null
    turns=$(grep -c ' out, ' "$tmp/err") # a turn's line is written when it has been saved
    (( seen += turns ))
    for file in "$sessions"/*.json; do
        [[ -e $file ]] || { (( turns > 0 )) && (( lost++ )); continue; }
        found=$(finished "$file") || { (( damaged++ )); continue; }
        (( found >= turns )) || (( lost++ ))
        "$program" chat --plain -m "$tiny" --resume </dev/null >/dev/null 2>"$tmp/err" || (( unread++ ))
    done
done 2>/dev/null

echo "# killed $times times after $seen turns: $damaged files damaged, $lost turns lost, $unread not resumed"
check 'the session file is whole' test $damaged = 0
check 'no turn that had ended is lost' test $lost = 0
check 'the session is resumed' test $unread = 0
check 'there were turns to lose' test $seen -ge $times
