#include "tests/check.h"

#include "engine/unit/cores.h"

static void check_round(const char *in, const char *out, int count)
{
    struct cores c;
    tdm_error err = {0};
    char text[128];
    CHECK_INT(TDM_OK, cores_parse(&c, in, &err));
    CHECK_INT(count, c.count);
    CHECK_STR(out, cores_format(&c, text, sizeof text));
}

static void check_refused(const char *in, const char *message)
{
    struct cores c = {.count = 77};
    tdm_error err = {0};
    CHECK_INT(TDM_E_ARG, cores_parse(&c, in, &err));
    CHECK_STR(message, err.text);
    CHECK_INT(77, c.count);
}

TEST(lists_are_read)
{
    check_round("cpu:0", "cpu:0", 1);
    check_round("cpu:0-3,6", "cpu:0-3,6", 5);
    check_round("cpu:3,2,1", "cpu:3,2,1", 3);
    check_round("cpu:5-5,6", "cpu:5-6", 2);
    check_round("cpu:1023", "cpu:1023", 1);
    check_round("cpu:0-1023", "cpu:0-1023", 1024);
}

TEST(the_rest_is_refused)
{
    check_refused("0-3", "'0-3': expected a list of CPUs like cpu:0-3,6, or gpu or gpu:N");
    check_refused("cpu:", "'cpu:', character 5: expected a CPU number from 0 to 1023");
    check_refused("cpu:1,", "'cpu:1,', character 7: expected a CPU number from 0 to 1023");
    check_refused("cpu: 1", "'cpu: 1', character 5: expected a CPU number from 0 to 1023");
    check_refused("cpu:-1", "'cpu:-1', character 5: expected a CPU number from 0 to 1023");
    check_refused("cpu:1-", "'cpu:1-', character 7: expected a CPU number from 0 to 1023");
    check_refused("cpu:1x", "'cpu:1x', character 6: expected ',' or the end");
    check_refused("cpu:1\n", "'cpu:1?', character 6: expected ',' or the end");
    check_refused("cpu:3-1", "'cpu:3-1', character 5: the range 3-1 runs backwards");
    check_refused("cpu:0-2,1", "'cpu:0-2,1', character 9: CPU 1 is named twice");
    check_refused("cpu:99999999999999999999",
                  "'cpu:99999999999999999999', character 8: expected a CPU number from 0 to 1023");
}

TEST(lists_of_the_kernel_are_read)
{
    struct cores c;
    CHECK_INT(TDM_OK, cores_parse_list(&c, "0-1,4\n", NULL));
    CHECK_INT(3, c.count);
    CHECK(cores_contain(&c, 4) && !cores_contain(&c, 2));
    CHECK_INT(TDM_E_ARG, cores_parse_list(&c, "\n", NULL));
    CHECK_INT(TDM_E_ARG, cores_parse_list(&c, "", NULL));
    CHECK_INT(TDM_E_ARG, cores_parse_list(&c, "1\n\n", NULL));
}

TEST(short_text_is_cut)
{
    struct cores c = {.count = 3, .cpu = {0, 2, 4}};
    char text[8];
    CHECK_STR("cpu:0,2", cores_format(&c, text, sizeof text));
}

TEST_MAIN(T(lists_are_read), T(the_rest_is_refused), T(lists_of_the_kernel_are_read), T(short_text_is_cut))
