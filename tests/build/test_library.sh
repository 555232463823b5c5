#!/usr/bin/env bash
# The engine as a library for other programs: what an installation has of it, that a program finds all that it needs there
# with what pkg-config says, linked statically and not, and that nothing is left of it.
. tests/scratch.sh
build=${BUILD:-build}
[[ $build == build ]] || { echo 'skip library: only of the usual build'; exit 0; }
[[ -e build/lib/libtandem.so ]] || { echo 'skip library: it was not built (make library)'; exit 0; }
root=$tmp/root model=$(realpath assets/tandem-demo-51m-q6_k.gguf)

make --no-print-directory install-library PREFIX="$root" >"$tmp/log" 2>&1
check is_installed test $? = 0
export PKG_CONFIG_PATH=$root/lib/pkgconfig LD_LIBRARY_PATH=$root/lib
cp assets/example.c "$tmp"
cd "$tmp" || exit 2
strict='-Wall -Wextra -Wshadow -Werror'
build() { # name, libraries
    ${CC:-cc} $strict example.c $(pkg-config --cflags tandem) $2 -o "$1" >>"$tmp/log" 2>&1
    check "$1_is_built" test $? = 0
}
build shared "$(pkg-config --libs tandem)"
build archived "$(pkg-config --static --libs tandem | sed 's/-ltandem/-l:libtandem.a/')"
check shared_needs_the_library test -n "$(readelf -dW shared | grep 'NEEDED.*libtandem\.so\.0\.2\]')"
check archived_does_not test -z "$(readelf -dW archived | grep libtandem)"
for program in shared archived; do
    out=$(printf 'What is the capital of Peru?\n' | "./$program" "$model" 2>&1)
    holds "${program}_answers" "$out" Lima
    check "${program}_tells_what_was_read" grep -qE '^\[[0-9]+ of [0-9]+ tokens were read before Enter\]$' <<<"$out"
done
out=$(./shared /nowhere 2>&1)
check failing_is_said_in_one_line test $? = 1 -a "$(wc -l <<<"$out")" = 1

# A front end is linked with the shared engine and the base alone: all of ui/ is. The chat program works on the shared
# engine as well. It also takes readers that keep nothing from the engine's own archive, but neither chats nor units.
cd "$OLDPWD" || exit 2
libs="$(pkg-config --libs ncursesw md4c readline json-c libutf8proc) -lm -pthread"
echo 'int main(void) { return 0; }' >"$tmp/front.c"
${CC:-cc} -pie "$tmp/front.c" -Wl,--whole-archive build/libui.a -Wl,--no-whole-archive -L"$root/lib" -ltandem \
    build/libbase.a $libs -o "$tmp/front" >>"$tmp/log" 2>&1
check a_front_end_needs_no_more_than_the_base test $? = 0
${CC:-cc} -pie build/obj/src/main.o build/libsrc.a build/libui.a -L"$root/lib" -ltandem build/libtandem.a \
    build/libbase.a $libs -o "$tmp/chat" >>"$tmp/log" 2>&1
check the_chat_program_is_linked_with_it test $? = 0
engine() { nm "$1" | grep -cE ' t (chat_lock|unit_wake)$'; }
check no_second_engine_is_in_it test "$(engine "$tmp/chat")" = 0 -a "$(engine build/tandem)" = 2
out=$("$tmp/chat" run -m "$model" --temp 0 'What is the capital of Peru?' 2>&1 </dev/null)
holds the_chat_program_answers "$out" Lima
cd "$tmp" || exit 2

# Each header alone, and from C++ where there is a compiler for it.
for header in tandem.h $(cd "$root/include" && ls tandem/*.h); do
    check "${header}_stands_alone" ${CC:-cc} $strict -fsyntax-only -I"$root/include" -include "$header" -x c /dev/null
done
if type c++ >/dev/null 2>&1; then
    check tandem.h_is_Cxx_too c++ $strict -fsyntax-only -I"$root/include" -include tandem.h -x c++ /dev/null
else
    echo 'skip tandem.h_is_Cxx_too: needs a compiler for it'
fi

# The names that are seen are the functions of the headers, in both forms.
declared=$(cat "$root"/include/tandem/*.h | tr '\n' ' ' | grep -oE 'TDM_API [^;(]*\(' | grep -oE 'tdm_[a-z_0-9]+\($' |
    tr -d '(' | sort)
check the_library_has_the_declared_functions test "$declared" = \
    "$(nm -D --defined-only "$root/lib/libtandem.so" | awk '$2 == "T" { sub("@.*", "", $3); print $3 }' | sort)"
check the_archive_has_them_too test "$declared" = \
    "$(nm -g --defined-only "$root/lib/libtandem.a" 2>/dev/null | awk '$2 ~ /[A-Z]/ { print $3 }' | sort)"

cd "$OLDPWD" || exit 2
make --no-print-directory uninstall PREFIX="$root" >/dev/null
check nothing_is_left test -z "$(find "$root" ! -type d)"
