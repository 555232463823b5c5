#include "tests/check.h"

#include "engine/base/buffer.h"

TEST(bytes_are_appended_and_terminated)
{
    struct buffer b = {0};
    CHECK_INT(TDM_OK, buffer_append(&b, NULL, 0, NULL));
    CHECK(!b.bytes);
    for (int i = 0; i < 1000; i++) REQUIRE(!buffer_append(&b, "abc", 3, NULL));
    CHECK_INT(3000, b.n);
    CHECK(b.room > b.n && b.bytes[3000] == 0 && !memcmp(b.bytes + 2997, "abc", 3));
    size_t room = b.room;
    buffer_clear(&b);
    CHECK_STR("", b.bytes);
    CHECK(b.n == 0 && b.room == room);
    buffer_free(&b);
    CHECK(!b.bytes && !b.room);
}

TEST(a_reservation_leaves_an_empty_text)
{
    struct buffer b = {0};
    REQUIRE(!buffer_reserve(&b, 0, NULL));
    CHECK_STR("", b.bytes);
    size_t room = b.room - 1;
    char *was = b.bytes;
    REQUIRE(!buffer_reserve(&b, room, NULL));
    CHECK(b.bytes == was);
    REQUIRE(!buffer_reserve(&b, room + 1, NULL));
    CHECK(b.room > room + 1);
    buffer_free(&b);
}

TEST(sizes_do_not_wrap)
{
    tdm_error err = {0};
    struct buffer b = {0};
    CHECK_INT(TDM_E_NOMEM, buffer_reserve(&b, SIZE_MAX, &err));
    CHECK_STR("text too long", err.text);
    CHECK(!b.bytes);
}

TEST_MAIN(T(bytes_are_appended_and_terminated), T(a_reservation_leaves_an_empty_text), T(sizes_do_not_wrap))
