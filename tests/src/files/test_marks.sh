#!/usr/bin/env bash
# A byte order mark, with which some editors begin a text, is no part of it: in each text that the program keeps or that is
# written for it (the list of servers: test_agreed.c). And an empty name of a session is none.
. tests/scratch.sh
works() { # name, command...
    local name=$1
    shift
    "$@" >"$tmp/out" 2>&1
    local status=$?
    check "$name" test $status = 0
    [[ $status == 0 ]] || head -3 "$tmp/out" | sed 's/^/# /'
}
mark=$'\xef\xbb\xbf'
config=$tmp/config/tandem state=$tmp/state/tandem
mkdir -p "$config/prompts" "$state/sessions"

printf '%stemp = 0.25\n' "$mark" >"$config/config"
holds 'the configuration' "$("$program" config temp)" '0.25'
printf '%s# a comment\r\nmodel = %s\r\n' "$mark" "$tiny" >"$config/config"
holds 'and one that begins with a comment' "$("$program" config model)" "$tiny"
: >"$config/config"
printf '%s---\nmax-tokens = 1\n---\nSay {{input}}' "$mark" >"$config/prompts/say.md"
works 'a prompt' "$program" run -r say -m "$tiny" -n 1 x
printf '%s%s\n' "$mark" "$(realpath tests/goldens/gguf/tiny-d-q8_0.gguf)" >"$state/models"
holds 'models that were used' "$("$program" models)" tiny-d-q8_0.gguf
printf '%s%s\n' "$mark" "$tiny" >"$state/model"
holds 'the one that was used last' "$("$program" run -n 1 x 2>&1)" tiny-a
rm "$state/model"
printf '%s{"format":"tandem session","version":1,"name":"marked","created":1,"changed":1,"model":{"name":"m",
    "fingerprint":"f"},"settings":{},"leaf":1,"messages":[{"id":1,"parent":0,"role":"user","text":"hi"}]}' "$mark" \
    >"$state/sessions/20250101-000001-1.json"
check 'a session' test "$("$program" --complete-sessions)" = marked
printf '%s{"turns":[{"text":"x"}],"max_tokens":2}' "$mark" >"$tmp/script.json"
works 'a script' "$program" run -m "$tiny" --script "$tmp/script.json"
printf '%s[{"role":"user","content":"Hi"}]' "$mark" >"$tmp/m.json"
works 'messages' "$program" render --messages "$tmp/m.json"
printf '%s1,2,3' "$mark" >"$tmp/ids"
works 'ids' "$program" eval -m "$tiny" --ids-file "$tmp/ids" --perplexity
printf '%s{%% for m in messages %%}{{ m.content }}{%% endfor %%}' "$mark" >"$tmp/t.jinja"
check 'a template' test "$("$program" render --template "$tmp/t.jinja" --messages "$tmp/m.json")" = Hi
check 'but a text that is evaluated is as it is' test \
    "$(printf '%sone' "$mark" | "$program" tokenize -m "$tiny")" != "$(printf one | "$program" tokenize -m "$tiny")"

for words in '--resume=' '--resume '; do
    # shellcheck disable=SC2086 # an empty word behind --resume
    if [[ $words == *= ]]; then out=$("$program" --plain -m "$tiny" $words 2>&1 </dev/null); else
        out=$("$program" --plain -m "$tiny" --resume '' 2>&1 </dev/null); fi
    status=$?
    check 'an empty name of a session is wrong use' test $status = 2
    check 'in one line' test "$out" = "tandem: --resume: '' is not allowed; expected a name, or nothing"
done
