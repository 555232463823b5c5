#!/usr/bin/env bash
# `tandem models`: what the hub's cache, the folders named and recent -m hold, once each, and what doesn't load.
. tests/scratch.sh
export HF_HUB_CACHE=$tmp/hub
demo=$(realpath assets/tandem-demo-51m-q6_k.gguf)
repository=$HF_HUB_CACHE/models--a--b-GGUF
mkdir -p "$repository"/{refs,snapshots/abc/sub} "$HF_HUB_CACHE/models--a--whole"/{refs,snapshots} "$tmp/folder"
printf abc >"$repository/refs/main"
cp "$demo" "$repository/snapshots/abc/b-Q6_K.gguf"
printf 'no model' >"$repository/snapshots/abc/sub/b-Q8_0.gguf"
printf x >"$repository/snapshots/abc/mmproj-F16.gguf"
printf abc >"$HF_HUB_CACHE/models--a--whole/refs/main"
cp -r "$tiny" "$HF_HUB_CACHE/models--a--whole/snapshots/abc"
cp "$demo" "$tmp/folder/mine.gguf"
ln -s "$demo" "$tmp/folder/again.gguf"

models() { # arguments...
    out=$("$program" models "$@" 2>"$tmp/err")
    status=$?
}
row() { grep -E "^$1 " <<<"$out"; }

models --model-folders "$tmp/folder:$tmp/none"
check 'status 0' test "$status" = 0
holds 'memory and its speed are said' "$(head -1 <<<"$out")" ' of memory, '
check 'its speed was measured now' grep -qE 'it is read at [0-9.]+ GB/s \(measured ' <<<"$out"
check 'and not kept' test ! -s "$tmp/err" -a ! -e "$XDG_CACHE_HOME/tandem"
"$program" info --cpu --measure >"$tmp/out" 2>&1 # or each of the lists below would measure
cp -r "$XDG_CACHE_HOME/tandem" "$tmp/measured"
check 'the built-in model, by a name for -m' test -n "$(row builtin)"
holds 'a quant of a repository' "$(row a/b-GGUF:Q6_K)" 'q6_k      42.3 MB'
check 'with what to expect' grep -qE 'tok/s  (fits|too large)' <<<"$(row a/b-GGUF:Q6_K)"
holds 'a safetensors repository' "$(row a/whole)" 'bf16'
holds 'what does not load, and why' "$(row a/b-GGUF:Q8_0)" 'not for Tandem: '
check 'a model of a folder' test -n "$(row "$tmp/folder/mine.gguf")"
check 'a model twice is one' test -z "$(grep -e again -e mmproj <<<"$out")"
check 'its name is one for -m' test -n "$("$program" tokenize -m a/b-GGUF:Q6_K x)"
models
check 'without the folder' test -z "$(grep folder <<<"$out")"
mkdir -p "$XDG_CONFIG_HOME/tandem" && echo "model-folders = $tmp/folder" >"$XDG_CONFIG_HOME/tandem/config"
models
check 'the folders of the configuration' test -n "$(row "$tmp/folder/mine.gguf")"
printf 'model-folders = ~/none:~/folder\nmodel = ~/folder/mine.gguf\n' >"$XDG_CONFIG_HOME/tandem/config"
HOME=$tmp models
holds 'below the home folder, too' "$(row "$tmp/folder/mine.gguf")" ', default'
holds 'as the default' "$(HOME=$tmp "$program" info 2>&1)" "$tmp/folder/mine.gguf"
said=$(printf '/model ~/folder/mine.gguf\n' | HOME=$tmp "$program" chat --plain --private -m builtin 2>&1)
holds 'and /model' "$said" 'going on with Tandem Demo 51M'
rm "$XDG_CONFIG_HOME/tandem/config"
echo Hello | "$program" chat --plain --private -m "$tmp/folder/mine.gguf" -n 1 >/dev/null 2>&1
models
check 'a private chat leaves no trace' test -z "$(grep mine <<<"$out")"
(cd "$tmp/folder" && echo Hello | "$program" chat --plain -m mine.gguf -n 1 >/dev/null 2>&1)
models
check 'another is remembered' test -n "$(row "$tmp/folder/mine.gguf")"
mkdir "$tmp/one" && cp "$demo" "$tmp/one/only.gguf"
echo Hello | "$program" chat --plain -m "$tmp/one" -n 1 >/dev/null 2>&1
models --model-folders "$tmp/one"
check 'a folder with one file, and that file, are one' test "$(grep -c "^$tmp/one" <<<"$out")" = 1
rm -r "$tmp/one" "$tmp/folder/mine.gguf"
models
check 'until it is gone' test -z "$(grep mine <<<"$out")"
models --json
check 'a line of JSON for each' test "$(grep -c '^{"name":"' <<<"$out")" = "$(grep -c . <<<"$out")"
holds 'with its figures' "$(grep '"name":"a/b-GGUF:Q6_K"' <<<"$out")" '"type":"q6_k","disk_bytes":42321664,"needs_bytes":'
holds 'and why one is not for Tandem' "$(grep '"name":"a/b-GGUF:Q8_0"' <<<"$out")" '"fits":null,"expected_tps":null,"sees":false,"default":false,"error":"'
echo 'model = a/b-GGUF:Q6_K' >"$XDG_CONFIG_HOME/tandem/config"
models
holds 'the default is marked' "$(row a/b-GGUF:Q6_K)" ', default'
rm "$XDG_CONFIG_HOME/tandem/config"
check '-m builtin' test -n "$("$program" run -m builtin -n 2 --temp 0 Hello 2>/dev/null)"

# ---- In a conversation: the same rows, and the last model is the next one's ----------------------------------------

talk() { out=$(printf '%s\n' "$1" | "$program" chat --plain "${@:2}" 2>"$tmp/err"); }
talk /model
holds '/model lists them' "$out" 'a/b-GGUF:Q6_K'
holds 'the model that talks is marked' "$(row builtin)" 'in use'
talk Hello -m a/b-GGUF:Q6_K -n 1
talk /model
check 'the last model is the next' grep -q 'in use' <<<"$(row a/b-GGUF:Q6_K)"
talk $'/private on\n/model builtin'
talk /model
check 'what was private is not remembered' grep -q 'in use' <<<"$(row a/b-GGUF:Q6_K)"
talk /model --private -m builtin
talk '/model builtin'
talk /model
check 'one that was chosen is' grep -q 'in use' <<<"$(row builtin)"
talk Hello -m a/b-GGUF:Q6_K -n 1
rm -rf "$XDG_CACHE_HOME/tandem"
talk /model --private
check 'a private list is measured' grep -qE ' tok/s' <<<"$(row builtin)"
check 'and writes nothing' test ! -e "$XDG_CACHE_HOME/tandem"
cp -r "$tmp/measured" "$XDG_CACHE_HOME/tandem"
sed -i -E 's/("bytes":) *[0-9.e+]+/\1 123e9/g' "$XDG_CACHE_HOME"/tandem/ceilings-*.json
models
holds 'what was kept is taken' "$out" 'it is read at 123 GB/s'
talk /model
holds 'and /model takes it' "$out" 'it is read at 123 GB/s'
echo "model = $demo" >"$XDG_CONFIG_HOME/tandem/config"
talk /model
check 'the configuration wins' grep -q 'in use, default' <<<"$(row builtin)"
rm "$XDG_CONFIG_HOME/tandem/config"
talk Hello -m a/b-GGUF:Q6_K -n 1
mv "$repository" "$tmp/away"
talk Hello -n 1
holds 'one that is gone is told' "$(<"$tmp/err")" 'the last model, a/b-GGUF:Q6_K, is gone: the built-in one talks'
mv "$tmp/away" "$repository"
"$program" models x 2>/dev/null
check 'no argument is taken' test $? = 2

# A repository without refs and with a link that leads nowhere, below a folder with a blank: what is whole is offered, and
# the rest is called incomplete, by whoever is asked.
export HF_HUB_CACHE="$tmp/a hub"
half=$HF_HUB_CACHE/models--a--half-GGUF/snapshots/0123
broken=$HF_HUB_CACHE/models--a--broken/snapshots
mkdir -p "$half" "$broken"
cp "$demo" "$half/b-Q6_K.gguf"
ln -s ../../blobs/gone "$half/b-Q4_K_M.gguf"
cp -r "$tiny" "$broken/new"
ln -sf ../../blobs/gone "$broken/new/model.safetensors"
models
holds 'the whole quant' "$(row a/half-GGUF:Q6_K)" 'q6_k'
holds 'the other is incomplete' "$(row a/half-GGUF:Q4_K_M)" " incomplete: b-Q4_K_M.gguf isn't there"
holds 'so are weights' "$(row a/broken)" " incomplete: model.safetensors isn't there"
models --json
holds 'for programs too' "$(grep '"name":"a/half-GGUF:Q4_K_M"' <<<"$out")" "\"error\":\"incomplete: b-Q4_K_M.gguf isn't there"
holds 'info takes the whole one' "$("$program" info -m a/half-GGUF 2>&1)" 'q6_k'
holds 'and says of the other' "$("$program" info -m a/half-GGUF:Q4_K_M 2>&1)" \
    "incomplete: b-Q4_K_M.gguf isn't there: \`tandem pull a/half-GGUF:Q4_K_M\` fetches it"
check '-m takes it' test -n "$("$program" run -m a/half-GGUF -n 2 --temp 0 Hello 2>/dev/null)"
holds '-m says of weights' "$("$program" run -m a/broken Hello 2>&1)" "a/broken: incomplete: model.safetensors isn't there"
cp -r "$tiny" "$broken/old"
touch -d '1 hour ago' "$broken/old"
models
holds 'an older snapshot that is whole' "$(row a/broken)" 'bf16'
check 'is the one that -m takes' test -n "$("$program" eval -m a/broken --ids 1,2,3 --perplexity)"
