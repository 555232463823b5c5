#!/usr/bin/env bash
# The programs as they are linked: with which libraries.
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
