#include "tests/check.h"

#include "engine/base/error.h"
#include "engine/base/size.h"

TEST(error_is_one_line)
{
    tdm_error err;
    CHECK_INT(TDM_E_FORMAT, error_set(&err, TDM_E_FORMAT, "%s: bad\nname \x1b[31m", "file"));
    CHECK_STR("file: bad?name ?[31m", err.text);
    CHECK_INT(TDM_E_FORMAT, err.code);
    error_set(&err, TDM_E_FORMAT, "\xc2\x9b" "31m caf\xc3\xa9 \x9b \xe4\xbd");
    CHECK_STR("??31m caf\xc3\xa9 ? ??", err.text);
    CHECK_INT(TDM_E_IO, error_set(NULL, TDM_E_IO, "unheard"));
}

TEST(sizes_do_not_wrap)
{
    uint64_t out = 7;
    CHECK(!size_mul(UINT64_MAX, 2, &out) && out == 7);
    CHECK(!size_add(UINT64_MAX, 1, &out) && out == 7);
    CHECK(size_mul(6, 7, &out) && out == 42);
    CHECK(size_within(10, 0, 10) && !size_within(11, 0, 10) && !size_within(2, UINT64_MAX, 10));
}

TEST_MAIN(T(error_is_one_line), T(sizes_do_not_wrap))
