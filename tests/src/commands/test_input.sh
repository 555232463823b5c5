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

# How soon a shell closes its own ends of a pipe, and a writer writes, is up to the machine. So the program looks at
# standard input once both are through; a writer that goes on does so until the program has answered.
# settled all|written COMMAND...: waits until all is said (or written), and nothing but this process reads standard
# input, then becomes the command.
cat >"$tmp/settled" <<'END'
#!/bin/bash
pipe=$(readlink /proc/self/fd/0)
has() { # u=r or u=w, process...: one of them has the pipe open so; the mode of a descriptor's link tells
    find "${@:2}" -lname "$pipe" -perm "-$1" 2>/dev/null | grep -q .
}
until [[ -e written ]]; do sleep 0.01; done
while has u=r /proc/$PPID/fd; do sleep 0.01; done
[[ $1 == written ]] || while has u=w /proc/[0-9]*/fd; do sleep 0.01; done
exec "${@:2}"
END
# answered: ends when the program has said something, so has decided.
cat >"$tmp/answered" <<'END'
#!/bin/bash
until [[ -s out || -s err ]]; do sleep 0.02; done
END
chmod +x "$tmp/settled" "$tmp/answered"

# A line of shell with "$@" for the command, in each shell; what is expected of the prompt and of standard error.
gives() { # name, tokens of the prompt, words of standard error ('': it is silent), line of shell
    for shell in "${shells[@]}"; do
        rm -f "$tmp/written"
        (cd "$tmp" && $shell -c "$4" $shell "${ask[@]}" 'Who?' >out 2>err </dev/null)
        if [[ $(grep -o '"prompt_tokens":[0-9]*' "$tmp/out") == "$2" && $(wc -l <"$tmp/err") == "$((!!${#3}))" &&
            $(<"$tmp/err") == *"$3" ]]; then echo "ok $1 ($shell)"
        else sed 's/^/# /' "$tmp/out" "$tmp/err"; echo "not ok $1 ($shell)"; fi
    done
}
gives 'a pipe' "$with" "$taken" '{ cat notes; : >written; } | ./settled all "$@"'
gives 'a file' "$with" "$taken" '"$@" <notes; true'
gives 'a pipe that goes on' "$without" "whose writer was not done in time, $left" \
    '{ cat notes; : >written; exec ./answered; } | ./settled written "$@"'
gives 'an empty pipe' "$without" '' ': >written | ./settled all "$@"'
gives 'an empty file' "$without" '' ': >none; "$@" <none'
gives 'a device' "$without" '' '"$@" </dev/zero'
gives 'no standard input' "$without" '' '"$@" <&-'
gives 'an idle pipe that others have, too' "$without" '' './answered | { "$@"; :; }'
gives 'a pipe that others read, too' "$without" "which the program that started this one may read, $left" \
    '{ cat notes; : >written; } | { until [ -e written ]; do sleep 0.01; done; "$@"; :; }'
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
