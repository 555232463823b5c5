/* What the tests of chat templates share. */
#ifndef TANDEM_TESTS_TEXT_JINJA_SUPPORT_H
#define TANDEM_TESTS_TEXT_JINJA_SUPPORT_H

#include <json-c/json.h>

#include "engine/text/jinja/jinja.h"

/* A whole file, malloc'ed; NULL with the running test marked as failed. */
char *support_read(const char *path, size_t *length);

/* Calls use(template's name, its text, its cases, context) for each golden of ../shared; returns how many there are, 0
 * with the test marked as skipped. */
int support_each_golden(void (*use)(const char *name, struct span text, json_object *cases, void *context),
                        void *context);

/* Renders a case of the goldens as transformers calls a template: messages, tools and documents (none where there are
 * none), the other members, bos, eos and the time of the goldens. */
tdm_status support_render(const struct jinja_template *t, json_object *golden, struct jinja_output *out,
                          tdm_error *err);

/* Renders a template with one variable `x`, the JSON text given (NULL: none), and reports failures as "ERROR: words".
 * Lives until the fourth call after this one. */
const char *support_text(const char *source, const char *x);
/* The same, with the data's bytes in brackets: "a<b>c" where b is the data's. */
const char *support_runs(const char *source, const char *x);

/* Templates with their x, and what one of these two says of them. */
struct test_case {
    const char *source, *x, *expected;
};
void support_compare(const struct test_case *cases, size_t n, const char *(*as)(const char *source, const char *x));

/* The test of a table of cases that has its name. */
#define SUPPORT_TABLE(name, as)                                                                                        \
    TEST(name)                                                                                                         \
    {                                                                                                                  \
        support_compare(name, sizeof name / sizeof *name, as);                                                         \
    }

#endif
