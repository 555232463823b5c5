/* A saved conversation as text: JSON that users can read and edit. Pure data; where the files lie is
 * src/session/store.h.
 *
 *   {"format": "tandem session", "version": 1, "name": "...", "created": S, "changed": S,
 *    "model": {"name": "...", "path": "...", "fingerprint": "16 hex digits"},
 *    "system": "...", "settings": {"temp": "0.6", ...}, "draft": "...", "leaf": ID,
 *    "pending": [{"kind": "file", "path": "...", "name": "...", "text": "...", "files": "...", "mark": "16 digits"}],
 *    "messages": [{"id": 1, "parent": 0, "role": "user", "text": "...", "attached": BYTES, "time": S,
 *                  "pictures": [{"at": BYTE, "key": "32 hex digits", "type": "jpg", "name": "...", "width": W, ...}]},
 *                 {"id": 2, "parent": 1, "role": "assistant", "text": "...", "thinking": "...", "finish": "end"}]}
 *
 * Ids are 1, 2, 3... in order; a parent comes before its children (0: the root); the conversation is a tree whose
 * current path ends at leaf (0: empty). `attached` says how many bytes at the beginning of a user message's text
 * were attached files, in UTF-8; absent, as in files of older versions, it is 0. A picture stands before the byte
 * `at` of its message's text; its file is beside the session's, called by its key and type (src/session/store.h). A
 * draft is text that was typed and not sent when the program had to leave, pending what was attached then
 * (src/attach/pending.h). Times are seconds since 1970. Files are untrusted. */
#ifndef TANDEM_SRC_SESSION_H
#define TANDEM_SRC_SESSION_H

#include "src/cli/options.h"
#include "src/image/picture.h"

enum { SESSION_PENDING = 99, SESSION_PICTURES = 10000 };

/* A picture of a message, as the session's file names it: its pixels are in a file of their own. */
typedef struct {
    int node;  /* the message's id; 0: of a pending attachment */
    size_t at; /* the byte of the text before which it stands */
    char key[PICTURE_KEY], type[8], name[PICTURE_NAME];
    uint32_t width, height;
} session_picture;

/* What was attached and not sent; as src/attach/attach.h has it. */
typedef struct {
    char *kind, *path, *name, *text;
    size_t length; /* of the text */
    session_picture *pictures;
    int n_pictures;
    char *files;   /* paths, each with a zero byte behind it */
    size_t files_length;
    uint64_t mark;
} session_pending;

typedef struct {
    char *name; /* NULL: not named yet */
    int64_t created_s, changed_s;
    char *model_name, *model_path;
    uint64_t fingerprint;
    char *system; /* NULL: none */
    size_t system_length;
    char *draft; /* NULL: none */
    session_pending *pending;
    int n_pending;
    char *settings[OPTION_COUNT]; /* live options that the file has; NULL: not this one */
    tdm_node *nodes;
    session_picture *pictures; /* of all messages, in their order */
    int n_pictures;
    size_t *attached; /* [n]: bytes at the beginning of each message's text that were attached; NULL: none of any */
    int n, leaf;
} session;

tdm_status session_parse(session *out, const char *name, const char *bytes, size_t n, tdm_error *err);
/* malloc'ed, zero-terminated; NULL without memory. */
char *session_format(const session *s, size_t *n);
void session_free(session *s);

/* Appends the pictures of node i that the program knows, from the engine's tdm_node. */
tdm_status session_note_pictures(session *s, int i, tdm_error *err);
/* The note of a picture; false: the program doesn't know it. */
bool session_note(session_picture *out, const tdm_picture *seen, int node, size_t at);
/* How many are in messages of the current path. */
int session_pictures(const session *s);

/* User messages on the current path. */
int session_turns(const session *s);
/* A name made of the first words that the user wrote (not of what was attached to them), or else of a picture that they
 * sent, or of the draft; malloc'ed. */
char *session_first_words(const session *s);
/* What stands for the words of node i in a list, where it has none but shows a picture: its name; else NULL. */
const char *session_picture_name(const session *s, int i);

/* The current path for users and for other programs (an array as `render --messages` reads it; contents with pictures
 * are parts as OpenAI has them); malloc'ed. stem: pictures are links to files beside the page, called by
 * session_picture_file; NULL: only their names. */
char *session_markdown(const session *s, size_t *n, const char *stem);
char *session_messages(const session *s, size_t *n);

/* "STEM-2.jpg": what picture number `number` (from 1) of the current path is called beside a page. */
void session_picture_file(char *out, size_t room, const char *stem, int number, const session_picture *p);
/* The pictures of node i in s->pictures: the first one (NULL: there is none), and how many. */
const session_picture *session_pictures_of(const session *s, int i, int *n);

const char *session_finish_name(tdm_finish finish);

#endif
