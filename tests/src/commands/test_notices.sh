#!/usr/bin/env bash
# What of a model's files is left out is told by every command that opens it, and doesn't keep it from working.
. tests/scratch.sh
model=$tmp/model
cp -r "$tiny" "$model" && chmod -R u+w "$model"
rm -f "$model"/golden-*
printf '{"temperature": 0.5, "top_p": 7, "eos_token_id": [507, 9999]}' >"$model/generation_config.json"
printf '{,}' >"$model/tokenizer_config.json"
sampling="generation_config.json: top_p is left out: expected more than 0 to 1, found 7"
token="eos_token_id: the end token 9999 is left out: expected an id below 512"
file="left out: $model/tokenizer_config.json: byte 1: "
told() { # what, output
    holds "$1: the key" "$2" "$sampling"
    holds "$1: the token" "$2" "$token"
    holds "$1: the file" "$2" "$file"
}

ids=1,2,3,4,5,6,7,8,9,10
plain=$("$program" eval -m "$tiny" --ids $ids --perplexity)
out=$("$program" eval -m "$model" --ids $ids --perplexity 2>"$tmp/err")
check 'the perplexity is as without the file' test "$out" = "$plain"
told eval "$(<"$tmp/err")"
told info "$("$program" info -m "$model")"
told 'info --json' "$("$program" info -m "$model" --json | sed 's/\\//g')"
holds 'what was good is used' "$("$program" info -m "$model")" 'temperature 0.5, top-k 0, top-p 1,'
told run "$("$program" run -m "$model" -n 2 hello 2>&1)"
told plain "$(echo hello | "$program" chat --plain -m "$model" -n 2 2>&1)"
told convert "$("$program" convert "$model" "$tmp/out.gguf" 2>&1)"
told tokenize "$("$program" tokenize -m "$model" hello 2>&1)"
check 'without damage nothing is told' test -z "$("$program" tokenize -m "$tiny" hello 2>&1 >/dev/null)"
