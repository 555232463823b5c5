#!/usr/bin/env bash
# Scripted conversations with every action: queue, send now, stop, continue, regenerate, undo, redo, branch, wrong keys and
# pastes. Ids, logits and replies of each turn are those of the plainest run (one unit, nothing read ahead), whatever the
# typing, for each native kernel set.     TANDEM_LONG=1: all sets, 20 seeds each, instead of two sets and one seed.
. tests/scratch.sh
seeds=1

script() { # seed, characters a second
    cat <<END
{"system": "Be brief.", "history": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}],
 "max_tokens": 24, "temperature": 0.8, "seed": $1, "typing_cps": $2, "turns": [
  {"text": "Hello there, what is this?"},
  {"text": "Tell me mor", "pause": 0.02, "events": [
    {"at_chars": 5, "do": "delete", "chars": 2}, {"at_chars": 8, "do": "insert", "text": "pasted caf\u00e9 text\n"},
    {"after_tokens": 7, "do": "stop"}, {"do": "continue"}]},
  {"text": "And then?", "start_after_tokens": 4, "events": [{"do": "regenerate"}, {"do": "undo"}, {"do": "redo"}]},
  {"text": "The first half. The second half.", "events": [{"at_chars": 15, "do": "send"}]},
  {"text": "Stop that!", "start_after_tokens": 2, "events": [{"after_tokens": 6, "do": "send_now"}]},
  {"text": "Something else, then", "speculation": "draft", "events": [{"do": "branch", "turn": 2}]},
  {"text": "And on this branch?", "speculation": "full", "events": [{"do": "continue"}]}]}
END
}
play() { # output, seed, characters a second, options
    local out=$1
    script "$2" "$3" >"$tmp/script.json"
    "$program" run --script "$tmp/script.json" --json -m "$tiny" "${@:4}" >"$out" 2>"$tmp/err"
}
# What a conversation says: all that does not depend on how fast it is played.
said() {
    python3 -c 'import json, sys
for line in open(sys.argv[1]):
    turn = json.loads(line)
    if "turn" in turn:
        print(turn["turn"], turn["prompt_tokens"], turn["reply_tokens"], turn["ids_hash"], turn["logits_hash"], turn["reply"])
    else:
        print(turn["turns"])' "$1"
}

sets=$("$program" info --cpu | sed -n 's/^kernel sets *\(.*\) (chosen.*/\1/p')
chosen=$("$program" info --cpu | sed -n 's/.*(chosen: \(.*\))/\1/p')
if [[ ${TANDEM_LONG:-} ]]; then seeds=20; else sets="scalar $chosen"; fi
played=0 different=0
for set in $sets; do
    for (( seed = 1; seed <= seeds; seed++ )); do
        play "$tmp/plain" $seed 0 --kernels $set --pipeline single --speculation off && said "$tmp/plain" >"$tmp/wanted" ||
            { (( different++ )); echo "# $(head -c 300 "$tmp/err")"; continue; }
        for cps in 0 1500 300; do
            play "$tmp/out" $seed $cps --kernels $set --pause 3 && said "$tmp/out" >"$tmp/found"
            (( played++ ))
            cmp -s "$tmp/wanted" "$tmp/found" || { (( different++ )); echo "# $set, seed $seed, $cps characters a second"; }
        done
    done
done
echo "# $played conversations"
check 'kernel sets were found' test -n "$chosen"
check 'the same conversation however it is played' test $different = 0

# Twelve replies ended: 7 turns, one of them sent in two, and continue, regenerate, continue; each in its order.
actions() { grep -o '"do":"[a-z]*"' "$tmp/out" | cut -d'"' -f4 | tr '\n' ' '; }
check 'each action has its line' test "$(actions)" = 'send send continue send regenerate send send send send send continue '
# The reply that send_now ended, the one that was stopped, and the whole ones.
tokens() { grep -o '"reply_tokens":[0-9]*' "$tmp/out" | cut -d: -f2 | tr '\n' ' '; }
check 'replies end where the script says' test "$(tokens)" = '24 7 24 24 24 24 6 24 24 24 24 '
echo '{"turns": [{"text": "x", "events": [{"do": "branch", "turn": 9}]}]}' >"$tmp/script.json"
wrong() { ! "$program" run --script "$tmp/script.json" --json -m "$tiny" >/dev/null 2>"$tmp/err" && grep -q 'there is no turn 9' "$tmp/err"; }
check 'a turn that is not there is told' wrong
