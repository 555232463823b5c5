#!/usr/bin/env bash
# All programs, started without standard input, output or error, as by a supervisor or a hook: they end, what is written
# to a closed descriptor is a failure, and what they open themselves never stands in for one. And with all signals blocked.
. tests/scratch.sh
folder=${program%/*}
printf '[{"role":"user","content":"Hi"}]' >"$tmp/m.json"

# Runs the words with the descriptors of $1 closed (01: input and output); its status is in $status.
closed() {
    local which=$1 redirections=
    shift
    [[ $which == *0* ]] && redirections+=' <&-' || redirections+=' </dev/null'
    [[ $which == *1* ]] && redirections+=' >&-' || redirections+=' >"$tmp/out"'
    [[ $which == *2* ]] && redirections+=' 2>&-' || redirections+=' 2>"$tmp/err"'
    : >"$tmp/out" >"$tmp/err"
    eval "timeout 300 \"\$@\" $redirections"
    status=$?
}
told() { # what is on standard error, where it is open, is one line about standard output
    [[ $1 == *2* ]] || [[ $(<"$tmp/err") == 'tandem: standard output: Bad file descriptor' ]]
}

# What needs no input gives the same without one; without output it fails.
gives() { # name, command...
    local name=$1 whole which
    shift
    closed '' "$program" "$@"
    whole=$(<"$tmp/out")
    check "$name: it writes something" test "$status" = 0 -a -n "$whole"
    for which in 0 2 02; do
        closed $which "$program" "$@"
        check "$name: without $which" test "$status-$(<"$tmp/out")" = "0-$whole"
    done
    for which in 1 01 12 012; do
        closed $which "$program" "$@"
        check "$name: without $which" test "$status" = 1
        check "$name: and it says so" told $which
    done
}
gives --version --version
gives --help --help
gives --man --man
gives config config
gives tokenize tokenize -m "$tiny" Hello
gives render render --messages "$tmp/m.json"
gives eval eval -m "$tiny" --ids 1,2,3 --perplexity
gives run run -m "$tiny" -n 4 --temp 0 Hello
gives 'run of several answers' run -m "$tiny" -n 4 --seed 1 --answers 2 Hello
gives 'run of a word, without the figures' run -m "$tiny" -n 1 --temp 0 Hello

# More than a pipe holds: a pipe of the program's own would be full.
closed 01 "$program" run -m "$tiny" -n 3000 -c 4096 --ignore-eos --temp 0 Hello
check 'a long reply without input and output' test "$status" = 1

# A conversation ends where its messages can't be read.
for which in 0 01 02 012; do
    closed $which "$program" chat --plain --private -m "$tiny"
    check "chat without $which ends" test "$status" != 124 -a "$status" -le 2
done
closed 1 "$program" chat --plain --private -m "$tiny"
check 'chat without output ends' test "$status" != 124 -a "$status" -le 2
for which in 0 1 2 01 02 12 012; do
    closed $which "$program" convert "$tiny" "$tmp/$which.gguf"
    check "convert without $which" test "$status" -le 1 -a -s "$tmp/$which.gguf"
    closed '' "$program" convert "$tiny" "$tmp/whole.gguf" --type q8_0
    check 'and the file is whole' cmp "$tmp/$which.gguf" "$tmp/whole.gguf"
    rm "$tmp/whole.gguf"
done
for which in 0 1 01 012; do
    closed $which "$program" monitor --json 4194305
    check "monitor without $which ends" test "$status" = 1 -o "$status" = 2
done

# The programs beside it.
if [[ -x $folder/tandem-pull ]]; then
    for which in 0 1 2 01 12 012; do
        HF_ENDPOINT=http://127.0.0.1:1 closed $which "$program" pull a/b --json
        check "pull without $which" test "$status" = 1
    done
    closed 01 "$folder/tandem-pull" --help
    check 'tandem-pull without output' test "$status" = 1
    check 'says so' told 01
else
    echo 'skip tandem-pull: it was not built'
fi
if [[ -x $folder/tandem-bench ]]; then
    for which in 1 01 012; do
        closed $which "$folder/tandem-bench" --help
        check "tandem-bench without $which" test "$status" = 1
        check 'says so' told $which
    done
else
    echo 'skip tandem-bench: it was not built'
fi
if [[ -x $folder/tandem-image ]]; then
    closed 1 "$folder/tandem-image" --help
    check 'tandem-image without output' test "$status" = 1
    closed 01 "$folder/tandem-image"
    check 'tandem-image without input' test "$status" -le 2
else
    echo 'skip tandem-image: it was not built'
fi
if [[ -x $folder/tandem-gpu ]]; then
    closed 01 "$folder/tandem-gpu" -q -d gpu:99
    check 'tandem-gpu without output' test "$status" = 1
else
    echo 'skip tandem-gpu: it was not built'
fi
# Its input is a socket; what it opens itself must not become its output.
if [[ -x $folder/tandem-net ]] && command -v python3 >/dev/null; then
    check 'tandem-net holds what was closed' python3 - "$folder/tandem-net" <<'EOF'
import os, socket, subprocess, sys, time
ours, theirs = socket.socketpair()
def close():
    os.close(1), os.close(2)
p = subprocess.Popen([sys.argv[1]], stdin=theirs, preexec_fn=close, close_fds=True)
def is_held(fd):
    try:
        return os.readlink(f"/proc/{p.pid}/fd/{fd}") == "/dev/null"
    except OSError:
        return False
end = time.monotonic() + 300
while not (is_held(1) and is_held(2)) and p.poll() is None and time.monotonic() < end:
    time.sleep(0.05)
held = is_held(1) and is_held(2)
theirs.close(), ours.close()
p.wait()
sys.exit(not held)
EOF
    for which in 0 012; do
        closed $which "$folder/tandem-net"
        check "tandem-net without $which" test "$status" = 2
    done
else
    echo 'skip tandem-net: it was not built, or there is no python3'
fi

# SIGTERM ends it where whoever started it had blocked all signals; else SIGKILL would have to.
mkfifo "$tmp/in"
exec 5<>"$tmp/in"
timeout -k 60 0.2 env --block-signal "$program" chat --plain --private -m "$tiny" <&5 >"$tmp/out" 2>&1
check 'started with all signals blocked' test $? = 124
exec 5>&-
