/* What a template may use: each bound ends it with one line that names the template's, and nothing is lost. */
#include "tests/check.h"
#include "tests/engine/text/jinja/support.h"

/* The failure's words within these bounds, "" where there is none. Lives until the next call. */
static const char *within(const struct jinja_bounds *bounds, const char *source)
{
    static tdm_error err;
    struct jinja_template *t;
    struct jinja_output out;
    err = (tdm_error){0};
    if (jinja_parse(&t, source, strlen(source), &err)) return err.text;
    struct jinja *j = jinja_new(bounds);
    if (jinja_render(j, t, &out, &err) == TDM_OK) err.text[0] = 0;
    jinja_output_free(&out);
    jinja_free(j);
    jinja_template_free(t);
    return err.text;
}

TEST(steps)
{
    struct jinja_bounds bounds = jinja_default_bounds;
    bounds.steps = 10000;
    CHECK_STR("", within(&bounds, "{% for i in range(100) %}{{ i }}{% endfor %}"));
    CHECK_STR("line 1: the template takes more than 10000 steps",
              within(&bounds, "{% for i in range(100) %}{% for k in range(100) %}{{ i }}{% endfor %}{% endfor %}"));
    CHECK_STR("line 1: the template takes more than 10000 steps", within(&bounds, "{{ 'a'.rjust(100000) }}"));
}

TEST(depth)
{
    CHECK_STR("line 1: more than 1000 expressions, tags and macros in each other",
              within(NULL, "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"));
    CHECK_STR(
        "line 1: more than 1000 expressions, tags and macros in each other",
        within(
            NULL,
            "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{% call a() %}{% endcall %}{% endmacro %}{{ b() }}"));
    static char deep[20000];
    for (int kind = 0; kind < 4; kind++) {
        static const char *const begins[] = {"(", "-", "not ", "["};
        size_t n = (size_t)sprintf(deep, "{{ ");
        for (int i = 0; i < 1000; i++) n += (size_t)sprintf(deep + n, "%s", begins[kind]);
        sprintf(deep + n, "1 }}");
        CHECK(strstr(within(NULL, deep), "more than"));
    }
    size_t n = 0;
    for (int i = 0; i < 1000; i++) n += (size_t)sprintf(deep + n, "{%% if 1 %%}");
    CHECK(strstr(within(NULL, deep), "more than"));
}

/* Long chains are not deep. */
TEST(chains)
{
    static char chain[60000];
    size_t n = (size_t)sprintf(chain, "{{ 1");
    for (int i = 0; i < 5000; i++) n += (size_t)sprintf(chain + n, " + 1");
    sprintf(chain + n, " == 5001 }}");
    CHECK_STR("True", support_text(chain, NULL));
    n = (size_t)sprintf(chain, "{{ ('a'");
    for (int i = 0; i < 5000; i++) n += (size_t)sprintf(chain + n, " + 'b'");
    sprintf(chain + n, ")|length }}");
    CHECK_STR("5001", support_text(chain, NULL));
}

TEST(output)
{
    struct jinja_bounds bounds = jinja_default_bounds;
    bounds.output = 1000;
    CHECK_STR("", within(&bounds, "{{ 'a' * 1000 }}"));
    CHECK_STR("line 2: the template writes more than 1000 bytes", within(&bounds, "a\n{{ 'a' * 1000 }}"));
}

TEST(memory)
{
    struct jinja_bounds bounds = jinja_default_bounds;
    bounds.memory = 1 << 20;
    CHECK_STR("", within(&bounds, "{{ 'a' * 100000 }}"));
    CHECK_STR("line 1: the template needs more memory than 1048576 bytes",
              within(&bounds, "{{ ('a' * 1000000)|length }}"));
    CHECK_STR(
        "line 1: the template needs more memory than 1048576 bytes",
        within(&bounds,
               "{% set ns = namespace(s='a') %}{% for i in range(64) %}{% set ns.s = ns.s + ns.s %}{% endfor %}"));
    CHECK_STR("line 1: the template needs more memory than 1048576 bytes",
              within(&bounds, "{{ 'a' * 9223372036854775807 }}"));
}

/* A text that grows piece by piece is not copied each time; what it was before stays what it was. */
TEST(growing)
{
    struct jinja_bounds bounds = jinja_default_bounds;
    bounds.memory = 8 << 20;
    CHECK_STR("",
              within(&bounds,
                     "{% set ns = namespace(s='a' * 300) %}{% for i in range(4000) %}{% set ns.s = ns.s ~ 'b' * 99 + "
                     "'c' %}{% set ns.s = ns.s + 'd' ~ i %}{% endfor %}{{ ns.s|length }}"));
    CHECK_STR(
        "303 304 304 abbx abby",
        support_text(
            "{% set a = 'a' * 300 + 'abb' %}{% set b = a + 'x' %}{% set c = a ~ 'y' %}{{ a|length }} {{ b|length }} "
            "{{ c|length }} {{ b[-4:] }} {{ c[-4:] }}",
            NULL));
    CHECK_STR("<axy> <a>", support_runs("{% set a = 'a' * 300 ~ x.a %}{% set b = a ~ x.x %}{% set c = a ~ 'b' ~ x.y %}"
                                        "{{ b[300:] }}{{ c[302:] }} {{ a[300:] }}",
                                        "{\"a\": \"a\", \"x\": \"x\", \"y\": \"y\"}"));
}

TEST(length)
{
    struct jinja_template *t;
    tdm_error err;
    char *text = calloc(1, JINJA_LONGEST + 1);
    memset(text, 'a', JINJA_LONGEST + 1);
    CHECK(jinja_parse(&t, text, JINJA_LONGEST, &err) == TDM_OK);
    jinja_template_free(t);
    CHECK(jinja_parse(&t, text, JINJA_LONGEST + 1, &err) == TDM_E_FORMAT && !t);
    free(text);
}

TEST_MAIN(T(steps), T(depth), T(chains), T(output), T(memory), T(growing), T(length))
