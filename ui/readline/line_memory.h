/* Memory for readline: replaces its xmalloc and xrealloc, which would end the program without memory and leave the
 * terminal in readline's modes. */
#ifndef TANDEM_EDIT_LINE_MEMORY_H
#define TANDEM_EDIT_LINE_MEMORY_H

#include <stddef.h>

/* Reserves memory that readline gets when there is no other. Once that is used up too, `failed` is called, which
 * restores the terminal and ends the program. Call it before readline is used. A second call only replaces that
 * function. */
void line_memory_reserve(void (*failed)(void));

#endif
