#!/usr/bin/env bash
# `make deps` on a machine that has make and nothing else: compiler, pkg-config and libraries are stubs that appear when a
# stub of apt-get is called. Make is run on a small tree of the project's shape, so that this takes a second everywhere.
. tests/scratch.sh
tree=$tmp/tree bin=$tmp/bin later=$tmp/later log=$tmp/log
mkdir -p "$tree"/{engine/{kernel/sets,tandem},ui,src/{pull,net,image,bench},tests/device,assets/prompts} "$bin" "$later"
cp Makefile "$tree"
cp assets/measured.mk "$tree/assets"
cp tests/device/kit.mk "$tree/tests/device"
cp tests/deps "$tree/tests"
cp engine/libtandem.map engine/tandem.{h,pc.in} "$tree/engine"
cp engine/tandem/base.h "$tree/engine/tandem"
cp assets/example.c "$tree/assets"
touch "$tree"/{engine/part.c,engine/kernel/sets/set_avx2.c,engine/kernel/sets/set_neon.c,ui/part.c,src/main.c,src/part.c,LICENSE} \
    "$tree"/src/{bench/{main,pty},pull/{main,transfer,digest,download},net/{main,request,https},image/{main,decode,png,jpeg,webp}}.c \
    "$tree"/src/bench/measured.py "$tree"/assets/{tandem-demo-0m.gguf,tandem-demo-0m.md,bench.txt,demo.json,prompts/a.md}
for tool in make sh bash env awk cat chmod cp cut dirname echo find grep install ln mkdir mv printf rm sed sort touch tr; do
    ln -s "$(type -P $tool)" "$bin"
done
stub() { # folder, name; the body on standard input
    { echo '#!/bin/bash'; cat; } >"$1/$2"
    chmod +x "$1/$2"
}

# What is there from the start.
stub "$bin" uname <<<'echo x86_64'
stub "$bin" id <<<'echo ${FAKE_USER:-0}'
stub "$bin" dpkg-query <<'E'
[[ " $(cat "$FAKE/installed" 2>/dev/null) " == *" ${!#} "* ]] && echo 'install ok installed'
E
stub "$bin" apt-get <<'E'
echo "apt-get $*" >>"$FAKE/log"
[[ $1 == install ]] || exit 0
if [[ $* == *--assume-no* ]]; then
    if [[ $* == *python3* ]]; then echo 'Need to get 6284 kB of archives.'; else echo 'Need to get 61.5 MB of archives.'; fi
    echo 'After this operation, 263 MB of additional disk space will be used.'
    exit 1
fi
[[ -z ${FAKE_REFUSES:-} ]] || exit 100
for package; do [[ $package == -* || $package == install ]] || printf '%s ' "$package" >>"$FAKE/installed"; done
cp "$FAKE/later/"* "$FAKE/bin"
cat >/dev/null # as a program that asks would
E
# What apt-get brings.
stub "$later" cc <<'E'
[[ $* == -dumpmachine ]] && { echo x86_64-linux-gnu; exit; }
echo "cc $*" >>"$FAKE/log"
while (( $# )); do [[ $1 == -o ]] && out=$2; shift; done
printf '#!/bin/bash\n[[ $1 ]] || read -r question\necho "You said: $question"\n' >"$out"
chmod +x "$out"
E
stub "$later" ar <<<'touch "$2"'
stub "$later" objcopy <<<'touch "${!#}"'
stub "$later" pkg-config <<'E'
what=$1
shift
for library; do
    [[ $library == "${FAKE_LACKS:-}" ]] && exit 1
    case $what in
        --cflags) printf -- '-Dwith_%s ' "$library" ;;
        --libs) printf -- '-l%s ' "$library" ;;
    esac
done
E
bare() { # takes away what apt-get brought and make built
    (cd "$later" && for tool in *; do rm -f "$bin/$tool"; done)
    rm -rf "$tree/build" "$tmp/root" "$tmp/installed"
    : >"$log"
}
fake_make() { # variables..., arguments of make: $out, $status; standard input goes on
    out=$(env -i FAKE="$tmp" PATH="$bin" "$@" 2>&1)
    status=$?
}
fresh() { fake_make make --no-print-directory -C "$tree" "$@"; }
logged() { grep -qE -- "$1" "$log"; }
count() { grep -cE -- "$1" "$log"; }

for jobs in -j1 -j4; do
    bare
    fresh $jobs deps run <<<'Who are you?'
    check "deps run ends well ($jobs)" test "$status" = 0
    holds "the question reaches the program ($jobs)" "$out" 'You said: Who are you?'
    check "compiled with what pkg-config says ($jobs)" logged '-Dwith_json-c .*-Dwith_ncursesw .*-c -o build/obj/src/main.o'
    check "linked with the libraries ($jobs)" logged '-o build/tandem .*-lncursesw .*-ljson-c .*-lm'
    check "the processor's kernels are among what is compiled ($jobs)" logged '-mavx2 .*set_avx2.c'
    check "another processor's are not ($jobs)" test "$(count set_neon)" = 0
    check "installed once ($jobs)" test "$(count '^apt-get install -y')" = 1
done
check 'deps alone: no python3' test "$(count 'apt-get install.*python3')" = 0
holds 'the size is told' "$out" '; fetches 61.5 MB, takes 263 MB on disk'

bare
fresh deps all install DESTDIR="$tmp/root" PREFIX=/usr </dev/null
check 'deps all install' test "$status" = 0 -a -x "$tmp/root/usr/bin/tandem" -a -s "$tmp/root/usr/share/man/man1/tandem.1"
fresh deps all </dev/null
holds 'a second time: nothing to install' "$out" 'deps: all there'

bare
stub "$tree/tests" all <<<'echo "the tests run"'
fresh -j2 deps test </dev/null
holds 'deps test runs the tests' "$out" 'the tests run'
holds 'a small size is told in MB too' "$out" '; fetches 6.3 MB, takes'
check 'deps test installs what tests need' logged 'apt-get install -y .*python3'
check 'deps test builds with warnings as errors' logged '-Werror .*src/main.o'
bare
fresh bench deps </dev/null
check 'the order of the goals is no matter' test "$status" = 0 -a "$(count '^apt-get install -y .*python3')" = 1

bare
fake_make FAKE_REFUSES=1 make -C "$tree" deps all </dev/null
check 'where installing fails, nothing is built' test "$status" != 0 -a "$(count '^cc')" = 0
bare
fake_make FAKE_USER=1000 make -C "$tree" deps all </dev/null
holds 'neither root nor sudo' "$out" 'deps: needs root to install; as root: apt-get install gcc'

bare
fresh </dev/null
check 'no compiler: one line' test "$status" != 0 -a "$(wc -l <<<"$out")" = 1
holds 'no compiler: names it and make deps' "$out" 'not found: cc pkg-config; `make deps`'
for goal in help clean uninstall; do
    fresh $goal DESTDIR="$tmp/root" </dev/null
    check "make $goal needs nothing" test "$status" = 0
done
fresh deps </dev/null
: >"$log"
fake_make FAKE_LACKS=md4c make --no-print-directory -C "$tree" all </dev/null
check 'no library: one line' test "$status" != 0 -a "$(wc -l <<<"$out")" = 1
holds 'no library: names it and make deps' "$out" 'not found: md4c; `make deps`'
check 'no library: nothing is compiled' test "$(count '^cc')" = 0
left_out() { # library, what it is for, program: the one library is not there, nor what needs it
    rm -rf "$tree/build" "$tmp/root"
    : >"$log"
    fake_make FAKE_LACKS="$1" make --no-print-directory -C "$tree" all install DESTDIR="$tmp/root" PREFIX=/usr </dev/null
    check "no $1: the rest is built and installed" test "$status" = 0 -a -x "$tmp/root/usr/bin/tandem"
    check "no $1: one line says what is left out" test "$(grep -c "  $2 left out: .* needs .*$1.* (make deps)" <<<"$out")" = 1
    check "no $1: no $3" test ! -e "$tmp/root/usr/bin/$3" -a "$(count "-o build/$3 ")" = 0
}
left_out vterm 'tandem bench is' tandem-bench
check 'no vterm: tandem pull is there' test -x "$tmp/root/usr/bin/tandem-pull"
left_out libcurl 'tandem pull is' tandem-pull
check 'no libcurl: tandem bench is there' test -x "$tmp/root/usr/bin/tandem-bench"
left_out libwebp 'pictures are' tandem-image
check 'the chat program is linked without the terminal emulation' test "$(count '-o build/tandem .*-lvterm')" = 0
fake_make FAKE_LACKS=vterm make --no-print-directory -C "$tree" test-programs </dev/null
check 'tests need it' test "$status" != 0 -a "$out" = "${out#*LINK}"
holds 'and say so' "$out" 'not found: vterm; `make deps`'
fresh install DESTDIR="$tmp/root" PREFIX=/usr </dev/null
fresh uninstall DESTDIR="$tmp/root" PREFIX=/usr </dev/null
check 'uninstall takes all programs away' test -z "$(ls "$tmp/root/usr/bin")"

mv "$bin/apt-get" "$tmp"
bare
fresh deps all </dev/null
holds 'no apt-get: names for others' "$out" 'pacman -S gcc make'
holds 'no apt-get: what is missing' "$out" 'not found: cc pkg-config'
