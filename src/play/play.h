/* Plays a script (src/play/script.h) on a chat in real time, as a user at the keys would: `tandem run --script FILE`.
 * With --json it writes one line for every reply that has ended and one for the whole. End tokens are ignored. */
#ifndef TANDEM_SRC_PLAY_H
#define TANDEM_SRC_PLAY_H

#include "src/cli/options.h"

int play_main(options *o);

#endif
