/* Attachments, which go before the next message, in the conversation line by line. One thread: the front end's. */
#ifndef TANDEM_SRC_PLAIN_ATTACHED_H
#define TANDEM_SRC_PLAIN_ATTACHED_H

#include "src/chat/app.h"

/* For a line that was pasted or dropped and consists of names of files: attaches them, or prints why not. False: it is
 * a text. */
bool plain_attach_dropped(app *a, const char *text);

#endif
