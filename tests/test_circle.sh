#!/usr/bin/env bash
# No circle of files in engine/chat: none calls another that calls it, on whatever way. The objects tell: which names each
# defines, and which it wants of others. What a lower file would need of a higher one is handed to it
# (engine/chat/chat.h: struct chat_steps). The list of files there has all of them, each above those that it calls.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
objects=$(find engine/chat -name '*.c' | sed "s|\(.*\)c$|${BUILD:-build}/obj/\1o|")
failed=0
result() { # name, findings, one a line
    if [[ $2 ]]; then head -20 <<<"$2" | sed 's/^/# /'; echo "not ok $1"; failed=1; else echo "ok $1"; fi
}
circle='the objects name no calls'
if calls=$(nm -A $objects | sed 's|[^:]*/obj/||; s|\.o:|.c |' | awk '
    $(NF - 1) == "U" { wants[$1, $NF] = 1; next }
    $(NF - 1) ~ /[TDBRW]/ { owner[$NF] = $1 }
    END {
        for (each in wants) {
            split(each, part, SUBSEP)
            if (part[2] in owner && owner[part[2]] != part[1]) print part[1], owner[part[2]]
        }
    }' | sort -u) && [[ $calls ]]; then
    circle=$(tsort <<<"$calls" 2>&1 >/dev/null)
fi
result 'the files of engine/chat call in one direction' "$circle"

header=engine/chat/chat.h
with_chat=$(sed -n '/The order of files/,/and then, without a chat/s|^ \*     \([a-z_/]*\)  .*|\1|p' $header)
without=$(sed -n '/and then, without a chat/,/policy/p' $header | tr -d ' *\n' | sed 's/.*withoutachat:\(.*\),dialogue.*/\1/; s/,/\n/g')
result 'chat.h lists the files of engine/chat' "$(diff <(sort <<<"$with_chat"$'\n'"$without") \
    <(find engine/chat -name '*.c' | grep -vE '/(dialogue|policy)/' | sed 's|engine/chat/||; s|\.c$||' | sort) | grep '^[<>]')"
result 'each is above those that it calls' "$(awk '
    NR == FNR { place["engine/chat/" $1 ".c"] = NR; next }
    place[$1] && place[$2] && place[$1] > place[$2] { print $1 " calls " $2 ", which is above it" }
    ' <(echo "$with_chat") <(echo "$calls"))"
exit $failed
