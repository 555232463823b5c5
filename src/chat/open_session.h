/* An open session: the name, files and writer of a conversation. The program has two: of the conversation in front, and
 * of the one that was left while it was answered (background.h). One thread: the front end's. */
#ifndef TANDEM_SRC_OPEN_SESSION_H
#define TANDEM_SRC_OPEN_SESSION_H

#include "src/chat/sent.h"
#include "src/session/session_writer.h"
#include "src/session/store.h"

typedef struct {
    char *name;        /* NULL: made from the first words later */
    bool private;      /* nothing is written */
    int kept_nodes;    /* messages that were in the session's file when it was opened */
    session_slot slot; /* lock -1: no slot yet */
    uint64_t looked_at; /* a hash of a resumed session's unchanged contents; 0: they have changed */
    bool state_old;     /* its state file is older than the conversation */
    char unsaved[400];  /* why the last save failed; "": it succeeded */
    session_writer *session_writer; /* writes the session's file; NULL: no memory for it */
    sent_messages sent;
    char *system; /* prompt; NULL: none */
    size_t system_length;
} open_session;

/* Sets up an open session without a conversation. */
void open_session_init(open_session *s, bool private);
/* Ends it: waits for saves under way; the session_writer stays. */
void open_session_clear(open_session *s);
/* The same, and frees the session_writer. */
void open_session_close(open_session *s);
/* n 0: none. */
tdm_status open_session_set_system(open_session *s, const char *text, size_t n, tdm_error *err);

#endif
