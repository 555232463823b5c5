/* A saved conversation as text: JSON that people can read and edit. Pure data; where the files lie is
 * src/session/store.h.
 *
 *   {"format": "tandem session", "version": 1, "name": "...", "created": S, "changed": S,
 *    "model": {"name": "...", "path": "...", "fingerprint": "16 hex digits"},
 *    "system": "...", "settings": {"temp": "0.6", ...}, "draft": "...", "leaf": ID,
 *    "pending": [{"kind": "file", "path": "...", "name": "...", "text": "...", "files": "...", "mark": "16 digits"}],
 *    "messages": [{"id": 1, "parent": 0, "role": "user", "text": "...", "attached": BYTES, "time": S},
 *                 {"id": 2, "parent": 1, "role": "assistant", "text": "...", "thinking": "...", "finish": "end"}]}
 *
 * Ids are 1, 2, 3... in order; a parent comes before its children (0: the root); the conversation is a tree whose
 * current path ends at leaf (0: empty). `attached` says how many bytes at the beginning of a user message's text were
 * attached files, in UTF-8; absent, as in files of older versions, it is 0. A draft is text that was typed and not sent
 * when the program had to leave, pending what was attached then (src/chat/pending.h). Times are seconds since 1970.
 * Files are untrusted. */
#ifndef TANDEM_SRC_SESSION_H
#define TANDEM_SRC_SESSION_H

#include "src/cli/options.h"

enum { SESSION_PENDING = 99 };

/* What was attached and not sent; as src/chat/attach.h has it. */
typedef struct {
    char *kind, *path, *name, *text;
    size_t length; /* of the text */
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
    char *settings[OPTION_COUNT]; /* live options that are written down; NULL: not */
    tdm_node *nodes;
    size_t *attached; /* [n]: bytes at the beginning of each message's text that were attached; NULL: none of any */
    int n, leaf;
} session;

tdm_status session_parse(session *out, const char *name, const char *bytes, size_t n, tdm_error *err);
/* malloc'ed, zero-terminated; NULL without memory. */
char *session_format(const session *s, size_t *n);
void session_free(session *s);

/* User messages on the current path. */
int session_turns(const session *s);
/* A name made of the first words that the user wrote (not of what was attached to them), or else of the draft;
 * malloc'ed. */
char *session_first_words(const session *s);

/* The current path for people and for other programs (an array as `render --messages` reads it); malloc'ed. */
char *session_markdown(const session *s, size_t *n);
char *session_messages(const session *s, size_t *n);

const char *session_finish_name(tdm_finish finish);

#endif
