/* Texts with an owner for each byte (jinja.h): bytes and, beside them, runs of one owner. They never change once they
 * are made. Positions are bytes unless a name says codes: Python counts code points. */
#ifndef TANDEM_TEXT_JINJA_STR_H
#define TANDEM_TEXT_JINJA_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/span.h"
#include "engine/text/jinja/value/arena.h"

/* A run: from the end of the run before it, or the text's beginning, to `end`. */
struct run {
    size_t end;
    bool data;
};

/* The memory of a long text, with room to append: a template that adds to one text piece by piece would otherwise copy
 * all of it each time. */
struct growth {
    size_t used; /* by the longest text that it holds; SIZE_MAX: a builder has it */
    char *bytes;
    size_t room;
    struct run *runs;
    size_t run_room;
};

struct str {
    const char *bytes;
    size_t length;
    const struct run *runs; /* neighbours differ; the last ends at length or, if a longer text shares this memory, after
                               it; none if length is 0 */
    size_t n_runs;
    struct growth *growth; /* or NULL */
    bool markup;           /* made by `safe`: text that is appended to it is escaped */
    struct run whole;      /* the run, if there is only one */
};

/* The text of the whole span; its bytes are not copied and must live as long. */
const struct str *str_of(struct arena *a, struct span bytes, bool data);
const struct str *str_copy(struct arena *a, struct span bytes, bool data);
const struct str *str_literal(struct arena *a, const char *text);
/* Bytes from begin to end. */
const struct str *str_part(struct arena *a, const struct str *s, size_t begin, size_t end);

static inline struct span str_span(const struct str *s)
{
    return (struct span){s->bytes, s->length};
}
bool str_equal(const struct str *a, const struct str *b);
/* Below 0, 0 or above, by code points. */
int str_compare(const struct str *a, const struct str *b);
/* Whether the byte at this place is the data's. */
bool str_data_at(const struct str *s, size_t at);
/* Whether any byte is the data's. */
bool str_has_data(const struct str *s);

size_t str_codes(struct span s);
/* The byte where this code point begins; the length where there are fewer. */
size_t str_offset(struct span s, size_t code);
/* The first place at or after `from` where `what` stands, or SIZE_MAX. */
size_t str_find(struct span s, struct span what, size_t from);

/* Escaped for HTML and marked as markup; text that is markup stays as it is. */
const struct str *str_escaped(struct arena *a, const struct str *s);
const struct str *str_as_markup(struct arena *a, const struct str *s, bool markup);

/* A text in the making. Zero-initialised it is empty. */
struct builder {
    char *bytes;
    size_t n, room;
    struct run *runs;
    size_t n_runs, run_room;
    size_t most; /* bytes; 0: as many as there is memory */
    struct growth *growth;
};

/* One that begins with this text. */
struct builder builder_from(struct arena *a, const struct str *s);

void builder_add(struct arena *a, struct builder *b, const char *bytes, size_t n, bool data);
void builder_text(struct arena *a, struct builder *b, const char *text, bool data);
void builder_str(struct arena *a, struct builder *b, const struct str *s);
void builder_part(struct arena *a, struct builder *b, const struct str *s, size_t begin, size_t end);
/* Ends the builder: the text, which takes over its memory. */
const struct str *builder_end(struct arena *a, struct builder *b);

#endif
