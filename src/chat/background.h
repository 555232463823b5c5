/* The conversation of the program that was left while it was answered, and goes on in the background: what its session
 * is known by, how it is saved, and how the user leaves it and comes back. One thread: the front end's. */
#ifndef TANDEM_SRC_BACKGROUND_H
#define TANDEM_SRC_BACKGROUND_H

#include "src/chat/open_session.h"
#include "src/cli/options.h"
#include "src/session/session_writer.h"
#include "src/session/store.h"

typedef struct app app;

enum { BACKGROUND_NAMES = 4 };

typedef struct {
    bool there;        /* the chat has it, until it is visited or has to make way */
    bool writing;      /* it is being answered */
    tdm_finish finish; /* how the reply ended otherwise */
    open_session open; /* no message of it is on its way */
    char *settings[OPTION_COUNT]; /* that it was left with */
    struct {           /* saved ones that were answered and had to make way before they were visited, the latest last */
        char id[40], name[80];
    } answered[BACKGROUND_NAMES];
    int n_answered;
    unsigned visits, leaves; /* count them */
    unsigned refusals; /* counts those of both as the message is still being read: it is too early */
} background;

void background_init(background *e);
/* Ends its reply and saves it with what there is of it. */
void background_close(app *a);

/* The conversation in front is to be left. If it is being answered it goes to the background and *left is true: the
 * chat has an empty one, and so has the app. Otherwise, with --background off, and where the chat can't, nothing
 * happens, and it is the caller's to stop it. TDM_E_BUSY: it can't be left now, since its message is still being read
 * (refusals), or another one is being answered in the background, or is in memory only. */
tdm_status background_leave(app *a, bool *left, tdm_error *err);
/* Goes to it, or to the one that was answered last. The one in front is left as by background_leave. notice
 * (room for 400 bytes) says where one is now. TDM_E_NOT_FOUND: there is none; TDM_E_BUSY: a message is being read
 * (refusals), or a cold prompt; TDM_E_IO: as app_new. */
tdm_status background_visit(app *a, char *notice, tdm_error *err);
/* Removes it for another model: its reply ends, and it is saved and closed. TDM_E_BUSY: it can't be saved, or is
 * private. */
tdm_status background_make_way(app *a, tdm_error *err);
/* For the end of the program: its reply ends, it is saved, and this waits for that; `unsaved` says what went wrong. */
void background_end(app *a);
/* Ends its reply, and waits until nothing of it is being saved. */
void background_stop(app *a);
/* Forgets it. */
void background_forget(app *a);
/* The id of the session that background_visit opens from its file; NULL: the one that is there, or none. */
const char *background_answered(const app *a);
/* Is that the id of its session? */
bool background_is(const app *a, const char *id);
/* Called when a session was opened or is gone: it need not be visited any more. */
void background_visited(app *a, const char *id);

/* Takes an event of it. */
void background_event(app *a, const tdm_event *e);
/* Begins to save it. */
void background_save(app *a);
/* app_saved and app_keep for its session. */
bool background_saved(app *a);
void background_keep(app *a, int64_t now_ns);

/* "1 answering elsewhere", "bakery: answered", "bakery: context full" ...; "" where there is nothing to say. */
enum { BACKGROUND_STATUS = 96 };
void background_status(const app *a, char out[BACKGROUND_STATUS]);
/* What its session is called; "a private session", "a session". */
const char *background_name(const app *a);

#endif
