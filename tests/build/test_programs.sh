#!/usr/bin/env bash
# The programs as they are compiled and linked: with which libraries, and how hardened.
. tests/scratch.sh
build=${BUILD:-build}

programs=("$program")
for other in pull net bench; do
    [[ -x $program-$other ]] && programs+=("$program-$other")
done
for file in "${programs[@]}"; do
    check "$(basename "$file")_is_not_linked_with_OpenBLAS" test -z "$(ldd "$file" | grep -i blas)"
done
test_program=$(find "$build/tests/engine/kernel" -name test_blas 2>/dev/null)
[[ $test_program ]] && check tests_are_not_linked_with_OpenBLAS test -z "$(ldd "$test_program" | grep -i blas)"

# Files that are no libraries, in place of every OpenBLAS.
for name in libopenblas{.so.0,p.so.0,o.so.0,.so.3,.so}; do touch "$tmp/$name"; done
for unit in prefill decode; do
    out=$(LD_LIBRARY_PATH=$tmp "$program" run -m "$tiny" -n 1 --$unit-kind blas Hello 2>&1 </dev/null)
    check "${unit}_by_a_library_that_is_not_there_fails" test $? = 1
    holds "${unit}_says_what_was_expected" "$out" 'blas: expected the library OpenBLAS, found '
    check "${unit}_says_it_in_one_line" test "$(wc -l <<<"$out")" = 1
done
out=$(LD_LIBRARY_PATH=$tmp "$program" run -m "$tiny" -n 1 Hello 2>&1 </dev/null)
check other_units_need_none test $? = 0

# Hardening: of all but the kernels, which are in the same programs, so that these are asked as objects.
for file in "${programs[@]}"; do
    name=$(basename "$file")
    dynamic=$(readelf -dW "$file") symbols=$(readelf --dyn-syms -W "$file")
    holds "${name}_lies_anywhere_in_memory" "$dynamic" ' PIE'
    holds "${name}_finds_all_functions_at_its_start" "$dynamic" ' NOW '
    holds "${name}_can't_change_where_they_are" "$(readelf -lW "$file")" GNU_RELRO
    holds "${name}_guards_its_stack" "$symbols" __stack_chk_fail
    holds "${name}_checks_sizes_in_the_C_library" "$symbols" __snprintf_chk
done
kernels=("$build"/obj/engine/kernel/set_*.o)
if [[ -e ${kernels[0]} ]]; then
    check kernels_do_without test -z "$(nm "${kernels[@]}" | grep -E '__stack_chk|_chk$')"
    check the_code_around_them_does_not test -n "$(nm "$build"/obj/engine/forward/*.o | grep __stack_chk)"
fi
