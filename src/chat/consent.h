/* Whether what is written may go to a server: asked once for each (src/files/agreed.h keeps the answer), and again
 * before turns of a conversation go there that it has not had. The front end asks; nothing is sent before. */
#ifndef TANDEM_SRC_CONSENT_H
#define TANDEM_SRC_CONSENT_H

#include "src/chat/app.h"

enum { CONSENT_ROOM = 500 };

/* Is the user to be asked before this model talks? Then `question` says what is sent: "192.168.1.7:8080 gets what
 * you write, and the 3 turns of this conversation with 2 pictures." a: the conversation that would go on there.
 * False for models that are here, and for a server that was agreed to and has had the turns. */
bool consent_to_model(const app *a, const char *model, char question[CONSENT_ROOM]);
/* The same for the model of the start, and the session that --resume names. False with --yes. */
bool consent_to_start(const options *o, char question[CONSENT_ROOM]);
/* The same before a saved session goes on with the model that talks; wanted: as in store_pick. */
bool consent_to_resume(const app *a, const char *wanted, char question[CONSENT_ROOM]);
/* What is asked where a model turns out to be on a server that plain http reaches over an overlay network. */
void consent_to_plain_http(const options *o, const char *model, char question[CONSENT_ROOM]);
/* The user has agreed to that: kept as below. */
void consent_keep_plain_http(const options *o, const char *model);
/* The user has agreed to the model: it is kept for the next time, unless nothing is to be written to disk. */
void consent_keep(const options *o, const char *model);

#endif
