#!/usr/bin/env bash
# The rooms of the tree, and which others the files of each may include, besides their own and engine/tandem.h (with its
# part engine/status.h). What a lower room would need of a higher one is handed to it, or belongs elsewhere. Tests may
# include everything.
set -u
cd "$(dirname "$0")/.." || exit 2
base='engine/base'
inner="$base engine/thread engine/text engine/model engine/kernel engine/unit engine/state engine/forward \
    engine/gpu engine/backend"
ui='engine/base ui/draw ui/text ui/terminal ui/edit ui/monitor'
declare -A may=(
    [engine/base]='' [engine/thread]=$base [engine/text]=$base [engine/model]=$base
    [engine/model/convert]="$base engine/model engine/text"
    [engine/kernel]="$base engine/thread engine/model"
    [engine/unit]="$base engine/thread"
    [engine/state]="$base engine/kernel engine/model"
    [engine/forward]="$base engine/thread engine/kernel engine/model engine/state"
    [engine/gpu]="$base engine/thread engine/kernel engine/model"
    [engine/backend]="$base engine/thread engine/kernel engine/model engine/text engine/state engine/forward engine/gpu"
    [engine/object]=$inner [engine/chat]="$inner engine/object"
    [engine/api]="$inner engine/object engine/chat engine/model/convert"
    [ui/draw]=$base [ui/text]="$base ui/draw" [ui/terminal]="$base ui/draw ui/text"
    [ui/edit]="$base ui/draw ui/text ui/terminal" [ui/monitor]="$base ui/draw ui/text" [ui]=$ui
    [src/cli]="$base ui/draw ui/terminal ui/edit" [src/session]="$base src/cli" [src/watch]="$ui ui engine/unit src/cli"
    [src/chat]="$base engine/model ui/edit ui/text src/cli src/session src/watch src/server"
    [src/demo]="$base ui/draw ui src/cli src/chat"
    [src/plain]="$base ui/edit src/cli src/session src/chat"
    [src/tui]="$ui ui src/cli src/session src/watch src/chat src/demo src/plain"
    [src/commands]="$base engine/model src/cli src/session src/watch src/chat src/demo src/plain src/tui src/server"
    [src/pull]="$base engine/model src/cli src/net" [src/net]="$base src/cli" [src/server]="$base src/cli src/net"
    [src/bench]="$inner engine/object engine/chat src/cli src/chat src/server" [src/gpu]="$base engine/forward engine/gpu"
    [src]='src/cli'
)
wrong=0
while IFS=: read -r file include; do
    room=${file%/*} other=${include#*\"} other=${other%%\"*}
    [[ $other == engine/tandem.h || $other == engine/status.h ]] && continue
    [[ -v may[$room] ]] || { echo "# $file: no such room here"; wrong=1; continue; }
    [[ ${other%/*} == "$room" || " ${may[$room]} " == *" ${other%/*} "* ]] && continue
    echo "# $file: $room may not include $other"
    wrong=1
done < <(grep -rE '^#include "' engine ui src --include='*.[ch]' | grep -vE '^engine/(tandem|status).h')
(( wrong )) && echo 'not ok rooms include what they may' || echo 'ok rooms include what they may'
