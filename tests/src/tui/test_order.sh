#!/usr/bin/env bash
# The files of src/tui call each other in one direction: what a file can't do itself it returns as an action
# (src/tui/action.h). The objects say who calls whom; tsort finds circles.
set -u
objects=("${BUILD:-build}"/obj/src/tui/*.o "${BUILD:-build}"/obj/src/tui/*/*.o)
name='the files of src/tui call each other in one direction'
command -v nm > /dev/null && command -v tsort > /dev/null || { echo "skip $name: needs nm and tsort"; exit 0; }
nm -A "${objects[@]}" > /dev/null 2>&1 || { echo "skip $name: nm can't read ${objects[0]}"; exit 0; }
# "draft/draft.o: U tui_turns_sync" and "draft/turns.o:0000 T tui_turns_sync" become "draft/draft draft/turns".
pairs=$(nm -A "${objects[@]}" | awk '
    { file = $1; sub(/:.*/, "", file); sub(/.*\/tui\//, "", file); sub(/\.o$/, "", file); kind = $(NF - 1); symbol = $NF }
    kind ~ /[TDRB]/ { home[symbol] = file }
    kind == "U" { calls[file, symbol] = file }
    END {
        for (each in calls) {
            split(each, part, SUBSEP)
            if (part[2] in home && home[part[2]] != part[1]) print part[1], home[part[2]]
        }
    }')
(( $(wc -l <<< "$pairs") > 40 )) || { echo "# only: $pairs"; echo "not ok $name"; exit 1; }
if circle=$(tsort <<< "$pairs" 2>&1 > /dev/null) && [[ -z $circle ]]; then echo "ok $name"; exit 0; fi
sed 's/^/# /' <<< "$circle"
echo "not ok $name"
exit 1
