#!/usr/bin/env bash
# Files that are something else than a model: every command that opens models says what they are, and fails.
. tests/scratch.sh
pointer=$'version https://git-lfs.github.com/spec/v1\noid sha256:0123\nsize 510464\n'
printf %s "$pointer" >"$tmp/pointer.gguf"
printf '<!doctype html>\n<title>Access denied\e[31m</title>\n' >"$tmp/page.gguf"
printf 'PK\x03\x04\0\0\0\0archive/data.pkl' >"$tmp/model.bin"
cp -r "$tiny" "$tmp/clone" && chmod -R u+w "$tmp/clone"
printf %s "$pointer" >"$tmp/clone/tokenizer.json"

refused() { # name, words, command...
    local name=$1 words=$2 out
    shift 2
    out=$("$program" "$@" 2>&1 </dev/null)
    check "$name: the status" test $? = 1
    holds "$name: what it is" "$out" "$words"
    check "$name: one line" test "$(wc -l <<<"$out")" = 1
    check "$name: harmless" test -z "$(grep $'\e' <<<"$out")"
}
for file in pointer.gguf page.gguf model.bin clone; do
    case $file in
    pointer.gguf) words="$file: expected a GGUF file, found a git-lfs pointer" ;;
    page.gguf) words="$file: expected a GGUF file, found an HTML page" ;;
    model.bin) words="$file: expected a GGUF file, found a PyTorch checkpoint" ;;
    clone) words="$file/tokenizer.json: expected JSON, found a git-lfs pointer" ;;
    esac
    refused "info $file" "$words" info "$tmp/$file"
    refused "eval $file" "$words" eval -m "$tmp/$file" --ids 1,2 --perplexity
    refused "run $file" "$words" run -m "$tmp/$file" hello
    refused "chat $file" "$words" chat --plain -m "$tmp/$file"
    refused "convert $file" "$words" convert "$tmp/$file" "$tmp/out.gguf"
done
refused 'a bare tokenizer' 'clone/tokenizer.json: expected JSON, found a git-lfs pointer' \
    tokenize -m "$tmp/clone/tokenizer.json" hello
refused 'a file of weights' 'model.safetensors: expected a GGUF file, found a safetensors file: name the folder' \
    info "$tiny/model.safetensors"
out=$("$program" models --model-folders "$tmp")
holds 'models: a pointer' "$(grep pointer.gguf <<<"$out")" \
    'not for Tandem: expected a GGUF file, found a git-lfs pointer'
holds 'models: a page' "$(grep page.gguf <<<"$out")" 'not for Tandem: expected a GGUF file, found an HTML page'
