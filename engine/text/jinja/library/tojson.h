/* Python's json.dumps. Each part of the text keeps its owner (jinja.h); brackets, quotes and commas have the owner of
 * their container or text. */
#ifndef TANDEM_TEXT_JINJA_TOJSON_H
#define TANDEM_TEXT_JINJA_TOJSON_H

#include "engine/text/jinja/run/state.h"

struct tojson_how {
    const struct str *indent;     /* NULL: in one line */
    const struct str *item, *key; /* separators */
    bool sorted, ascii;
};

/* Fails for values that JSON can't express. */
const struct str *tojson(struct jinja *j, struct value v, const struct tojson_how *how);

#endif
