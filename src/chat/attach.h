/* The files that go before the next message (/attach), in the order in which they were attached: each as its name, its
 * text and blank lines around it. One thread. */
#ifndef TANDEM_SRC_ATTACH_H
#define TANDEM_SRC_ATTACH_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/tandem.h"

enum { ATTACH_MOST = 99 };

typedef struct {
    char *path;       /* as given */
    const char *name; /* its last part */
    char *text;       /* what goes before the message: valid UTF-8 */
    size_t length;
    int tokens;       /* of text */
} attachment;

typedef struct {
    attachment *all;
    int n;
} attachments;

/* Reads a file of at most 16 MiB of text and attaches it; one that is attached already is read anew and keeps its
 * place. room: tokens that are free for all attachments together. *place: where it stands, from 0. On failure nothing
 * changes. */
tdm_status attach_file(attachments *a, const char *path, const tdm_model *model, int room, int *place, tdm_error *err);
/* The same with what the clipboard holds now, under that name. */
tdm_status attach_clipboard(attachments *a, const tdm_model *model, int room, tdm_error *err);
void attach_remove(attachments *a, int place);
/* Room for so many more; fails without memory only. */
tdm_status attach_reserve(attachments *a, int more, tdm_error *err);
/* Moves all of `more`, for which there is room, behind those of a. */
void attach_append(attachments *a, attachments *more);
void attach_clear(attachments *a);

int attach_tokens(const attachments *a);
/* Bytes of all texts, and those texts one after the other (no zero at the end); out has room for them. */
size_t attach_length(const attachments *a);
size_t attach_join(const attachments *a, char *out);
/* These texts and a message behind them as one valid UTF-8 text (a saved session holds no other), malloc'ed; NULL
 * without memory. */
char *attach_compose(const attachments *a, const char *text, size_t n, size_t *length);

#endif
