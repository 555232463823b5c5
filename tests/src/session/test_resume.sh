#!/usr/bin/env bash
# What stays of a session and what it is worth: files and their modes, a state that resumes it without prefill, one that
# does not fit, a session that is open elsewhere, --private; and /units, which counts what was read.
. tests/scratch.sh
sessions=$tmp/state/tandem/sessions
long=$(printf 'word %d, ' {1..60})

chat() { # options...: the lines of standard input, in $out and $err
    "$program" chat --plain -m "$tiny" -n 5 --ignore-eos --seed 1 "$@" >"$tmp/out" 2>"$tmp/err"
    status=$?
    out=$(<"$tmp/out") err=$(<"$tmp/err")
}
tokens() { # unit, kind: what /units told last
    awk -v unit="$1:" -v kind="$2 " '/^[A-Z]+: /{at = $1} index($0, kind) == 1 && at == unit {n = $(NF - 1)}
        END {print n + 0}' <<<"$out"
}

# /units: before and after a turn, and what its lines are.
chat --private <<<'/units'
holds '/units: the prefill unit' "$out" 'PREFILL: cpu:'
holds '/units: the decode unit' "$out" 'DECODE: cpu:'
holds '/units: no ceilings yet' "$out" 'ceilings: not measured yet (/units measure)'
check '/units: nothing is decoded yet' test "$(tokens DECODE writes)" = 0
chat --private < <(printf '%s\n' "$long" /units)
check '/units: a table of 36 columns' test "$(sed -n '/spans  *tokens/,/^[A-Za-z]*:/p' <<<"$out" | grep -v : | wc -L)" = 36
# The last of the four tokens after the first may not have been counted yet when the reply ends.
check '/units: tokens that were decoded' test "$(tokens DECODE writes)" -ge 3 -a "$(tokens DECODE writes)" -le 4
check '/units: one hand-over' grep -qE '^to DECODE +1 +0 ' "$tmp/out"
read_cold=$(( $(tokens PREFILL 'reply, history') + $(tokens PREFILL draft) + $(tokens PREFILL 'end of prompt') + $(tokens PREFILL prompt) ))
check '/units: the whole prompt was read' test "$read_cold" -gt 200
chat --private < <(printf '%s\n' "$long" /units) --pipeline single
check '/units: in the pipeline single the decode unit reads it' test "$(tokens DECODE prompt)" -gt 200 -a "$(tokens PREFILL 'reply, history')" = 0
check '--private writes nothing' test -z "$(find "$tmp" -type f ! -path "$tmp/out" ! -path "$tmp/err")"

# A session of one long turn, gone on with by a program that fits its state, and by one that does not.
chat <<<"$long"
check 'a session and its state are kept' test "$(find "$sessions" -name '*.json' | wc -l) $(find "$sessions" -name '*.state' | wc -l)" = '1 1'
check 'files are for the user alone' test "$(stat -c %a "$sessions" "$sessions"/*.json "$sessions"/*.state | tr '\n' ' ')" = '700 600 600 '
cp -r "$tmp/state" "$tmp/kept"
chat --resume < <(printf '%s\n' More /units)
read_on=$(( $(tokens PREFILL 'reply, history') + $(tokens PREFILL 'end of prompt') ))
check 'resumed: what the state holds is not read again' test $status = 0 -a "$read_on" -lt 100
for other in '--kv q8_0' '--kernels reference' '--quant q8_0'; do
    rm -rf "$tmp/state"
    cp -r "$tmp/kept" "$tmp/state"
    chat --resume $other < <(printf '%s\n' More /units)
    check "resumed with $other: all is read, without a word" test $status = 0 -a "$(tokens PREFILL 'reply, history')" -gt 200 \
        -a "$(grep -vcE "^resumed '|^\((cut off|reading)|^(first|resumed|warm|cold) " "$tmp/err")" = 0
done

# Open in another program, which is held by its standard input.
mkfifo "$tmp/keys"
"$program" chat --plain -m "$tiny" --resume <"$tmp/keys" >/dev/null 2>"$tmp/first" &
first=$!
exec 3>"$tmp/keys"
while ! grep -q resumed "$tmp/first" && kill -0 $first 2>/dev/null; do sleep 0.02; done
chat --resume <<<'On a copy'
holds 'a session that is open elsewhere opens as a copy' "$err" 'is open in another program: this is a copy'
exec 3>&-
wait $first
check 'and is kept as one of its own' test "$(find "$sessions" -name '*.json' | wc -l)" = 2
