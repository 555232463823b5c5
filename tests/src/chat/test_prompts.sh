#!/usr/bin/env bash
# Prompts of the library through the program: /p line by line, `run -r`, what comes with the program.
. tests/scratch.sh
folder=$XDG_CONFIG_HOME/tandem/prompts
mkdir -p "$folder"
cat >"$folder/capital.md" <<'P'
---
description = the capital of a country
temp = 0
think = on
system = You are friendly.
---
What is the capital of {{input}}?
P
printf 'Which colour does {{file:%s}} name?\n' "$tmp/a.txt" >"$folder/colour.md"
printf '/delete this\n' >"$folder/slash.md"
printf -- '---\ntemp = 200\n---\nx\n' >"$folder/wrong.md"
printf 'red\n' >"$tmp/a.txt"

# run
ln -sfn "$PWD/assets/tandem-demo-51m-q6_k.gguf" "$tmp/link.gguf"
cp assets/tandem-demo-51m-q6_k.gguf "$tmp/copy.gguf"
for model in '' "-m builtin" "-m assets/tandem-demo-51m-q6_k.gguf" "-m $tmp/link.gguf" "-m $tmp/copy.gguf"; do
    "$program" run $model -r capital Peru >"$tmp/out" 2>"$tmp/err"
    check "run -r: the built-in model is too small ($model)" test $? = 1 -a ! -s "$tmp/out" -a "$(<"$tmp/err")" = \
        'tandem: -r capital needs a larger model than the built-in one: name one with -m (`tandem pull` fetches one); --force does it all the same'
done
check 'run -r: another model is not asked about' "$program" run -m $tiny -n 3 -r colour x >/dev/null
holds 'run -r: the text is the input' "$("$program" run --force -r capital Peru)" 'Lima'
holds 'run -r: so is standard input' "$(echo Peru | "$program" run --force --prompt capital)" 'Lima'
check 'run -r: the command line goes before' test "$("$program" run --force -r capital --temp 2 --seed 1 -n 20 --ignore-eos Peru)" != \
    "$("$program" run --force -r capital -n 20 --ignore-eos Peru)"
check 'run -r: a file goes before it' test "$("$program" run --force --temp 0 -n 9 -r colour x)" = \
    "$(printf 'a.txt:\n\nred\n\n\nWhich colour does a.txt name?\n\nx' | "$program" run --temp 0 -n 9)"
"$program" run -r wrong x >"$tmp/out" 2>"$tmp/err"
check 'run -r: a wrong file' test $? = 1 -a ! -s "$tmp/out" -a \
    "$(<"$tmp/err")" = "tandem: $folder/wrong.md:2: temp: expected 0 to 100, found '200'"
"$program" run -r ../capital x 2>"$tmp/err"
check 'run -r: a name is no path' test $? = 2 -a "$(wc -l <"$tmp/err")" = 1

# /p
for model in builtin "$tmp/copy.gguf"; do
    said=$(printf '%s\n' '/p capital Peru' '/set temp' | "$program" chat --plain --private -m "$model" --temp 1 2>&1)
    holds "/p: the built-in model is too small ($model)" "$said" \
        '/p capital needs a larger model than the built-in one: /model lists some; /p --force capital does it all the same'
    check "/p: nothing is set or sent then ($model)" test "$said" = "${said/Lima/}" -a "$(grep -c '^temp: 1 ' <<<"$said")" = 1
done
said=$(printf '%s\n' '/p colour x' | "$program" chat --plain --private -m "$tiny" -n 3 2>&1)
holds '/p: another model is not asked about' "$said" 'colour: 1 attachment'
said=$(printf '%s\n' /p '/p --force capital Peru' '/set temp' /system '/p --force colour' '/p --force slash' '/p capitol' /p\ wrong |
    "$program" chat --plain --temp 1 2>"$tmp/err")
holds '/p: lists them' "$said" '  capital          the capital of a country'
holds '/p: lists those of the program' "$said" '  summary          '
holds '/p: says what is wrong with one' "$said" "  wrong            wrong.md:2: temp: expected 0 to 100"
holds '/p: says what is set' "$said" 'capital: think not with this model, temp 0, the system prompt'
holds '/p: is sent where there is no input' "$said" 'Lima'
check '/p: settings hold from then on' grep -q '^temp: 0 ' <<<"$said"
holds '/p: the system prompt too' "$said" 'system prompt: You are friendly.'
holds '/p: attaches' "$said" 'colour: 1 attachment'
holds '/p: no such prompt' "$(<"$tmp/err")" "there is no prompt 'capitol'; did you mean 'capital'?"
session=$(cat "$XDG_STATE_HOME"/tandem/sessions/*.json)
holds '/p: attachments go before the message' "$session" '"a.txt:\n\nred\n\n\nWhich colour does a.txt name?"'
holds '/p: a text with a slash is no command' "$session" '" /delete this"'

# What is read again is said.
said=$(printf '%s\n' 'Hello.' '/p --force capital Peru' '/p --force capital Peru' | "$program" chat --plain --private -n 3 2>/dev/null)
check '/p: tokens that are read again' \
    test "$(grep -cE '^capital: .*, the system prompt, ([0-9]+) of \1 tokens are read again$' <<<"$said")" = 2

# What comes with the program, each of them a prompt.
for file in assets/prompts/*.md; do
    name=$(basename "$file" .md)
    check "assets: $name" "$program" run --force -r "$name" -n 1 x >/dev/null
    check "assets: $name has a description" grep -q '^description = ' "$file"
done

# A prompt that names a model.
printf -- '---\nmodel = %s\n---\nSay {{input}}\n' "$tiny" >"$folder/other.md"
said=$(printf '%s\n' '/p other x' /model | "$program" chat --plain --private -n 3 2>/dev/null)
holds '/p: goes on with its model' "$said" "going on with "
check '/p: and stays with it' test "$(grep -c '^builtin.* in use' <<<"$said")" = 0 -a "$(grep -c '^builtin ' <<<"$said")" = 1
holds 'run -r: takes its model' "$("$program" run -v -n 3 -r other x 2>&1)" 'output tokens'
