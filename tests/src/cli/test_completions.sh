#!/usr/bin/env bash
# Completions: what shells offer for models, sessions and prompts, by names with blanks, quotes and colons; and that
# nothing is written while one presses Tab. bash stands for itself; fish is asked where it is installed.
. tests/scratch.sh
mkdir -p "$tmp"/{bin,models/in,here/folder} "$tmp/config/tandem/prompts" "$tmp/state/tandem/sessions"
ln -s "$program" "$tmp/bin/tandem"
export PATH=$tmp/bin:$PATH
odd=$tmp/models/in/"it's \"a\" b:c.gguf"
cp tests/goldens/gguf/tiny-d-q8_0.gguf "$odd"
ln "$odd" "$tmp/models/in/steers"$'\e'"]0;x.gguf"
touch "$tmp/here/notes.txt" "$tmp/here/a b"
printf 'model-folders = %s\nserver.box.url = http://127.0.0.1:9\n' "$tmp/models/in" >"$tmp/config/tandem/config"
echo 'Say {{input}}' >"$tmp/config/tandem/prompts/shout.md"
at=0
session() { # name, in JSON
    at=$((at + 1))
    printf '{"format":"tandem session","version":1,"name":"%s","created":1,"changed":180000000%d,"model":{"name":"m",
        "fingerprint":"f"},"settings":{},"leaf":1,"messages":[{"id":1,"parent":0,"role":"user","text":"hi"}]}' "$1" $at \
        >"$tmp/state/tandem/sessions/20250101-00000$at-1.json"
}
session 'Garden plans'
session "It's a: \\\"b\\\""
session 'Garden plans'
session '-x'
echo '{' >"$tmp/state/tandem/sessions/20250101-000009-1.json"
listing() { (cd "$tmp" && find config/tandem state/tandem cache 2>&1 | sort); }
before=$(listing)
check 'sessions: one of two of a name by its id' test "$("$program" --complete-sessions)" = \
    $'20250101-000004-1\nGarden plans\nIt\'s a: "b"\n20250101-000001-1'
check 'models, servers too' test "$("$program" --complete-models)" = "$odd"$'\nbuiltin\nbox'
check 'prompts' grep -qx shout <("$program" --complete-prompts)

"$program" --completion-bash >"$tmp/bash"
# What bash would put in: the line up to the cursor, its words as bash cuts them.
offers() { # name, what is expected, line, words of the line...
    local name=$1 expected=$2 line=$3 got
    shift 3
    got=$(cd "$tmp/here" && bash -c '. "$1"; COMP_LINE=$2; shift 2; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tandem
        printf "%s\n" "${COMPREPLY[@]}"' bash "$tmp/bash" "$line" "$@" | awk '!seen[$0]++') # a name and a file may be one
    [[ $got == "$expected" ]] && echo "ok bash: $name" || printf '# %q\nnot ok bash: %s\n' "$got" "$name"
}
offers 'a model' builtin 'tandem -m bui' tandem -m bui
offers 'a server' box 'tandem run --model bo' tandem run --model bo
offers 'a model behind =' box 'tandem run --model=bo' tandem run --model = bo
offers 'a name with a blank and quotes, by a quoted beginning' "$odd" "tandem -m \"$tmp/models/in/it" \
    tandem -m "\"$tmp/models/in/it"
offers 'behind a blank with a backslash' "$odd" "tandem -m $tmp/models/in/it\\'s\\ \\\"" \
    tandem -m "$tmp/models/in/it\\'s\\ \\\""
offers 'behind a colon, the rest alone' c.gguf "tandem -m $tmp/models/in/it\\'s\\ \\\"a\\\"\\ b:" \
    tandem -m "$tmp/models/in/it\\'s\\ \\\"a\\\"\\ b" :
offers 'files for a model, too' notes.txt 'tandem -m no' tandem -m no
offers 'a session' "It's a: \"b\"" 'tandem --resume I' tandem --resume I
offers 'sessions' $'20250101-000004-1\nGarden plans\nIt\'s a: "b"\n20250101-000001-1' 'tandem --resume ' tandem --resume ''
offers 'an option behind --resume' --plain 'tandem --resume --pl' tandem --resume --pl
offers 'a prompt' shout 'tandem run -r sh' tandem run -r sh
offers 'a model for info' box 'tandem info bo' tandem info bo
offers 'a choice behind =' on 'tandem --think=on' tandem --think = on
offers 'a flag behind =' $'on\noff' 'tandem --private=o' tandem --private = o
offers 'nothing of a flag behind a blank' '' 'tandem --private o' tandem --private o
offers 'auto' auto 'tandem run --threads a' tandem run --threads a
offers 'auto behind =' auto 'tandem run --threads=' tandem run --threads = ''
offers 'full behind =' full 'tandem --width=f' tandem --width = f
offers 'a file behind =' notes.txt 'tandem eval --text-file=no' tandem eval --text-file = no
offers 'a session behind =' "It's a: \"b\"" 'tandem --resume=I' tandem --resume = I
offers 'a prompt behind =' shout 'tandem run --prompt=sh' tandem run --prompt = sh
hub=$tmp/cache/huggingface/hub/models--own--name/snapshots/1
mkdir -p "$hub"
cp tests/goldens/gguf/tiny-d-q8_0.gguf "$hub/m-Q4_K_M.gguf"
cp tests/goldens/gguf/tiny-d-q8_0.gguf "$hub/m-Q8_0.gguf"
mkdir -p "${hub%/snapshots/1}/refs" && printf 1 >"${hub%/snapshots/1}/refs/main"
offers 'a name with a colon' $'own/name:Q4_K_M\nown/name:Q8_0' 'tandem -m own' tandem -m own
offers 'what stands behind its colon' $'Q4_K_M\nQ8_0' 'tandem -m own/name:' tandem -m own/name :
offers 'more of that' Q8_0 'tandem -m own/name:Q8' tandem -m own/name : Q8
offers 'all of that behind =' Q8_0 'tandem run --model=own/name:Q8' tandem run --model = own/name : Q8
rm -r "$tmp/cache"
offers 'a name for config' prefill-unit 'tandem config prefill-u' tandem config prefill-u
offers 'a command' tokenize 'tandem tok' tandem tok
offers 'a file with a blank' 'a b' 'tandem eval --text-file a' tandem eval --text-file a

if command -v fish >/dev/null; then
    "$program" --completion-fish >"$tmp/fish"
    fish_offers() { # name, what is expected, line
        local got=$(cd "$tmp/here" && fish --no-config -c "source $tmp/fish; complete -C \$argv[1]" "$3" | cut -f1)
        [[ $got == "$2" ]] && echo "ok fish: $1" || printf '# %q\nnot ok fish: %s\n' "$got" "$1"
    }
    fish_offers 'a model' builtin 'tandem -m bui'
    fish_offers 'a session' "It's a: \"b\"" 'tandem --resume I'
    fish_offers 'a prompt' shout 'tandem run -r sh'
    fish_offers 'a choice' q8_0 'tandem --kv q'
    fish_offers 'a model for info' box 'tandem info bo'
    fish_offers 'a name for config' prefill-unit 'tandem config prefill-u'
    fish_offers 'a command' tokenize 'tandem tok'
    fish_offers 'no option of another command' '' 'tandem run --per'
else
    echo 'skip fish: it is not installed'
fi
if command -v zsh >/dev/null; then
    check 'zsh reads its completion' zsh -n <("$program" --completion-zsh)
else
    echo 'skip zsh reads its completion: it is not installed'
fi
check 'nothing was written' test "$(listing)" = "$before"
