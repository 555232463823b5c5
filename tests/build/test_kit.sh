#!/usr/bin/env bash
# What is carried to a machine with a GPU (make device-kit): its size, alone and with the files that travel with it, and
# that its programs need nothing that such a machine may lack.
set -u
build=${BUILD:-build}
[[ $build == build ]] || { echo 'skip kit: only of the usual build'; exit 0; }
[[ -x build/tandem-bench ]] || { echo 'skip kit: tandem-bench was not built (needs libvterm)'; exit 0; }
type glslc >/dev/null 2>&1 || { echo 'skip kit: needs glslc'; exit 0; }
ldconfig -p | grep -q 'libvulkan.so.1 ' || { echo 'skip kit: needs libvulkan'; exit 0; }

check() { # name, then a condition's command
    local name=$1
    shift
    if "$@"; then echo "ok $name"; else echo "not ok $name"; fi
}

make device-kit >"build/kit.log" 2>&1
check is_built test $? = 0
kit=$(du -sb build/kit | cut -f1)
check has_at_most_6_MB test "$kit" -le 6000000
if git rev-parse --git-dir >/dev/null 2>&1; then
    tracked=$(git ls-files -z | xargs -0 du -cb 2>/dev/null | awk '$2 == "total" { n += $1 } END { print n }')
    check travels_in_63_MiB test $((tracked + kit)) -le $((63 << 20))
else
    echo 'skip travels_in_63_MiB: no clone'
fi
check runs test -n "$(build/kit/tandem-bench nonsense 2>&1 | grep 'there are:')"
build/kit/tandem-gpu --help >/dev/null 2>&1
for program in tandem-gpu tandem-bench; do
    needs=$(ldd build/kit/$program.out | awk '{ print $1 }' | grep -vE '^(linux-vdso|lib(c|m|dl|pthread)\.so|/lib)')
    check ${program}_needs_the_c_library_alone test -z "$needs"
done
check finds_libvulkan_beside_it grep -q '\$ORIGIN/lib' build/kit/tandem-bench.out
rm build/kit/*.out build/kit/lib/libvulkan.so.1
