/* What goes before the next message, in the order in which it was attached: files (/attach, @PATH in the draft), what a
 * command printed (!COMMAND), the clipboard; each as its name, its text and blank lines around it. One thread, but for
 * what says more. */
#ifndef TANDEM_SRC_ATTACH_H
#define TANDEM_SRC_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/tandem.h"

enum { ATTACH_MOST = 99 };

typedef enum { ATTACH_FILE, ATTACH_COMMAND, ATTACH_CLIPBOARD } attach_kind;

typedef struct {
    attach_kind kind;
    char *path;       /* of files as given; the command; "clipboard": attached once more it is the same one */
    char *name;       /* what a chip calls it; no control characters */
    char *text;       /* what goes before the message: valid UTF-8 */
    size_t length;
    int tokens;       /* of text; -1: not counted yet */
    char *files;      /* the paths that were read, each with a zero byte behind it; NULL: none */
    size_t files_length;
    uint64_t mark;    /* of these files when they were read (attach_read.h) */
    bool changed;     /* they are others on the disk by now */
    bool of_draft;    /* a word of the draft stands for it, and it goes with that word */
} attachment;

typedef struct {
    attachment *all;
    int n;
    unsigned revision; /* another one whenever what goes before the message is */
} attachments;

/* ---- One attachment: any thread --------------------------------------------------------------------------------- */

/* Reads files as attach_find (attach_read.h) does; note gets what was left out, or "". Not counted. */
tdm_status attach_read(attachment *out, const char *path, bool (*stop)(void *ctx), void *ctx, char note[100],
                       tdm_error *err);
/* Runs a command as capture_run (capture.h) does; note: why there isn't all of it. Its name and text tell an exit
 * status that isn't 0. Not counted. */
tdm_status attach_run(attachment *out, const char *command, bool (*stop)(void *ctx), void *ctx, char note[100],
                      tdm_error *err);
/* A text that comes from elsewhere; copied. */
tdm_status attach_text(attachment *out, attach_kind kind, const char *path, const char *name, const char *text,
                       size_t n, tdm_error *err);
tdm_status attach_count(attachment *one, const tdm_model *model, tdm_error *err);
void attach_release(attachment *one);

/* ---- All of them ------------------------------------------------------------------------------------------------ */

/* Takes one over, also on failure, when nothing changes; one that is attached already gives its place to it. *place:
 * where it stands, from 0. TDM_E_ARG: ATTACH_MOST are there; TDM_E_FORMAT: too many bytes. */
tdm_status attach_add(attachments *a, attachment *one, int *place, tdm_error *err);
/* TDM_E_CONTEXT where it and those before it have no room in so many tokens. */
tdm_status attach_fits(const attachments *a, int place, int room, tdm_error *err);

/* Counts one that has been read, takes it over, and attaches it if it fits into the room that is free for all
 * attachments together; on failure nothing changes. */
tdm_status attach_take(attachments *a, attachment *one, const tdm_model *model, int room, int *place, tdm_error *err);
/* Reads, counts and attaches, if it fits into the room that is free for all attachments together. */
tdm_status attach_file(attachments *a, const char *path, const tdm_model *model, int room, int *place, tdm_error *err);
/* The same with what the clipboard holds now, under that name. */
tdm_status attach_clipboard(attachments *a, const tdm_model *model, int room, tdm_error *err);

/* The place of the one with that path; -1: there is none. */
int attach_place(const attachments *a, const char *path);
void attach_remove(attachments *a, int place);
/* Room for so many more; fails without memory only. */
tdm_status attach_reserve(attachments *a, int more, tdm_error *err);
/* Moves all of `more`, for which there is room, behind those of a. */
void attach_append(attachments *a, attachments *more);
void attach_clear(attachments *a);
/* Looks which have changed on the disk; true where one is another than before. */
bool attach_look(attachments *a);
/* Counts anew, for another model. */
void attach_recount(attachments *a, const tdm_model *model);

/* Of those that are counted. */
int attach_tokens(const attachments *a);
/* Bytes of all texts, and those texts one after the other (no zero at the end); out has room for them. */
size_t attach_length(const attachments *a);
size_t attach_join(const attachments *a, char *out);
/* These texts and a message behind them as one valid UTF-8 text (a saved session holds no other), malloc'ed; NULL
 * without memory. */
char *attach_compose(const attachments *a, const char *text, size_t n, size_t *length);

/* The words behind /attach: paths, one where all of them are the name of a file; malloc'ed with a NULL at the end.
 * NULL: no memory. */
char **attach_words(const char *argument);
void attach_words_free(char **words);

#endif
