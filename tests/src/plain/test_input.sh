#!/usr/bin/env bash
# What comes by standard input is cleaned as pastes are: line ends of other systems, NUL, a byte order mark, bytes that
# are no UTF-8. `run` and `chat --plain`, prompts of the library and words of the command line.
. tests/scratch.sh

# run: the model sees the same text
asked() {
    "$program" run -m "$tiny" --seed 3 -n 12 --json "$@" | tail -1 | grep -o '"prompt_tokens":[0-9]*\|"text":"[^"]*"'
}
same() { # name, the clean text, the other one; for printf
    check "run: $1" test "$(printf "$2" | asked)" = "$(printf "$3" | asked)"
    check "run: $1, behind words" test "$(printf "$2" | asked Say -)" = "$(printf "$3" | asked Say -)"
    check "run: $1, on the command line" test "$(asked "$(printf "$2")")" = "$(asked "$(printf "$3" | tr -d '\0')")"
}
same 'line ends of Windows' 'one\ntwo\nthree' 'one\r\ntwo\r\nthree'
same 'carriage returns alone' 'one\ntwo\nthree' 'one\rtwo\rthree'
same 'zero bytes' 'one two' 'on\0e t\0wo\0'
same 'a byte order mark' 'one two' '\357\273\277one two'
same 'no UTF-8' 'one \357\277\275 two \357\277\275' 'one \377 two \303'
check 'and other texts are other texts' test "$(printf 'one\ntwo' | asked)" != "$(printf 'one two' | asked)"
"$program" run -m "$tiny" <<<$'\357\273\277\r' >"$tmp/out" 2>"$tmp/err"
check 'run: a mark and a line end are no prompt' test $? = 2 -a ! -s "$tmp/out" -a "$(wc -l <"$tmp/err")" = 1
mkdir -p "$XDG_CONFIG_HOME/tandem/prompts"
echo 'Say: {{input}}' >"$XDG_CONFIG_HOME/tandem/prompts/mine.md"
check 'run: in a prompt of the library' test "$(printf 'one\r\ntwo' | asked -r mine --force)" = \
    "$(printf 'one\ntwo' | asked -r mine --force)"

# chat --plain: a line is a message, and is saved as it was sent
printf '\357\273\277Hello.\r\nHow \0are you?\r\r\na\rb\r\n\377\n\r\n\0\n/rename it\r\nthis\\\r\nis one\r\nthis ends so\\\\\r\nlast\r' |
    "$program" chat --plain -m "$tiny" --seed 3 -n 4 >"$tmp/out" 2>"$tmp/err"
check 'plain: status' test $? = 0
said=$(python3 - "$XDG_STATE_HOME"/tandem/sessions/*.json <<'P'
import json, sys
def find(o):
    if isinstance(o, dict):
        if o.get("role") == "user": yield o.get("text", o.get("content"))
        for v in o.values(): yield from find(v)
    elif isinstance(o, list):
        for v in o: yield from find(v)
with open(sys.argv[1], encoding="utf-8") as f: print(json.dumps(list(find(json.load(f)))))
P
)
holds 'plain: messages' "$said" '["Hello.", "How are you?\n", "a\nb", "\ufffd", "this\nis one", "this ends so\\", "last"]'
