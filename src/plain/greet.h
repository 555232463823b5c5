/* What a conversation line by line says at its beginning and at its end. */
#ifndef TANDEM_SRC_GREET_H
#define TANDEM_SRC_GREET_H

#include "src/chat/app.h"

void plain_greet(const app *a); /* on a terminal */
/* Saves the session once more, and writes what --trace and -v ask for. False: something that was to be kept is not. */
bool plain_goodbye(app *a, bool terminal);

#endif
