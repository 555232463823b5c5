#!/usr/bin/env bash
# Drawing takes what the view holds: the objects that draw call neither the engine nor the sensors, read no file and no
# clock. (ui/screen.h, ui/monitor/monitor.h)
set -u
library=${BUILD:-build}/libui.a
if ! command -v nm >/dev/null || [[ ! -f $library ]]; then
    echo "skip drawing samples nothing: needs nm and $library"
    exit 0
fi
forbidden='^(tdm_|sensors_|activity_|sysfs_|unit_|fopen|open$|open64$|openat|read$|pread|opendir|popen|socket|recv|clock_|time$|gettimeofday)'
for object in blocks canvas chart draft format full graph inspect lanes layout monitor panel popup screen state transcript turn; do
    found=$(nm -u "$library" 2>/dev/null | awk -v o="$object.o:" '$1 == o {on = 1; next} /:$/ {on = 0} on && NF {print $NF}' |
        grep -E "$forbidden" | sort -u | tr '\n' ' ')
    if nm "$library" 2>/dev/null | grep -q "^$object.o:" && [[ -z $found ]]; then
        echo "ok $object samples nothing"
    else
        echo "# $object.o calls: ${found:-(there is no such object)}"
        echo "not ok $object samples nothing"
    fi
done
