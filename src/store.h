/* The folder of saved sessions: $XDG_STATE_HOME/tandem/sessions, 0700, files 0600.
 *
 *   ID.json    the conversation (src/session.h), replaced as a whole after every turn
 *   ID.state   the prefilled state beside it; all together at most a limit, the oldest are removed first
 *   ID.lock    held with flock while a program has the session open
 *
 * An id is the time of creation with a counter; people see names, which may be equal. */
#ifndef TANDEM_SRC_STORE_H
#define TANDEM_SRC_STORE_H

#include "src/session.h"

/* An open session: its id and its lock. */
typedef struct {
    char id[40];
    int lock; /* -1: none */
} store_place;

/* A place for a new session; nothing is written yet but the lock. */
tdm_status store_create(store_place *out, tdm_error *err);
/* Opens a saved session by id. *copied: it is open in another program, so out is a new place with a copy. */
tdm_status store_open(store_place *out, const char *id, session *s, bool *copied, tdm_error *err);
/* Gives the lock back. A session that was never saved leaves nothing. */
void store_close(store_place *p);
tdm_status store_save(const store_place *p, const session *s, tdm_error *err);
/* Removes the session's files; the place must be closed, or be the caller's own. TDM_E_BUSY: open elsewhere. */
tdm_status store_delete(const char *id, tdm_error *err);
/* Where its state belongs; malloc'ed. */
char *store_state_path(const char *id);
/* Removes the oldest states until all together take at most `limit` bytes. */
void store_trim_states(uint64_t limit);

typedef struct {
    char id[40];
    char *name, *model;
    int64_t changed_s;
    int turns;
    char damage[400]; /* the line that says why it can't be read; "": it can */
} store_entry;

/* All saved sessions, the latest first. Damaged ones are listed too. */
tdm_status store_list(store_entry **out, int *n, tdm_error *err);
void store_list_free(store_entry *entries, int n);
/* The entry that a person means: a number in the list (from 1), a name, or the beginning of just one name; NULL or ""
 * the latest. -1 with a line when there is none. */
int store_pick(const store_entry *entries, int n, const char *wanted, tdm_error *err);

/* Calls found() for every message that holds all the words (letters of either case are equal), latest session first. */
typedef void (*store_found)(void *ctx, const store_entry *entry, const tdm_node *node);
tdm_status store_search(const char *words, store_found found, void *ctx, tdm_error *err);
/* Whether a text holds all the words. */
bool store_matches(const char *text, size_t n, const char *words);

#endif
