/* Playing a script (src/chat/script.h) on a chat in real time, as a person at the keys would: `tandem run --script
 * FILE`. With --json one line for every reply that ended and one for the whole; end tokens are ignored. */
#ifndef TANDEM_SRC_PLAY_H
#define TANDEM_SRC_PLAY_H

#include "src/cli/options.h"

int play_main(options *o);

#endif
