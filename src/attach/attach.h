/* Attachments, which go before the next message, in the order in which they were attached: files (/attach, @PATH in the
 * draft), the output of a command (!COMMAND), the clipboard. A text goes there as its name and contents with blank
 * lines around them, a picture as itself. One thread, unless a function says more. */
#ifndef TANDEM_SRC_ATTACH_H
#define TANDEM_SRC_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/attach/read.h"

enum { ATTACH_MAX = 99 };

typedef enum { ATTACH_FILE, ATTACH_COMMAND, ATTACH_CLIPBOARD } attach_kind;

typedef struct {
    attach_kind kind;
    char *path; /* of files as given; the command; "clipboard". The same path attached again is the same attachment */
    char *name;       /* its name in a chip; no control characters */
    char *text;       /* the text that goes before the message: valid UTF-8 */
    size_t length;
    attached_picture *pictures; /* pictures in it, in order */
    int n_pictures;
    int tokens;       /* of text and pictures; -1: not counted yet */
    char *files;      /* the paths that were read, each followed by a zero byte; NULL: none */
    size_t files_length;
    uint64_t mark;    /* of these files when they were read (read.h) */
    bool changed;     /* the files have changed on the disk since */
    bool of_draft;    /* a word of the draft stands for it, and it goes with that word */
    bool of_edit;     /* it belongs to the message that is being edited */
} attachment;

typedef struct {
    attachment *all;
    int n;
    uint32_t picture_tokens; /* tokens of a picture at most; 0: as many as the model's files allow */
    unsigned revision;     /* changes whenever the attachments change */
} attachments;

/* ---- One attachment: any thread --------------------------------------------------------------------------------- */

/* Reads files as attach_find (read.h) does; note gets a line about files that were left out, or "". The result is not
 * counted. */
tdm_status attach_read(attachment *out, const char *path, bool (*stop)(void *ctx), void *ctx, char note[100],
                       tdm_error *err);
/* Runs a command as capture_run (capture.h) does; note: why its output is incomplete, or "". Name and text contain the
 * exit status if it isn't 0. The result is not counted. */
tdm_status attach_run(attachment *out, const char *command, bool (*stop)(void *ctx), void *ctx, char note[100],
                      tdm_error *err);
/* Reads the picture in the clipboard. Not counted. */
tdm_status attach_paste(attachment *out, bool (*stop)(void *ctx), void *ctx, tdm_error *err);
/* Makes an attachment of a text from another source, which is copied. */
tdm_status attach_text(attachment *out, attach_kind kind, const char *path, const char *name, const char *text,
                       size_t n, tdm_error *err);
/* Makes an attachment of a picture under its own name; its pixels are held. */
tdm_status attach_picture(attachment *out, attach_kind kind, const char *path, const picture *p, tdm_picture *seen,
                          tdm_error *err);
/* Counts its tokens. most_tokens: of a picture; 0: the model's own bound. TDM_E_UNSUPPORTED: it has pictures, and the
 * model has no vision. */
tdm_status attach_count(attachment *one, const tdm_model *model, uint32_t most_tokens, tdm_error *err);
void attach_release(attachment *one);

/* ---- All of them ------------------------------------------------------------------------------------------------ */

/* Attaches `one`, which it takes over also on failure; then the attachments don't change. It replaces an attachment
 * with the same path. *place: its number, from 0. TDM_E_ARG: ATTACH_MAX are there; TDM_E_FORMAT: too many bytes. */
tdm_status attach_add(attachments *a, attachment *one, int *place, tdm_error *err);
/* TDM_E_CONTEXT if the attachment at this place and the others need more than `room` tokens. */
tdm_status attach_fits(const attachments *a, int place, int room, tdm_error *err);

/* Counts one that has been read, takes it over, and attaches it if it fits into the room that is free for all
 * attachments together; on failure nothing changes. */
tdm_status attach_take(attachments *a, attachment *one, const tdm_model *model, int room, int *place, tdm_error *err);
/* Reads, counts and attaches, if it fits into the room that is free for all attachments together. */
tdm_status attach_file(attachments *a, const char *path, const tdm_model *model, int room, int *place, tdm_error *err);
/* The same with the present contents of the clipboard, under that name: its text, or its picture. */
tdm_status attach_clipboard(attachments *a, const tdm_model *model, int room, tdm_error *err);

/* The place of the attachment with that path; -1: there is none. */
int attach_place(const attachments *a, const char *path);
void attach_remove(attachments *a, int place);
/* Makes room for this many more; fails only without memory. */
tdm_status attach_reserve(attachments *a, int more, tdm_error *err);
/* Appends all of `more`, for which there is room. */
void attach_append(attachments *a, attachments *more);
void attach_clear(attachments *a);
/* Checks which files have changed on the disk; true if the result differs from the last time. */
bool attach_look(attachments *a);
/* Counts all again, for another model. */
void attach_recount(attachments *a, const tdm_model *model);

/* The tokens of all attachments that are counted. */
int attach_tokens(const attachments *a);
/* Bytes of all texts, and those texts one after the other (no zero at the end); out has room for them. */
size_t attach_length(const attachments *a);
size_t attach_join(const attachments *a, char *out);
/* These texts, followed by a message, as one valid UTF-8 text (saved sessions require that), malloc'ed; NULL without
 * memory. */
char *attach_compose(const attachments *a, const char *text, size_t n, size_t *length);
/* The pictures of all of them, in order, by their places in the joined text, which begins at byte `from` of the
 * message's; malloc'ed, none of them held. *n: how many; NULL without memory, and where there are none. */
tdm_placed_picture *attach_pictures(const attachments *a, size_t from, size_t *n);
/* The number of these pictures. */
size_t attach_pictures_n(const attachments *a);

/* The paths after /attach: a single one if the whole argument is the name of a file; malloc'ed with a NULL at the end.
 * NULL: no memory. */
char **attach_words(const char *argument);
/* The files that a paste or a drop names, in the form of attach_words, if it consists of paths of existing files, or
 * their file:// addresses, separated by line ends or blanks. A path begins with /, ~/, ./ or ../; patterns don't count.
 * NULL: it is a text. */
char **attach_dropped(const char *text, size_t n);
void attach_words_free(char **words);

#endif
