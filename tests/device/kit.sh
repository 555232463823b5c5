#!/bin/sh
# What a kit (make device-kit) has in place of each program and library: they are packed, since what is carried counts,
# and are unpacked beside this at the first use.
here=$(cd "$(dirname "$0")" && pwd)
program=$here/$(basename "$0").out
for gz in "$program.gz" "$here"/lib/*.gz; do
    packed=${gz%.gz}
    [ -x "$packed" ] || { gzip -dc "$gz" >"$packed" && chmod +x "$packed"; } || exit 1
done
export VK_LAYER_PATH="$here/lib" LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
exec "$program" "$@"
