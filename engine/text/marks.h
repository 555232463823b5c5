/* Marks: the special tokens that show where a turn or thinking begins and ends, known by their texts, whatever types a
 * file gives them.
 *
 * Files that were edited, or written by other converters, give <|im_end|> as a normal or user-defined token, leave it
 * out of the added tokens, or have no types at all. Then a reply would not end, and the prompt's own marks would be
 * encoded like ordinary text. So a tokenizer looks for these texts in its vocabulary and treats their tokens as control
 * tokens; text is encoded to them only if added tokens are asked for. */
#ifndef TANDEM_TEXT_MARKS_H
#define TANDEM_TEXT_MARKS_H

#include <stdbool.h>

#include "engine/base/span.h"
#include "engine/tandem.h"

enum { MARKS_MAX = 64 };

struct marks {
    struct span texts[MARKS_MAX]; /* the caller's */
    bool control[MARKS_MAX];      /* the token is special, and not shown; false: it is an added token like others */
    size_t n;
    const tdm_id *stops; /* tokens that end a reply; those that look like marks are marks as well */
    size_t n_stops;
};

/* Fills it with the marks of the model families that are known. */
void marks_init(struct marks *m);
/* Adds one; drops it if the list is full. */
void marks_add(struct marks *m, struct span text, bool control);
/* Adds every word <|...|> of a chat template. */
void marks_read_template(struct marks *m, struct span text);

/* Whether it is written as marks are: <...> or [...]. */
bool marks_look(struct span text);
/* Whether it is written <|...|>, of letters, digits and _. */
bool marks_is_word(struct span text);
/* Which mark it is; m->n: none. */
size_t marks_find(const struct marks *m, struct span text);
/* Whether the token with this id and text ends a reply and is written as marks are. */
bool marks_stop(const struct marks *m, tdm_id id, struct span text);

#endif
