#!/usr/bin/env bash
# An option that a command takes does something there. The lines below have each option of each command, and how its effect
# is seen; `tandem --completion-bash` lists what the table of options has, so that a pair without a line fails, and so does a
# line without its pair. COMMAND:WAY looks at the same command in another way (base and seen_by below).
#
#   says COMMAND OPTION WORDS -- ARGUMENTS      its output has these words, which it has not without the arguments
#   differs COMMAND OPTION -- ARGUMENTS         it ends well, and with another output
#   fails COMMAND OPTION WORDS -- ARGUMENTS     the value, which is allowed, makes it fail with these words
#   writes COMMAND OPTION -- ARGUMENTS          the file $tmp/made is written
#   asks OPTION WORDS -- ARGUMENTS              chat: /set OPTION says so, as the conversation has it; all of them are asked
#                                               in two starts, by `answered`; in the long form in two each
#   reads COMMAND PATHS OPTION...               what only times, a battery, a server's answers, pixels or a day's measuring
#                                               would show: files of the command below src read the option
. tests/scratch.sh
tiny2=$(realpath tests/goldens/tiny-b)
mixture=$(realpath tests/goldens/gguf/tiny-d-q8_0.gguf)
form=$(realpath tests/engine/text/template/templates/qwen35.jinja)
demo=$(realpath assets/tandem-demo-51m-q6_k.gguf)
ids=1,2,3,4,5,6,7,8,9,10
echo 10,9,8,7,6,5 >"$tmp/ids"
echo 'Some words of a text that is long enough.' >"$tmp/text"
echo '[{"role":"user","content":"Hi"},{"role":"assistant","content":"<think>\nWell.\n</think>\n\nHo"},{"role":"user","content":"So?"}]' \
    >"$tmp/m.json"
echo '{{ bos_token }}{{ eos_token }}{{ x }}{{ tools }}{{ strftime_now("%Y") }}{{ add_generation_prompt }}' >"$tmp/t.jinja"
echo '[{"type":"function"}]' >"$tmp/tools.json"
echo '{"turns":[{"text":"Who are you?"},{"text":"And I?"}],"max_tokens":8}' >"$tmp/script.json"
mkdir -p "$tmp/config/tandem/prompts" "$tmp/folder"
echo 'Say {{input}}' >"$tmp/config/tandem/prompts/say.md"
cp "$mixture" "$tmp/folder/found.gguf"
cp -r "$tiny" "$tmp/odd"
chmod -R u+w "$tmp/odd"
sed -i '0,/{/s//{"logits_scaling": 8.0, /' "$tmp/odd/config.json"
odd=$tmp/odd
cp -r "$tiny" "$tmp/thinks"
chmod -R u+w "$tmp/thinks"
cp tests/engine/text/template/templates/qwen36.jinja "$tmp/thinks/chat_template.jinja"

# What each command is asked for without the option.
talk="-m $tiny --template $form -n 8 --temp 1 --seed 1"
declare -A base=(
    [run]="run $talk Hello"
    [run:hash]="run -m $tiny --template $form --script $tmp/script.json --json"
    [run:trace]="run $talk Hello --trace $tmp/made --overwrite"
    [run:kept]="run -m $tmp/thinks --think --script $tmp/script.json --json"
    [run:played]="run -m $tiny -n 2"
    [run:script]="run -m $tiny --script $tmp/script.json"
    [run:server]='run -m http://127.0.0.1:9 Hello'
    [chat:server]='chat --plain --private -m http://127.0.0.1:9'
    [chat:thinks]="chat --plain --private -m $tmp/thinks"
    [run:odd]="run -m $odd -n 2 Hello"
    [chat]="chat --plain --private $talk"
    [chat:trace]="chat --plain --private $talk --trace $tmp/made --overwrite"
    [chat:odd]="chat --plain --private -m $odd -n 2"
    [chat:list]="chat --plain --private $talk"
    [chat:kept]="chat --plain $talk"
    [eval]="eval -m $tiny --ids $ids --perplexity"
    [eval:logits]="eval -m $tiny --ids $ids --logits $tmp/made"
    [eval:odd]="eval -m $odd --ids $ids --perplexity"
    [eval:bare]="eval -m $tiny --perplexity"
    [eval:none]="eval -m $tiny --ids $ids"
    [tokenize]="tokenize -m $tiny 12"
    [tokenize:text]="tokenize -m $tiny Hello"
    [tokenize:odd]="tokenize -m $odd 12"
    [render]="render -m $tmp/thinks --messages $tmp/m.json"
    [render:ids]="render -m $tiny --ids --messages $tmp/m.json"
    [render:odd]="render -m $odd --messages $tmp/m.json"
    [render:own]="render --template $tmp/t.jinja --messages $tmp/m.json --now 2020-01-02T03:04"
    [render:none]='render'
    [info]="info $tiny"
    [info:none]='info'
    [info:mixture]="info $mixture"
    [info:odd]="info $odd"
    [models]='models'
    [models:odd]="models --json --model-folders $odd"
    [convert]="convert $tiny $tmp/made"
    [convert:odd]="convert $odd $tmp/made"
    [monitor]='monitor'
    [demo]='demo'
    [bench]='bench pass --budget 0s'
)
hashes() { grep -o '"logits_hash":"[^"]*"'; }
spans() { cat >/dev/null; grep -oE '"(name|tokens)":("[^"]*"|[0-9]+)' "$tmp/made" | paste -sd' '; }
timeless() { grep -vE '^loaded in|free; it is read at'; }
sum() { cat >/dev/null; sha256sum <"$tmp/made"; }
declare -A seen_by=([info]=timeless [info:none]=timeless [info:odd]=timeless [info:mixture]=timeless [models]=timeless
    [run:hash]=hashes [run:kept]=hashes [run:trace]=spans [chat:trace]=spans [eval:logits]=sum [convert]=sum)
talked=$'/stats turn off\nHello\nAnd you?\n'
declare -A lines=([chat]=$talked [chat:trace]=$talked [chat:odd]=$talked [chat:kept]=$talked [chat:list]=$'/model\n') plain seen
asked=() answers=() given_for=()

given() { # command, arguments...: what it prints and its status
    local of=$1
    shift
    rm -f "$tmp/made"
    read -ra words <<<"${base[$of]}"
    printf '%s' "${lines[$of]-}" | HF_ENDPOINT=http://127.0.0.1:1 timeout 300 "$program" "${words[@]}" "$@" 2>&1 | tr -d '\0' >"$tmp/got"
    local status=${PIPESTATUS[1]}
    "${seen_by[$of]-cat}" <"$tmp/got"
    echo "status $status"
}
without() { # command
    [[ -v plain[$1] ]] || plain[$1]=$(given "$1")
}
begins() { # command, option, and the rest up to --: $of, $option, $words, $arguments
    of=$1 option=$2 words=
    shift 2
    while [[ $# -gt 0 && $1 != -- ]]; do words+="${words:+ }$1"; shift; done
    shift
    arguments=("$@")
    seen["${of%:*} $option"]=1
    without "$of"
    got=$(given "$of" "${arguments[@]}")
}
tells() { # a condition
    if eval "$1"; then echo "ok $of --$option"; else
        { echo "without: ${plain[$of]}"; echo "with: $got"; } | head -30 | cut -c-300 | sed 's/^/# /'
        echo "not ok $of --$option"
    fi
}
says() { begins "$@"; tells '[[ $got == *"$words"* && ${plain[$of]} != *"$words"* ]]'; }
differs() { begins "$@"; tells '[[ $got != "${plain[$of]}" && $got == *"status 0" ]]'; }
fails() { begins "$@"; tells '[[ $got == *"$words"*"status "[12] && ${plain[$of]} != *"$words"* ]]'; }
writes() { begins "$@"; tells '[[ -s $tmp/made ]]'; }
asks() {
    asked+=("$1") answers+=("$2")
    seen["chat $1"]=1
    shift 3
    given_for+=("$@")
    [[ -z ${TANDEM_LONG:-} ]] || answered
}
answered() {
    ((${#asked[@]})) || return 0
    local i
    of=chat arguments=("${given_for[@]}") lines[chat]=$(printf '/set %s\n' "${asked[@]}")$'\n'
    unset 'plain[chat]'
    without chat
    got=$(given chat "${arguments[@]}")
    for i in "${!asked[@]}"; do
        option=${asked[i]} words=${answers[i]}
        tells '[[ $got == *"$option: $words"* && ${plain[chat]} != *"$option: $words"* ]]'
    done
    lines[chat]=$talked asked=() answers=() given_for=()
    unset 'plain[chat]'
}
reads() { # command, paths below src with commas between, options...
    local command=$1 paths=() path option name
    for path in ${2//,/ }; do paths+=("src/$path"); done
    shift 2
    for option; do
        seen["$command $option"]=1
        # Of a name that commands share, each has an entry of its own in the table.
        name=$(grep -oE "X\([A-Z_]+, \"$option\"" src/cli/options.h | sed 's/X(//; s/,.*//' | paste -sd'|')
        check "$command --$option is read" grep -rqE "OPTION_($name)\b" "${paths[@]}" --include='*.c'
    done
}

# ---- run --------------------------------------------------------------------------------------------------------

"$program" info --cpu --measure >"$tmp/out" 2>&1 # or each list of models would measure
for of in run eval tokenize render info models chat; do
    without $of
    check "$of is steady" test "${plain[$of]}" = "$(given $of)"
done
differs run model -- -m "$tiny2"
fails run:server yes 'no server answers there' -- --yes
says run context 'the context is full' -- -c 32 -n 100 --ignore-eos
differs run:trace threads -- -t 1 --prefill-unit cpu:0 --decode-unit cpu:0
differs run:hash kv -- --kv f32
differs run:hash kernels -- --kernels reference
differs run:hash quant -- --quant q4_0
differs run:hash lm-head -- --quant q4_0 --lm-head q8_0
fails run expert-memory 'memory for experts: expected at least' -- -m "$mixture" --expert-memory 1K
differs run:odd accept-unknown -- --accept-unknown logits_scaling
fails run mmproj 'none.gguf' -- --mmproj "$tmp/none.gguf"
differs run system -- --system 'You are a whale.'
differs run max-tokens -- -n 3
says run answers '[2]' -- --answers 2
differs run stop -- --stop T
differs run ignore-eos -- --ignore-eos -n 300
differs run think -- --think
differs run:kept keep-thinking -- --keep-thinking on
differs run temp -- --temp 0
differs run top-k -- --top-k 1
differs run top-p -- --top-p 0.001
differs run min-p -- --min-p 1
differs run presence-penalty -- --presence-penalty -10
differs run frequency-penalty -- --frequency-penalty -10
differs run repeat-penalty -- --repeat-penalty 0.01
differs run seed -- --seed 2
differs run:trace pipeline -- --pipeline sequential
differs run:trace dispatch -- --dispatch 4
differs run:trace prefill-unit -- --prefill-unit cpu:0 --decode-unit cpu:0
differs run:trace decode-unit -- --prefill-unit cpu:0 --decode-unit cpu:0
differs run:trace prefill-kind -- --prefill-kind blas
fails run prefill-model 'none.gguf' -- --prefill-model "$tmp/none.gguf"
differs run:hash prefill-kv -- --prefill-kv f32
says run:played script 'turns;' -- --script "$tmp/script.json"
fails run prompt 'larger model' -- -r say -m "$demo"
says run force 'output tokens' -- -r say -m "$demo" --force -v
says run json '"event":"token"' -- --json
says run verbose 'prompt tokens' -- -v
says run:script verbose 'wrote ' -- -v
writes run trace -- --trace "$tmp/made"
fails run template 'none.jinja' -- --template "$tmp/none.jinja"
reads run models,commands/run.c,play pack-cache image-tokens loop-guard speculation pause mtp no-lending decode-kind bridge \
    checkpoint-memory pace
reads run cli/subcommands.c,figures overwrite

# ---- chat -------------------------------------------------------------------------------------------------------

differs chat model -- -m "$tiny2"
fails chat:server yes 'no server answers there' -- --yes
says chat context 'the context is full' -- -c 64 -n 300 --ignore-eos
differs chat:trace threads -- -t 1 --prefill-unit cpu:0 --decode-unit cpu:0
fails chat expert-memory 'memory for experts: expected at least' -- -m "$mixture" --expert-memory 1K
differs chat:odd accept-unknown -- --accept-unknown logits_scaling
fails chat mmproj 'none.gguf' -- --mmproj "$tmp/none.gguf"
differs chat system -- --system 'You are a whale.'
differs chat stop -- --stop e
asks max-tokens 3 -- -n 3
asks ignore-eos on -- --ignore-eos
asks image-tokens 77 -- --image-tokens 77
asks loop-guard off -- --loop-guard off
asks think on -- --think
asks keep-thinking off -- --keep-thinking off
asks on-full drop-oldest -- --on-full drop-oldest
asks temp 0.25 -- --temp 0.25
asks top-k 7 -- --top-k 7
asks top-p 0.5 -- --top-p 0.5
asks min-p 0.5 -- --min-p 0.5
asks presence-penalty 3 -- --presence-penalty 3
asks frequency-penalty 2 -- --frequency-penalty 2
asks repeat-penalty 2 -- --repeat-penalty 2
asks seed 77 -- --seed 77
asks pipeline sequential -- --pipeline sequential
asks speculation history -- --speculation history
asks dispatch 4 -- --dispatch 4
asks pause 77 -- --pause 77
asks mtp 3 -- --mtp 3
asks pace 77 -- --pace 77
asks no-lending on -- --no-lending
asks on-battery off -- --on-battery off
asks background off -- --background off
answered
differs chat:trace prefill-unit -- --prefill-unit cpu:0 --decode-unit cpu:0
differs chat:trace decode-unit -- --prefill-unit cpu:0 --decode-unit cpu:0
differs chat:trace prefill-kind -- --prefill-kind blas
fails chat prefill-model 'none.gguf' -- --prefill-model "$tmp/none.gguf"
fails chat template 'none.jinja' -- --template "$tmp/none.jinja"
fails chat resume 'there is no saved session yet' -- --resume never
says chat verbose ' turns | ' -- -v
writes chat trace -- --trace "$tmp/made"
given chat:kept >"$tmp/out"
check 'chat without --private keeps a session' test -n "$(ls "$tmp/state/tandem/sessions")"
rm -rf "$tmp/state"
given chat --private >"$tmp/out"
check 'chat --private keeps none' test -z "$(ls "$tmp/state/tandem/sessions" 2>/dev/null)"
seen['chat private']=1 seen['chat plain']=1
says chat:list model-folders found.gguf -- --model-folders "$tmp/folder"
reads chat cli/subcommands.c,figures overwrite
reads chat models,chat,plain,tui,slash,watch read-ahead kv kernels quant lm-head pack-cache decode-kind prefill-kv bridge \
    checkpoint-memory measure-idle state-disk theme ascii width follow draft-marks image-preview motion esc-stops mouse \
    esc-delay leave-transcript plain

# ---- demo, monitor, bench: their screens and times have tests of their own ------------------------------------------

fails demo script 'none.json' -- --script "$tmp/none.json"
fails demo pair 'no such unit' -- --pair 'no such unit'
fails demo image 'none.png' -- --image "$tmp/none.png"
reads demo models,demo,tui,chat/app.c,commands/chat.c model threads kv kernels quant lm-head expert-memory pack-cache \
    accept-unknown mmproj stop ignore-eos image-tokens top-k top-p min-p presence-penalty frequency-penalty repeat-penalty \
    dispatch pause mtp prefill-unit decode-unit prefill-kind decode-kind no-lending prefill-model prefill-kv bridge \
    checkpoint-memory theme ascii motion esc-delay verbose template
reads demo cli/subcommands.c,figures trace overwrite
fails monitor replay 'none.jsonl' -- --replay "$tmp/none.jsonl"
reads monitor watch json theme ascii motion esc-delay record
reads monitor cli/subcommands.c overwrite
reads bench models,bench kv kernels quant lm-head expert-memory accept-unknown prefill-unit decode-unit prefill-kind \
    decode-kind no-lending template threads model prompt-tokens reply-tokens dispatch streams mtp-accept runs budget quick \
    rest rows json md yes
reads bench cli/subcommands.c overwrite

# ---- What computes one thing --------------------------------------------------------------------------------------

differs eval model -- -m "$tiny2"
fails eval context 'context' -- -c 16 --ids $ids,$ids
differs eval:logits kv -- --kv f32
differs eval:logits kernels -- --kernels reference
differs eval quant -- --quant q4_0
differs eval lm-head -- --quant q4_0 --lm-head q8_0
fails eval expert-memory 'memory for experts: expected at least' -- -m "$mixture" --expert-memory 1K
differs eval:odd accept-unknown -- --accept-unknown logits_scaling
fails eval mmproj 'none.gguf' -- --mmproj "$tmp/none.gguf"
fails eval image 'none.png' -- --image "$tmp/none.png"
differs eval:bare ids -- --ids $ids
differs eval:bare ids-file -- --ids-file "$tmp/ids"
differs eval:bare text-file -- --text-file "$tmp/text"
writes eval:none logits -- --logits "$tmp/made"
differs eval:logits last -- --last
says eval:none perplexity 'tokens 9' -- --perplexity
says eval against 'KL divergence from scalar' -- --against scalar
says eval json '{"perplexity":' -- --json
says eval verbose '10 tokens in ' -- -v
reads eval cli/subcommands.c overwrite
reads eval models,commands/eval.c threads pack-cache dispatch prefill-unit decode-unit prefill-kind decode-kind no-lending

differs tokenize:text model -- -m "$demo"
differs tokenize:odd accept-unknown -- --accept-unknown logits_scaling
differs tokenize decode -- --decode
differs tokenize json -- --json

differs render:ids model -- -m "$demo"
differs render:odd accept-unknown -- --accept-unknown logits_scaling
fails render mmproj 'none.gguf' -- --mmproj "$tmp/none.gguf"
differs render think -- --think
differs render keep-thinking -- --keep-thinking on
differs render:none messages -- --messages "$tmp/m.json"
differs render:own tools -- --tools "$tmp/tools.json"
differs render:own set -- --set 'x="a value"'
differs render:own bos -- --bos BEGIN
differs render:own eos -- --eos END
differs render:own now -- --now 2021-01-02T03:04
differs render no-generation -- --no-generation
differs render ids -- --ids
differs render template -- --template chatml
reads render commands image-tokens

differs info:none model -- -m "$tiny"
differs info kernels -- --kernels scalar
differs info quant -- --quant q4_0
differs info lm-head -- --quant q4_0 --lm-head q8_0
says info:mixture expert-memory 'of experts fit' -- --expert-memory 100K
differs info:odd accept-unknown -- --accept-unknown logits_scaling
fails info mmproj 'none.gguf' -- --mmproj "$tmp/none.gguf"
says info json '{' -- --json
differs info template -- --template chatml
differs info:none cpu -- --cpu
differs info:none gpu -- --gpu
reads info models,commands pack-cache measure

says models json '{"name"' -- --json
says models model-folders found.gguf -- --model-folders "$tmp/folder"
differs models:odd accept-unknown -- --accept-unknown logits_scaling
differs convert type -- --type q4_0
differs convert:odd accept-unknown -- --accept-unknown logits_scaling
reads convert cli/subcommands.c overwrite
reads pull pull dry-run no-vision json

# ---- All of the table -----------------------------------------------------------------------------------------------

missing=() known=()
while read -r command options; do
    for option in $options; do
        [[ $option == help || $command == config ]] && continue
        known+=("$command $option")
        [[ -v seen["$command $option"] ]] || missing+=("$command --$option")
    done
done < <("$program" --completion-bash | sed -nE '/^    case \$command in$/,/^    esac$/{
    s/^    ([a-z]+)\) .*/&/; H; }; ${x; p}' | tr '\n' '\001' | sed 's/\x01        / /g' | tr '\001' '\n' |
    sed -nE "s/^    ([a-z]+)\) .*compgen -W '(--help[^']*)' .*/\1 \2/p" | sed 's/ --/ /g; s/--help/help/')
check 'the table was read' test "${#known[@]}" -gt 200
check 'each option of each command has its line' test ${#missing[@]} = 0
((${#missing[@]} == 0)) || printf '# no line: %s\n' "${missing[@]}"
printf '%s\n' "${known[@]}" >"$tmp/known"
gone=()
for pair in "${!seen[@]}"; do
    grep -qxF -- "$pair" "$tmp/known" || gone+=("$pair")
done
((${#gone[@]} == 0)) || printf '# no option: %s\n' "${gone[@]}"
check 'and each line its option' test ${#gone[@]} = 0
