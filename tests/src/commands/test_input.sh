#!/usr/bin/env bash
# Standard input of `tandem run PROMPT`: notes that are handed to it follow the prompt, a loop keeps its list.
. tests/scratch.sh
shells=()
for shell in bash dash zsh; do command -v $shell >/dev/null && shells+=($shell); done
ask=("$program" run -m "$tiny" --temp 0 -n 1 --json)
taken='tandem run: standard input follows the prompt, as with -'
left='is left alone; - reads it'
printf 'My dog is called Bruno.\nHe is old.\n' >"$tmp/notes"
with=$("${ask[@]}" 'Who?' - <"$tmp/notes" | grep -o '"prompt_tokens":[0-9]*')
without=$("${ask[@]}" 'Who?' </dev/null | grep -o '"prompt_tokens":[0-9]*')
check 'a text makes a difference' test -n "$with" -a "$with" != "$without"

# A line of shell with "$@" for the command, in each shell; what is expected of the prompt and of standard error.
gives() { # name, tokens of the prompt, words of standard error ('': it is silent), line of shell
    for shell in "${shells[@]}"; do
        (cd "$tmp" && $shell -c "$4" $shell "${ask[@]}" 'Who?' >out 2>err </dev/null)
        if [[ $(grep -o '"prompt_tokens":[0-9]*' "$tmp/out") == "$2" && $(wc -l <"$tmp/err") == "$((!!${#3}))" &&
            $(<"$tmp/err") == *"$3" ]]; then echo "ok $1 ($shell)"
        else sed 's/^/# /' "$tmp/out" "$tmp/err"; echo "not ok $1 ($shell)"; fi
    done
}
gives 'a pipe' "$with" "$taken" 'cat notes | "$@"'
gives 'a file' "$with" "$taken" '"$@" <notes; true'
gives 'a pipe that is slow to begin' "$with" "$taken" '{ sleep 0.05; cat notes; } | "$@"'
gives 'a pipe that goes on' "$without" "whose writer was not done in time, $left" '{ cat notes; exec sleep 2; } | "$@"'
gives 'an empty pipe' "$without" '' ': | "$@"'
gives 'an empty file' "$without" '' ': >none; "$@" <none'
gives 'a device' "$without" '' '"$@" </dev/zero'
gives 'no standard input' "$without" '' '"$@" <&-'
gives 'an idle pipe that others have, too' "$without" '' 'sleep 2 | { "$@"; :; }'
gives 'a pipe that others read, too' "$without" "which the program that started this one may read, $left" \
    'cat notes | { "$@"; :; }'
gives 'a file that others have read from' "$without" "whose beginning was read by another program, $left" \
    '{ read -r line; "$@"; } <notes'
gives 'a file stays for those who have it, too' "$with" "$taken" '{ "$@"; cat >kept; cmp kept notes >&2; } <notes'
# More than a pipe holds has been written by the time that the prompt is too long for the context.
head -c 300000 /dev/zero | tr '\0' x | "${ask[@]}" -c 64 'Who?' >"$tmp/out" 2>"$tmp/err"
check 'more than a pipe holds' grep -qxF "$taken" "$tmp/err"

# A writer that waits because its pipe is full is not taken for one that is slow.
head -c 3000000 /dev/zero | tr '\0' x | "${ask[@]}" -c 64 'Who?' >"$tmp/out" 2>"$tmp/err"
check 'more than the largest pipe holds' grep -qxF "$taken" "$tmp/err"
head -c 3000 "$program" >"$tmp/binary"
"${ask[@]}" 'Who?' <"$tmp/binary" >"$tmp/out" 2>"$tmp/err"
check 'a program is refused' test "$?-$(wc -c <"$tmp/out")" = 1-0
check 'it says why' grep -qF "standard input: a program (ELF), which can't be read yet; expected a text" "$tmp/err"

# A loop asks as often as its list has lines; at the last one nothing is left to tell of.
for n in 1 12; do
    seq $n >"$tmp/list"
    for shell in "${shells[@]}"; do
        for line in 'while read x; do "$@" "$x"; done <list' 'cat list | while read x; do "$@" "$x"; done' \
            'while read x; do ("$@" "$x"); done <list' 'cat list | while read x; do "$@" "$x" | cat; done'; do
            (cd "$tmp" && $shell -c "$line" $shell "$program" run -m "$tiny" -n 1 --json >out 2>err </dev/null)
            asked=$(grep -c '"event":"done"' "$tmp/out") told=$(grep -cF "$left" "$tmp/err")
            check "$shell: $line, $n lines" test "$asked-$told" = "$n-$((n - 1))"
        done
    done
done
