/* Python's `format % values` and format.format(values). Bytes of the format keep its
 * owner (jinja.h), bytes of a value the value's, and the bytes that fill a field up are the template's. */
#ifndef TANDEM_TEXT_JINJA_STRFORMAT_H
#define TANDEM_TEXT_JINJA_STRFORMAT_H

#include "engine/text/jinja/run/state.h"

const struct str *strformat_percent(struct jinja *j, const struct str *format, struct value of);
const struct str *strformat_braces(struct jinja *j, const struct str *format, const struct args *args);

#endif
