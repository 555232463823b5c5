#!/usr/bin/env bash
# A key that this program doesn't know refuses a model by its name and value; --accept-unknown loads it in every command
# and front end that opens models, and `info` lists what is left out.
. tests/scratch.sh
model=$tmp/model
cp -r "$tiny" "$model" && chmod -R u+w "$model"
sed -i 's/"attention_bias": false,/"attention_bias": false, "logits_scaling": 8.0, "residual_multiplier": 0.22,/' \
    "$model/config.json"
refusal='config.json: field logits_scaling: 8.0 is not known, and may change replies (--accept-unknown logits_scaling '
echo '[{"role": "user", "content": "Hello"}]' >"$tmp/messages.json"
all=(--accept-unknown logits_scaling --accept-unknown residual_multiplier)

both() { # name, command: refused without the options, and as it is with them
    local name=$1 out
    shift
    out=$("$program" "$@" 2>&1 </dev/null)
    check "$name: the status" test $? = 1
    holds "$name: the name and the value" "$out" "$refusal"
    check "$name: one line" test "$(wc -l <<<"$out")" = 1
    out=$("$program" "$@" --accept-unknown logits_scaling 2>&1 </dev/null)
    holds "$name: each must be named" "$out" 'field residual_multiplier: 0.22 is not known'
    check "$name: accepted" "$program" "$@" "${all[@]}" </dev/null >"$tmp/out" 2>&1
}
both eval eval -m "$model" --ids 1,2,3,4,5,6,7,8,9,10 --perplexity
holds 'the numbers are those without it' "$(<"$tmp/out")" \
    "$("$program" eval -m "$tiny" --ids 1,2,3,4,5,6,7,8,9,10 --perplexity)"
both run run -m "$model" -n 2 hello
both plain chat --plain -m "$model" -n 2
both tokenize tokenize -m "$model" hello
both render render -m "$model" --messages "$tmp/messages.json"
both convert convert "$model" "$tmp/out.gguf"
both info info -m "$model"
holds 'info lists what was accepted' "$(<"$tmp/out")" \
    'accepted           logits_scaling = 8.0, residual_multiplier = 0.22: not known, and may change replies'
holds 'and what has no effect' "$(<"$tmp/out")" 'left out           architectures, transformers_version: tells of how'
holds 'as JSON too' "$("$program" info -m "$model" --json "${all[@]}" | tr -d ' \n')" \
    '{"name":"logits_scaling","value":"8.0","why":"accepted"}'
check 'a pattern' "$program" eval -m "$model" --ids 1,2,3 --perplexity --accept-unknown '*_scaling' \
    --accept-unknown 'residual*' >"$tmp/out" 2>&1

holds 'the lists of models say why' "$("$program" models --model-folders "$tmp" 2>&1)" 'field logits_scaling'
said=$(printf '/model %s\n' "$model" | "$program" chat --plain -m "$tiny" 2>&1)
holds '/model refuses it' "$said" "$refusal"
said=$(printf '/model %s\nhello\n' "$model" | "$program" chat --plain -m "$tiny" -n 2 "${all[@]}" 2>&1)
check '/model takes it' test -z "$(grep 'logits_scaling' <<<"$said")"
