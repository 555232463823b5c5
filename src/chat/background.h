/* The conversation that the user left while it was answered, and that continues in the background: its session, how it
 * is saved, and how the user leaves it and comes back. One thread: the front end's. */
#ifndef TANDEM_SRC_BACKGROUND_H
#define TANDEM_SRC_BACKGROUND_H

#include "src/chat/open_session.h"
#include "src/cli/options.h"
#include "src/session/session_writer.h"
#include "src/session/store.h"

typedef struct app app;

enum { BACKGROUND_NAMES = 4 };

typedef struct {
    bool there;        /* the chat has it, until it is visited or removed for another one */
    bool writing;      /* it is being answered */
    tdm_finish finish; /* how the reply ended, if it is not being written */
    open_session open; /* its session; no message of it is queued */
    char *settings[OPTION_COUNT]; /* its settings when it was left */
    struct {           /* saved ones that were answered and closed before they were visited, the latest last */
        char id[40], name[80];
    } answered[BACKGROUND_NAMES];
    int n_answered;
    unsigned visits, leaves; /* number of each so far */
    unsigned refusals; /* number of visits and leaves that were refused since a message was still being read */
} background;

void background_init(background *e);
/* Ends its reply, and saves the conversation with the reply's text so far. */
void background_close(app *a);

/* Leaves the conversation in front. If it is being answered it goes to the background and *left is true: chat and app
 * then have an empty one. Otherwise, with --background off, and if the chat can't, nothing happens, and the caller must
 * stop it. TDM_E_BUSY: it can't be left now, since its message is still being read (refusals), or since another one is
 * being answered in the background, or is there in memory only. */
tdm_status background_leave(app *a, bool *left, tdm_error *err);
/* Visits it, or the one that was answered last. Leaves the one in front as background_leave does. notice (room for 400
 * bytes) names the conversation that is in front now. TDM_E_NOT_FOUND: there is none; TDM_E_BUSY: a message is being
 * read (refusals), or a cold prompt; TDM_E_IO: as app_new. */
tdm_status background_visit(app *a, char *notice, tdm_error *err);
/* Removes it for another model: its reply ends, and it is saved and closed. TDM_E_BUSY: it can't be saved, or is
 * private. */
tdm_status background_make_way(app *a, tdm_error *err);
/* For the end of the program: ends its reply, saves it, and waits for that; `unsaved` has a failure. */
void background_end(app *a);
/* Ends its reply, and waits until no save of it is under way. */
void background_stop(app *a);
/* Forgets it. */
void background_forget(app *a);
/* The id of the session that background_visit would open from its file; NULL: it would visit the one in the background,
 * or there is none. */
const char *background_answered(const app *a);
/* Is that the id of its session? */
bool background_is(const app *a, const char *id);
/* Call it when a session was opened or is gone, so that it need not be visited any more. */
void background_visited(app *a, const char *id);

/* Takes an event of it. */
void background_event(app *a, const tdm_event *e);
/* Begins to save it. */
void background_save(app *a);
/* app_saved and app_keep for its session. */
bool background_saved(app *a);
void background_keep(app *a, int64_t now_ns);

/* "1 answering elsewhere", "bakery: answered", "bakery: context full" ...; "": nothing to report. */
enum { BACKGROUND_STATUS = 96 };
void background_status(const app *a, char out[BACKGROUND_STATUS]);
/* The name of its session; "a private session", "a session". */
const char *background_name(const app *a);

#endif
