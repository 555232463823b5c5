/* A saved conversation as text: JSON that users can read and edit. Pure data; src/session/store.h says where the files
 * are.
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
 * `at` of its message's text; its file is beside the session's, named by its key and type (src/session/store.h). A
 * draft is text that was typed and not sent when the program had to leave; pending are the attachments then
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

/* An attachment that was not sent; members as in src/attach/attach.h. */
typedef struct {
    char *kind, *path, *name, *text;
    size_t length; /* of the text */
    session_picture *pictures;
    int n_pictures;
    char *files;   /* paths, each followed by a zero byte */
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
    char *settings[OPTION_COUNT]; /* live options in the file; NULL: this one is not there */
    tdm_node *nodes;
    session_picture *pictures; /* of all messages, in their order */
    int n_pictures;
    size_t *attached; /* [n]: bytes at the beginning of each message's text that were attached; NULL: all 0 */
    int n, leaf;
} session;

tdm_status session_parse(session *out, const char *name, const char *bytes, size_t n, tdm_error *err);
/* malloc'ed, zero-terminated; NULL without memory. */
char *session_format(const session *s, size_t *n);
void session_free(session *s);

/* Appends the pictures of node i that the program knows, from the engine's tdm_node. */
tdm_status session_note_pictures(session *s, int i, tdm_error *err);
/* Fills in the session's entry for a picture; false: the program doesn't know the picture. */
bool session_note(session_picture *out, const tdm_picture *seen, int node, size_t at);
/* How many are in messages of the current path. */
int session_pictures(const session *s);

/* User messages on the current path. */
int session_turns(const session *s);
/* A name made from the user's first words (without attachments), or else from a picture that they sent, or from the
 * draft; malloc'ed. */
char *session_first_words(const session *s);
/* For a list: the name of a picture of node i if the node has no words; else NULL. */
const char *session_picture_name(const session *s, int i);

/* The current path for users and for other programs (an array for `render --messages`; contents with pictures are lists
 * of parts as in OpenAI's interface); malloc'ed. stem: pictures are links to files beside the page, named by
 * session_picture_file; NULL: only their names. */
char *session_markdown(const session *s, size_t *n, const char *stem);
char *session_messages(const session *s, size_t *n);

/* "STEM-2.jpg": the file name of picture `number` (from 1) of the current path beside a page. */
void session_picture_file(char *out, size_t room, const char *stem, int number, const session_picture *p);
/* The pictures of node i in s->pictures: the first one (NULL: there is none), and how many. */
const session_picture *session_pictures_of(const session *s, int i, int *n);

const char *session_finish_name(tdm_finish finish);

#endif
