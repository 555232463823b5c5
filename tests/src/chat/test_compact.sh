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
talk "${turns[@]}" '/compact --force' /stats /undo '/find Tomek' >"$tmp/out"
holds 'it is counted as no turn' "$(cat "$tmp/out" "$tmp/err")" 'since the start: 4 turns'
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
check 'not where turns are dropped' test "$(grep -c ' % full: /compact' "$tmp/drop-oldest")" = 0 -a \
    "$(grep -c 'messages are left out' "$tmp/drop-oldest")" -gt 0

# With a full context the summary is drafted behind as many turns as leave room for it, and stands for these.
rm -rf "$XDG_STATE_HOME"
many=("${turns[@]}" 'What is the capital of Italy?' 'And of Peru?')
printf '%s\n' "${many[@]}" '/compact --force' /branch | "$program" chat --plain --temp 0 -c 160 --max-tokens 10 >"$tmp/out" 2>"$tmp/err"
check 'a full context is summed up, too' test "$(grep -c 'no room left' "$tmp/err")" = 0
session=$(cat "$XDG_STATE_HOME"/tandem/sessions/*.json | tr -d '\n')
holds 'as a draft' "$session" '"draft": "/compact '
check 'its request is no part of the conversation' test "$(grep -c 'Sum up our conversation' <<<"$session")" = 0
check 'and no branch' grep -q 'there are no branches' "$tmp/err"

# After /regen: back is where it was.
rm -rf "$XDG_STATE_HOME"
said=$(talk "${turns[@]}" /regen '/compact --force' '/compact Tomek, Bruno.' '/branch 1' /branch)
holds 'the way back is named' "$said" '2 turns became a summary; /branch 1 goes back'
holds 'it leads to the reply that was there' "$said" '* 2/2  '
