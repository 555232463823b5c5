#!/bin/sh
# In a kit (make device-kit) tandem-bench is packed, since what is carried counts; it is unpacked beside this.
here=$(dirname "$0")
[ -x "$here/tandem-bench.out" ] || { gzip -dc "$here/tandem-bench.gz" >"$here/tandem-bench.out" && chmod +x "$here/tandem-bench.out"; } || exit 1
exec "$here/tandem-bench.out" "$@"
