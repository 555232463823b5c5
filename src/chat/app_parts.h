/* What the files of an app share: app.c (opening, events, the input), model.c (the model and another one), saving.c,
 * sessions.c and erase.c. No other file includes it. */
#ifndef TANDEM_SRC_APP_PARTS_H
#define TANDEM_SRC_APP_PARTS_H

#include "src/chat/app.h"

/* ---- model.c */

/* The chat of these models, by the options; what they lack is loaded. *out is NULL on failure. */
tdm_status app_open_chat(app *a, load_pair *models, tdm_chat **out, tdm_error *err);
/* The next start uses it, unless an option names another one. This does not wait for the disk. */
void app_remember_model(app *a, const char *name);
/* Copies the name of a model as given; *out stays NULL for the built-in one. */
tdm_status app_copy_name(char **out, const char *name, tdm_error *err);
/* The conversation that app_leave_model kept is not needed any more. */
void app_drop_left(app *a);

/* Attachments are counted for the model that talks, and with the chat's bound of a picture's tokens, from now on. */
void app_count_attached(app *a);

/* ---- saving.c */

/* Begins to write the state file where it is older than the conversation. */
void app_begin_save_state(app *a);
/* Nothing is being written afterwards, and nothing waits to be. */
void app_end_keeping(app *a);
/* Remembers a session as it was resumed, with what is attached to its next message: a user who only looks changes no
 * file. */
void app_look_at(app *a);

/* ---- erase.c */

/* Takes what the user wrote in a session out of the history of sent messages: its messages, and the commands that hold
 * words of them. open: it is the one in front, which is looked at as it is in memory, too. */
tdm_status app_forget_words(app *a, const char *id, bool open, tdm_error *err);
/* The same for a session that was read. */
void app_forget_session(void *ctx, const session *s);

/* ---- sessions.c */

/* What is saved of the session in front is complete; an empty one is there. */
void app_end_session(app *a);

#endif
