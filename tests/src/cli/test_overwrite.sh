#!/usr/bin/env bash
# Files that the command line names to be written: one that is there stays, whoever asks, unless --overwrite says otherwise.
. tests/scratch.sh
precious=$tmp/precious
keep() { rm -rf "$precious" "$tmp/link" "$tmp/way"; echo precious >"$precious"; ln -s precious "$tmp/link"; ln -s link "$tmp/way"; }
is_kept() { test "$(<"$precious")" = precious; }

# $file stands for the file in the words of the command.
refuses() { # name, command...
    local name=$1 file words
    shift
    keep
    for file in "$precious" "$tmp/link" "$tmp/way"; do
        words=("${@//FILE/$file}")
        timeout 300 "$program" "${words[@]}" >"$tmp/out" 2>"$tmp/err" </dev/null
        check "$name: refused" test $? = 1
        check "$name: in one line" test "$(<"$tmp/err")" = "tandem $1: $file: is there already; --overwrite replaces it"
        check "$name: it stays" is_kept
        check "$name: nothing else was done" test ! -s "$tmp/out"
    done
}
writes() { # name, file, command...
    local name=$1 file=$2
    shift 2
    timeout 300 "$program" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    check "$name: status" test $? = 0
    check "$name: written" test -s "$file"
}
run=(run -m "$tiny" -n 2 hi)
chat=(chat --plain --private -m "$tiny")
echo '{"turns":[{"text":"x"}],"max_tokens":2}' >"$tmp/script.json"
script=(run -m "$tiny" --script "$tmp/script.json")
convert=(convert "$tiny")
refuses 'run --trace' "${run[@]}" --trace FILE
refuses 'run --script --trace' "${script[@]}" --trace FILE
refuses 'chat --trace' "${chat[@]}" --trace FILE
refuses 'demo --trace' demo --trace FILE
refuses 'convert' "${convert[@]}" FILE
refuses 'monitor --record' monitor --record FILE
refuses 'eval --logits' eval -m "$tiny" --ids 1,2 --logits FILE
[[ ! -x ${program%/*}/tandem-bench ]] || refuses 'bench --json' bench dispatch -m "$tiny" --json FILE
refuses 'run -r --force, which means something else' run --force -m "$tiny" -n 2 hi --trace FILE

for link in precious link way; do
    for what in run script chat; do
        declare -n words=$what
        keep
        writes "$what --trace --overwrite $link" "$precious" "${words[@]}" --trace "$tmp/$link" --overwrite
        check "it is a trace" grep -q traceEvents "$precious"
        check 'links stay links' test -L "$tmp/link" -a -L "$tmp/way"
    done
    keep
    writes "convert --overwrite $link" "$precious" "${convert[@]}" "$tmp/$link" --overwrite
    check 'it is a model' test "$(head -c 4 "$precious")" = GGUF
done
for what in run script chat; do
    declare -n words=$what
    writes "$what --trace: one that is not there" "$tmp/new-$what" "${words[@]}" --trace "$tmp/new-$what"
    writes "$what --trace: a device" "$program" "${words[@]}" --trace /dev/null
    "$program" "${words[@]}" --trace >(cat >"$tmp/piped-$what") >/dev/null 2>&1 </dev/null
    for ((i = 0; i < 6000; i++)); do [[ -s $tmp/piped-$what ]] && break; sleep 0.05; done
    check "$what --trace: a pipe" grep -q traceEvents "$tmp/piped-$what"
done
writes 'convert: one that is not there' "$tmp/new.gguf" "${convert[@]}" "$tmp/new.gguf"
for mode in 600 755; do
    keep
    chmod $mode "$precious"
    writes 'convert --overwrite, which keeps the mode' "$precious" "${convert[@]}" "$tmp/link" --overwrite
    check "it stays $mode" test "$(stat -c %a "$precious")" = $mode
done

# Logits are written while they are evaluated: what was there stays until they are whole, also where the disk is full.
eval=(eval -m "$tiny" --ids 1,2,3)
keep
(ulimit -f 1; exec "$program" "${eval[@]}" --logits "$tmp/link" --overwrite) >"$tmp/out" 2>"$tmp/err"
check 'logits: a file that may not become as large' test $? = 1
check 'logits: in one line' test "$(<"$tmp/err")" = "tandem: $precious: can't be written: File too large"
check 'logits: it stays' is_kept
check 'logits: nothing is left beside it' test -z "$(find "$tmp" -maxdepth 1 -name '*precious?*')"
chmod 600 "$precious"
writes 'logits over a file' "$precious" "${eval[@]}" --logits "$tmp/link" --overwrite
check 'logits: a tensor' grep -q '"logits":{"dtype":"F32"' "$precious"
check 'logits: the link and the mode stay' test -L "$tmp/link" -a "$(stat -c %a "$precious")" = 600

mkfifo "$tmp/FIFO"
exec 9<>"$tmp/FIFO" # so that it has a reader before cat has opened it
cat "$tmp/FIFO" >"$tmp/through" 9>&- &
"$program" "${convert[@]}" "$tmp/FIFO" >/dev/null 9>&-
check 'convert into a FIFO' test $? = 0
exec 9>&-
wait $!
check 'is the whole model' cmp "$tmp/through" "$tmp/new.gguf"
check 'and it stays a FIFO' test -p "$tmp/FIFO"
"$program" "${convert[@]}" /dev/null >/dev/null
check 'convert into a device' test $? = 0 -a -c /dev/null
"$program" "${convert[@]}" "$tmp/FIFO" >/dev/null 2>"$tmp/err"
check 'a FIFO that nobody reads' test $? = 1
holds 'is told' "$(<"$tmp/err")" 'nobody reads it'
mkdir "$tmp/folder"
"$program" "${convert[@]}" "$tmp/folder" --overwrite >/dev/null 2>"$tmp/err"
check 'a folder is not replaced' test $? = 1 -a -d "$tmp/folder"

# A place where nothing can be written is told before anything else is done.
impossible() { # path, what is told of it; command...
    local path=$1 told=$2
    shift 2
    timeout 300 "$program" "${@//FILE/$path}" >"$tmp/out" 2>"$tmp/err" </dev/null
    check "${1} '$path': refused" test $? = 1
    check "${1} '$path': in one line" test "$(<"$tmp/err")" = "tandem $1: $told"
    check "${1} '$path': nothing else was done" test ! -s "$tmp/out"
}
keep
ln -s around "$tmp/around"
demo=(demo)
for what in run script chat demo; do
    declare -n words=$what
    impossible "$tmp/folder" "$tmp/folder: expected a regular file, found a folder" "${words[@]}" --trace FILE --overwrite
    impossible "$tmp/none/x" "$tmp/none/x: can't be written: No such file or directory" "${words[@]}" --trace FILE
    impossible "$precious/x" "$precious/x: can't be written: Not a directory" "${words[@]}" --trace FILE
    impossible "$tmp/around" "$tmp/around: can't be written: Too many levels of symbolic links" "${words[@]}" --trace FILE
done
impossible '' 'the file to write: expected a name, found an empty one' "${convert[@]}" FILE
ln -sf new-through "$tmp/dangling"
writes 'a link whose file is not there' "$tmp/new-through" "${run[@]}" --trace "$tmp/dangling"

# One that comes while the command runs stays, too.
keep
rm "$precious"
mkfifo "$tmp/lines"
: >"$tmp/out" # the program empties it only once the pipe is open at both ends
"$program" "${chat[@]}" --trace "$precious" <"$tmp/lines" >"$tmp/out" 2>"$tmp/err" &
pid=$!
exec 7>"$tmp/lines"
echo '/stats' >&7
until [[ -s $tmp/out ]] || ! kill -0 $pid 2>/dev/null; do sleep 0.05; done
echo precious >"$precious"
exec 7>&-
wait $pid
check 'a file that came meanwhile: status' test $? = 1
check 'it stays' is_kept
holds 'it is told' "$(<"$tmp/err")" "the trace: $precious: is there already; --overwrite replaces it"
