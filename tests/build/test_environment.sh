#!/usr/bin/env bash
# tests/run: whatever a user's home and environment hold, the tests see nothing of it and say the same.
set -u
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT

# Settings, sessions, caches and programs that change what Tandem does, or stop it.
mkdir -p "$home"/{bin,config/tandem,state/tandem/sessions,cache/tandem/packed,data,hf/hub/models--x--y/snapshots/z,run}
printf 'context = 17\nnonsense = 1\ncolour\n' >"$home/config/tandem/config"
printf 'not a session\n' >"$home/state/tandem/sessions/20260101-000000.jsonl"
printf '/nowhere/model.gguf\n' | tee "$home/state/tandem/models" >"$home/state/tandem/model"
head -c 4096 /dev/urandom >"$home/cache/tandem/packed/0123456789abcdef.packed"
head -c 4096 /dev/urandom >"$home/data/tandem-demo-51m-q6_k.gguf"
head -c 4096 /dev/urandom >"$home/hf/hub/models--x--y/snapshots/z/model.gguf"
printf 'set editing-mode vi\n"a": "b"\n' >"$home/.inputrc"
printf '#!/bin/sh\necho a user'"'"'s own\nexit 9\n' | tee "$home/bin/grep" "$home/bin/sed" >"$home/bin/cat"
chmod +x "$home"/bin/*
hostile=(HOME="$home" XDG_CONFIG_HOME="$home/config" XDG_STATE_HOME="$home/state" XDG_CACHE_HOME="$home/cache"
    XDG_RUNTIME_DIR="$home/run" PATH="$home/bin:$PATH" HF_HOME="$home/hf" HF_TOKEN=hf_of_a_user HF_HUB_OFFLINE=1
    TANDEM_DATADIR="$home/data" INPUTRC="$home/.inputrc" TERM=dumb TERMINFO="$home" COLUMNS=7 LINES=3 LANG=tr_TR.UTF-8
    LC_ALL=C LANGUAGE=de TZ=Asia/Kathmandu NO_COLOR=1 COLORTERM=truecolor EDITOR=false VISUAL=false PAGER=false
    TMUX=/nowhere,1,0 DISPLAY=:99 http_proxy=http://127.0.0.1:1 https_proxy=http://127.0.0.1:1 no_proxy=
    OMP_NUM_THREADS=1 MALLOC_PERTURB_=7 POSIXLY_CORRECT=1)

# Of all that is read from there: settings, sessions, history, models, terminals, the hub, programs, shells.
seen=(tests/src/files/ tests/src/chat/test_erase tests/src/session/test_session. tests/src/session/test_resume
    tests/src/models/test_first_model tests/src/hub/ tests/src/cli/test_program tests/src/commands/test_notices
    tests/src/process/test_inherit tests/ui/terminal/ tests/ui/readline/)
# It starts programs about a hundred times, and what it says depends on no setting that the others do not read too.
[[ ${TANDEM_LONG:-} ]] && seen+=(tests/src/process/test_closed)
said() { # variables...: what the tests say then, without the times
    env "$@" TESTS_SHOW=all tests/run "${seen[@]}" 2>&1 | sed -E 's/ +[0-9]+ s$//; /^[0-9]+ s, of/d; /^# above /d' | sort
}
contents() { # of the hostile home: what there is and when it was last written, to the nanosecond
    find "$home" -printf '%P %y %s %T@\n' | sort
}
before=$(contents)
expected=$(said)
found=$(said "${hostile[@]}")
if [[ $expected == *' 0 failed'* && $(grep -c '^ok ' <<<"$expected") -gt 50 ]]; then
    echo 'ok those_tests_pass'
else
    echo "$expected" | grep -v '^ok '
    echo 'not ok those_tests_pass'
fi
if [[ $found == "$expected" ]]; then
    echo 'ok a_hostile_home_changes_nothing'
else
    diff <(echo "$expected") <(echo "$found")
    echo 'not ok a_hostile_home_changes_nothing'
fi
after=$(contents)
if [[ $after == "$before" ]]; then
    echo 'ok nothing_is_written_there'
else
    diff <(echo "$before") <(echo "$after")
    echo 'not ok nothing_is_written_there'
fi
