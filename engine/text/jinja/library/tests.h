/* The tests, which follow `is`. */
#ifndef TANDEM_TEXT_JINJA_TESTS_H
#define TANDEM_TEXT_JINJA_TESTS_H

#include "engine/text/jinja/run/state.h"

/* NULL: there is no test of this name. */
const struct test_entry *tests_find(struct span name);
bool tests_apply(struct jinja *j, const struct test_entry *test, struct value v, const struct args *args);

#endif
