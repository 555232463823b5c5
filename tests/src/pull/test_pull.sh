#!/usr/bin/env bash
# `tandem pull` against a server of the tests' own, with its faults (tests/src/pull/server.py): what is taken, where it lies
# afterwards, what is gone on with, and what is refused. Then the pulled models talk.
. tests/scratch.sh
pull=${program%/*}/tandem-pull
if [[ ! -x $pull ]]; then
    echo 'skip pull: tandem-pull was not built (needs libcurl and libcrypto)'
    exit 0
fi
if ! command -v python3 >/dev/null; then
    echo 'skip pull: python3 is not installed'
    exit 0
fi
unset SSL_CERT_FILE SSL_CERT_DIR
unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY no_proxy NO_PROXY
export HF_HUB_CACHE=$tmp/hub
requests=$tmp/requests
servers=()
trap 'kill "${servers[@]}" 2>/dev/null; wait 2>/dev/null; rm -rf "$tmp"' EXIT

start_server() { # port file, more arguments...: the port is in $port
    local file=$1
    shift
    python3 tests/src/pull/server.py "$file" "$requests" "$@" 2>"$tmp/server" &
    servers+=($!)
    until [[ -s $file ]]; do
        kill -0 "${servers[-1]}" 2>/dev/null || { sed 's/^/# /' "$tmp/server"; echo 'not ok server'; exit 1; }
        sleep 0.05
    done
    port=$(<"$file")
}
start_server "$tmp/port"
base=http://127.0.0.1:$port

# Runs tandem pull at a fault's address ('' for none); output, errors and status are in $out, $err and $status.
pull() { # fault, arguments...
    local fault=$1
    shift
    : >"$requests"
    out=$(HF_ENDPOINT=$base${fault:+/$fault} "$program" pull "$@" 2>"$tmp/err")
    status=$?
    err=$(<"$tmp/err")
}
fails() { # name, fault, status, words of the last line, arguments...
    local name=$1 fault=$2 want=$3 words=$4
    shift 4
    pull "$fault" "$@"
    if [[ $status == "$want" && ${err##*$'\n'} == "tandem"*"$words"* && $err != *$'\e'* ]]; then
        echo "ok $name"
    else
        printf '# status %s, out "%s", err "%s"\n' "$status" "$out" "$err"
        echo "not ok $name"
    fi
}
takes() { # name, fault, words of the output, arguments...
    local name=$1 fault=$2 words=$3
    shift 3
    pull "$fault" "$@"
    if [[ $status == 0 && $out == *"$words"* && $out == *'done: tandem -m '* ]]; then
        echo "ok $name"
    else
        printf '# status %s, out "%s", err "%s"\n' "$status" "$out" "$err"
        echo "not ok $name"
    fi
}
folder() { echo "$HF_HUB_CACHE/models--${1/\//--}"; }
snapshot() { echo "$(folder "$1")/snapshots/$(<"$(folder "$1")/refs/main")"; }
# Whether every blob is what its name says, nothing is half, and every link leads to a blob.
is_sound() { # repository
    local f name link
    for f in "$(folder "$1")"/blobs/*; do
        name=${f##*/}
        if [[ ${#name} == 64 ]]; then
            [[ $(sha256sum <"$f") == "$name  -" ]] || return 1
        else
            [[ $(cat <(printf 'blob %s\0' "$(stat -c %s "$f")") "$f" | sha1sum) == "$name  -" ]] || return 1
        fi
    done
    while read -r link; do
        [[ $(readlink "$link") == ../* && -f $link && $(realpath "$link") == "$(folder "$1")/blobs/"* ]] || return 1
    done < <(find "$(folder "$1")/snapshots" -type l)
}
files() { # repository: the names in its snapshot
    (cd "$(snapshot "$1")" && find . -type l | sort | sed 's/^..//' | paste -sd' ')
}
forget() { rm -rf "$HF_HUB_CACHE"; }

# ---- What is taken ----------------------------------------------------------------------------------------------

takes 'the usual quant' '' 'takes Q4_K_M, 3.0 MB: the usual quant' a/small-GGUF
check 'no imatrix or mtp file' test "$(files a/small-GGUF)" = small-Q4_K_M.gguf
check 'the blob is whole and checked' is_sound a/small-GGUF
check 'a lock was held' test -e "$HF_HUB_CACHE"/.locks/models--a--small-GGUF/*.lock
holds 'size, folder and free space are said' "$out" "into $HF_HUB_CACHE, "
holds 'plain lines without a terminal' "$err" '100 %  3.0 of 3.0 MB'
check 'no bar without a terminal' test "${err#*[}" = "$err"
forget
HF_ENDPOINT=$base python3 -c 'import pty, sys; pty.spawn(sys.argv[1:])' "$program" pull a/small-GGUF </dev/null >"$tmp/bar"
holds 'a bar on a terminal' "$(tr '\r' '\n' <"$tmp/bar")" 'small-Q4_K_M.gguf  100 %  [####'
takes 'a second pull fetches nothing' '' 'are here already' a/small-GGUF
check 'no file was asked for' test "$(grep -c resolve "$requests")" = 0
takes 'a tag in any case' '' 'takes Q8_0, 5.0 kB: the quant that you named' a/small-GGUF:q8_0
check 'both are in the snapshot' test "$(files a/small-GGUF)" = 'small-Q4_K_M.gguf small-Q8_0.gguf'
takes 'no projector if so wished' '' 'takes Q4_K_M, 4.0 kB' a/seeing-GGUF --no-vision
check 'and there is none' test "$(files a/seeing-GGUF)" = seeing-Q4_K_M.gguf
takes 'a projector with its model' '' 'it sees pictures with mmproj-BF16.gguf (1.1 kB); --no-vision leaves that out' \
    a/seeing-GGUF
check 'one of them' test "$(files a/seeing-GGUF)" = 'mmproj-BF16.gguf seeing-Q4_K_M.gguf'
takes 'that of the top with parts of a folder' '' 'mmproj-BF16.gguf' a/seeing-GGUF:Q8_0
takes 'UD-Q4_K_XL where there is no Q4_K_M' '' 'takes UD-Q4_K_XL' a/ud-GGUF
takes 'else the largest quant that fits' '' 'takes Q6_K, 2.0 kB: there is neither' a/odd-GGUF
takes 'split files whole' '' 'takes Q4_K_M, 6.0 kB' a/split-GGUF
check 'all parts in their folder' test "$(files a/split-GGUF)" = \
    "$(printf 'Q4_K_M/split-Q4_K_M-0000%s-of-00003.gguf\n' 1 2 3 | paste -sd' ')"
check 'links out of a folder' is_sound a/split-GGUF
fails 'a part is missing' '' 1 'expected 2 parts, found 1' a/split-GGUF:Q8_0
takes 'a safetensors model' '' 'configuration, tokenizer and weights' a/whole
check 'its files, no others' test "$(files a/whole | tr ' ' '\n' | grep -cE 'README|onnx|consolidated|empty')" = 0
check 'small files are checked too' is_sound a/whole
takes 'what the index names' '' 'those that the index names' a/parts
check 'no more, no less' test "$(files a/parts | tr ' ' '\n' | grep -E 'safetensors|bin' | paste -sd' ')" = \
    'model-00001-of-00002.safetensors model-00002-of-00002.safetensors model.safetensors.index.json mtp.safetensors'
fails 'an index that names what is not there' '' 1 "names gone.safetensors, which the repository doesn't have" a/lost
takes 'a damaged index beside a whole file' '' 'weights (safetensors)' a/damaged
check 'which is what is taken' test "$(files a/damaged)" = 'config.json model.safetensors tokenizer.json'
takes 'pages are followed' '' 'takes Q4_K_M' a/many-GGUF
check 'three pages' test "$(grep -c tree/ "$requests")" = 3
pull '' a/ud-GGUF:Q8_0 --dry-run
check 'a dry run says it' test "$status" = 0 -a -z "${out##*takes Q8_0*}"
check 'a dry run takes nothing' test "$(files a/ud-GGUF)" = ud-UD-Q4_K_XL.gguf
pull '' a/small-GGUF --dry-run --json
check 'a plan for programs' test "$(python3 -c 'import json,sys
o = json.loads(sys.argv[1])
print(o["event"], o["repository"], o["tag"], o["host"] == sys.argv[2], o["files"], o["bytes"], o["missing_bytes"], o["fits_memory"])' \
    "$out" "${base#http://}")" = 'plan a/small-GGUF Q4_K_M True 1 3000001 0 True'
pull '' a/none --json
holds 'a failure for programs' "$out" '{"event":"error","text":"a/none: not found at '
fails 'no such quant' '' 1 'no model Q5_K_M; there are: Q4_K_M 3.0 MB, Q8_0 5.0 kB, UD-Q4_K_XL 4.0 kB' a/small-GGUF:Q5_K_M
fails 'a tag of a safetensors model' '' 1 'there are no GGUF models' a/whole:Q4_K_M
fails 'no model' '' 1 'expected GGUF models, or safetensors' a/empty
fails 'another architecture' '' 1 'its architecture is mamba; Tandem runs qwen35' a/mamba-GGUF
fails 'no name' '' 2 "found 'small'" small
fails 'no path for a name' '' 2 "found '../x/y'" ../x/y
fails 'nothing named' '' 2 'expected OWNER/NAME[:TAG]'
fails 'an unknown option' '' 2 "unknown option '--dry'; did you mean '--dry-run'?" a/b --dry
HF_HUB_OFFLINE=1 fails 'offline' '' 2 'HF_HUB_OFFLINE is set' a/small-GGUF
TRANSFORMERS_OFFLINE=Yes fails 'offline by its other name' '' 2 'TRANSFORMERS_OFFLINE is set' a/small-GGUF
HF_HUB_OFFLINE=false TRANSFORMERS_OFFLINE=1 takes 'not offline' '' 'takes' a/small-GGUF:Q8_0

# ---- What was pulled talks --------------------------------------------------------------------------------------

takes 'a model that talks' '' 'the only model' a/demo-GGUF
for name in a/demo-GGUF a/demo-GGUF:Q6_K; do
    check "-m $name" test -n "$("$program" run -m $name -n 4 --temp 0 'Hello' 2>/dev/null)"
done
check '-m with a safetensors repository' test -n "$("$program" eval -m a/whole --ids 1,2,3 --perplexity)"
holds '-m says how to get another quant' "$("$program" info -m a/demo-GGUF:Q8_0 2>&1)" '`tandem pull a/demo-GGUF:Q8_0` fetches it'

# ---- Where things are -------------------------------------------------------------------------------------------

forget
(unset HF_HUB_CACHE; HF_HOME=$tmp/home pull '' a/ud-GGUF; exit "$status")
check 'HF_HOME' test -d "$tmp/home/hub/models--a--ud-GGUF/snapshots"
mkdir "$tmp/big disk"
(unset HF_HUB_CACHE; BIG="$tmp/big disk" HUGGINGFACE_HUB_CACHE='${BIG}/hub' pull '' a/ud-GGUF; exit "$status")
check 'HUGGINGFACE_HUB_CACHE, by way of a variable, with a blank' \
    test -d "$tmp/big disk/hub/models--a--ud-GGUF/snapshots"
(HF_HUB_CACHE='~/tilde' pull '' a/ud-GGUF; exit "$status")
check 'below the home folder' test -d "$HOME/tilde/models--a--ud-GGUF/snapshots"
(unset HF_HUB_CACHE XDG_CACHE_HOME; pull '' a/ud-GGUF)
check 'the home folder' test -d "$HOME/.cache/huggingface/hub/models--a--ud-GGUF/snapshots"
fails 'a token is asked for' needtoken 1 'not there, or it needs an access token (HF_TOKEN)' a/ud-GGUF
HF_TOKEN=hf_secret takes 'HF_TOKEN' needtoken 'takes' a/ud-GGUF
forget
mkdir -p "$HOME/.cache/huggingface" && echo hf_secret >"$HOME/.cache/huggingface/token"
(unset XDG_CACHE_HOME; takes 'the file of a login' needtoken 'takes' a/ud-GGUF)
forget
mkdir -p "$tmp/home" && echo hf_secret >"$tmp/home/token"
HF_HOME=$tmp/home takes 'the file of a login in HF_HOME' needtoken 'takes' a/ud-GGUF
HF_TOKEN=hf_wrong fails 'a wrong token' needtoken 1 'your access token does not reach it' a/ud-GGUF
HF_TOKEN=$'hf_x\r\nX-Evil: 1' fails 'a token with a line break' '' 2 'the access token holds more' a/ud-GGUF
check 'and nothing was asked' test ! -s "$requests"

# ---- Connections ------------------------------------------------------------------------------------------------

forget
takes 'cut connections are gone on from' cut 'takes' a/small-GGUF
check 'in two more parts' test "$(grep resolve "$requests" | cut -d' ' -f3 | paste -sd' ')" = \
    '- bytes=1500000- bytes=2250000-'
holds 'and it says so' "$err" 'again in 1 s, from 1.5 MB'
check 'what came is right' is_sound a/small-GGUF
forget
pull cuts a/small-GGUF --json
holds 'programs are told of cuts' "$out" '{"event":"note","text":"127.0.0.1: the connection was cut; again in 1 s'
holds 'and of the end' "$out" '{"event":"error","text":"'
forget
pull '' a/small-GGUF --json
holds 'how far it is' "$out" '{"event":"progress","done_bytes":3000001,"total_bytes":3000001,'
holds 'and that all is there' "${out##*$'\n'}" '{"event":"done","text":"a/small-GGUF:Q4_K_M"}'
forget
takes 'a token is not sent to another host' redirect 'takes' a/ud-GGUF
HF_TOKEN=hf_secret pull redirect a/ud-GGUF:Q8_0
check 'it was sent to the hub' grep -q '/resolve/.* Bearer_hf_secret' <(grep -v moved "$requests")
check 'it was asked for at the other host' grep -q moved "$requests"
check 'without the token' test "$(grep moved "$requests" | grep -c secret)" = 0
forget
HF_TOKEN=hf_secret takes 'it is sent on the same host' relative 'takes' a/ud-GGUF
check 'with the token' grep -q 'moved.*Bearer_hf_secret' "$requests"
forget
takes 'too many requests' 429 'takes' a/ud-GGUF
holds 'it waits as it is told' "$err" 'the server answers 429: too many requests; again in 1 s'
takes 'until a date' 429date 'takes' a/odd-GGUF
takes 'a server with a fault' 500 'takes' a/many-GGUF
fails 'not for a day' 429long 1 'asks to be left alone for 86400 s' a/small-GGUF
takes 'a mirror with ETags of its own' ownetag 'takes' a/split-GGUF
fails '401' 401 1 'a/small-GGUF: not there, or it needs an access token' a/small-GGUF
fails '403' 403 1 'access is restricted; its page says how to get it' a/small-GGUF
fails '404' 404 1 'a/small-GGUF: not found' a/small-GGUF
fails '401 for a file' denied 1 'not there, or it needs an access token' a/small-GGUF
fails 'redirects without an end' loop 1 'too many redirects' a/small-GGUF
fails 'a redirect to nowhere' nowhere 1 'expected an address' a/small-GGUF
fails 'a redirect to another protocol' toftp 1 'expected an address of http or https' a/small-GGUF
base=http://127.0.0.1:1 fails 'no server' '' 1 'pull: 127.0.0.1: ' a/small-GGUF
base='nonsense://x' fails 'no address' '' 1 'expected an address of http or https' a/small-GGUF
if command -v openssl >/dev/null; then
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext 'subjectAltName=DNS:localhost' \
        -keyout "$tmp/key" -out "$tmp/certificate" 2>/dev/null
    plain=$base
    start_server "$tmp/port-tls" "$tmp/certificate" "$tmp/key"
    base=https://localhost:$port
    fails 'a certificate that nobody knows' '' 1 'certificate' a/ud-GGUF
    SSL_CERT_FILE=$tmp/certificate takes 'one that SSL_CERT_FILE knows' '' 'takes' a/ud-GGUF
    forget
    base=https://127.0.0.1:$port
    SSL_CERT_FILE=$tmp/certificate fails 'one of another host' '' 1 '127.0.0.1' a/ud-GGUF
    base=https://localhost:$port
    SSL_CERT_FILE=$tmp/certificate fails 'from https to http' redirect 1 'leads from https to http' a/ud-GGUF
    base=$plain
else
    echo 'skip a certificate that nobody knows: openssl is not installed'
fi

# ---- Contents ---------------------------------------------------------------------------------------------------

forget
fails 'a wrong hash' hash 1 'expected the SHA-256' a/small-GGUF
check 'nothing of it stays' test -z "$(find "$HF_HUB_CACHE" -name '*.incomplete' -o -type l)"
fails 'a wrong hash of a small file' hash 1 'expected the git SHA-1' a/whole
fails 'longer than said' long 1 'but the server sends more' a/ud-GGUF
fails 'changed since it was listed' etag 1 'but the server now has 11111' a/ud-GGUF
fails 'another size' size 1 'but the server now has 1001' a/ud-GGUF
fails 'no JSON' badjson 1 "the hub's revision: byte 8: not valid JSON" a/ud-GGUF
fails 'JSON without an end' hugejson 1 'expected at most 16777216 bytes' a/ud-GGUF
fails 'pages without an end' pages 1 'has no end' a/ud-GGUF
fails 'a commit that is a path' '' 1 'field sha: expected a commit' a/badsha-GGUF
fails 'a digest that is a path' '' 1 'field oid: expected 40 hexadecimal digits' a/baddigest-GGUF
fails 'a size below nothing' '' 1 'field size: expected 0 to' a/badsize-GGUF
takes 'names that lead elsewhere are left out' '' '10 files of the repository are left out' a/evil-GGUF
check 'and nothing is elsewhere' test -z "$(find "$tmp" -name '*evil*' -not -path "$HF_HUB_CACHE/*models--a--evil-GGUF*")"
check 'no control character is shown' test "${out//[$'\e'$'\u202e']/}" = "$out"

# ---- Pages in the place of files --------------------------------------------------------------------------------

is_left() { test -n "$(find "$HF_HUB_CACHE" -name '*.incomplete' -o -path '*/blobs/*' -o -path '*/refs/*')"; }
none_is_left() { ! is_left; }
forget
for fault in page pageredirect pagechunks textchunks textsized; do
    fails "in the place of a file: $fault" $fault 1 'a web page came: sign-in or proxy?' a/small-GGUF
    holds 'the line names the file' "$err" 'tandem pull: small-Q4_K_M.gguf: '
    check 'nothing of it stays' none_is_left
    check 'it is asked for once' test "$(grep -v moved "$requests" | grep -c resolve)" = 1
    fails "in the place of a small file: $fault" $fault 1 'a web page came: sign-in or proxy?' a/whole
    check 'nothing of that stays' none_is_left
done
fails 'in the place of an index' page 1 'model.safetensors.index.json: a web page came' a/parts
fails 'and of one that could be left out' page 1 'model.safetensors.index.json: a web page came' a/damaged
fails 'in the place of the list' pagelist 1 "the hub's list of files: a web page came" a/small-GGUF
pull page a/small-GGUF --json
holds 'programs are told' "$out" '{"event":"error","text":"small-Q4_K_M.gguf: a web page came: sign-in or proxy?"}'
forget
takes 'what may have been a file, cut' textopen 'takes' a/small-GGUF
check 'is asked for again from the beginning' test "$(grep resolve "$requests" | cut -d' ' -f3 | paste -sd' ')" = '- -'
check 'and is right' is_sound a/small-GGUF

# ---- What is gone on with ---------------------------------------------------------------------------------------

blob=$(sha256sum < <(python3 -c 'import random,sys; sys.stdout.buffer.write(random.Random(1).randbytes(3000001))') | cut -c-64)
half=$(folder a/small-GGUF)/blobs/$blob.incomplete
make_half() { # of how many bytes
    forget
    mkdir -p "${half%/*}"
    python3 -c 'import random,sys; sys.stdout.buffer.write(random.Random(1).randbytes(3000001)[:int(sys.argv[1])])' "$1" >"$half"
}
make_half 1000000
takes 'it goes on where it ended' '' '1.0 MB of it are here already' a/small-GGUF
check 'from there' test "$(grep resolve "$requests" | cut -d' ' -f3)" = bytes=1000000-
check 'to a whole' is_sound a/small-GGUF
make_half 1000000
takes 'a server that has no parts' norange 'takes' a/small-GGUF
check 'gives the whole' is_sound a/small-GGUF
make_half 1000000
takes 'a server that refuses parts (416)' 416 'takes' a/small-GGUF
check 'is asked for the whole' test "$(grep resolve "$requests" | cut -d' ' -f3 | paste -sd' ')" = 'bytes=1000000- -'
check 'and it is' is_sound a/small-GGUF
make_half 1000000
fails 'a server that sends another part' otherrange 1 'another part than was asked for' a/small-GGUF
for fault in page pageredirect pagechunks textsized pagepart; do
    make_half 1000000
    before=$(sha256sum "$half")
    fails "a page in the place of the rest: $fault" $fault 1 'a web page came: sign-in or proxy?' a/small-GGUF
    check 'the rest was asked for' grep -q 'bytes=1000000- ' "$requests"
    check 'what was there stays as it was' test "$(sha256sum "$half")" = "$before"
    takes 'and is gone on with' '' 'takes' a/small-GGUF
    check 'to what the hub has' is_sound a/small-GGUF
done
forget
fails 'a page after a cut' pageagain 1 'a web page came: sign-in or proxy?' a/small-GGUF
takes 'what came before it is gone on with' '' '1.5 MB of it are here already' a/small-GGUF
check 'and is right' is_sound a/small-GGUF
forget
mkdir -p "${half%/*}"
echo '<html>Please sign in</html>' >"$half"
takes 'a page that was kept once' '' 'takes' a/small-GGUF
check 'is not gone on with' test "$(grep resolve "$requests" | cut -d' ' -f3)" = -
make_half 3000001
takes 'all was there' '' 'are here already' a/small-GGUF
check 'and only had to be checked' test "$(grep -c resolve "$requests")" = 0
make_half 3000001
printf x | dd of="$half" conv=notrunc status=none
takes 'what was there is wrong' '' 'takes' a/small-GGUF
holds 'so it begins again' "$err" 'what was there does not fit; from the beginning'
check 'and is right then' is_sound a/small-GGUF
forget
mkdir -p "${half%/*}"
head -c 4000000 /dev/zero >"$half"
takes 'what was there is too long' '' 'takes' a/small-GGUF
forget
mkdir -p "${half%/*}"
ln -s "$tmp/elsewhere" "$half"
fails 'a link in the place of the half' '' 1 "can't be opened" a/small-GGUF
check 'is not written through' test ! -e "$tmp/elsewhere"

forget
fails 'the disk is too small' '' 1 'the disk is too small: 1000 TB are needed' a/huge-GGUF:Q4_K_M
holds 'memory that is too small is said' "$out" 'it may not fit: this computer has '
fails 'what does not fit is not taken unasked' '' 1 'no quant that Tandem reads fits the memory' a/huge-GGUF
check 'nothing was begun' test ! -e "$HF_HUB_CACHE"
(ulimit -f 1024; pull '' a/small-GGUF; exit "$status")
check 'a full disk is a failure' test $? = 1
holds 'which is told' "$(tail -1 "$tmp/err")" "can't be written; what has come stays"
came=$(stat -c %s "$half")
check 'what came is there' test "$came" = 1048576
takes 'and gone on with' '' 'takes' a/small-GGUF
check 'from the byte where it ended' test "$(grep resolve "$requests" | cut -d' ' -f3)" = "bytes=$came-"
check 'and it is right' is_sound a/small-GGUF

wait_until() { # a condition's command
    for ((i = 0; i < 1200; i++)); do
        "$@" && return
        sleep 0.05
    done
    echo "not ok waited for: $*"
}
forget
: >"$requests"
HF_ENDPOINT=$base/hold "$program" pull a/small-GGUF >"$tmp/first" 2>&1 &
first=$!
wait_until test -s "$half"
kill -9 $first
wait $first 2>/dev/null
came=$(stat -c %s "$half")
takes 'after kill -9' '' 'of it are here already' a/small-GGUF
check 'it goes on' test "$(grep resolve "$requests" | cut -d' ' -f3)" = "bytes=$came-"
check 'to a right end' is_sound a/small-GGUF

forget
: >"$requests"
# (A script's shell has what it starts in the background ignore SIGINT.)
HF_ENDPOINT=$base/hold env --default-signal=INT "$program" pull a/small-GGUF >"$tmp/first" 2>&1 &
first=$!
wait_until test -s "$half"
kill -INT $first
wait $first
check 'Ctrl-C is status 1' test $? = 1
holds 'and a line that says how to go on' "$(<"$tmp/first")" 'interrupted; the same command goes on'

forget
: >"$requests"
HF_ENDPOINT=$base/hold "$program" pull a/small-GGUF >"$tmp/first" 2>&1 &
first=$!
wait_until test -s "$half"
HF_ENDPOINT=$base "$program" pull a/small-GGUF >"$tmp/second" 2>&1 &
second=$!
wait_until grep -q 'another program fetches it; waiting' "$tmp/second"
if grep -q '^Seccomp:' /proc/self/status; then
    check 'it has no new rights and a filter' test "$(grep -cE '^(NoNewPrivs:.1|Seccomp:.2)$' "/proc/$first/status")" = 2
else
    echo 'skip a filter: no seccomp here'
fi
python3 -c 'import urllib.request,sys; urllib.request.urlopen(sys.argv[1])' "$base/release"
wait $first
check 'the first of two pulls' test $? = 0
wait $second
check 'the second of two pulls' test $? = 0
check 'fetched it once' test "$(grep -c resolve "$requests")" = 1
check 'and right' is_sound a/small-GGUF

# A folder of the cache that lies elsewhere, in the user's home as well.
forget
mkdir -p "$tmp/elsewhere" "$HF_HUB_CACHE"
ln -s "$tmp/elsewhere" "$(folder a/small-GGUF)"
takes 'through a link' '' 'takes' a/small-GGUF
check 'what a link leads to' test -n "$(ls "$tmp/elsewhere/blobs")"

# ---- The two programs -------------------------------------------------------------------------------------------

cp "$program" "$tmp/tandem"
alone=$(PATH=/nonexistent "$tmp/tandem" pull a/b 2>&1)
check 'without tandem-pull: status 1' test $? = 1
holds 'and a line that says why' "$alone" 'tandem pull: tandem-pull: not there: Tandem was built without libcurl'
check 'the chat program knows no libcurl' test "$(ldd "$program" 2>/dev/null | grep -cE 'libcurl|libssl|libgnutls')" = 0
