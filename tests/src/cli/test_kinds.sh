#!/usr/bin/env bash
# What stands in a file's place and is none: a FIFO without anybody at its other end, a device that never ends, a socket, a
# folder. Wherever a name from outside is read or written, nobody waits: one line says what was expected and found, and the
# status is 1; what need not be there (a history, what was used last) counts as not there. Pipes that are meant go on being
# read.
. tests/scratch.sh
demo=$(realpath assets/tandem-demo-51m-q6_k.gguf)
state=$tmp/state/tandem config=$tmp/config/tandem
mkdir -p "$state/sessions" "$config/prompts" "$tmp/a folder" "$tmp/models" "$tmp/hub/models--a--b/refs"
mkfifo "$tmp/a FIFO"
ln -s /dev/zero "$tmp/a device"
ln -s /dev/null "$tmp/null"
if command -v python3 >/dev/null; then
    python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$tmp/a socket"
else
    echo 'skip sockets: python3 is not installed'
fi

run() { # arguments...: with $lines as its input
    printf '%s' "${lines-}" | timeout 60 "$program" "$@" >"$tmp/out" 2>"$tmp/err"
    status=$?
}
told() { # name, words
    if [[ $status == 1 && $(grep -c . "$tmp/err") == 1 ]] && grep -qF "$2" "$tmp/err"; then echo "ok $kind: $1"; else
        sed "s/^/# status $status: /" "$tmp/err"
        echo "not ok $kind: $1"
    fi
}
refused() { # name, arguments...
    local name=$1
    shift
    run "$@"
    told "$name" ": expected a regular file, found $kind"
}
passed_over() { # name, arguments...
    local name=$1
    shift
    run "$@"
    check "$kind: $name" test $status = 0
}

for kind in 'a FIFO' 'a device' 'a socket' 'a folder'; do
    odd=$tmp/$kind
    [[ -e $odd ]] || continue
    ln -sfn "$odd" "$config/config"
    refused 'the configuration' run -n 1 x
    rm "$config/config"
    if [[ $kind != 'a folder' ]]; then
        refused 'a model' run -m "$odd" -n 1 x
        refused 'info of it' info "$odd"
        refused 'convert from it' convert "$odd" "$tmp/out.gguf"
        for file in config.json tokenizer.json tokenizer_config.json generation_config.json chat_template.jinja \
            model.safetensors model.safetensors.index.json; do
            rm -rf "$tmp/tiny"
            cp -r "$tiny" "$tmp/tiny"
            ln -sfn "$odd" "$tmp/tiny/$file"
            case $file in
            *_config.json | *.jinja | *.index.json) # needless here
                passed_over "$file" run -m "$tmp/tiny" -n 1 x
                check "$kind: $file is left out" grep -q "left out.*: expected a regular file, found $kind" "$tmp/err";;
            *) refused "$file" run -m "$tmp/tiny" -n 1 x;;
            esac
        done
        ln -sfn "$odd" "$tmp/models/x.gguf"
        run models --model-folders "$tmp/models"
        check "$kind: in the list of models" grep -q "x.gguf .*not for Tandem: expected a regular file, found $kind" "$tmp/out"
        rm "$tmp/models/x.gguf"
    fi
    case $kind in
    'a FIFO') run convert "$tiny" "$odd"; told 'convert to it' 'nobody reads it';;
    'a device') passed_over 'convert to it' convert "$tiny" "$odd";;
    *) refused 'convert to it' convert "$tiny" "$odd";;
    esac
    refused 'a script' run --script "$odd"
    refused 'a text' eval --text-file "$odd" --perplexity
    refused 'ids' eval --ids-file "$odd" --perplexity
    refused 'messages' render --messages "$odd"
    refused 'a recording' monitor --replay "$odd"
    ln -sfn "$odd" "$config/prompts/odd.md"
    refused 'a prompt' run -r odd x
    lines=$'/p\n' passed_over 'among the prompts' chat --plain
    rm "$config/prompts/odd.md"
    printf 'server.a.url = http://127.0.0.1:9\nserver.a.key-file = %s\n' "$odd" >"$config/config"
    refused 'a key' run --yes -m a x
    rm "$config/config"
    HF_ENDPOINT=http://127.0.0.1:9 HF_TOKEN_PATH=$odd refused 'a token' pull a/b
    ln -sfn "$odd" "$tmp/hub/models--a--b/refs/main"
    HF_HUB_CACHE=$tmp/hub run run -m a/b x
    told 'a revision' 'expected refs/main to name a snapshot'

    ln -sfn "$odd" "$state/sessions/20250101-000000-1.json"
    refused 'a session' chat --plain -n 1 --resume
    lines=$'/sessions\n' passed_over 'among the sessions' chat --plain
    check "$kind: a session that is said to be none" grep -q "expected a regular file, found $kind" "$tmp/out"
    rm "$state/sessions"/*
    for file in model models monitor servers ceilings; do
        ln -sfn "$odd" "$state/$file"
        passed_over "$state/$file" chat --plain
        rm -f "$state/$file"
    done
    for folder in packed gpu; do
        rm -rf "${XDG_CACHE_HOME:?}/tandem/$folder"
        mkdir -p "$XDG_CACHE_HOME/tandem"
        ln -sfn "$odd" "$XDG_CACHE_HOME/tandem/$folder"
        passed_over "$folder" run -n 1 x
        rm "$XDG_CACHE_HOME/tandem/$folder"
    done
    lines="/attach $odd"$'\n' passed_over '/attach' chat --plain
done

# Nobody reads what is written.
kind='a FIFO'
run run -n 1 --trace "$tmp/a FIFO" x
told 'a trace' 'nobody reads it'
run eval --ids 1,2 --logits "$tmp/a FIFO"
told 'logits' 'nobody reads it'
run bench model --quick --budget 1 -p 4 -n 2 --json "$tmp/a FIFO"
told 'values' 'nobody reads it'
lines="/trace $tmp/a FIFO"$'\n' passed_over '/trace' chat --plain
check 'a FIFO: /trace says so' grep -q 'nobody reads it' "$tmp/err"

# What is meant to be one.
kind='a pipe'
passed_over 'a script' run --script <(echo '{"turns":[{"text":"x"}]}') -n 1
printf '1,2,3' | "$program" eval --ids-file /dev/stdin --perplexity >"$tmp/out" 2>&1
holds 'ids from /dev/stdin' "$(<"$tmp/out")" perplexity
printf 'some text' | "$program" eval --text-file - --perplexity >"$tmp/out" 2>&1
holds 'text from -' "$(<"$tmp/out")" perplexity
passed_over 'text' eval --text-file <(echo 'some text') --perplexity
passed_over 'messages' render --messages <(echo '[{"role":"user","content":"x"}]')
"$program" run -n 1 --trace >(cat >"$tmp/trace") x >/dev/null
passed_over 'logits' eval --ids 1,2 --logits >(cat >"$tmp/logits")
kind='/dev/null'
for file in config history model servers; do
    place=$state
    [[ $file == config ]] && place=$config
    ln -sfn "$tmp/null" "$place/$file"
done
lines=$'x\n' passed_over 'as files of ours' chat --plain -n 1
check '/dev/null: nothing is said of it' test -z "$(grep -v '^(\|^first' "$tmp/err")"
check '/dev/null: it stays' test -c "$state/history" -a -c "$config/config"
