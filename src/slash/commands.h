/* Carries out slash commands (src/slash/slashes.h) on a conversation, for every front end. A front end parses the line
 * with slashes_parse and passes the result on with its own operations. */
#ifndef TANDEM_SRC_COMMANDS_H
#define TANDEM_SRC_COMMANDS_H

#include "src/chat/app.h"
#include "src/slash/slashes.h"

/* A front end's functions, each of which gets ctx. */
typedef struct {
    void *ctx;
    /* Its own functions, one for each command; NULL: those of the table, as in --plain. */
    slash_function *const *own;
    int cols; /* columns at which it breaks lines; 0: it doesn't, so lines should have at most 80 */
    /* Shows text that a command prints: whole lines, each ended by a newline. */
    void (*say)(void *ctx, const char *text, size_t n);
    /* Called when an option of the screen (LOOK) has changed in app.o; NULL: this front end has no screen. */
    void (*look)(void *ctx);
    /* Shows the figures of each turn in this form (/stats turn); NULL: this front end has no cards. */
    void (*figures)(void *ctx, const char *form);
    /* Asks the user `question`, whether data may be sent to a server; NULL: this front end has asked before. */
    bool (*may_send)(void *ctx, const char *question);
    /* Opens a model for /model, showing progress in its own way. path: as -m. */
    tdm_status (*load)(void *ctx, const char *path, load_pair *out, tdm_error *err);
    /* Copies a text to the clipboard and reports the way. */
    tdm_status (*copy)(void *ctx, const char *text, size_t n, tdm_error *err);
    /* /copy view: the conversation as plain text for the terminal's own selection. */
    tdm_status (*copy_view)(void *ctx, tdm_error *err);
} commands_front;

typedef struct {
    bool quit;   /* /quit */
    bool waits;  /* the result comes by events */
    bool cold;   /* the result is TDM_EV_COLD, else a reply */
    bool anew;   /* another conversation or chat is in front: nodes have new numbers */
    bool visits; /* it was in the background; queued events report the replies that are being written */
    bool early;  /* refused since the message is still being read; possible once the reply begins */
    char *draft; /* text for the input (/edit, /p), malloc'ed; NULL: none */
    bool message; /* the draft is a new message: a front end without an input sends it */
    bool attaches; /* the attachments may have changed */
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

/* The model, malloc'ed, that /p with this argument needs and would load with front->load; NULL: the present one. A
 * front end that loads in the background does so before it runs the command. */
char *commands_prompt_model(const app *a, const char *argument);

/* A line about the attachment with this number: "notes.md: 1,482 tokens, goes before your next message". note: a
 * further remark, or "". */
void commands_attached(const app *a, int place, const char *note, char *out, size_t room);

/* The present value of an option of /set, as text for it. */
void commands_setting(const app *a, option_id id, char *out, size_t room);

/* Completion of commands and their arguments (ui/edit/complete.h). */
extern const struct completer commands_completer;

#endif
