#!/usr/bin/env bash
# assets/pull.md is what happens: made anew, it has the same lines, but for amounts, speeds and how often progress is told.
name='the transcript of a pull is true'
if [[ ! -x ${TANDEM:-build/tandem}-pull ]] || ! command -v python3 >/dev/null; then
    echo "skip $name: tandem-pull or python3 is not there"
    exit 0
fi
masked() { grep -vE '^ +[0-9]+ %' | sed -E 's/[0-9.]+ (k|M|G|T)?B/N B/g; s/bytes=[0-9]+-/bytes=N-/g'; }
made=$(bash tests/src/pull/transcript.sh | masked)
if difference=$(diff <(masked <assets/pull.md) <(echo "$made")); then
    echo "ok $name"
else
    sed 's/^/# /' <<<"$difference"
    echo "not ok $name"
fi
case $made in
*'interrupted; the same command goes on'*'of it are here already'*'the connection was cut; again in'*'done: tandem -m a/demo-GGUF'*) echo 'ok it was stopped, cut and completed' ;;
*) echo 'not ok it was stopped, cut and completed' ;;
esac
