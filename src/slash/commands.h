/* Carries out slash commands (src/slash/slashes.h) on a conversation, for every front end. A front end parses the line
 * with slashes_parse and passes the result on with its own operations. */
#ifndef TANDEM_SRC_COMMANDS_H
#define TANDEM_SRC_COMMANDS_H

#include "src/chat/app.h"
#include "src/slash/slashes.h"

/* What a front end gives. ctx is handed to each. */
typedef struct {
    void *ctx;
    /* Its functions, one for each command; NULL: those of the table, as in --plain. */
    slash_function *const *own;
    int cols; /* where it breaks lines; 0: it doesn't, they have at most 80 */
    /* Shows text that a command prints: whole lines, each ended by a newline. */
    void (*say)(void *ctx, const char *text, size_t n);
    /* An option of the screen (LOOK) has another value in app.o, or NULL: this front end has no screen. */
    void (*look)(void *ctx);
    /* Shows the figures of each turn in the form that /stats turn names, or NULL: this front end has no cards. */
    void (*figures)(void *ctx, const char *form);
    /* Asks whether what `question` says may be sent to a server, or NULL: this front end has asked before. */
    bool (*may_send)(void *ctx, const char *question);
    /* Opens a model for /model, showing progress in its own way. path: as -m. */
    tdm_status (*load)(void *ctx, const char *path, load_pair *out, tdm_error *err);
    /* Puts a text on the clipboard and says how. */
    tdm_status (*copy)(void *ctx, const char *text, size_t n, tdm_error *err);
    /* /copy view: the conversation as plain text for the terminal's own selection. */
    tdm_status (*copy_view)(void *ctx, tdm_error *err);
} commands_front;

typedef struct {
    bool quit;   /* /quit */
    bool waits;  /* an answer comes by events */
    bool cold;   /* that is TDM_EV_COLD, else a reply */
    bool anew;   /* another conversation or chat is there: its nodes are numbered anew */
    bool visits; /* it is the one that was in the background; events that are still to be taken say what is being
                    written */
    bool early;  /* refused as the message is still being read: it can be done once the reply begins */
    char *draft; /* text to be put into the input (/edit, /p), malloc'ed; NULL: none */
    bool message; /* the draft is a new message: a front end without an input sends it */
    bool attaches; /* the list of attachments may be another one */
} commands_result;

/* A command that is being carried out. */
struct slash_running {
    app *a;
    const commands_front *front;
    const slash_call *call;
    commands_result *result;
};

tdm_status commands_run(app *a, const commands_front *front, const slash_call *call, commands_result *out,
                        tdm_error *err);

/* The model, malloc'ed, that /p with this argument goes on with and for which it asks front->load; NULL: the one in
 * use. A front end that loads beside the conversation does so before it runs the command. */
char *commands_prompt_model(const app *a, const char *argument);

/* A line about what was attached at that place: "notes.md: 1,482 tokens, goes before your next message". note: what
 * else the user should know of it; "": nothing. */
void commands_attached(const app *a, int place, const char *note, char *out, size_t room);

/* The value that holds for an option of /set, in the form that it takes. */
void commands_setting(const app *a, option_id id, char *out, size_t room);

/* Completion of commands and their arguments (ui/edit/complete.h). */
extern const struct completer commands_completer;

#endif
