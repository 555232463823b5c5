/* The conversation of the program that was left while it was answered, and goes on in the background: what its session
 * is known by, how it is saved, and how one leaves for another and comes back. One thread: the front end's. */
#ifndef TANDEM_SRC_ELSEWHERE_H
#define TANDEM_SRC_ELSEWHERE_H

#include "src/chat/sent.h"
#include "src/cli/options.h"
#include "src/session/keeper.h"
#include "src/session/store.h"

typedef struct app app;

enum { ELSEWHERE_NAMES = 4 };

/* As the fields of the same names in app, which change places with them. */
typedef struct {
    bool there;        /* the chat has it, until it is visited or has to make way */
    bool writing;      /* it is being answered */
    tdm_finish finish; /* how the reply ended otherwise */
    char *system;
    size_t system_length;
    char *name;
    int64_t created_s;
    bool private;
    int kept_nodes;
    store_place place;
    char unsaved[400];
    keeper *keeper;
    sent_messages sent; /* no message is on its way */
    char *settings[OPTION_COUNT]; /* that it was left with */
    struct {           /* saved ones that were answered and had to make way before they were visited, the latest last */
        char id[40], name[80];
    } answered[ELSEWHERE_NAMES];
    int n_answered;
    unsigned visits, leaves; /* count them */
    unsigned refusals; /* counts those of both as the message is still being read: it is too early */
} elsewhere;

void elsewhere_init(elsewhere *e);
/* Ends its reply and saves it with what there is of it. */
void elsewhere_close(app *a);

/* The conversation in front is to be left. If it is being answered it goes elsewhere and *left is true: the chat has an
 * empty one, and so has the app. Otherwise, with --background off, and where the chat can't, nothing happens, and it is
 * the caller's to stop it. TDM_E_BUSY: it can't be left now, since its message is still being read (refusals), or
 * another one is being answered elsewhere, or is in memory only. */
tdm_status elsewhere_leave(app *a, bool *left, tdm_error *err);
/* Goes to it, or to the one that was answered last. The one in front is left as by elsewhere_leave. notice
 * (room for 400 bytes) says where one is now. TDM_E_NOT_FOUND: there is none; TDM_E_BUSY: a message is being read
 * (refusals), or a cold prompt; TDM_E_IO: as app_new. */
tdm_status elsewhere_visit(app *a, char *notice, tdm_error *err);
/* It makes way for another model: its reply ends, and it is saved and closed. TDM_E_BUSY: it can't be saved, or is
 * private. */
tdm_status elsewhere_make_way(app *a, tdm_error *err);
/* The program is left: its reply ends, and it is saved, which is waited for; `unsaved` says what went wrong. */
void elsewhere_end(app *a);
/* Its reply ends, and nothing of it is being saved. */
void elsewhere_stop(app *a);
/* It is forgotten, whatever there is of it. */
void elsewhere_forget(app *a);
/* The id of the session that elsewhere_visit opens from its file; NULL: the one that is there, or none. */
const char *elsewhere_answered(const app *a);
/* Is that the id of its session? */
bool elsewhere_is(const app *a, const char *id);
/* A session was opened, or is gone: it need not be visited any more. */
void elsewhere_visited(app *a, const char *id);

/* An event of it. */
void elsewhere_event(app *a, const tdm_event *e);
/* Saves it, which is not waited for. */
void elsewhere_save(app *a);
/* What app_saved and app_keep do, for its session. */
bool elsewhere_saved(app *a);
void elsewhere_keep(app *a, int64_t now_ns);

/* "1 answering elsewhere", "bakery: answered", "bakery: context full" ...; "" where there is nothing to say. */
enum { ELSEWHERE_STATUS = 96 };
void elsewhere_status(const app *a, char out[ELSEWHERE_STATUS]);
/* What its session is called; "a private session", "a session". */
const char *elsewhere_name(const app *a);

#endif
