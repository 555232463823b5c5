#!/usr/bin/env bash
# tandem eval --image: the reference's logits of prompts with pictures, from both kinds of files; a vocabulary that has no
# pad by name; and what is refused.
. tests/scratch.sh
shared=$(realpath "${TANDEM_SHARED:-../shared}/goldens/families" 2>/dev/null)
if [[ ! -d $shared/qwen35-vision ]]; then
    echo 'skip eval with pictures: needs ../shared'
    exit
elif ! command -v python3 >/dev/null; then
    echo 'skip eval with pictures: python3 is not installed'
    exit
fi
cat >"$tmp/golden.py" <<'PYTHON'
# take FILE FOLDER: writes the pictures of a golden as PNG and prints its ids; draw FILE: one of 256 x 256;
# compare FILE FILE TOLERANCE: 0 where their logits are the same.
import json, os, struct, sys, zlib
def tensors(path):
    data = open(path, 'rb').read()
    n = struct.unpack('<Q', data[:8])[0]
    return {k: (v['shape'], data[8 + n + v['data_offsets'][0]:8 + n + v['data_offsets'][1]])
            for k, v in json.loads(data[8:8 + n]).items() if k != '__metadata__'}
def chunk(kind, data):
    return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
def png(h, w, rgb):
    rows = b''.join(b'\0' + rgb[3 * w * y:3 * w * (y + 1)] for y in range(h))
    return (b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', w, h, 8, 2, 0, 0, 0)) +
            chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b''))
def numbers(tensor, kind):
    return struct.unpack(f'<{len(tensor[1]) // 4}{kind}', tensor[1])
what = sys.argv[1]
if what == 'draw':
    with open(sys.argv[2], 'wb') as out:
        out.write(png(256, 256, bytes(i * i >> 5 & 255 for i in range(3 * 256 * 256))))
    sys.exit()
golden = tensors(sys.argv[2])
if what == 'take':
    for name in sorted(k for k in golden if k in ('image', 'image0', 'image1')):
        with open(f'{sys.argv[3]}/{name}.png', 'wb') as out:
            out.write(png(*golden[name][0][:2], golden[name][1]))
    print(','.join(map(str, numbers(golden['prompt_ids'], 'i'))))
else:
    want, got = numbers(golden['logits'], 'f'), numbers(tensors(sys.argv[3])['logits'], 'f')
    most = max(map(abs, want))
    print(0 if len(want) == len(got) and max(abs(a - b) for a, b in zip(want, got)) < float(sys.argv[4]) * most else 1)
PYTHON
evaluate() { "$program" eval --kernels reference --kv f32 "$@"; }
model=(-m "$shared/qwen35-vision")
gguf=(-m "$shared/gguf/qwen35-vision-bf16.gguf" --mmproj "$shared/gguf/qwen35-vision-mmproj.gguf")
for name in image-64x64 image-128x96 image-96x160 image-150x101 two-images; do
    golden=$shared/qwen35-vision/$name.safetensors
    mkdir "$tmp/$name"
    ids=$(python3 "$tmp/golden.py" take "$golden" "$tmp/$name")
    images=()
    for file in "$tmp/$name"/*.png; do images+=(--image "$file"); done
    tolerance=0.01
    [[ $name == image-150x101 ]] && tolerance=0.02 # it is resized
    evaluate "${model[@]}" --ids "$ids" "${images[@]}" --logits "$tmp/logits"
    check "$name" test "$(python3 "$tmp/golden.py" compare "$golden" "$tmp/logits" $tolerance)" = 0
    rm "$tmp/logits"
done
refused() { # name, words, arguments...
    local name=$1 words=$2
    shift 2
    holds "$name" "$(evaluate "$@" --logits "$tmp/none" 2>&1)" "$words"
}
picture=$tmp/image-64x64/image.png
refused 'too few runs' '--image: pictures 1, runs of token 508 in the ids 0' "${model[@]}" --ids 1,2 --image "$picture"
refused 'too short a run' 'picture 1 has 4 tokens: fewer pads stand for it' "${model[@]}" --ids 1,508,508,2 --image "$picture"
refused 'no eyes' 'the model sees no pictures' -m builtin --ids 1,2,2,2,2 --image "$picture"
refused 'no picture' "$tmp/golden.py: expected a picture" "${gguf[@]}" --ids 1,2 --image "$tmp/golden.py"

# The converter writes neither the pad nor the processor's bounds: a picture has at least 64 tokens, and the pad is the id
# whose runs fit.
picture=$tmp/large.png
python3 "$tmp/golden.py" draw "$picture"
run() { printf "$1%.0s," $(seq 64); } # ID
refused 'none fits' 'none of the ids has a run for each, as long as it has tokens (the first one 64)' "${gguf[@]}" \
    --ids "1,2,2,2,3" --image "$picture"
refused 'several fit' 'several of the ids have a run for each' "${gguf[@]}" --ids "1,$(run 2)3,$(run 4)5" --image "$picture"
ids=1,2,3,$(run 508)4,5,6
evaluate "${model[@]}" --ids "$ids" --image "$picture" --logits "$tmp/directory"
evaluate "${gguf[@]}" --ids "$ids" --image "$picture" --logits "$tmp/logits"
check 'both kinds of files' test "$(python3 "$tmp/golden.py" compare "$tmp/directory" "$tmp/logits" 0.001)" = 0
check 'perplexity' grep -q '^perplexity [0-9.]* tokens 69$' <(evaluate "${gguf[@]}" --ids "$ids" --image "$picture" --perplexity)
