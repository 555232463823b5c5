#!/usr/bin/env bash
# tandem render: contents that are parts, and pictures among them; their ids on the reference's model with eyes, whose
# vocabulary gets a pad.
. tests/scratch.sh
render() { "$program" render "$@"; }
fails() { # name, words, messages, arguments...
    local name=$1 words=$2 found
    printf '%s' "$3" >"$tmp/m.json"
    shift 3
    found=$(render --messages "$tmp/m.json" "$@" 2>&1 >"$tmp/out")
    local got=$?
    if [[ $got == 1 && $found == "tandem: "*"$words"* && $(wc -l <<<"$found") == 1 && ! -s $tmp/out ]]; then echo "ok $name"; else
        echo "# status $got: $found"
        echo "not ok $name"
    fi
}
# A content of a text, a picture's address and a text.
message() { printf '[{"role": "%s", "content": [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "%s"}},
    {"type": "text", "text": "b\\nc"}]}]' "${2:-user}" "$1"; }
png=$(realpath tests/src/image/corpus/decode/alpha.png)
data="data:image/png;base64,$(base64 -w0 "$png")"

echo '[{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b\nc"}]}, {"role": "assistant",
    "content": []}]' >"$tmp/texts.json"
echo '[{"role": "user", "content": "ab\nc"}, {"role": "assistant", "content": ""}]' >"$tmp/text.json"
check 'parts are one text' test "$(render --messages "$tmp/texts.json")" = "$(render --messages "$tmp/text.json")"
fails 'a part of another kind' 'message 1: part 1: expected "type": text' '[{"role": "user", "content": [{"type": "file"}]}]'
fails 'a part without a text' 'message 1: part 1: expected "type": text' '[{"role": "user", "content": [{"type": "text"}]}]'
fails 'a part that is no object' 'message 1: part 2: expected' '[{"role": "user", "content": [{"type": "text", "text": "a"}, 7]}]'
fails 'no such file' "message 1: $tmp/none.png: can't be opened" "$(message "$tmp/none.png")"
fails 'no picture' "message 1: $tmp/text.json: expected a picture" "$(message "$tmp/text.json")"
fails 'an address of another computer' 'https://a.example/b.png: expected a path, file:///' "$(message https://a.example/b.png)"
fails 'data that are not base64' 'data address: expected base64' "$(message 'data:image/png;base64,%%%%')"
fails 'data as text' 'data:image/png,abc: expected a path, file:///... or data:' "$(message 'data:image/png,abc')"
fails 'data of no picture' 'data address: expected a picture' "$(message 'data:image/png;base64,AAAA')"
fails "an assistant's picture" 'message 1: only messages of the user have pictures' "$(message "$png" assistant)"
fails 'a model that sees none' 'message 1 has pictures, and the model sees none' "$(message "$png")"
fails 'the built-in model' 'message 1 has pictures, and the model sees none' "$(message "$data")" -m builtin

shared=${TANDEM_SHARED:-../shared}/goldens
if [[ ! -d $shared/families/qwen35-vision ]]; then
    echo 'skip ids: needs ../shared'
    exit
fi
cp -r "$shared/families/qwen35-vision" "$tmp/model" && chmod -R u+w "$tmp/model"
sed -i 's/"<think>"/"<|image_pad|>"/' "$tmp/model/tokenizer.json"
pad=508
cp tests/engine/text/template/templates/pictures.jinja "$tmp/t.jinja"
model=(-m "$tmp/model") written=$'<|im_start|>user\na</think><|image_pad|></think>b\nc<|im_end|>\n<|im_start|>assistant'
fails "ChatML's template" "the model's chat template has no place for a picture" "$(message "$png")" "${model[@]}"
cp "$tmp/t.jinja" "$tmp/model/chat_template.jinja"
message "$png" >"$tmp/m.json"
check 'its text' test "$(render "${model[@]}" --messages "$tmp/m.json")" = "$written"
# A larger one than those of the corpus.
python3 - "$tmp/large.png" <<'PYTHON' || { echo 'skip ids: python3 is not installed'; exit; }
import struct, sys, zlib
def chunk(kind, data):
    return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
rows = b''.join(b'\0' + bytes(x * y & 255 for x in range(320 * 3)) for y in range(160))
open(sys.argv[1], 'wb').write(b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', 320, 160, 8, 2, 0, 0, 0)) +
                              chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b''))
PYTHON
pads() { tr ' ' '\n' <<<"$1" | grep -cx "$pad"; }
ids=$(render "${model[@]}" --messages "$tmp/m.json" --ids)
few=$(pads "$ids")
check 'ids: of a small one' test "$few" -gt 0 -a "$few" -lt 5
message "$data" >"$tmp/d.json"
check 'ids: a data address' test "$(render "${model[@]}" --messages "$tmp/d.json" --ids)" = "$ids"
message "file://$png" >"$tmp/d.json"
check 'ids: a file address' test "$(render "${model[@]}" --messages "$tmp/d.json" --ids)" = "$ids"
message "$tmp/large.png" >"$tmp/l.json"
large=$(render "${model[@]}" --messages "$tmp/l.json" --ids)
check 'ids: 10 x 5 tokens' test "$(pads "$large")" = 50
check 'ids: all others' test "$(tr ' ' '\n' <<<"$large" | grep -vx "$pad")" = "$(tr ' ' '\n' <<<"$ids" | grep -vx "$pad")"
check 'ids: fewer tokens' test "$(pads "$(render "${model[@]}" --messages "$tmp/l.json" --ids --image-tokens 8)")" -le 8
check 'ids: with --template' test "$(render "${model[@]}" --template "$tmp/t.jinja" --messages "$tmp/l.json" --ids)" = "$large"
echo '[{"role": "user", "content": [{"type": "image"}]}]' >"$tmp/h.json"
check 'ids: a place without a picture' test "$(pads "$(render "${model[@]}" --template "$tmp/t.jinja" --messages "$tmp/h.json" --ids)")" = 1
fails 'with --template: no place' 'the chat template has places for 0 pictures of 1' "$(message "$png")" "${model[@]}" --ids \
    --template <(echo '{{ messages[0].role }}')
fails 'a model without its eyes' 'message 1 has pictures, and the model sees none' "$(message "$png")" "${model[@]}" --ids --mmproj none
# What is rendered is what eval takes: a picture for each run.
printf '[%s, {"role": "assistant", "content": "d"}, %s]' "$(message "$png" | sed 's/^.//; s/]$//')" \
    "$(message "$tmp/large.png" | tr -d '\n' | sed 's/^.//; s/]$//')" >"$tmp/two.json"
two=$(render "${model[@]}" --messages "$tmp/two.json" --ids)
check 'eval takes the ids' "$program" eval "${model[@]}" --ids "${two// /,}" --image "$png" --image "$tmp/large.png" --logits "$tmp/logits"
