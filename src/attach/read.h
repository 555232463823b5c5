/* Reads files to be attached: a file, a folder with everything below it, the files that match a pattern. Names and
 * contents are untrusted. Only regular files are read: no symbolic links, pipes, devices and sockets. A file is a text
 * unless it holds a zero byte, or more than 16 bytes, and more than one in ten, that are control characters or invalid
 * UTF-8; a picture if it begins as one and was named, by itself or by a pattern; others, and pictures within a folder,
 * are left out. Any thread. */
#ifndef TANDEM_SRC_ATTACH_READ_H
#define TANDEM_SRC_ATTACH_READ_H

#include "engine/base/buffer.h"
#include "src/image/picture.h"

enum {
    ATTACH_FILES = 1000,     /* most files of one attachment */
    ATTACH_BYTES = 16 << 20, /* most bytes of all attachments together */
    ATTACH_PICTURES = 20,    /* most pictures of one attachment */
};

/* A picture, its pixels (one reference is held), and the byte of the text before which it stands. */
typedef struct {
    const picture *picture;
    tdm_picture *seen;
    size_t at;
} attached_picture;

typedef struct {
    struct buffer text;  /* in the form for a message: each file's name, its text and blank lines around it */
    attached_picture *pictures; /* pictures in it, in order */
    int n_pictures;
    struct buffer files; /* their paths, each with a zero byte behind it */
    uint64_t mark;       /* attach_mark of them, as they were before they were read */
    int n;
    char name[80];       /* its name in a chip: notes.md, "src/ (41)", "src/main.[ch] (2)"; no control characters */
    char left_out[100];  /* "3 binary, 1 link left out"; "": nothing */
} attach_found;

/* A path that begins with ~/ is below the home folder. Patterns are those of glob(7): * ? [. stop may be NULL; once it
 * returns true, reading ends with TDM_E_CANCELLED. A failure is one line with what was found and expected. Free with
 * attach_found_free, whatever the result. */
tdm_status attach_find(attach_found *out, const char *path, bool (*stop)(void *ctx), void *ctx, tdm_error *err);
void attach_found_free(attach_found *f);

/* A mark of the state of these files on the disk now (paths as in attach_found). It changes if a file has changed, has
 * gone or was replaced. */
uint64_t attach_mark(const char *files, size_t n);

/* Whether @PATH would name a file or a folder; *folder: which. */
bool attach_exists(const char *path, bool *folder);

/* Whether it is a file that begins as a picture does. */
bool attach_is_picture(const char *path);

/* A name in `room` bytes that a line can show. */
void attach_name(char *out, size_t room, const char *name);

#endif
