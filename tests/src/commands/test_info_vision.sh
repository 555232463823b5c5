#!/usr/bin/env bash
# tandem info of what sees: a projector alone, beside its model, named by --mmproj; and why one can't be used.
. tests/scratch.sh
shared=$(realpath "${TANDEM_SHARED:-../shared}/goldens/families" 2>/dev/null)
if [[ ! -d $shared/qwen35-vision ]]; then
    echo 'skip info of vision towers: needs ../shared'
    exit
fi
model=$shared/gguf/qwen35-vision-bf16.gguf projector=$shared/gguf/qwen35-vision-mmproj.gguf
info() { "$program" info "$@" 2>&1; }
told() { # what, output
    holds "$1: size" "$2" 'vision             0.6 million parameters (1.5 MB), bf16'
    holds "$1: layers" "$2" '  layers           3, width 96, feed-forward 192, 4 heads of 24'
    holds "$1: patches" "$2" '  patches          16 x 16 pixels; 2 x 2 of them are a token of width 128'
    holds "$1: positions" "$2" '  positions        6 x 6 learned, interpolated; rotated, base 10000'
    holds "$1: pictures" "$2" '  pictures         65536 to 16777216 pixels, 64 to 16384 tokens'
    holds "$1: a picture" "$2" '  640 x 480        300 tokens, seen as 640 x 480; 0.2 MB of embeddings'
    holds "$1: memory" "$2" ' MB packed, from the first picture on'
}
told 'a projector' "$(info "$projector")"
told '--mmproj' "$(info -m "$model" --mmproj "$projector")"
mkdir "$tmp/beside"
ln -s "$model" "$tmp/beside/a.gguf"
ln -s "$projector" "$tmp/beside/mmproj-a.gguf"
told 'a projector beside its model' "$(info -m "$tmp/beside/a.gguf")"
holds 'its file' "$(info -m "$tmp/beside/a.gguf")" "  file             $tmp/beside/mmproj-a.gguf"
check 'none wanted' test "$(info -m "$tmp/beside/a.gguf" --mmproj none | grep -c ^vision)" = 0
holds 'a directory: its bounds' "$(info -m "$shared/qwen35-vision")" '  640 x 480        234 tokens, seen as 576 x 416;'
for way in "$projector" "-m $model --mmproj $projector"; do
    holds "--json $way" "$(info --json $way)" '"layers":3,"width":96,"intermediate":192,"heads":4,"head_dim":24,'
    holds "--json $way: tokens" "$(info --json $way)" '"tokens_of_640x480":300,"embedding_bytes_of_640x480":153600,'
done

refused() { # name, words, arguments...
    local name=$1 words=$2 out
    shift 2
    out=$(info "$@")
    check "$name fails" test $? != 0
    holds "$name" "$out" "$words"
    check "$name: one line" test "$(wc -l <<<"$out")" = 1
}
refused 'another width' 'a vision tower of width 128, and the model' -m builtin --mmproj "$projector"
refused 'no file' 'No such file' -m "$model" --mmproj "$tmp/none.gguf"
head -c 3000 "$projector" >"$tmp/cut.gguf"
refused 'a cut projector' "$tmp/cut.gguf: " -m "$model" --mmproj "$tmp/cut.gguf"
refused 'a cut projector alone' "$tmp/cut.gguf: " "$tmp/cut.gguf"
mv "$tmp/cut.gguf" "$tmp/beside/mmproj-a.gguf"
holds 'a cut one beside it' "$(info -m "$tmp/beside/a.gguf")" "vision             not used: $tmp/beside/mmproj-a.gguf: "
holds 'a cut one beside it, --json' "$(info -m "$tmp/beside/a.gguf" --json | sed 's/\\//g')" \
    "\"vision_not_used\":\"$tmp/beside/mmproj-a.gguf: "
