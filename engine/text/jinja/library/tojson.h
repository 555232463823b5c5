/* Python's json.dumps. The text keeps whose each part is; brackets, quotes and commas are whose their container or text
 * is. */
#ifndef TANDEM_TEXT_JINJA_TOJSON_H
#define TANDEM_TEXT_JINJA_TOJSON_H

#include "engine/text/jinja/run/state.h"

struct tojson_how {
    const struct str *indent;     /* NULL: in one line */
    const struct str *item, *key; /* separators */
    bool sorted, ascii;
};

/* Fails for what JSON doesn't have. */
const struct str *tojson(struct jinja *j, struct value v, const struct tojson_how *how);

#endif
