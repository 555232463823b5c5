/* The program's conversation without a front end, for tests: folders of its own, events taken as a front end does. What
 * goes wrong fails the test. */
#ifndef TANDEM_TESTS_APP_RIG_H
#define TANDEM_TESTS_APP_RIG_H

#include "src/chat/app.h"

extern tdm_error err;
extern char notice[400]; /* of app_start */

/* Options as on the command line, cut at blanks. */
bool parse(options *o, const char *line);
/* State, configuration and cache lie in folders of that name, below check_tmp(). */
void use_empty_folders(const char *name);
/* Loads the model and begins the conversation. */
bool start(app *a, options *o, const char *line);
/* Takes events until one of that kind, of the dialogue in front. */
bool await(app *a, tdm_event_kind kind);
/* Says something and waits for the reply, which has 5 tokens. */
void say(app *a, const char *text);
/* Says something and waits for the first of the reply's text. */
bool begin_reply(app *a, const char *text);
/* The same, by a model that writes no more until the pace is another one: it gets its tokens one by one. The reply is
 * being written however long the test takes. */
bool begin_held_reply(app *a, const char *text);
/* Takes events until one of that kind, of the dialogue in front, giving the replies that are held token by token. */
bool await_held(app *a, tdm_event_kind kind);
/* Each reply that is held gets one more token. */
void write_on(app *a);

#endif
