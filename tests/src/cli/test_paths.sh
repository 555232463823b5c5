#!/usr/bin/env bash
# Places that take a path read it in the same way (engine/os/path.h): home folders, quotes, backslashes.
. tests/scratch.sh
works() { # name, command...
    local name=$1
    shift
    "$@" >"$tmp/out" 2>&1
    local status=$?
    check "$name" test $status = 0
    [[ $status == 0 ]] || head -3 "$tmp/out" | sed 's/^/# /'
}
config=$tmp/config/tandem/config
mkdir -p "$HOME/models" "$HOME/my models" "$tmp/config/tandem/prompts"
me=$(id -un)
theirs=$(getent passwd "$me" | cut -d: -f6)
model=$(realpath tests/goldens/gguf/tiny-d-q8_0.gguf)
cp "$model" "$HOME/models/a.gguf"
cp "$model" "$HOME/my models/b c.gguf"
echo 'Some words.' >"$HOME/x y.txt"
cp "$HOME/x y.txt" "$HOME/x.txt"
cd / || exit 2

# The same file, by each way to write it.
forms() { # folder below the home, name
    printf '%s\n' "~/$1$2" "\"~/$1$2\"" "'~/$1$2'" "\"$HOME/$1$2\"" "'$HOME/$1$2'"
    sed 's/ /\\ /g' <<<"~/$1$2"
}
chat() { # lines on standard input
    "$program" --plain --private -m "$tiny" -n 1 2>&1
}

# ---- Commands of the conversation -------------------------------------------------------------------------------

while read -r form; do
    rm -f "$HOME/out put.md" "$HOME/out put.json"
    chat <<<$'hi\n'"/export $form" >"$tmp/out"
    check "/export $form" test -s "$HOME/out put.md"
done < <(forms '' 'out put.md')
while read -r form; do
    rm -f "$HOME/out put.json"
    chat <<<$'hi\n'"/trace $form" >"$tmp/out"
    check "/trace $form" test -s "$HOME/out put.json"
    chat <<<$'hi\n'"/trace --force $form" >"$tmp/out"
    holds "/trace --force $form" "$(<"$tmp/out")" "$HOME/out put.json: written"
done < <(forms '' 'out put.json')
while read -r form; do
    holds "/model $form" "$(chat <<<"/model $form")" 'going on with Tiny D'
done < <(forms 'my models/' 'b c.gguf')
while read -r form; do
    # An argument without quotes and backslashes is two names where no file has such a name, and one where there is.
    holds "/attach $form" "$(chat <<<"/attach $form")" 'x y.txt'
done < <(forms '' 'x y.txt')
if [[ -n $theirs ]]; then
    holds '/model ~user: it is their home folder' "$(chat <<<"/model ~$me/none.gguf")" "$theirs/none.gguf"
    holds '/attach ~user' "$(chat <<<"/attach ~$me/none.txt")" "$theirs/none.txt: "
fi

# ---- Configured paths -------------------------------------------------------------------------------------------

while read -r form; do
    echo "model = $form" >"$config"
    works "model = $form" "$program" run -n 1 x
    holds 'config says which' "$("$program" config model)" "$HOME/my models/b c.gguf"
    printf -- '---\nmodel = %s\n---\nSay {{input}}' "$form" >"$tmp/config/tandem/prompts/p.md"
    : >"$config"
    works "a prompt's model = $form" "$program" run -r p --force -n 1 x
done < <(forms 'my models/' 'b c.gguf')
while read -r form; do
    printf 'server.box.url = http://127.0.0.1:9\nserver.box.key-file = %s\n' "$form" >"$config"
    holds "a server's key-file = $form" "$("$program" run --yes -m box x 2>&1)" "expected one word as the server's key"
done < <(forms '' 'x y.txt' | head -2)
"$program" info --cpu --measure >"$tmp/out" 2>&1 # or each of the lists below would measure
while read -r form; do
    for folders in "$form" "/nonexistent:$form" "$form:$HOME/models"; do
        echo "model-folders = $folders" >"$config"
        holds "model-folders = $folders" "$("$program" models --json)" 'b c.gguf'
        : >"$config"
        holds "--model-folders $folders" "$("$program" models --json --model-folders "$folders")" 'b c.gguf'
    done
done < <(forms 'my models' '')
: >"$config"
mkdir "$HOME/a:b"
cp "$model" "$HOME/a:b/d.gguf"
for form in '~/a\:b' '"~/a:b"'; do
    holds "a colon in a folder's name: $form" "$("$program" models --json --model-folders "$form:~/models")" 'd.gguf'
done

# A folder that isn't there is named.
echo 'model-folders = ~/gone:~/models:~/x.txt' >"$config"
out=$("$program" models 2>&1)
holds 'a folder that is not there' "$out" '~/gone'
holds 'why' "$out" 'model-folders: no such folder'
holds 'one that is none' "$out" 'model-folders: no folder'
holds 'the others are looked into' "$out" "$HOME/models/a.gguf"
holds 'programs are told' "$("$program" models --json | sed 's/\\//g')" '"error":"model-folders: no such folder"'
holds 'and /model' "$("$program" --plain --private -m "$tiny" 2>&1 <<<'/model')" 'model-folders: no such folder'
check 'shells are not offered it' test -z "$("$program" --complete-models | grep gone)"
: >"$config"

# ---- The command line: the shell has read it, but for a home folder behind = --------------------------------------

works '-m=~' "$program" eval --model='~/models/a.gguf' --ids 1,2 --perplexity
works '--text-file=~' "$program" eval -m "$tiny" --text-file='~/x.txt' --perplexity
works '--trace=~' "$program" run -m "$tiny" -n 1 --trace='~/line.json' x
check 'and it is there' test -s "$HOME/line.json"
cp "$model" "$HOME/\"q\".gguf"
works 'quotes that the shell has left are the name' "$program" eval -m "$HOME/\"q\".gguf" --ids 1,2 --perplexity
