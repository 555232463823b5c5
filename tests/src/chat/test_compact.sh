#!/usr/bin/env bash
# /compact line by line: a summary is drafted, takes the place of the older turns, and the version before stays a branch.
. tests/scratch.sh
turns=("Hello, I'm Tomek." 'What is the capital of Peru?' 'My dog is called Bruno.' 'Hi.')
talk() { printf '%s\n' "$@" | "$program" chat --plain --temp 0 2>"$tmp/err"; }

talk "${turns[@]:0:2}" /compact '/compact Nothing.' >/dev/null
check 'the last turns stay' test "$(grep -cx 'there is nothing to sum up: the last 2 turns stay as they are' "$tmp/err")" = 2

said=$(talk "${turns[@]}" '/compact Tomek asked for the capital of Peru.' /branch 'And what is my dog called?' '/find Lima')
holds 'older turns become a summary' "$said" '2 turns became a summary; /branch 1 goes back'
holds 'the version before is a branch' "$said" "  1/2  ${turns[0]}"
holds 'the summary begins the other' "$said" '* 2/2  Summary of our conversation so far:'
holds 'the last turns are there' "$said" 'Bruno'
holds 'the older ones are not' "$said" 'not found'
session=$(cat "$XDG_STATE_HOME"/tandem/sessions/*.json | tr -d '\n')
holds 'the summary stands before the first kept message' "$session" \
    '"Summary of our conversation so far:\n\nTomek asked for the capital of Peru.\n\nMy dog is called Bruno."'
check 'the figures of all turns but one' test "$(grep -cE '^(first|warm|cold|resumed) ' "$tmp/err")" = 5

rm -rf "$XDG_STATE_HOME"
talk "${turns[@]}" /compact '/find Nothing' >"$tmp/out"
check 'the built-in model says that a larger one is needed' test "$(grep -c 'larger model' "$tmp/err")" = 1
check 'in one line' grep -qx 'a summary needs a larger model than the built-in one: /model lists some; /compact --force drafts it anyway, /compact TEXT takes yours' "$tmp/err"
check 'and drafts nothing' test "$(grep -cE '^(first|warm|cold|resumed) ' "$tmp/err")" = 4

rm -rf "$XDG_STATE_HOME"
talk "${turns[@]}" '/compact --force' /undo '/find Tomek' >"$tmp/out"
session=$(cat "$XDG_STATE_HOME"/tandem/sessions/*.json | tr -d '\n')
holds 'the summary is a draft' "$session" '"draft": "/compact '
holds 'its turn is taken back, then the one before' "$(tail -3 "$tmp/out")" 'turn 1, you: '
check 'which is not the summary' test "$(grep -c 'turn 4' "$tmp/out")" = 0

# The offer comes once, before the context is full; where the oldest turns are dropped it doesn't come.
for full in stop drop-oldest; do
    printf '%s\n' "${turns[@]}" "${turns[@]}" | "$program" chat --plain --private --temp 0 -c 200 --on-full $full \
        >/dev/null 2>"$tmp/$full"
done
check 'it is offered once' test "$(grep -c '(the context is 85 % full: /compact' "$tmp/stop")" = 1
check 'not where turns are dropped' test "$(grep -c '/compact' "$tmp/drop-oldest")" = 0
