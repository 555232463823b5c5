#!/usr/bin/env bash
# `tandem run` and piped chats with the server of the tests: each kind of server answers, scripts need --yes, keys are read
# and shown nowhere, and what a server does wrong is one line.
. tests/scratch.sh
serve=${BUILD:-build}/tests/server/serve
if [[ ! -x $serve || ! -x ${program%/*}/tandem-net ]]; then
    echo 'skip run on a server: tests/server/serve (libmicrohttpd) or tandem-net (libcurl) was not built'
    exit 0
fi
unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY no_proxy NO_PROXY
servers=()
trap 'kill "${servers[@]}" 2>/dev/null; wait 2>/dev/null; rm -rf "$tmp"' EXIT

start() { # arguments...: its address is in $url, that of the tests' own pages in $control
    "$serve" "$@" >"$tmp/where" 2>"$tmp/serve" &
    servers+=($!)
    until [[ -s $tmp/where ]]; do
        kill -0 "${servers[-1]}" 2>/dev/null || { sed 's/^/# /' "$tmp/serve"; echo 'not ok server'; exit 1; }
        sleep 0.05
    done
    read -r url control <"$tmp/where"
    : >"$tmp/where"
}
stop() {
    kill "${servers[-1]}"
    wait "${servers[-1]}" 2>/dev/null
    unset 'servers[-1]'
}
tell() { # page, body: of the tests' own, by bash's sockets
    local port=${control##*:}
    exec 9<>"/dev/tcp/127.0.0.1/$port"
    printf 'POST /test/%s HTTP/1.1\r\nHost: t\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s' "$1" ${#2} "$2" >&9
    reply=$(cat <&9)
    exec 9>&-
}
count() { # name
    tell counters ''
    [[ $reply =~ \"$1\":([0-9]+) ]] && echo "${BASH_REMATCH[1]}"
}
run() { # arguments...: output, errors and status are in $out, $err and $status
    out=$(timeout 60 "$program" run --temp 0 "$@" 2>"$tmp/err" </dev/null)
    status=$?
    err=$(<"$tmp/err")
}
fails() { # name, fault, words of the one line
    tell fault "$2"
    run -m "$url" --yes 'What is the capital of Peru?'
    tell fault none
    if [[ $status != 0 && $err == "tandem"*"$3"* && $err != *$'\n'* && $err != *$'\e'* ]]; then echo "ok $1"
    else printf '# status %s, out "%s", err "%s"\n' "$status" "$out" "$err"; echo "not ok $1"; fi
}

for kind in llama-server vllm sglang openai; do
    start --kind $kind
    run -m "$url" --yes 'What is the capital of Peru?'
    check "$kind answers" test "$status-$out" = '0-Peru has Lima as its capital.'
    TANDEM_DATADIR=$tmp/none run -m "$url" --yes 'What is the capital of Peru?'
    check "$kind: the built-in model is not needed" test "$status-$out" = '0-Peru has Lima as its capital.'
    said=$(printf '%s\n' 'What is the capital of Peru?' /quit |
        TANDEM_DATADIR=$tmp/none timeout 60 "$program" chat --plain -m "$url" --yes 2>&1)
    holds "$kind: nor is it in a conversation" "$said" Lima
    stop
done

start --old
run -m "$url" 'What is the capital of Peru?'
check 'without --yes it fails' test "$status" != 0
holds 'and says what would do' "$err" '--yes says that what you write may go there'
echo hello | "$program" --plain -m "$url" >/dev/null 2>"$tmp/err"
check 'so does a piped chat' test $? != 0
check 'and no byte has left' test "$(count connections)-$(count bytes_there)" = 0-0
out=$(printf 'What is the capital of Peru?\n' | "$program" --plain --temp 0 --yes -m "$url" 2>"$tmp/err")
check 'a piped chat with --yes' test "$out" = 'Peru has Lima as its capital.'
check '--yes agrees to nothing for later' test ! -e "$XDG_STATE_HOME/tandem/servers"
check 'a server is not the model of the next start' test ! -e "$XDG_STATE_HOME/tandem/model"
"$program" config >"$tmp/out"
check 'nor anywhere in the configuration' test -z "$(grep -F "$url" "$tmp/out")"

fails 'no place left' 'broken:500' 'the server answers 500: out of order'
fails 'a redirect' 'redirect:http://localhost:9' 'which was not named'
fails 'garbage' garbage 'expected'
fails 'a line of 100 MB' flood:100 'more than'
tell fault 'cut:300*2'
run -m "$url" --yes 'What is the capital of Peru?'
check 'a cut reply keeps what came' test "$status" != 0 -a "${out%%capital*}" != ''
tell fault 'cut:300*2'
run -m "$url" --yes --json 'What is the capital of Peru?'
check 'and is not told as a whole one' test "$status" != 0 -a "$out" != "${out/\"reason\":\"failed\"/}"
tell fault 'cut:1*2'
run -m "$url" --yes --json 'What is the capital of Peru?'
holds 'one without a word has no time to it' "$out" '"ttft_ms":null'
tell fault 'cut:700*1'
out=$(printf 'Tell me a story.\n/continue\nWhat is the capital of Peru?\n' |
    "$program" --plain --temp 0 --yes -m "$url" 2>/dev/null)
holds 'it goes on, each reply shown before the next line is read' "$(tail -1 <<<"$out")" 'Lima'
tell fault 'busy:1*1'
run -m "$url" --yes 'What is the capital of Peru?'
holds 'a busy one is asked again' "$out" 'Peru has Lima as its capital.'
tell fault 'loading:0*5'
run -m "$url" --yes 'What is the capital of Peru?'
holds 'one that loads is waited for, longer than a busy one' "$out" 'Peru has Lima as its capital.'
check 'with one line' test "$(grep -c 'the server loads its model: it is waited for, for at most 10 minutes' <<<"$err")" = 1
first=$url
start --old
tell fault 'loading:0*1'
out=$(printf '/model %s\nWhat is the capital of Peru?\n' "$url" |
    "$program" --plain --temp 0 --yes -m "$first" 2>"$tmp/err")
holds 'so it is by /model' "$out" 'Peru has Lima as its capital.'
holds 'which says so' "$(<"$tmp/err")" 'the server loads its model: it is waited for'
tell fault 'loading:0*1'
out=$(printf 'What is the capital of Peru?\n' | "$program" --plain --temp 0 --yes -m "$url" 2>"$tmp/err")
holds 'at the start of a chat' "$out" 'Peru has Lima as its capital.'
holds 'which says so too' "$(<"$tmp/err")" 'the server loads its model: it is waited for'
tell fault 'loading:600'
: >"$tmp/err" # the line of the chat before is no answer, and this one can't be stopped before it has begun
# (A script's shell has what it starts in the background ignore SIGINT.)
env --default-signal=INT "$program" --plain --temp 0 --yes -m "$url" >/dev/null 2>"$tmp/err" <<<hello &
chat=$!
until grep -q 'it is waited for' "$tmp/err"; do kill -0 $chat || break; sleep 0.05; done
kill -INT $chat
wait $chat
check 'and Ctrl-C ends it' test $? != 0
tell fault none
stop
stop

mkdir -p "$XDG_CONFIG_HOME/tandem"
config=$XDG_CONFIG_HOME/tandem/config
key=sk-a-key-that-must-not-be-seen
start --key $key
printf 'server.box.url = %s\nserver.box.key-file = ~/key\n' "$url" >"$config"
echo $key >"$HOME/key"
run -m box --yes 'What is the capital of Peru?'
holds 'a named server with a key in a file' "$out" 'Peru has Lima as its capital.'
printf 'server.box.url = %s\nserver.box.key-env = BOX_KEY\n' "$url" >"$config"
BOX_KEY=$key run -m box --yes 'What is the capital of Peru?'
holds 'with a key in a variable' "$out" 'Peru has Lima as its capital.'
BOX_KEY=$key "$program" --plain --yes -m box >/dev/null 2>"$tmp/err" <<<'hello'
rm "$HOME/key"
check 'the key is in no file' test -z "$(grep -rlF $key "$HOME" "$tmp" 2>/dev/null)"
out=$(BOX_KEY=$key "$program" info box 2>&1)
holds 'info of a named server' "$out" 'llama-server'
BOX_KEY=wrong run -m box --yes hello
holds 'a wrong key' "$err" 'the server answers 401: Invalid API Key'
run -m box --yes hello
holds 'a variable that is not set' "$err" '$BOX_KEY, which is not set'
check 'neither is told' test "${err/wrong/}" = "$err"
printf 'server.box.kind = vllm\n' >"$config"
run hello
holds 'a server without an address' "$err" 'server.box has no server.box.url'
printf 'server.box.url = box\n' >"$config"
run hello
holds 'a wrong address' "$err" 'config:1: server.box.url: expected http://HOST:PORT'
stop
: >"$config"
start
run -m "${url#http://}/v1/chat/completions" --yes 'What is the capital of Peru?'
holds 'an address without its scheme, and with a page' "$out" 'Peru has Lima as its capital.'
run -m "http://0.0.0.0:${url##*:}" --yes 'What is the capital of Peru?'
holds 'all addresses are this computer' "$out" 'Peru has Lima as its capital.'
run -m "box:8080" --yes hello
holds 'a name without a scheme' "$err" 'a server is named http://box:8080'
run -m "https://${url#http://}" --yes hello
holds 'https to plain http' "$err" 'the server speaks plain http there, not https: expected http://'
stop
run -m http://100.64.0.1:9 --yes hello
holds 'an overlay network is not covered by --yes' "$err" 'overlay network: nothing was sent; a chat asks, and server.NAME.plain-http'
check 'which is an error' test "$status" = 1
"$program" --plain --yes -m http://100.64.0.1:9 >/dev/null 2>"$tmp/err" <<<hello
check 'nor from a pipe' test $? != 0
holds 'which says it as well' "$(<"$tmp/err")" 'overlay network: nothing was sent'
printf 'server.far.url = http://100.64.0.1:9\nserver.far.plain-http = yes\n' >"$config"
run -m far --yes hello
check 'the configuration says that it may be' test "$status" != 0 -a "${err/overlay/}" = "$err"
: >"$config"
start --tls
run -m "$url" --yes hello
holds 'a certificate that nobody signed' "$err" 'certificate'
check 'and nothing was asked' test "$(count requests)" = 0
stop
