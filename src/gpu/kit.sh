#!/bin/sh
# What a kit (make device-kit) has in place of each program and library: they are packed, since what is carried counts,
# and are unpacked beside this at the first use.
here=$(dirname "$0")
program=$here/$(basename "$0").out
for packed in "$program" "$here/lib/libvulkan.so.1"; do
    [ -x "$packed" ] || { gzip -dc "$packed.gz" >"$packed" && chmod +x "$packed"; } || exit 1
done
exec "$program" "$@"
