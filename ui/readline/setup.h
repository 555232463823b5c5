/* Before readline is used: memory for it, and the file of key bindings that it reads when it starts. Its xmalloc and
 * xrealloc are replaced, which would end the program without memory and leave the terminal in readline's modes. */
#ifndef TANDEM_UI_READLINE_SETUP_H
#define TANDEM_UI_READLINE_SETUP_H

#include <stddef.h>

#include "engine/tandem.h"

/* Reserves memory that readline gets when there is no other. Once that is used up too, `failed` is called, which
 * restores the terminal and ends the program. Call it before readline is used. A second call only replaces that
 * function. */
void setup_memory(void (*failed)(void));

/* Call it before readline reads the file, since readline would wait for the writer of a FIFO, or read from a device. If
 * INPUTRC, or else ~/.inputrc, is no regular file, readline gets an empty one, and err says why. */
tdm_status setup_inputrc(tdm_error *err);

#endif
