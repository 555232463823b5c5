/* The functions that the files of an app share: app.c (opening, events, the input), model.c (the model and another
 * one), saving.c, sessions.c and erase.c. No other file includes it. */
#ifndef TANDEM_SRC_APP_PARTS_H
#define TANDEM_SRC_APP_PARTS_H

#include "src/chat/app.h"

/* ---- model.c */

/* Opens a chat with these models by the options; loads missing models. *out is NULL on failure. */
tdm_status app_open_chat(app *a, load_pair *models, tdm_chat **out, tdm_error *err);
/* Makes the next start use this model, unless an option names another one. Does not wait for the disk. */
void app_remember_model(app *a, const char *name);
/* Copies the name of a model as given; *out stays NULL for the built-in one. */
tdm_status app_copy_name(char **out, const char *name, tdm_error *err);
/* Drops the conversation that app_leave_model kept. */
void app_drop_left(app *a);

/* From now on counts attachments with the present model, and with the chat's bound of a picture's tokens. */
void app_count_attached(app *a);

/* ---- saving.c */

/* Begins to write the state file if it is older than the conversation. */
void app_begin_save_state(app *a);
/* Waits until no save is under way or pending. */
void app_end_keeping(app *a);
/* Remembers a resumed session with its attachments, so that no file is written while nothing has changed. */
void app_look_at(app *a);

/* ---- erase.c */

/* Removes the user's text in a session from the history of sent messages: its messages, and commands that contain words
 * of them. open: it is the open session, whose contents in memory count too. */
tdm_status app_forget_words(app *a, const char *id, bool open, tdm_error *err);
/* The same for a session that was read from a file. */
void app_forget_session(void *ctx, const session *s);

/* ---- sessions.c */

/* Ends the open session, whose files are complete, and replaces it by an empty one. */
void app_end_session(app *a);

#endif
