#!/usr/bin/env bash
# The commands as a user calls them: exit statuses, messages, pipes, full disks, pages made from the tables. Needs no
# more than the tree: the built-in model and the small ones in tests/goldens.
. tests/scratch.sh
builtin=assets/tandem-demo-51m-q6_k.gguf

# Runs the program; its output, errors and status are in $out, $err and $status.
tandem() {
    out=$("$program" "$@" 2>"$tmp/err")
    status=$?
    err=$(<"$tmp/err")
}
fails() { # name, expected status, expected beginning of the one line, arguments...
    local name=$1 want=$2 message=$3
    shift 3
    tandem "$@"
    if [[ $status == "$want" && -z $out && $err == "$message"* && $(wc -l <"$tmp/err") == 1 ]]; then
        echo "ok $name"
    else
        printf '# status %s, out "%s", err "%s"\n' "$status" "$out" "$err"
        echo "not ok $name"
    fi
}
is_json() { python3 -c 'import json,sys; [json.loads(l) for l in sys.stdin]' 2>/dev/null; }

# Wrong use: status 2, one line with the nearest name.
fails 'unknown command' 2 "tandem: unknown command 'rnu'; did you mean 'run'?" rnu
fails 'unknown option' 2 "tandem: run: unknown option '--tmep'; did you mean '--temp'?" run --tmep 1
fails 'value out of range' 2 "tandem: --top-p: '7' is not allowed; expected 0.001 to 1" run --top-p 7 x
fails 'missing value' 2 'tandem: --messages needs a value' render --messages
fails 'nothing to evaluate' 2 'tandem eval: needs one of' eval --perplexity
fails 'nothing to print' 2 'tandem eval: needs --logits' eval --ids 1
fails 'render without messages' 2 'tandem render: needs --messages' render
fails 'a command behind an option' 2 "tandem chat: the command comes before its options: 'tandem run ...'" -m builtin run Hello
fails 'no name of a model' 1 "tandem: the model's name is empty" info -m ''
empty="is not allowed; expected the name of a file"
for option in template mmproj trace script; do
    fails "an empty --$option" 2 "tandem: --$option: '' $empty" run --$option ''
done
for option in ids-file text-file image logits; do fails "an empty --$option" 2 "tandem: --$option: '' $empty" eval --$option ''; done
for option in messages tools; do fails "an empty --$option" 2 "tandem: --$option: '' $empty" render --$option=; done
for option in record replay; do fails "an empty --$option" 2 "tandem: --$option: '' $empty" monitor --$option=; done
fails 'convert without names' 2 'tandem convert: expected IN and OUT.gguf' convert x

fails 'config: an unknown name' 2 "tandem config: no option 'tmep'; did you mean 'temp'?" config tmep
fails 'eval: a word too many' 2 "tandem eval: '2' is not expected" eval --ids 1 2
fails 'render: a word too many' 2 "tandem render: 'm.json' is not expected" render m.json
fails 'help of an unknown command' 2 "tandem: unknown command 'rnu'; did you mean 'run'?" help rnu
for page in help --man --completion-bash --completion-zsh --completion-fish --complete-models; do
    words=($page)
    [[ $page = help ]] && words=(help run)
    fails "more behind $page" 2 "tandem: 'x' is not expected behind '$page'" "${words[@]}" x y
done
check 'help of help' test "$("$program" help help)" = "$("$program" help)"
check 'help of a command' test "$("$program" help run)" = "$("$program" run --help)"

# Failures: status 1, one line.
tandem convert bulitin "$tmp/x.gguf"
holds 'convert: a mistyped name' "$err" "; did you mean 'builtin'?"
fails 'no such model' 1 'tandem: ' info -m "$tmp/none.gguf"
tandem info -m bulitin
holds 'a model by a mistyped name' "$err" "; did you mean 'builtin'?"
head -c 5000 $builtin >"$tmp/cut.gguf"
fails 'truncated model' 1 "tandem: $tmp/cut.gguf: incomplete download? only 5000 bytes are there; offset 8" info -m "$tmp/cut.gguf"
fails 'no such text' 1 "tandem: $tmp/none: can't be opened" eval --text-file "$tmp/none" --perplexity
TANDEM_DATADIR=$tmp fails 'how to get a model' 1 'tandem: the built-in model (tandem-demo-51m-q6_k.gguf) was not found' tokenize x
fails 'id beyond the vocabulary' 2 'tandem: token 1: id 512 is not below' eval -m $tiny --ids 1,512 --perplexity
fails 'ids that are none' 1 'tandem: --ids: byte 2: expected a token id' eval -m $tiny --ids 1,x --perplexity

# Pages from the tables.
tandem --version
check 'version' test "$status" = 0 -a "${out%%$'\n'*}" = "tandem $(sed -n 's/^#define TDM_VERSION "\(.*\)"/\1/p' engine/tandem/base.h)"
for words in MIT readline 'GNU General Public License, version 3' 'CC BY-SA 4.0'; do
    check "version says $words" grep -qF "$words" <<<"$out"
done
tandem --help
commands=$(awk '/^  [a-z]+ /{print $1}' <<<"$out" | grep -v tandem)
check 'help lists commands' test "$(wc -w <<<"$commands")" -ge 8
"$program" --man >"$tmp/tandem.1"
"$program" --completion-bash >"$tmp/bash"
"$program" --completion-zsh >"$tmp/zsh"
"$program" --completion-fish >"$tmp/fish"
missing= ragged=
for command in $commands; do
    "$program" $command --help=all | grep -qE ' $|.{81}' && ragged+=" $command"
    grep -q "fB$command" "$tmp/tandem.1" && grep -qw "$command" "$tmp/bash" && grep -q "'$command:" "$tmp/zsh" &&
        grep -q -- "-a $command -d" "$tmp/fish" ||
        missing+=" $command"
    for option in $("$program" $command --help=all | grep -oE '^ +(-., )?--[a-z-]+' | grep -oE -- '--[a-z-]+'); do
        name=${option#--}
        grep -qF -- "\\-\\-${name//-/\\-}" "$tmp/tandem.1" && grep -qe "$option" "$tmp/bash" && grep -qe "$option" "$tmp/zsh" &&
            grep -q -- "-l $name " "$tmp/fish" ||
            missing+=" $command:$option"
    done
done
check 'man page and completions hold every command and option' test -z "$missing"
check 'help fits 80 columns, no line ends in a blank' test -z "$ragged"
check 'help leaves out what only measuring needs' test "$("$program" run --help | grep -c -- --pipeline)" = 0
check 'and says how many, and how to see them' grep -q '^[0-9]* options for measuring are left out: tandem run --help=all$' \
    <("$program" run --help)
check 'all of them has these' grep -q -- '--pipeline' <("$program" run --help=all)
for command in eval info; do
    check "so does $command" test "$("$program" $command --help | grep -cE -- '--(dispatch|kernels|lm-head) ')" = 0
done
check 'commands that measure have all of them in full' grep -q -- '--dispatch' <("$program" eval --help=all)
check 'bash reads its completion' bash -n "$tmp/bash"
completed=$(bash -c "source '$tmp/bash'; COMP_WORDS=(tandem run --pipeline sl); COMP_CWORD=3; _tandem; echo \${COMPREPLY[*]}")
check 'bash completes a choice' test "$completed" = slots
completed=$(bash -c "source '$tmp/bash'; COMP_WORDS=(tandem tok); COMP_CWORD=1; _tandem; echo \${COMPREPLY[*]}")
check 'bash completes a command' test "$completed" = tokenize
if command -v man >/dev/null; then
    check 'man page without warnings' test -z "$(man --warnings -l "$tmp/tandem.1" 2>&1 >/dev/null)"
else
    echo 'skip man page without warnings: man is not installed'
fi

# Text.
tandem tokenize -m $tiny/tokenizer.json 'Hello world'
check 'tokenize' test "$status" = 0 -a -n "$out"
check 'tokenize and back' test "$("$program" tokenize -m $tiny --decode "$out")" = 'Hello world'
check 'tokenize --json and back' \
    test "$("$program" tokenize -m $tiny --json 'a  b' | "$program" tokenize -m $tiny --decode)" = 'a  b'
check 'tokenize standard input' test "$(printf 'Hello world' | "$program" tokenize -m $tiny)" = "$out"
printf '[{"role":"user","content":" Hi "}]' >"$tmp/m.json"
check 'render' test "$("$program" render --messages "$tmp/m.json"; echo .)" = \
    $'<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n.'
check 'render by the word chatml' test "$("$program" render --template chatml --messages "$tmp/m.json"; echo .)" = \
    $'<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n.'
fails 'render: thinking that the template lacks' 1 'tandem: this model has no thinking mode' \
    render --think --messages "$tmp/m.json"
fails 'render: thinking that the template drops' 1 "tandem: this model's chat template can't keep" \
    render --keep-thinking on --messages "$tmp/m.json"
printf '{{ raise_exception("not today") }}' >"$tmp/t.jinja"
fails 'render refuses' 1 'tandem: not today' render --template "$tmp/t.jinja" --messages "$tmp/m.json"
fails 'run says why the template refuses' 1 'tandem: the chat template refuses: not today' \
    run -m $tiny --template "$tmp/t.jinja" hi
printf '{%% if %%}' >"$tmp/t.jinja"
fails 'a template that is none' 1 'tandem: the chat template that was given: line 1: expected an expression' \
    run -m $tiny --template "$tmp/t.jinja" hi
echo '[{"role":"king","content":"x"}]' >"$tmp/m.json"
fails 'render: no such role' 1 "tandem: $tmp/m.json: message 1: expected" render --messages "$tmp/m.json"
echo '[{"role":' >"$tmp/m.json"
fails 'render: not JSON' 1 "tandem: $tmp/m.json: byte" render --messages "$tmp/m.json"

# Several answers: each is what it is beside others or alone, and its number stands with it.
answer() { # number of answers, which one
    "$program" run -m $tiny -n 6 --seed 5 --temp 1 --answers "$1" Hello | awk -v n="[$2]" '$0 ~ /^\[[1-8]\]$/ {on = $0 == n; next} on'
}
tandem run -m $tiny -n 6 --seed 5 --temp 1 --answers 3 Hello
check 'answers are numbered' test "$(grep -c '^\[[123]\]$' <<<"$out")" = 3
check 'an answer is the same beside others' test -n "$(answer 2 2)" -a "$(answer 2 2)" = "$(answer 3 2)"
check 'the first answer is the only one of a run without the option' test "$(answer 3 1)" = \
    "$("$program" run -m $tiny -n 6 --seed 5 --temp 1 Hello)"
tandem run -m $tiny -n 6 --json --answers 3 Hello
check 'each answer has its number and its end' test "$(grep -c '"event":"done","answer":[123],' <<<"$out")" = 3
fails 'answers: too many' 2 "tandem: --answers: '9' is not allowed; expected 1 to 8" run --answers 9 Hello
fails 'answers of a script' 2 'tandem run: --answers is for one prompt' run --answers 2 --script tests/none Hello

# What is used instead of what was asked for.
same_cores() { "$program" run -m $tiny -n 2 "$@" Hello 2>&1 >/dev/null; }
holds 'more cores than there are' "$(same_cores -t 4000)" used, not 4000: no more may be used here
check 'both units on one core' test "$(same_cores --prefill-unit cpu:0 --decode-unit cpu:0)" = \
    'tandem: both units are on cpu:0: they take turns there'
check 'nothing to tell' test -z "$(same_cores)" -a -z "$(same_cores -t 1)"

# Models.
tandem info
check 'info' grep -q '^layers  *12, every 4 full attention' <<<"$out"
check 'info tells of the MTP head' grep -q '^MTP  *a head of 3.8 million' <<<"$out"
if command -v python3 >/dev/null; then
    check 'info --json' is_json < <("$program" info --json)
else
    echo 'skip info --json: python3 is not installed'
fi
tandem eval -m $tiny --ids '1 2 3' --perplexity
check 'perplexity' grep -qE '^perplexity [0-9.]+ tokens 2$' <<<"$out"
tandem eval -m $tiny --ids 1,2,3 --against reference --kernels scalar
check 'divergence from the reference' grep -qE '^KL divergence from reference: mean [0-9.e-]+, largest .* of 3 positions$' <<<"$out"
tandem eval -m $tiny --ids 1,2,3 --against scalar --kernels scalar --json
check 'no divergence from itself' grep -qxF '{"kl_mean":0,"kl_largest":0,"same_choice":1,"positions":3}' <<<"$out"
tandem eval -m $tiny --ids 1,2,3 --logits "$tmp/l" --last
check 'logits of the last row' test "$status" = 0 -a "$(stat -c %s "$tmp/l")" -gt 2048 -a "$(stat -c %s "$tmp/l")" -lt 2400
tandem convert $tiny "$tmp/tiny.gguf" --type bf16
check 'convert' test "$status" = 0 -a "$("$program" eval -m "$tmp/tiny.gguf" --ids 1,2,3 --perplexity)" = \
    "$("$program" eval -m $tiny --ids 1,2,3 --perplexity)"

ln "$tmp/tiny.gguf" "$tmp/itself.gguf"
fails 'convert onto itself' 2 "tandem: $tmp/itself.gguf: expected another file than" \
    convert "$tmp/tiny.gguf" "$tmp/itself.gguf"
check 'and leaves it' test "$tmp/tiny.gguf" -ef "$tmp/itself.gguf"
tandem convert builtin "$tmp/builtin.gguf" --type q4_0
check 'convert the built-in model by its name' test "$status" = 0

mixture=tests/goldens/gguf/tiny-d-q8_0.gguf
mkdir "$tmp/begins"
ln -s "$tiny"/{config.json,model.safetensors,tokenizer.json} "$tmp/begins"
echo '{"bos_token": "<|endoftext|>", "add_bos_token": true}' >"$tmp/begins/tokenizer_config.json"
tandem info -m "$tmp/begins"
check 'info tells of the token before prompts' grep -qx 'prompts            begin with <|endoftext|>' <<<"$out"
tandem info -m $mixture
check 'info of a mixture' grep -q '^experts  *8 of width 32 in each layer, 2 used for a token' <<<"$out"
# Weights of such shapes are made up where the small models of these families are not here, and in the long form.
families=${TANDEM_SHARED:-../shared}/goldens/families beside=$families/gemma4-moe some=$families/smollm3 used=2 width=256
if [[ ${TANDEM_LONG:-} || ! -e $beside/config.json || ! -e $some/config.json ]]; then
    beside=synthetic:gemma4-26b-a4b/1:q4_0 some=synthetic:smollm3-3b/4:q4_0 used=8 width=2112
fi
# Experts that stay on disk are not made up first; the long form makes all of them.
tandem info -m $beside $([[ ${TANDEM_LONG:-} ]] || echo --expert-memory 50M)
check 'info of experts beside a dense network' grep -q \
    "^experts .*, $used used for a token, beside a dense feed-forward network of $width\$" <<<"$out"
tandem info -m $some
check 'info of layers that differ' grep -q '^positions .*, none in 1 of 4 layers$' <<<"$out"
tandem info -m $mixture --expert-memory 100K
check 'experts on disk are told' grep -qE '^memory  *9.79e-05 of 0.00047 GB of experts fit .* tokens/s$' <<<"$out"
check 'experts on disk' test "$("$program" eval -m $mixture --ids 1,2,3 --perplexity --expert-memory 100K)" = \
    "$("$program" eval -m $mixture --ids 1,2,3 --perplexity)"
fails 'too little memory for experts' 1 'tandem: memory for experts: expected at least' \
    eval -m $mixture --ids 1,2,3 --perplexity --expert-memory 1K

# Where output can't go.
"$program" info >/dev/full 2>"$tmp/err"
check 'full disk' test $? = 1 -a "$(<"$tmp/err")" = 'tandem: standard output: No space left on device'
"$program" info 2>"$tmp/err" >&-
check 'closed standard output' test $? = 1 -a "$(wc -l <"$tmp/err")" = 1
# A reader that has seen enough (`| head`) is nothing to tell. The command begins when its reader is gone.
mkfifo "$tmp/gone"
unread() { # name, arguments...; standard input goes on
    local name=$1
    shift
    exec 5<&0
    { read -r _ <"$tmp/gone"; "$program" "$@" <&5; } 2>"$tmp/err" | { exec <&-; echo >"$tmp/gone"; }
    check "closed pipe: $name" test ! -s "$tmp/err"
}
printf '[{"role":"user","content":"Hi"}]' >"$tmp/m.json"
unread --man --man </dev/null
unread --help --help </dev/null
unread info info </dev/null
unread 'info --json' info --json </dev/null
unread config config </dev/null
unread tokenize tokenize -m $tiny 'Hello world' </dev/null
unread render render --messages "$tmp/m.json" </dev/null
unread eval eval -m $tiny --ids 1,2,3 --perplexity </dev/null
unread run run -m $tiny Hello </dev/null
unread 'run --json' run -m $tiny --json Hello </dev/null
unread 'chat --plain: a command' chat --plain --private -m $tiny <<<'/help'
unread 'chat --plain: nothing after it' chat --plain --private -m $tiny <<<$'/help\n/foo'
fails 'logits to a full disk' 1 "tandem: /dev/full: can't be written" eval -m $tiny --ids 1,2,3 --logits /dev/full

# A stack that a command could not run on.
for command in 'info' 'run Hello' 'chat --plain' 'eval --ids 1,2,3' 'config' 'monitor' 'bench kernels --quick' 'pull a/b'; do
    out=$(ulimit -s 64; "$program" $command 2>"$tmp/err" <<<'Hello')
    check "ulimit -s 64: $command" test "$?-$out-$(<"$tmp/err")" = \
        '1--tandem: the stack may have 64 kB: expected at least 1024 (ulimit -s)'
done
out=$(ulimit -s 1024; "$program" run --temp 0 -n 2 Hello 2>"$tmp/err")
check 'ulimit -s 1024: run answers' test $? = 0 -a -n "$out" -a ! -s "$tmp/err"

# Configuration.
mkdir -p "$tmp/config/tandem"
printf 'temp = 0.25\nmodel = %s\n' $tiny >"$tmp/config/tandem/config"
tandem config --top-k 3
check 'config: from the file' grep -qE '^temp +0.25 +configuration file$' <<<"$out"
check 'config: names' test "$("$program" config top-k temp --top-k 3 | sed 's/  */ /g')" = \
    $'temp 0.25 configuration file\ntop-k 3 command line'
check 'config: from the command line' grep -qE '^top-k +3 +command line$' <<<"$out"
check 'config: default' grep -qE '^pipeline +tandem +default$' <<<"$out"
check 'config: from the model' grep -qE '^top-p .* model file$' < <("$program" config -m $builtin)
printf 'theme = sand\ntheme.sand.draft = #ffd787\n' >"$tmp/config/tandem/config"
tandem config
check 'config: a theme' grep -qE '^theme +sand +configuration file$' <<<"$out"
check 'config: its colours' grep -qE '^theme.sand.draft +#ffd787 +configuration file; contrast 15.3 on black, 1.4 on white$' <<<"$out"
echo 'tmep = 1' >"$tmp/config/tandem/config"
fails 'wrong configuration' 2 "tandem: $tmp/config/tandem/config:1: unknown option 'tmep'; did you mean 'temp'?" config
