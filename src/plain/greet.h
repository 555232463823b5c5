/* The lines at the beginning and the end of a conversation line by line. */
#ifndef TANDEM_SRC_GREET_H
#define TANDEM_SRC_GREET_H

#include "src/chat/app.h"

void plain_greet(const app *a); /* on a terminal */
/* Saves the session once more, and writes the output of --trace and -v. False: something could not be saved. */
bool plain_goodbye(app *a, bool terminal);

#endif
