#!/usr/bin/env bash
# What the documents say of the tree: links lead to files, comments name files that are there, the README is short
# and its figures are those of assets/published.jsonl and assets/measured-zen5.jsonl.
set -u
cd "$(dirname "$0")/.." || exit 2
failed=0
ok() { echo "ok $1"; }
not_ok() { echo "not ok $1"; failed=1; }
# Says ok when there are no findings, which are one a line.
none() { if [[ $2 ]]; then sed 's/^/# /' <<<"$2"; not_ok "$1"; else ok "$1"; fi; }

broken_links() {
    local file target
    while IFS=: read -r file target; do
        target=${target#*\](} target=${target%)} target=${target%%#*}
        [[ -z $target || $target == *://* || -e $(dirname "$file")/$target ]] || echo "$file: there is no $target"
    done < <(grep -oE '\]\([^) ]+\)' README.md CONTRIBUTING.md engine/README.md engine/kernel/README.md engine/text/jinja/README.md assets/*.md \
        tests/*/README.md)
}
none 'every link of the documents leads to a file' "$(broken_links)"
none 'no comment points to a document outside the tree' \
    "$(grep -rnE '\b(design|screens|style)\.md\b' engine ui src tests Makefile --include='*.[ch]' --include='*.md' --include=Makefile)"
# Names of files that comments (and other lines than includes) have: the tree has such a file, in any folder if none is
# named. X stands for any name; the others are the system's.
missing_files() {
    grep -rvhE '#include' engine ui src --include='*.[ch]' --include='*.comp' --include='*.glsl' |
        grep -oE '[A-Za-z0-9_/-]+\.(h|c|comp|glsl)\b' | grep -vE '(^|[/_])X\.c|_X\.h|^(cblas|nvml|linux/ioprio|tables)\.h$' | sort -u |
        awk 'NR == FNR { n = split($0, part, "/"); name = part[n]; have[name]
                         for (i = n - 1; i; i--) { name = part[i] "/" name; have[name] } next }
             !($0 in have) { print "there is no " $0 }' <(find engine ui src tests assets -type f) -
}
none 'comments name files that are there' "$(missing_files)"
lines=$(wc -l <README.md)
none 'the README has fewer than 200 lines' "$( (( lines < 200 )) || echo "README.md has $lines")"

none 'the program in engine/README.md is assets/example.c' \
    "$(diff assets/example.c <(sed -n '/^    .* A conversation that is read/,$p' engine/README.md | sed 's/^    //'))"

# The rows of the README's table as the figures give them.
figures() {
    python3 - <<'PYTHON'
import json

def rows(path):
    return [row for row in map(json.loads, open(path)) if "measure" in row]

def figure(rows, **wanted):
    found = [row["median"] for row in rows if all(row.get(key) == value for key, value in wanted.items())]
    assert len(found) == 1, (wanted, found)
    return found[0]

published, shares = rows("assets/published.jsonl"), rows("assets/measured-zen5.jsonl")
files = {"0.8B Q8_0": "synthetic:0.8b:q8_0", "0.8B BF16": "synthetic:0.8b:bf16", "built-in": "built-in"}
programs = ("tandem", "ik_llama.cpp")

def peers(**wanted):
    return [f"{figure(published, suite='peers', program=program, **wanted):,g}" for program in programs]

warm = {"suite": "peers", "part": "warm"}
slowest = [f"{figure(published, program=programs[1], turn=turn, **warm):g}" for turn in ("fastest", "slowest")]
print(f"| warm turn, Enter to the first token, ms | {figure(published, program=programs[0], **warm):g} | - "
      f"| {'-'.join(slowest)} |")
for weights, model in files.items():
    for tokens in (74, 512):
        ours, theirs = peers(part="prefill", weights=weights, prompt_tokens=tokens)
        share = [row["median"] for row in shares if row["suite"] == "model" and row["part"] == "prefill" and
                 row["model"] == model and row["measure"] == "of_peak" and
                 (int(row["cores"]), int(row["prompt_tokens"]), int(row["dispatch"])) == (2, tokens, 32)]
        print(f"| {weights}, prefill of {tokens} tokens, tok/s | {ours} | "
              f"{f'{100 * share[0]:.0f} %' if share else '-'} | {theirs} |")
    ours, theirs = peers(part="decode", weights=weights)
    share = [row["median"] for row in shares if row["suite"] == "model" and row["part"] == "decode" and
             row["model"] == model and row["measure"] == "of_limit" and
             (int(row["cores"]), int(row["after_tokens"])) == (2, 74)]
    print(f"| {weights}, decode, tok/s | {ours} | {100 * share[0]:.0f} % | {theirs} |")
PYTHON
}
name="the README's table says what was measured"
if ! command -v python3 >/dev/null; then
    echo "skip $name: python3 is not installed"
elif ! expected=$(figures); then
    not_ok "$name"
else
    shown=$(sed -n '/^<!-- peers -->$/,/^<!-- end -->$/p' README.md | grep '^| [0-9a-z]')
    none "$name" "$(diff <(echo "$expected") <(echo "$shown"))"
fi
exit $failed
