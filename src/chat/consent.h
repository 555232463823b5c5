/* Whether the user's text may be sent to a server: the user is asked once for each server (src/files/agreed.h keeps the
 * answer), and again before turns of a conversation go there that it has not received. The front end asks; nothing is
 * sent before. */
#ifndef TANDEM_SRC_CONSENT_H
#define TANDEM_SRC_CONSENT_H

#include "src/chat/app.h"

enum { CONSENT_ROOM = 500 };

/* Must the user be asked before this model is used? Then `question` says what is sent: "192.168.1.7:8080 gets what you
 * write, and the 3 turns of this conversation with 2 pictures." a: the conversation that would go on there. False for
 * models on this computer, and for a server to which the user agreed and that has received the turns. */
bool consent_to_model(const app *a, const char *model, char question[CONSENT_ROOM]);
/* The same for the model of the start, and the session that --resume names. False with --yes. */
bool consent_to_start(const options *o, char question[CONSENT_ROOM]);
/* The same before a saved session continues with the present model; wanted: as in store_pick. */
bool consent_to_resume(const app *a, const char *wanted, char question[CONSENT_ROOM]);
/* The question about a model on a server that is reached by plain http over an overlay network. */
void consent_to_plain_http(const options *o, const char *model, char question[CONSENT_ROOM]);
/* Keeps the user's consent to that, like consent_keep. */
void consent_keep_plain_http(const options *o, const char *model);
/* Keeps the user's consent to the model for the next time, unless nothing may be written to disk. */
void consent_keep(const options *o, const char *model);

#endif
