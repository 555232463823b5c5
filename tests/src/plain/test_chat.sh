#!/usr/bin/env bash
# `run` and `chat --plain` with the built-in model: answers, JSON, pipes, memory of a name, sessions, scripts.
. tests/scratch.sh

json() { # a python expression over `lines`, the objects on standard input
    python3 -c "import json,sys; lines=[json.loads(l) for l in sys.stdin]; sys.exit(not ($1))"
}

# run
answer=$("$program" run --temp 0 'What is the capital of Peru?' 2>"$tmp/err")
check 'run: status' test $? = 0 -a ! -s "$tmp/err"
holds 'run: answer' "$answer" 'Lima'
holds 'run: standard input' "$(echo 'What is the capital of Peru?' | "$program" run --temp 0)" 'Lima'
holds 'run: prompt and standard input' "$(echo 'of Peru?' | "$program" run --temp 0 'What is the capital' -)" 'Lima'
holds 'run: -n' "$("$program" run --temp 0 -n 3 --json 'Tell me a story.' | tail -1)" '"output_tokens":3,'
stopped=$("$program" run --temp 0 --stop Lima 'What is the capital of Peru?')
check 'run: --stop' test -n "$stopped" -a "${stopped#*Lima}" = "$stopped"
story=$("$program" run --seed 5 -n 20 'Tell me a story.')
check 'run: same seed, same text' test -n "$story" -a "$story" = "$("$program" run --seed 5 -t 1 -n 20 'Tell me a story.')"
"$program" run --think x >"$tmp/out" 2>"$tmp/err"
check 'run: a model without thinking' test $? = 1 -a ! -s "$tmp/out" -a "$(wc -l <"$tmp/err")" = 1
"$program" run '' >"$tmp/out" 2>"$tmp/err"
check 'run: empty prompt' test $? = 2 -a ! -s "$tmp/out"
"$program" run -n 5 Hello >/dev/full 2>"$tmp/err"
check 'run: full disk' test $? = 1 -a "$(wc -l <"$tmp/err")" = 1
"$program" run -v -n 5 Hello >/dev/null 2>"$tmp/err"
check 'run: -v' grep -qE '^[0-9]+ prompt tokens, [0-9]+ tok/s \| first token after [0-9.]+ ms \| [0-9]+ output tokens' "$tmp/err"
context=$("$program" run -c 64 --temp 0 --ignore-eos --json 'Tell me a long story.' 2>"$tmp/err")
holds 'run: the context ends' "$(tail -1 <<<"$context")" '"reason":"context"'
check 'run: says that the context is full' grep -q 'the context is full' "$tmp/err"
# A notice stands on a line of its own, behind the answer.
brief=(-c 64 -n 36 --temp 0 --ignore-eos)
notice='the context is 87 % full: 56 of 64 tokens'
check 'run: a notice is a line' grep -qx "tandem: $notice" <<<"$("$program" run "${brief[@]}" 'Tell me a story.' 2>&1)"
check 'a notice is a line' grep -qx "$notice" \
    <<<"$(echo 'Tell me a story.' | "$program" chat --plain --private "${brief[@]}" 2>&1)"
# Such a penalty makes a token more likely each time that it came: a reply without end.
forms=tests/engine/text/template/templates
like_built_in=(-m $tiny --template $forms/qwen35.jinja) # where nobody reads what it says
loops=("${like_built_in[@]}" -t 1 --temp 0 --frequency-penalty -10 -c 6400) # two cores would wait for each other
endless=(run "${loops[@]}" --loop-guard off)
ended() { tail -1 | grep -oE '"reason":"[a-z]+"|"output_tokens":[0-9]+' | tr '\n' ' '; }
"$program" "${endless[@]}" --json Hello >"$tmp/out" 2>"$tmp/err"
check 'run: an answer ends after 4096 tokens' test "$(ended <"$tmp/out")" = '"reason":"length" "output_tokens":4096 '
check 'run: says so' test "$(<"$tmp/err")" = 'tandem: the answer ends here, after 4096 tokens; -n allows more'
"$program" "${endless[@]}" --json -n 4140 Hello >"$tmp/out" 2>"$tmp/err"
check 'run: -n allows more' test "$(ended <"$tmp/out")" = '"reason":"length" "output_tokens":4140 '
check 'run: and then says nothing' test ! -s "$tmp/err"
holds 'run: --ignore-eos has no such end' "$("$program" "${endless[@]}" -c 4200 --json --ignore-eos Hello 2>/dev/null | ended)" \
    '"reason":"context"'
holds 'run: thinking is not counted' "$("$program" "${endless[@]}" -c 4200 --json --think Hello 2>/dev/null | ended)" \
    '"reason":"context"'
"$program" run "${loops[@]}" --json Hello >"$tmp/out" 2>"$tmp/err"
check 'run: an answer that only repeats itself ends' test $? = 0 -a "$(ended <"$tmp/out")" = \
    '"reason":"repeats" "output_tokens":1000 '
check 'run: says so in one line' test "$(<"$tmp/err")" = \
    'tandem: the answer only repeated itself: it ends here; --loop-guard off lets it go on'
holds 'run: with drafts and without' "$("$program" run "${loops[@]}" --json --mtp off Hello 2>/dev/null | tail -1)" \
    "$(tail -1 "$tmp/out" | grep -o '"text":"[^"]*","reason":"repeats"')"
said=$(printf '%s\n' Hello /continue '/set loop-guard' '/set loop-guard off' /continue '/set loop-guard' |
    "$program" chat --plain --private "${loops[@]}" -n 1100 2>&1 | tr -d '\0')
check 'it is one line, and /continue goes on' test 2 = \
    "$(grep -cx '(it only repeated itself; /continue goes on, /set loop-guard off lets it)' <<<"$said")"
holds '/set: the loop guard' "$said" 'loop-guard: on (off, on)'
holds 'off it is cut off' "$said" '(cut off at 1100 tokens; /continue goes on)'
printf 'Hello\n' | XDG_STATE_HOME=$tmp/loops "$program" chat --plain "${loops[@]}" >/dev/null 2>&1
check 'a session keeps the reason' grep -q '"finish": *"repeats"' "$tmp"/loops/tandem/sessions/*.json
printf '/continue\n' | XDG_STATE_HOME=$tmp/loops "$program" chat --plain --resume "${loops[@]}" -n 1500 >/dev/null 2>"$tmp/err"
check 'and a loaded one goes on' grep -q 'repeated itself\|cut off' "$tmp/err"
if command -v python3 >/dev/null; then
    "$program" run --temp 0 --json 'What is the capital of Peru?' >"$tmp/out"
    check 'run --json: the tokens make the text' \
        json '"".join(l["text"] for l in lines[:-1]) == lines[-1]["text"] and lines[-1]["reason"] == "end"' <"$tmp/out"
    check 'run --json: fields' json 'all(k in lines[-1] for k in ("prompt_tokens", "output_tokens", "ttft_ms",
        "prefill_tps", "decode_tps")) and all(l["event"] == "token" and l["id"] >= 0 for l in lines[:-1])' <"$tmp/out"
    cat >"$tmp/script.json" <<'S'
{"max_tokens": 12, "temperature": 0, "seed": 1, "typing_cps": 200, "turns": [
  {"text": "Hello, I am Tomek.", "pause": 0.1},
  {"text": "What is prefill?", "pause": 0.1, "start_after_tokens": 3, "events": [{"at_chars": 4, "do": "delete", "chars": 4},
   {"at_chars": 4, "do": "insert", "text": "What"}]},
  {"text": "And decode?", "events": [{"do": "stop", "after_tokens": 5}, {"do": "regenerate"}]}]}
S
    for level in off full; do
        "$program" run --script "$tmp/script.json" --json --speculation $level --trace "$tmp/trace.json" --overwrite \
            >"$tmp/$level"
        check "script: status ($level)" test $? = 0
    done
    check 'script: fields' json 'len(lines) == 5 and lines[-1]["summary"] and all(k in l for l in lines[:-1] for k in ("turn",
        "ttft_engine_ms", "prompt_tokens", "evaluated_before_enter", "adopted_tokens", "evaluated_after_enter", "wasted_tokens",
        "reply_tokens", "decode_tps", "lag_max", "handover_ms", "reply", "ids_hash", "logits_hash"))' <"$tmp/full"
    check 'script: lengths' json '[l["reply_tokens"] for l in lines[:-1]] == [12, 12, 5, 5]' <"$tmp/full"
    same() { python3 -c 'import json,sys; print([(l["ids_hash"], l["logits_hash"], l["reply"]) for l in map(json.loads, sys.stdin)
        if "turn" in l])'; }
    check 'script: speculation changes nothing' test "$(same <"$tmp/off")" = "$(same <"$tmp/full")"
    check 'trace' python3 -c 'import json,sys; t=json.load(open(sys.argv[1]))["traceEvents"]
names={e["args"]["name"].split()[0] for e in t if e["ph"]=="M"}
sys.exit(not (names == {"prefill", "decode", "turns"} and any(e["name"]=="decode" and e["dur"]>0 for e in t if e["ph"]=="X")))' \
        "$tmp/trace.json"
else
    echo 'skip json: python3 is not installed'
fi

# An effort stands in the system turn, so the conversation is another prompt: that it is read again is told.
cp -r tests/goldens/tiny-a "$tmp/efforts"
cp $forms/qwen38.jinja "$tmp/efforts/chat_template.jinja"
said=$(printf '%s\n' Hello '/think low' '/think low' '/set temp 0.5' | "$program" chat --plain --private -m "$tmp/efforts" \
    -n 5 --ignore-eos 2>&1)
check 'think: what is read again' test "$(grep -cE '^[0-9]+ of [0-9]+ tokens are read again$' <<<"$said")" = 1
said=$(printf '%s\n' /think '/think low' '/think off' | "$program" chat --plain --private -m $tiny \
    --template $forms/harmony.jinja 2>&1)
check 'think: off is in vain for some' test "$(grep -c '; this model thinks all the same$' <<<"$said")" = 2

# chat --plain, from a pipe
said=$(printf '%s\n' "Hello, I'm Tomek. My dog is called Bruno." 'What is the capital of Peru?' "What's my dog's name?" |
    "$program" chat --plain --temp 0 2>"$tmp/err")
check 'chat: three replies' test "$(wc -l <<<"$said")" -ge 3
holds 'chat: remembers a name' "$(tail -1 <<<"$said")" 'Bruno'
check 'chat: a line after each turn' test "$(grep -cE '^(first|warm|cold) [0-9,.]+ ms \| ' "$tmp/err")" = 3
said=$(printf '%s\n' "And what is mine?" | "$program" chat --plain --temp 0 --resume 2>"$tmp/err")
holds 'chat: resumes' "$(cat "$tmp/err")" "resumed 'Hello, I'm Tomek. My dog is called Bruno.'"
holds 'chat: still remembers' "$said" 'Bruno'
said=$(printf '%s\n' /sessions /undo '/find bruno' '/set temp 3x' '/set temp 0.5' '/speculation off' '/units' \
    "/export $tmp/out.md" "/export $tmp/out.html" '/rename dogs' /delete /delete /sessions /undelete '/undelete 1' \
    /sessions '/delete 1 --now' '/delete 1 --now' /undelete | "$program" chat --plain --resume 2>"$tmp/err")
check 'chat: /sessions' grep -qE '^ +1  .* 4 turns  Tandem Demo 51M .*\(this one\)$' <<<"$said"
holds 'chat: /undo' "$said" 'the last turn is taken back'
holds 'chat: /find' "$said" 'turn 1, you: Hello'
holds 'chat: /set refuses' "$(cat "$tmp/err")" "temp: '3x' is not allowed; expected 0 to 100"
check 'chat: /set' grep -qx 'temp: 0.5' <<<"$said"
check 'chat: /export' grep -q '^## You' "$tmp/out.md"
check 'chat: /export as a page' grep -q "<h2>You</h2>" "$tmp/out.html"
holds 'chat: /delete asks' "$said" "delete 'dogs' (3 turns)?"
holds 'chat: /delete' "$said" "it is in the trash for 30 days (/undelete); this is a new session"
holds 'chat: nothing is listed then' "$said" 'there is no saved session yet'
holds 'chat: /undelete' "$said" "'dogs' is back"
holds 'chat: /delete --now asks' "$said" "erase 'dogs' (3 turns) for good?"
holds 'chat: /delete --now' "$said" "'dogs' is erased"
holds 'chat: the trash' "$said" 'the trash is empty'
check 'chat: nothing stays of it' test -z "$(find "$tmp/state" -name '*.json')"

# A file that is there is overwritten by those alone who say so, and stays what it is.
ln -s /dev/null "$tmp/null.json"
mkdir "$tmp/folder.json"
for way in export trace; do
    echo mine >"$tmp/kept.json"
    chmod 640 "$tmp/kept.json"
    ln -sf kept.json "$tmp/link.json"
    said=$(printf '%s\n' Hello "/$way $tmp/kept.json" "/$way $tmp/link.json" | "$program" chat --plain --private \
        "${like_built_in[@]}" -n 5 --ignore-eos 2>&1)
    check "chat: /$way refuses" test "$(grep -c 'is there already; --force before the name overwrites it' <<<"$said")" = 2
    check "chat: /$way keeps the file" test "$(cat "$tmp/kept.json")" = mine
    said=$(printf '%s\n' Hello "/$way --force $tmp/link.json" "/$way $tmp/null.json" \
        "/$way $tmp/folder.json" | "$program" chat --plain --private \
        "${like_built_in[@]}" -n 5 --ignore-eos 2>"$tmp/err")
    check "chat: /$way --force" test "$(wc -c <"$tmp/kept.json")" -gt 100
    check "chat: /$way --force keeps mode and link" test "$(stat -c %a "$tmp/kept.json") $(readlink "$tmp/link.json")" = \
        '640 kept.json'
    check "chat: /$way into a device" test -c /dev/null -a -L "$tmp/null.json"
    holds "chat: /$way onto a folder" "$(cat "$tmp/err")" "$tmp/folder.json: expected a regular file, found a folder"
    said=$(printf '%s\n' Hello "/$way --force" "/$way ~/$way.json" "/$way ~/$way.json" | HOME=$tmp "$program" chat --plain \
        --private "${like_built_in[@]}" -n 5 --ignore-eos 2>&1)
    holds "chat: /$way --force needs a name" "$said" 'expected the name of a file behind --force'
    holds "chat: /$way below the home folder" "$said" "$tmp/$way.json: is there already"
done
check 'chat: no file is called --force' test ! -e ./--force
printf '%s\n' 'Hello.' '/hepl' /foo '/copy' 'two \' 'lines' | "$program" chat --plain --private "${like_built_in[@]}" -n 5 \
    --ignore-eos >/dev/null 2>"$tmp/err"
check 'chat: /help fits 80 columns' awk 'length > 80 { long = 1 } END { exit long || NR < 20 }' \
    <(printf '/help\n' | "$program" chat --plain --private 2>/dev/null)
holds 'chat: no near command' "$(cat "$tmp/err")" 'unknown command /foo; /help lists them'
holds 'chat: nearest command' "$(cat "$tmp/err")" 'unknown command /hepl; did you mean /help?'
holds 'chat: a reply that is cut off' "$(cat "$tmp/err")" '(cut off at 5 tokens; /continue goes on)'
printf 'red\n' >"$tmp/a.txt"
printf 'green\n' >"$tmp/b.txt"
said=$(printf '%s\n' "/attach $tmp/a.txt" "/attach $tmp/b.txt" /attach '/detach 1' "/attach $tmp/b.txt" /detach /attach |
    "$program" chat --plain --private 2>"$tmp/err")
holds 'chat: /attach' "$said" 'a.txt: 8 tokens, goes before your next message'
holds 'chat: /attach a second one' "$said" 'b.txt: 9 tokens; 2 attachments, 17 tokens, '
holds 'chat: /attach lists' "$said" "  2        9 tokens  $tmp/b.txt"
holds 'chat: /detach N' "$said" 'a.txt is taken back; 1 attachment, 9 tokens, '
holds 'chat: /detach' "$said" 'b.txt is taken back'
holds 'chat: nothing is attached' "$said" 'nothing is attached; /attach FILE puts a text or a picture before your next message'
printf '%s\n' "!touch $tmp/ran" | "$program" chat --plain --private -n 5 >"$tmp/out" 2>/dev/null
check 'chat: from a pipe a line with ! is a message' test -s "$tmp/out" -a ! -e "$tmp/ran"
printf '%s\n' "What is in @$tmp/a.txt ?" | "$program" chat --plain --private -n 5 >"$tmp/out" 2>"$tmp/err"
check 'chat: and a text that it names is not read' test -s "$tmp/out" -a "$(grep -c 'goes before it' "$tmp/err")" = 0
cp tests/src/image/corpus/decode/alpha.png "$tmp/sun.png"
printf '%s\n' "What is in @$tmp/sun.png ?" | "$program" chat --plain --private -n 5 >"$tmp/out" 2>"$tmp/err"
check 'chat: a picture that the model does not see fails' test $? = 1 -a ! -s "$tmp/out" -a -s "$tmp/err"
check 'chat: private writes nothing' test -z "$(find "$tmp/state" -name '*.json')"
printf '%s\n' Hello /new '/private on' /new |
    XDG_STATE_HOME=/dev/null "$program" chat --plain "${like_built_in[@]}" -n 5 >"$tmp/out" 2>"$tmp/err"
check 'chat: what cannot be saved is not left' grep -q '^not saved; make room, or /private on gives it up: ' "$tmp/err"
check 'chat: unless it is given up' grep -q '^a new private session; 1 private turn is gone$' "$tmp/out"
XDG_STATE_HOME=/dev/null "$program" chat --plain "${like_built_in[@]}" -n 5 <<<Hello >/dev/null 2>"$tmp/err"
check 'chat: leaving fails where it was not saved' test $? = 1
holds 'chat: leaving says that it was not saved' "$(tail -1 "$tmp/err")" 'the session could not be saved: '

# A mixture whose experts have no room stands for every model that does not fit beside the one in use.
said=$(printf '%s\n' "Hello, I'm Tomek. My dog is called Bruno." '/model tests/goldens/gguf/tiny-d-q8_0.gguf' \
    "What's my dog's name?" | "$program" chat --plain --temp 0 --expert-memory 1K 2>"$tmp/err")
holds 'chat: a model without room' "$said" 'no room for both models: Tandem Demo 51M is closed first'
check 'chat: says what it lacks' grep -q 'memory for experts: expected at least 1 MB' "$tmp/err"
holds 'chat: and the old one goes on' "$(tail -1 <<<"$said")" 'Bruno'

# A template is for the model that it was given with.
said=$(printf '%s\n' '/model tests/goldens/tiny-b' "/model $tiny" |
    "$program" chat --plain --private -m $tiny --template $forms/qwen35.jinja 2>"$tmp/err")
check 'chat: another model has its own template' test "$said" = "going on with tiny-b
its own template: --template is for $tiny
going on with tiny-a"

# Several answers: numbered, kept as branches also by a program that is killed in them, replied to by choice.
said=$(printf '%s\n' '/answers 3 Tell me a story.' /branch '/branch 2' 'And then?' '/answers 9 x' |
    "$program" chat --plain -n 5 --ignore-eos --temp 1 --seed 4 2>"$tmp/err")
check 'chat: /answers numbers them' test "$(grep -c '^\[[123]\]$' <<<"$said")" = 3
holds 'chat: they are branches' "$said" '  3/3  '
holds 'chat: which one is replied to' "$(cat "$tmp/err")" '(the next message replies to [1]; /branch N goes to another)'
holds 'chat: too many answers' "$(cat "$tmp/err")" "/answers: expected 2 to 8 and a text, found '9 x'"
said=$(printf '%s\n' /branch '/compare 1' | "$program" chat --plain --resume 2>/dev/null)
check 'chat: /compare' grep -q '^2/3, this one  *| 1/3$' <<<"$said"
check 'chat: the one that was chosen is gone on with' grep -q '^\* 2/3' <<<"$said"
rm -rf "$tmp/state"
mkfifo "$tmp/keys"
: >"$tmp/out" # the program empties it only once the pipe is open at both ends
"$program" chat --plain --ignore-eos --temp 1 --seed 4 --pace 40 <"$tmp/keys" >"$tmp/out" 2>/dev/null &
pid=$!
exec 7>"$tmp/keys"
echo '/answers 3 Tell me a story.' >&7
# Until enough has come of the first to have been saved.
while (( $(stat -c %s "$tmp/out") <= 300 )) && kill -0 $pid 2>/dev/null; do sleep 0.02; done
kill -9 $pid
wait $pid 2>/dev/null
exec 7>&-
said=$(echo /branch | "$program" chat --plain --resume 2>/dev/null)
check 'chat: killed, and all answers are there' test "$(grep -cE '^[* ] [123]/3  .{5}' <<<"$said")" = 3
