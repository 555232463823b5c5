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
check has_at_most_10_MB test "$kit" -le 10000000
if git rev-parse --git-dir >/dev/null 2>&1; then
    tracked=$(tests/device/travel.sh list | tr '\n' '\0' | xargs -0 du -cb | awk '$2 == "total" { n += $1 } END { print n }')
    check travels_in_54_MiB test $((tracked + kit)) -le $((54 << 20))
    # In a clone, so that this working tree stays as it is.
    clone=$(mktemp -d)
    trap 'rm -rf "$clone"' EXIT
    git clone -q --shared . "$clone/tree" 2>/dev/null
    cp tests/device/travel.sh "$clone"
    (cd "$clone/tree" && ../travel.sh narrow)
    there() { (cd "$clone/tree" && find . -path ./.git -prune -o -type f -print | sort); }
    check narrow_leaves_what_travels test "$(there)" = "$(cd "$clone/tree" && ../travel.sh list | sed 's,^,./,' | sort)"
    (cd "$clone/tree" && ../travel.sh whole)
    check whole_brings_all_back test "$(there)" = "$(cd "$clone/tree" && git ls-files | sed 's,^,./,' | sort)"
    echo x >>"$clone/tree/tests/run"
    (cd "$clone/tree" && ../travel.sh narrow 2>/dev/null)
    check narrow_refuses_to_drop_a_change test $? = 1
else
    echo 'skip travels_in_54_MiB: no clone'
fi
check runs test -n "$(build/kit/tandem-bench nonsense 2>&1 | grep 'there are:')"
build/kit/tandem-gpu --help >/dev/null 2>&1
for program in tandem-gpu tandem-bench; do
    needs=$(ldd build/kit/$program.out | awk '{ print $1 }' | grep -vE '^(linux-vdso|lib(c|m|dl|pthread)\.so|/lib)')
    check ${program}_needs_the_c_library_alone test -z "$needs"
    check ${program}_has_no_relocations test -n "$(readelf -hW build/kit/$program.out | grep 'Type: *EXEC')"
done
check finds_libvulkan_beside_it grep -q '\$ORIGIN/lib' build/kit/tandem-bench.out
rm build/kit/*.out build/kit/lib/libvulkan.so.1
