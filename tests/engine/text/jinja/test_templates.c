/* The public templates of ../shared: each case byte by byte what Jinja2 renders, and refused where that refuses. */
#include "tests/check.h"
#include "tests/engine/text/jinja/support.h"

struct sums {
    int templates, whole;
};

static void compare(const char *name, struct span text, json_object *cases, void *context)
{
    struct sums *sums = context;
    struct jinja_template *t;
    tdm_error err = {0};
    int n = (int)json_object_array_length(cases), equal = 0, shown = 0;
    sums->templates++;
    tdm_status status = jinja_parse(&t, text.bytes, text.length, &err);
    if (status) printf("# %s: %s\n", name, err.text);
    for (int i = 0; i < n && !status; i++) {
        json_object *golden = json_object_array_get_idx(cases, (size_t)i), *expected;
        json_object_object_get_ex(golden, "text", &expected);
        struct jinja_output out = {0};
        bool refused = support_render(t, golden, &out, &err);
        const char *wanted = json_object_get_string(expected);
        bool same = wanted ? !refused && !strcmp(out.text, wanted) : refused;
        equal += same;
        if (!same && !shown++) {
            size_t at = 0;
            while (wanted && out.text && wanted[at] && wanted[at] == out.text[at]) at++;
            printf("# %s, case %d: %s\n", name, i, refused ? err.text : wanted ? "another text" : "not refused");
            if (wanted && out.text)
                printf("# at %zu expected \"%.60s\", found \"%.60s\"\n", at, wanted + at, out.text + at);
        }
        jinja_output_free(&out);
    }
    jinja_template_free(t);
    sums->whole += equal == n;
    printf("# %s: %d of %d\n", name, equal, n);
    if (equal != n) CHECK_FAIL("%s: %d of %d cases", name, equal, n);
}

TEST(goldens)
{
    struct sums sums = {0};
    if (!support_each_golden(compare, &sums)) return;
    printf("# %d of %d templates\n", sums.whole, sums.templates);
}

TEST_MAIN(T(goldens))
