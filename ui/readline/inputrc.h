/* The file of keys that readline reads as it begins. */
#ifndef TANDEM_UI_INPUTRC_H
#define TANDEM_UI_INPUTRC_H

#include "engine/tandem.h"

/* To be called before readline reads it: it would wait for the writer of a FIFO, or read what a device makes. Where
 * INPUTRC, or else ~/.inputrc, is no regular file, readline is given an empty one, and err says why. */
tdm_status inputrc_check(tdm_error *err);

#endif
