#!/usr/bin/env bash
# The rooms of the tree, and which others the files of each may include, besides their own and engine/tandem.h (of whose
# parts the kernels include engine/tandem/error.h alone; the room engine/tandem is tandem/measure.h). What a lower room
# would need of a higher one is handed to it, or belongs elsewhere. Tests may include everything.
set -u
cd "$(dirname "$0")/.." || exit 2
base='engine/base engine/os'
model='engine/json engine/model engine/model/gguf engine/model/hf engine/model/schema'
kernel='engine/kernel engine/kernel/sets engine/kernel/templates engine/kernel/vector'
jinja='engine/text/jinja engine/text/jinja/value engine/text/jinja/syntax engine/text/jinja/run engine/text/jinja/library'
gpu='engine/gpu engine/gpu/device engine/gpu/pass engine/gpu/tune engine/gpu/vision'
eyes='engine/vision engine/gpu/vision'
inner="$base engine/thread engine/text engine/text/template $model engine/kernel engine/unit engine/state engine/forward engine/gpu \
    engine/backend $eyes"
chat='engine/chat engine/chat/policy engine/chat/dialogue engine/chat/reader engine/chat/writer' # see test_circle.sh
ui='engine/base engine/os ui/draw ui/unicode ui/text ui/keys ui/terminal ui/readline ui/edit ui/monitor ui/preview'
out="$base engine/json src/files src/process src/io" # what every program of src stands on
begun="$out src/cli src/server src/models src/image src/attach src/session src/figures"
tui='src/hub src/tui src/tui/draft src/tui/frame src/tui/lists'
bench='src/bench src/bench/report src/bench/suites'
declare -A may=(
    [engine/base]='' [engine/os]=engine/base [engine/thread]=$base [engine/json]=$base [engine/hub]=$base
    [engine/text]="$base engine/json engine/text/split" [engine/text/split]="$base engine/text"
    [engine/text/jinja]="$base engine/json $jinja" [engine/text/jinja/value]=$base
    [engine/text/jinja/syntax]="$base engine/text $jinja" [engine/text/jinja/run]="$base $jinja"
    [engine/text/jinja/library]="$base engine/text $jinja" [engine/text/template]="$base engine/text engine/text/jinja"
    [engine/model]="$base $model engine/hub" [engine/model/gguf]="$base $model" [engine/model/hf]="$base $model engine/hub"
    [engine/model/schema]="$base $model"
    [engine/model/convert]="$base $model engine/text engine/text/split"
    [engine/kernel]="$base engine/thread engine/model"
    [engine/kernel/sets]="$base $kernel engine/model" [engine/kernel/templates]="$base $kernel engine/model"
    [engine/kernel/vector]="$base $kernel engine/model"
    [engine/unit]="$base engine/thread"
    [engine/state]="$base engine/thread engine/kernel engine/model"
    [engine/forward]="$base engine/thread engine/kernel $model engine/state"
    [engine/vision]="$base engine/thread engine/kernel $model engine/hub"
    [engine/gpu]="$base engine/thread engine/kernel $model engine/state $gpu"
    [engine/gpu/device]="$base engine/thread engine/kernel $model $gpu"
    [engine/gpu/pass]="$base engine/thread engine/kernel $model engine/state $gpu"
    [engine/gpu/tune]="$base engine/thread engine/kernel $model $gpu"
    [engine/gpu/vision]="$base engine/thread $model $gpu engine/vision"
    [engine/backend]="$base engine/thread engine/kernel $model engine/text engine/state engine/forward engine/gpu $eyes"
    [engine/object]="$inner engine/tandem"
    [engine/chat/policy]="$base engine/text" [engine/chat/dialogue]="$inner engine/object engine/chat/policy"
    [engine/chat/reader]="$inner engine/object $chat" [engine/chat/writer]="$inner engine/object $chat"
    [engine/chat]="$inner engine/object $chat" [engine/api]="$inner engine/tandem engine/object $chat engine/model/convert"
    [ui/draw]=$base [ui/text]="$base ui/draw ui/unicode ui/formula ui/preview" [ui/formula]=$base [ui/keys]="$base ui/draw ui/text"
    [ui/terminal]="$base ui/draw ui/text ui/keys ui/preview" [ui/readline]="$base ui/unicode"
    [ui/edit]="$base ui/draw ui/unicode ui/text ui/keys ui/terminal ui/readline" [ui/unicode]=$base
    [ui/monitor]="$base ui/draw ui/text" [ui]=$ui [ui/preview]="$base ui/draw"
    [src/files]=$base [src/process]="$base src/files src/hub ui/terminal ui/readline" [src/hub]="$base src/files engine/hub"
    [src/io]="$out ui/terminal" [src/cli]="$out ui/draw ui/edit"
    [src/net]="$out src/cli" [src/pull]="$out $model engine/hub src/hub src/cli src/net" [src/server]="$out src/cli src/net src/image"
    [src/image]="$out src/cli src/net ui/preview"
    [src/models]="$out $model engine/hub engine/vision src/hub src/cli src/server src/figures" [src/figures]="$out src/cli"
    [src/session]="$out src/cli src/image ui/unicode ui/formula ui/text" [src/attach]="$out src/cli src/image src/session ui/edit"
    [src/watch]="$out $ui ui engine/unit src/cli"
    [src/chat]="$begun $model ui/text ui/edit src/watch" [src/slash]="$begun ui/edit ui/text src/chat"
    [src/play]="$begun src/chat" [src/demo]="$begun ui/draw ui src/chat src/play"
    [src/plain]="$begun ui/readline ui/edit ui/keys ui/terminal src/chat src/slash"
    [src/tui]="$begun $ui ui src/watch src/chat src/slash src/demo src/plain $tui"
    [src/tui/draft]="$begun $ui ui src/watch src/chat src/slash $tui"
    [src/tui/frame]="$begun $ui ui src/watch src/chat src/slash src/demo $tui"
    [src/tui/lists]="$begun $ui ui src/watch src/chat src/slash $tui"
    [src/commands]="$begun $model engine/text/jinja engine/vision engine src/image src/watch src/chat src/play src/demo src/plain src/tui"
    [src/bench]="$inner $begun engine/object src/chat src/play $bench"
    [src/bench/report]="$inner $begun $bench"
    [src/bench/suites]="$inner $begun engine/tandem engine/vision engine/object $chat src/chat src/play $bench"
    [src]='src/cli src/slash src/io src/process'
)
wrong=0
while read -r n room; do
    echo "# $room has $n files, more than 25: rooms of its own"
    wrong=1
done < <(find engine src ui -type f | sed 's|/[^/]*$||' | sort | uniq -c | awk '$1 > 25')
while IFS=: read -r file include; do
    room=${file%/*} other=${include#*\"} other=${other%%\"*}
    [[ $other == engine/tandem.h || $other == engine/tandem/error.h ]] && continue
    [[ -v may[$room] ]] || { echo "# $file: no such room here"; wrong=1; continue; }
    [[ ${other%/*} == "$room" || " ${may[$room]} " == *" ${other%/*} "* ]] && continue
    echo "# $file: $room may not include $other"
    wrong=1
done < <(grep -rE '^#include "' engine ui src --include='*.[ch]' | grep -v '^engine/tandem')
while IFS= read -r place; do
    echo "# $place: a part of the interface includes the others as they lie once they are installed"
    wrong=1
done < <(grep -nE '^#include "' engine/tandem.h engine/tandem/*.h | grep -vE '^engine/tandem\.h:[0-9]+:#include "tandem/|'\
'^engine/tandem/[a-z]+\.h:[0-9]+:#include "([a-z]+\.h|\.\./tandem\.h)"' | cut -d: -f1,2)
while IFS= read -r place; do
    echo "# $place: the functions of engine/tandem.h stand in engine/api"
    wrong=1
done < <(grep -rn '^TDM_API' engine --include='*.c' | grep -v '^engine/api/' | cut -d: -f1,2)
while IFS= read -r place; do
    echo "# $place: json-c is called in engine/json alone (engine/json/json.h, write.h)"
    wrong=1
done < <(grep -rnE '<json-c/|\b(json_(object|tokener|type|util|c)_|json_type\b|lh_)' engine ui src --include='*.[ch]' |
    grep -v '^engine/json/' | cut -d: -f1,2)
while IFS= read -r place; do
    echo "# $place: src/tui asks the conversation by src/chat/talk.h"
    wrong=1
done < <(grep -rnE 'app[.>-]+chat\b|tdm_chat_[a-z_]+\(' src/tui | cut -d: -f1,2)
# The file's ending .incomplete is that of other unfinished downloads too.
while IFS= read -r place; do
    echo "# $place: the layout of the hub's cache stands in engine/hub"
    wrong=1
done < <(grep -rnoE '"([^"\\]|\\.)*"' engine src ui --include='*.[ch]' |
    grep -vE '^engine/hub/|:"engine/hub/|^engine/base/signature.c:[0-9]+:"\.incomplete"$' |
    grep -E '^[^"]*".*(models--|\<snapshots\>|\<refs\>|\<blobs\>|\.locks|\.incomplete)')
(( wrong )) && echo 'not ok rooms include what they may' || echo 'ok rooms include what they may'
