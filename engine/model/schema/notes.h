/* Optional parts of a model's files that can't be used, a line each. The model is used without them: no model is
 * refused for an optional part, and no part is left out without a note. */
#ifndef TANDEM_MODEL_NOTES_H
#define TANDEM_MODEL_NOTES_H

#include "engine/tandem.h"

enum { NOTES_MAX = 12, NOTES_ROOM = sizeof ((tdm_error *)NULL)->text };

struct notes {
    char lines[NOTES_MAX][NOTES_ROOM]; /* harmless text, without a newline */
    size_t n;                           /* further ones are dropped, and the last line says so */
};

void notes_add(struct notes *notes, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
