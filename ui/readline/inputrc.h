/* The file of key bindings that readline reads when it starts. */
#ifndef TANDEM_UI_INPUTRC_H
#define TANDEM_UI_INPUTRC_H

#include "engine/tandem.h"

/* Call it before readline reads the file, since readline would wait for the writer of a FIFO, or read from a device. If
 * INPUTRC, or else ~/.inputrc, is no regular file, readline gets an empty one, and err says why. */
tdm_status inputrc_check(tdm_error *err);

#endif
