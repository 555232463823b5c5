#!/usr/bin/env bash
# A transcript of `tandem pull` against the tests' own server, as Markdown: it is stopped in the middle, begun again, cut by
# the server, and goes on by itself. `make transcript` writes assets/pull.md with it; test_transcript.sh compares.
. tests/scratch.sh
unset XDG_CACHE_HOME http_proxy HTTP_PROXY all_proxy ALL_PROXY
python3 tests/src/pull/server.py "$tmp/port" "$tmp/requests" 2>/dev/null &
server=$!
trap 'kill $server 2>/dev/null; wait 2>/dev/null; rm -rf "$tmp"' EXIT
until [[ -s $tmp/port ]] || ! kill -0 $server 2>/dev/null; do sleep 0.05; done
base=http://127.0.0.1:$(<"$tmp/port")
half() { find "$HOME/.cache/huggingface" -name '*.incomplete' -size +18M 2>/dev/null | grep -q .; }
shown() { sed -E "s|$HOME|~|g; s|(127\.0\.0\.1):[0-9]+|\1|g; s|^|    |" "$1"; }

cat <<'TEXT'
# A pull that is stopped and cut

Made by `make transcript`: `tandem pull` against the server of the tests, which holds the connection in the middle. There Ctrl-C
stops it.

    $ tandem pull a/demo-GGUF
TEXT
HF_ENDPOINT=$base/hold env --default-signal=INT "$program" pull a/demo-GGUF >"$tmp/first" 2>&1 &
first=$!
for ((i = 0; i < 1200; i++)); do half && break; sleep 0.05; done
kill -INT $first
wait $first
shown "$tmp/first"
cat <<'TEXT'

The same command goes on with what has come. Now the server cuts the connection, twice; that is gone on from without a word of
the user.

    $ tandem pull a/demo-GGUF
TEXT
HF_ENDPOINT=$base/cut "$program" pull a/demo-GGUF >"$tmp/second" 2>&1
shown "$tmp/second"
cat <<'TEXT'

The server was asked for these parts; a minus means the whole.

TEXT
grep resolve "$tmp/requests" | sed -E 's|^GET /[a-z]+(/[^ ]*/)resolve/[0-9a-f]*(/[^ ]*) ([^ ]*) .*|    GET \1resolve/COMMIT\2  \3|'
cat <<'TEXT'

What lies in the cache is what the hub's digest says.

    $ sha256sum ~/.cache/huggingface/hub/models--a--demo-GGUF/blobs/*
TEXT
sha256sum "$HOME"/.cache/huggingface/hub/models--a--demo-GGUF/blobs/* >"$tmp/sums"
shown "$tmp/sums"
