#!/usr/bin/env bash
# Names that steer a terminal, or break a line in two, where each command prints names: of files, folders, models, sessions,
# prompts, options, servers. Neither of the two outputs has them raw, terminal or not.
. tests/scratch.sh
# A line end, a title, a C1 control, DEL, marks of direction, separators of lines and paragraphs, a cut sequence.
name=$'ab\nSECOND\e]0;T\a\u009b31m\x7f\u202ex\u2066\u200e\u200f\u061c\u2028\u2029\xe2z'
raw=$'[\x01-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]|\xd8\x9c|^SECOND'
flat=${name//$'\n'/ }
folder=$tmp/$name
demo=$(realpath assets/tandem-demo-51m-q6_k.gguf)
serve=${BUILD:-build}/tests/server/serve
mkdir -p "$folder" "$tmp/config/tandem/prompts" "$tmp/state/tandem/sessions"
cp "$demo" "$folder/m$name.gguf"
echo 'no model' >"$folder/bad$name.gguf"
echo 'Hello' >"$folder/text$name.md"

# Runs a command with the lines $lines as its input; what it prints is looked at, and has to speak of the name where
# that is expected: "says".
shows() { # says|quiet, name, arguments...
    local how=$1 what=${2//[^ -~]/?} good=true
    shift 2
    timeout 120 "$@" >"$tmp/out" 2>"$tmp/err" < <(printf '%s' "${lines-}")
    LC_ALL=C grep -aqE "$raw" "$tmp/out" "$tmp/err" && good=false
    [[ $how == quiet ]] || grep -aq SECOND "$tmp/out" "$tmp/err" || good=false
    if $good; then echo "ok $what"; else
        cat -v "$tmp/out" "$tmp/err" | head -20 | sed 's/^/# /'
        echo "not ok $what"
    fi
}
model=$folder/m$name.gguf

# Whoever writes a line for people writes it by output.h, which knows; tandem-net says one sentence, readline's own stream
# has two.
check 'standard error has one way in' test -z "$(grep -rnE '(f?printf|fputs|fputc|putc|fwrite|perror)\([^"]*stderr|perror\(|, stderr\)' \
    src --include=*.c | grep -vE '^src/(io/output|net/main|plain/plain)\.c:')"

# ---- Arguments ---------------------------------------------------------------------------------------------------

shows says 'an unknown command' "$program" "$name"
shows says 'an unknown option' "$program" run "--$name"
shows says 'a value that is not allowed' "$program" run --temp "$name" x
echo '[{"role":"user","content":"x"}]' >"$tmp/messages"
for model in "none$name" "bad$name.gguf"; do
    model=$folder/$model
    shows says 'info: a bad model' "$program" info "$model"
    shows says 'tokenize: a bad model' "$program" tokenize -m "$model" x
    shows says 'render: a bad model' "$program" render -m "$model" --messages "$tmp/messages"
    shows says 'eval: a bad model' "$program" eval -m "$model" --ids 1,2 --perplexity
    shows says 'bench: a bad model' "$program" bench model -m "$model"
    shows says 'run: a bad model' "$program" run -m "$model" x
    shows says 'convert: a bad model' "$program" convert "$model" "$folder/out2$name.gguf"
done
model=$folder/m$name.gguf
shows says 'info' "$program" info "$model"
shows quiet 'info --json' "$program" info --json "$model"
shows says 'info: a folder' "$program" info "$folder"
shows quiet 'tokenize' "$program" tokenize -m "$model" "$name"
shows says 'run: no such prompt' "$program" run -r "$name" x
shows says 'run: no such script' "$program" run --script "$folder/none$name"
shows says 'run: a trace' "$program" run -n 1 --trace "$folder/none/$name" x
shows quiet 'run --json' "$program" run -m "$model" -n 2 --json "$name"
shows says 'eval: no such text' "$program" eval --text-file "$folder/none$name" --perplexity
shows says 'eval: logits' "$program" eval --ids 1,2 --logits "$folder/none/$name"
shows says 'eval: kernels' "$program" eval --ids 1,2 --against "$name"
shows says 'convert' "$program" convert "$model" "$folder/out$name.gguf" --type q8_0
shows says 'convert: no such folder' "$program" convert "$model" "$folder/none/$name.gguf"
shows says 'monitor: a process' "$program" monitor "$name"
shows says 'monitor: no such recording' "$program" monitor --replay "$folder/none$name"
shows says 'monitor: no recording' "$program" monitor --json --replay "$folder/text$name.md"
shows quiet 'demo' "$program" demo -m "$folder/none$name"
shows says 'pull' "$program" pull "$name"
HF_ENDPOINT=$name shows says 'pull: an endpoint' "$program" pull a/b
HF_HUB_CACHE=$folder/bad$name.gguf/x HF_ENDPOINT=http://127.0.0.1:9 \
    shows quiet 'pull: a cache' "$program" pull a/b
shows says 'bench: a suite' "$program" bench "$name"
shows says 'bench' "$program" bench model --quick --budget 1 -m "$model" -p 4 -n 2 --rows "no such row $name"
shows says 'bench --markdown' "$program" bench model --quick --md --budget 1 -m "$model" -p 4 -n 2 --rows "$name"

# ---- Lists -------------------------------------------------------------------------------------------------------

hub=$tmp/hub/models--a--"b$name"
mkdir -p "$hub"/{refs,snapshots/abc}
printf abc >"$hub/refs/main"
cp "$demo" "$hub/snapshots/abc/x$name.gguf"
printf 'no model' >"$hub/snapshots/abc/y$name.gguf"
export HF_HUB_CACHE=$tmp/hub
shows quiet 'models' "$program" models --model-folders "$folder"
shows quiet 'models --json' "$program" models --json --model-folders "$folder"
(cd "$folder" && "$program" run -m "./m$name.gguf" -n 1 x >/dev/null 2>&1)
lines=$'/model\n' shows quiet '/model lists them' "$program" chat --plain --model-folders "$folder"
lines=$'/model '"$flat"$'\n' shows quiet '/model' "$program" chat --plain

# ---- The configuration -------------------------------------------------------------------------------------------

for line in "$flat" "$flat = 1" "temp = $flat" "theme.$flat.text = red" "theme.a.$flat = red" "theme.a.text = $flat" \
    "server.$flat.url = x" "server.a.$flat = x" "server.a.url = $flat" "theme = $flat"; do
    printf '%s\n' "$line" >"$tmp/config/tandem/config"
    shows says "the configuration: ${line%%$'\e'*}" "$program" config
done
printf 'system = %s\nmodel = %s\n' "$flat" "/none/$flat" >"$tmp/config/tandem/config"
shows says 'config shows its values' "$program" config
rm "$tmp/config/tandem/config"
XDG_CONFIG_HOME=$folder shows says 'config shows its place' "$program" config
mkdir -p "$folder/tandem"; echo "x" >"$folder/tandem/config"
XDG_CONFIG_HOME=$folder shows says 'a configuration in such a folder' "$program" run x
rm -r "$folder/tandem"
XDG_STATE_HOME=$folder lines=$'x\n/sessions\n/quit\n' shows quiet 'sessions in such a folder' "$program" chat --plain -n 1

# ---- A conversation ----------------------------------------------------------------------------------------------

escaped='ab\nSECOND\u001b]0;T\u0007\u009b31m\u007f\u202ex\u2066\u200e\u200f\u061c\u2028\u2029z'
printf '{"format":"tandem session","version":1,"name":"%s","created":1,"changed":1800000000,"model":{"name":"%s",
    "fingerprint":"%s"},"settings":{"seed":"%s"},"leaf":2,"messages":[{"id":1,"parent":0,"role":"user","text":"%s"},
    {"id":2,"parent":1,"role":"assistant","text":"Hi","finish":"%s"}]}' \
    "$escaped" "$escaped" "$escaped" "$escaped" "Hello $escaped" "$escaped" \
    >"$tmp/state/tandem/sessions/20250101-000000-1.json"
echo "{\"$name\":" >"$tmp/state/tandem/sessions/20250101-000001-1.json"
printf -- '---\ndescription: %s\n---\nhello\n' "$flat" >"$tmp/config/tandem/prompts/one.md"
printf -- '---\n%s: %s\n---\nhello\n' "$flat" "$flat" >"$tmp/config/tandem/prompts/two.md"
talk() { # says|quiet, line...
    local how=$1
    shift
    lines=$(printf '%s\n' "$@" /quit) shows "$how" "$*" "$program" chat --plain -n 1
}
talk says /sessions
talk quiet '/resume ab'
talk quiet '/resume 2' '/branch' '/stats' '/units' '/save'
talk quiet '/delete ab' '/delete ab'
talk quiet /undelete '/undelete ab'
talk quiet '/search SECOND'
talk quiet '/resume ab' '/find SECOND'
talk quiet /p '/p one' '/p two' "/p $flat"
talk says "/rename $flat" /save /sessions
talk quiet "/attach $flat"
talk says "/export $flat"
talk says "/export /none/$flat.md"
talk says "/trace /none/$flat"
talk says "/set temp $flat"
talk says "/$flat"
talk says "/help $flat"
talk says "/model $flat"
talk says "/resume $flat"
talk quiet "/undelete $flat"
talk quiet "/find $flat" "/search $flat" "/pipeline $flat" "/units $flat" "/stats $flat" "/branch $flat" "/detach $flat"
lines=$'x\n' shows quiet '--resume' "$program" chat --plain -n 1 --resume "$name"
lines=$'x\n' shows says 'a chat with such a model' "$program" chat --plain -n 1 -m "$folder/none$name"

# ---- A server ----------------------------------------------------------------------------------------------------

if [[ ! -x $serve || ! -x ${program%/*}/tandem-net ]]; then
    echo 'skip names of a server: tests/server/serve (libmicrohttpd) or tandem-net (libcurl) was not built'
    exit 0
fi
unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY no_proxy NO_PROXY
"$serve" -m "$model" >"$tmp/where" 2>"$tmp/serve" &
server=$!
trap 'kill $server 2>/dev/null; wait; rm -rf "$tmp"' EXIT
until [[ -s $tmp/where ]]; do
    kill -0 $server 2>/dev/null || { echo 'not ok a server'; exit 1; }
    sleep 0.05
done
read -r url _ <"$tmp/where"
shows quiet 'info of a server' "$program" info -m "$url" --yes
shows quiet 'info --json of a server' "$program" info --json -m "$url" --yes
lines=$'/model\n/units\nx\n' shows quiet 'a chat with a server' "$program" chat --plain -n 2 --yes -m "$url"
shows says 'a server that is not there' "$program" run --yes -m "http://$name" x
