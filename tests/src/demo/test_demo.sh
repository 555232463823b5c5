#!/usr/bin/env bash
# What ends `tandem demo` with one line before there is a screen.
. tests/scratch.sh

# NAME STATUS LINE ARGUMENTS...
ends() {
    local name=$1 status=$2 line=$3
    shift 3
    "$program" demo "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    local found=$?
    if (( found == status )) && [[ $(wc -l <"$tmp/err") -eq 1 && ! -s $tmp/out ]] && grep -qF -- "$line" "$tmp/err"
    then echo "ok $name"
    else sed 's/^/# /' "$tmp/err"; echo "# status $found"; echo "not ok $name"
    fi
}
echo 'no JSON' >"$tmp/bad.json"
echo '{"turns": []}' >"$tmp/empty.json"
echo '{"turns": [{"text": "Hi.", "events": [{"do": "regenerate"}]}]}' >"$tmp/acts.json"
printf '{"turns": [{"text": "%05000d"}]}' 1 >"$tmp/long.json"
ends 'without a screen' 1 'it needs a terminal that can hold a screen'
ends 'no such script' 1 "$tmp/none.json: " --script "$tmp/none.json"
ends 'a script that is no JSON' 1 "$tmp/bad.json" --script "$tmp/bad.json"
ends 'a script without turns' 1 'expected an array of 1 to 10000' --script "$tmp/empty.json"
ends 'a script of what the demo has no place for' 1 'turn 1: the demo plays insert, delete and stop, not regenerate' \
    --script "$tmp/acts.json"
ends 'a message that is too long' 1 'turn 1: 5000 bytes, the demo has room for 4096' --script "$tmp/long.json"
ends 'no such picture' 1 "$tmp/none.png: " --image "$tmp/none.png"
ends 'a picture that is none' 1 'expected a picture (PNG, JPEG or WebP)' --image "$tmp/bad.json"
ends 'two pictures' 1 'expected one picture, found 2' --image a.png --image b.png
ends 'an argument' 2 "'x' is not expected" x
