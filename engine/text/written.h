/* A text whose stretches were written alternately by the template and by the messages (the data): from the beginning to
 * ends[0] by the template, from there to ends[1] by the data, and so on; the last end is the text's. A stretch may be
 * empty. Zero-initialised it is empty, as after written_free. */
#ifndef TANDEM_TEXT_WRITTEN_H
#define TANDEM_TEXT_WRITTEN_H

#include "engine/base/error.h"
#include "engine/base/span.h"

struct written {
    char *text;
    size_t n, room;
    size_t *ends;
    size_t n_ends, ends_room;
};

void written_free(struct written *w);
void written_clear(struct written *w);
tdm_status written_add(struct written *w, struct span text, bool data, tdm_error *err);
/* Appends text[begin .. end) of another text, with its writers. */
tdm_status written_add_part(struct written *w, const struct written *from, size_t begin, size_t end, tdm_error *err);
void written_cut(struct written *w, size_t n);
/* The length of the longest common prefix of bytes and their writers. */
size_t written_common(const struct written *a, const struct written *b);
/* Whether the data wrote text[begin .. end), which isn't empty. */
bool written_is_data(const struct written *w, size_t begin, size_t end);

#endif
