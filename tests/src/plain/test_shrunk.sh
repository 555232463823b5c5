#!/usr/bin/env bash
# A mixture's file that becomes shorter during a conversation by a pipe: each turn that needs it says so and ends, what
# was said is saved, and the status tells a script.
. tests/scratch.sh

model=$tmp/model.gguf
cp tests/goldens/gguf/tiny-d-q8_0.gguf "$model"
chmod u+w "$model"
mkfifo "$tmp/in"
: >"$tmp/err" # it is looked into before the shell has opened it for the program
"$program" chat --plain -m "$model" --expert-memory 200K -n 20 --temp 0 <"$tmp/in" >"$tmp/out" 2>"$tmp/err" &
pid=$!
exec 3>"$tmp/in"
said() { # how often a line is to be written to standard error before this goes on, and the line
    while (($(grep -c "$2" "$tmp/err") < $1)) && kill -0 $pid 2>/dev/null; do sleep 0.05; done
    (($(grep -c "$2" "$tmp/err") >= $1))
}
echo 'Hello.' >&3
said 1 '^first '
check 'a turn of the whole file' test $? = 0
truncate -s 100000 "$model"
echo 'And then?' >&3
said 1 'a unit failed'
echo 'What else?' >&3
said 2 'a unit failed'
exec 3>&-
wait $pid
check 'turns of a file that shrank: status' test $? = 1
check 'they name the file' grep -q "$model shrank while it was in use: expected [0-9]* bytes, found 100000" "$tmp/err"
check 'they end' test "$(grep -c 'a unit failed; /regen tries again' "$tmp/err")" = 2
check 'what was said is saved' grep -q 'What else?' "$XDG_STATE_HOME"/tandem/sessions/*.json
check 'the first reply too' test "$(grep -o '"role"' "$XDG_STATE_HOME"/tandem/sessions/*.json | wc -l)" -ge 4
"$program" run -m "$model" --expert-memory 200K Hello >"$tmp/out" 2>"$tmp/err"
check 'a file that is too short is refused' test $? = 1 -a ! -s "$tmp/out" -a "$(wc -l <"$tmp/err")" = 1
