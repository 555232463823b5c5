/* What is in a model's files and is not used.
 *
 * Keys and tensors that this engine does not support may change results, so the model is
 * refused with the name and the value of the first of them, unless the caller accepts that name; nothing is ignored
 * silently. Keys that are left out, because they are accepted or known to have no effect, are listed by `info`.
 *
 * Neutral values change nothing under any name: null, false, 0, "" and "none", a scale of 1, and objects and arrays of
 * neutral values.
 *
 * Optional parts that can't be used are noted, a line each, and the model is used without them: no model is refused for
 * an optional part, and no part is left out without a note. */
#ifndef TANDEM_MODEL_UNKNOWN_H
#define TANDEM_MODEL_UNKNOWN_H

#include "engine/base/span.h"
#include "engine/model/gguf/gguf.h"
#include "engine/tandem.h"

struct json_object;

enum { UNKNOWN_VALUE_ROOM = 64, UNKNOWN_MAX = 1000 };

struct unknown_item {
    char *name;
    char value[UNKNOWN_VALUE_ROOM]; /* printable, cut; "" of tensors */
    const char *why;                /* static; NULL: the caller accepts it */
};

/* Zero-initialise; free with unknowns_free. `accept`: names, in which "*" stands for any characters, NULL-terminated;
 * or NULL. */
struct unknowns {
    const char *const *accept;
    struct unknown_item *items; /* at most UNKNOWN_MAX: further ones are not listed */
    size_t count;
};

void unknowns_free(struct unknowns *u);

/* Notes a key that is known to be without effect. */
tdm_status unknowns_note(struct unknowns *u, struct span name, const char *value, const char *why, tdm_error *err);

/* Refuses a thing ("key", "field", "tensor") of this name unless it is accepted: then TDM_OK, and it is noted. said:
 * the reason, which follows the name (": expected 1, found 2"). */
tdm_status unknowns_refuse(struct unknowns *u, const char *file, const char *thing, struct span name, const char *value,
                           const char *said, tdm_error *err);

bool unknown_number_is_neutral(struct span name, double v);
bool unknown_json_is_neutral(struct span name, struct json_object *v);
bool unknown_key_is_neutral(const struct gguf_key *k);

/* A value as text: printable, cut to the room. */
void unknown_json_text(struct json_object *v, char out[UNKNOWN_VALUE_ROOM]);
void unknown_key_text(const struct gguf_key *k, char out[UNKNOWN_VALUE_ROOM]);

/* ---- Optional parts ---------------------------------------------------------------------------------------------- */

enum { NOTES_MAX = 12, NOTES_ROOM = sizeof((tdm_error *)NULL)->text };

struct notes {
    char lines[NOTES_MAX][NOTES_ROOM]; /* harmless text, without a newline */
    size_t n;                          /* further ones are dropped, and the last line says so */
};

void notes_add(struct notes *notes, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
