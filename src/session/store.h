/* The folder of saved sessions: $XDG_STATE_HOME/tandem/sessions, 0700, files 0600; and the trash beside it.
 *
 *   sessions/ID.json    the conversation (src/session/session.h), replaced as a whole after every turn
 *   sessions/ID.pictures/KEY.TYPE  the unchanged files of its pictures; moved and deleted with it
 *   sessions/ID.state   the prefilled state beside it; all states together have a limit; the oldest are removed first
 *   sessions/ID.lock    held with flock while a program has the session open
 *   trash/ID.json       a deleted conversation; the file's time is that of the deletion
 *
 * An id is the time of creation with a counter; users see names, which may be equal. */
#ifndef TANDEM_SRC_STORE_H
#define TANDEM_SRC_STORE_H

#include "src/session/session.h"

/* An open session: its id and its lock. */
typedef struct {
    char id[40];
    int lock; /* -1: none */
} session_slot;

/* Makes a slot for a new session; only the lock is written yet. */
tdm_status store_create(session_slot *out, tdm_error *err);
/* Call it before each store_save(): makes a slot where there is none. If the files were deleted while the session was
 * open, the folder and the lock are made again. TDM_E_BUSY: another program has taken the id since. */
tdm_status store_keep(session_slot *p, tdm_error *err);
/* Opens a saved session by id. *copied: it is open in another program, so out is a new slot with a copy.
 * If nothing can be written, out has no lock, and the session is read-only. */
tdm_status store_open(session_slot *out, const char *id, session *s, bool *copied, tdm_error *err);
/* Reads one without opening it, from the trash if `trash` is set; session_free() afterwards. */
tdm_status store_peek(const char *id, bool trash, session *out, tdm_error *err);
/* Gives a session that is not open another name. TDM_E_BUSY: it is open. */
tdm_status store_rename(const char *id, const char *name, tdm_error *err);
/* Releases the lock. A session that was never saved leaves no file. */
void store_close(session_slot *p);
tdm_status store_save(const session_slot *p, const session *s, tdm_error *err);
/* Moves the session to the trash; its state is deleted at once. held: its slot if the caller has it open, closed only
 * on success; NULL: it isn't open (TDM_E_BUSY: it is). */
tdm_status store_delete(const char *id, session_slot *held, tdm_error *err);
/* Removes the session's files for good, also partly written ones; otherwise as store_delete. */
tdm_status store_erase(const char *id, session_slot *held, tdm_error *err);
enum { STORE_TRASH_DAYS = 30 };
/* Brings a session back from the trash. TDM_E_BUSY: one of the same id is open or saved. */
tdm_status store_undelete(const char *id, tdm_error *err);
/* Erases what has been in the trash for longer than STORE_TRASH_DAYS. last (NULL: nothing) gets each session first. */
void store_purge_trash(void (*last)(void *ctx, const session *s), void *ctx);
/* Removes partly written conversations. Versions without atomic_file_sweep() left them when they were killed. */
void store_sweep(void);
/* Reads a picture of a session, decoded; the caller owns *seen. */
tdm_status store_picture(const char *id, const session_picture *p, const picture **out, tdm_picture **seen,
                         tdm_error *err);
/* Loads the pictures of a session's messages. Those that can't be read are left out, and *missing has the line about
 * the first of these. TDM_E_NOMEM. */
tdm_status store_load_pictures(const char *id, session *s, tdm_error *missing, tdm_error *err);
/* The path of its state; malloc'ed. */
char *store_state_path(const char *id);
/* Removes the oldest states until all together take at most `limit` bytes. */
void store_trim_states(uint64_t limit);

typedef struct {
    char id[40];
    char *name, *model;
    int64_t changed_s; /* in the trash: when it was deleted */
    int turns;
    char damage[400]; /* the line that says why it can't be read; "": it can */
} store_entry;

/* All saved sessions, the latest first. Damaged ones are listed too. */
tdm_status store_list(store_entry **out, int *n, tdm_error *err);
/* Those in the trash, the one deleted last first. */
tdm_status store_list_trash(store_entry **out, int *n, tdm_error *err);
void store_list_free(store_entry *entries, int n);

/* A list as the user saw it: the ids of its numbers, even if sessions have changed since. {0}: there was none. */
typedef struct {
    char (*ids)[40];
    int n;
} store_listing;
/* Notes that the entries were listed, numbered from 1. Without memory there is no list afterwards. */
void store_listing_set(store_listing *listing, const store_entry *entries, int n);
void store_listing_free(store_listing *listing);

/* The entry that the user means: an id, a number in this list, a name, or the beginning of just one name;
 * NULL or "" the latest. listing NULL: there is no list. -1 with a line when there is none. */
int store_pick(const store_entry *entries, int n, const store_listing *listing, const char *wanted, tdm_error *err);

/* The line of a text around the first of the words, cut between words to a screen's width or two. */
void store_excerpt(const char *text, size_t n, const char *words, char *out, size_t room);

/* Calls found() with the id of every message that holds all the words (letters of either case are equal), latest
 * session first. */
typedef void (*store_found)(void *ctx, const store_entry *entry, int id, const tdm_node *node);
tdm_status store_search(const char *words, store_found found, void *ctx, tdm_error *err);
/* Whether a text holds all the words. */
bool store_matches(const char *text, size_t n, const char *words);

#endif
