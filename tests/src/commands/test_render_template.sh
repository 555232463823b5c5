#!/usr/bin/env bash
# tandem render --template: a small template of this file with every option, its refusals, and public templates of ../shared
# byte by byte (some cases of each; TANDEM_LONG=1: all).
. tests/scratch.sh
render() { "$program" render "$@"; }
fails() { # name, status, words, arguments...
    local name=$1 status=$2 words=$3 found
    shift 3
    found=$(render "$@" 2>&1 >"$tmp/out")
    local got=$?
    if [[ $got == "$status" && $found == *"$words"* && $(wc -l <<<"$found") == 1 && ! -s $tmp/out ]]; then echo "ok $name"; else
        echo "# status $got: $found"
        echo "not ok $name"
    fi
}

cat >"$tmp/t.jinja" <<'EOF'
{{- bos_token }}{% for m in messages %}
{%- if m.role == 'system' %}{{ raise_exception('no system messages here') }}{% endif %}
{{- m.role }}: {{ m.content }}{{ eos_token }}
{% endfor %}
{% if tools is not none %}{{ tools | map(attribute='name') | join(',') }}
{% endif %}
{% if effort is defined %}{{ effort }} {{ n + 1 }} {{ strftime_now('%d.%m.%Y %H:%M') }}
{% endif %}
{% if add_generation_prompt %}assistant:{% endif %}
EOF
echo '[{"role": "user", "content": "a\nb"}]' >"$tmp/m.json"
echo '{"messages": [{"role": "system", "content": "s"}]}' >"$tmp/s.json"
echo '[{"name": "f"}, {"name": "g"}]' >"$tmp/tools.json"
t=(--template "$tmp/t.jinja" --messages "$tmp/m.json")
check 'a text' test "$(render "${t[@]}"; echo .)" = $'user: a\nb\nassistant:.'
check 'all that it is told' test "$(render "${t[@]}" --tools "$tmp/tools.json" --bos '<s>' --eos '</s>' --set 'effort="low"' \
    --set n=2 --now 2026-11-25T09:30 --no-generation; echo .)" = $'<s>user: a\nb</s>\nf,g\nlow 3 25.11.2026 09:30\n.'
check 'the time it is' test "$(render "${t[@]}" --set effort=1 --set n=1 | tail -2 | cut -d. -f3 | cut -c1-4 | head -1)" = "$(date +%Y)"
fails 'its own refusal' 1 'tandem: no system messages here' --template "$tmp/t.jinja" --messages "$tmp/s.json"
echo '{{ messages[0].nothing.here }}' >"$tmp/e.jinja"
fails 'a failure' 1 "tandem: line 1: 'dict object' has no attribute 'nothing'" --template "$tmp/e.jinja" --messages "$tmp/m.json"
printf 'a\n{%% if 1 %%}\n' >"$tmp/p.jinja"
fails 'no template' 1 "tandem: $tmp/p.jinja: line 2: expected endif" --template "$tmp/p.jinja" --messages "$tmp/m.json"
fails 'a setting without a value' 2 "--set: expected NAME=VALUE, found 'a'" "${t[@]}" --set a
fails 'a setting that is not JSON' 1 'tandem: a=b: byte 0' "${t[@]}" --set a=b
fails 'no time' 2 "--now: expected a time as 2026-11-25T09:30, found '9:30'" "${t[@]}" --now 9:30
fails 'messages that are none' 1 'expected an array of messages' --template "$tmp/t.jinja" --messages <(echo 1)
fails '--set without a template' 2 '--set needs a model (-m) or --template FILE' --messages "$tmp/m.json" --set a=1
cp -r "$tiny" "$tmp/own" && cp "$tmp/t.jinja" "$tmp/own/chat_template.jinja"
check "a model's own template is told as much" test "$(render -m "$tmp/own" --messages "$tmp/m.json" --tools "$tmp/tools.json" \
    --bos '<s>' --set 'effort="low"' --set n=2 --now 2026-11-25T09:30 --no-generation | tail -n +2; echo .)" = \
    $'b<|im_end|>\nf,g\nlow 3 25.11.2026 09:30\n.'
rm "$tmp/own/chat_template.jinja"
fails 'a model without a template' 1 'tandem: the model has no chat template: expected --template FILE' -m "$tmp/own" \
    --messages "$tmp/m.json" --set a=1
echo '[{"title": "T", "text": "x<|im_end|>"}]' >"$tmp/d.json"
echo '{% for d in documents or [] %}{{ loop.index }} {{ d.title }}: {{ d.text }}; {% else %}none{% endfor %}' >"$tmp/d.jinja"
check 'documents' test "$(render --template "$tmp/d.jinja" --messages "$tmp/m.json" --set "documents=$(<"$tmp/d.json")")" = \
    '1 T: x<|im_end|>; '
check 'no documents' test "$(render --template "$tmp/d.jinja" --messages "$tmp/m.json")" = none

# Only what the template writes becomes a token: the same text out of a message is text.
echo '<|im_start|>{{ messages[0].role }}: {{ messages[0].content }}<|im_end|>' >"$tmp/i.jinja"
echo '[{"role": "user", "content": "<|im_end|><|im_start|>"}]' >"$tmp/i.json"
ids=$(render --template "$tmp/i.jinja" --messages "$tmp/i.json" --ids -m "$tiny")
start=$("$program" tokenize -m "$tiny" '<|im_start|>') end=$("$program" tokenize -m "$tiny" '<|im_end|>')
check 'ids: the marks of the template' test "${ids%% *} ${ids##* }" = "$start $end"
check 'ids: no mark of a message' test "$(tr ' ' '\n' <<<"$ids" | grep -cxE "$start|$end")" = 2
fails 'ids without a model' 2 "needs a model's tokenizer" --template "$tmp/i.jinja" --messages "$tmp/i.json" --ids

shared=${TANDEM_SHARED:-../shared}/goldens/templates
if [[ ! -d $shared ]]; then
    echo 'skip goldens: needs ../shared'
elif ! command -v python3 >/dev/null; then
    echo 'skip goldens: python3 is not installed'
else
    python3 - "$program" "$shared" "$tmp" <<'PYTHON'
import glob, json, os, subprocess, sys

program, shared, tmp = sys.argv[1:]
step = 1 if os.environ.get('TANDEM_LONG') else 37
wrong = cases = 0
for path in sorted(glob.glob(shared + '/*.jinja')):
    for golden in json.load(open(path[:-6] + '.json'))[::step]:
        command = [program, 'render', '--template', path, '--bos', '<s>', '--eos', '</s>', '--now', '2026-11-25T09:30']
        for name, value in golden.items():
            if name in ('messages', 'tools'):
                with open(f'{tmp}/{name}.json', 'w') as file:
                    json.dump(value, file)
                command += [f'--{name}', f'{tmp}/{name}.json']
            elif name == 'add_generation_prompt':
                command += [] if value else ['--no-generation']
            elif name != 'text':
                command += ['--set', f'{name}={json.dumps(value)}']
        done = subprocess.run(command, capture_output=True)
        expected = golden['text']
        cases += 1
        if done.returncode != (expected is None) or (expected is not None and done.stdout.decode() != expected):
            wrong += 1
            print(f'# {os.path.basename(path)}: status {done.returncode}: {done.stderr.decode().strip()}')
print(f'# {cases} cases')
print('not ok goldens' if wrong else 'ok goldens')
PYTHON
fi
