/* Memory for readline, which would end the program where it gets none, with the terminal as it left it: its own way to
 * allocate (xmalloc, xrealloc), which programs may put another in place of. */
#ifndef TANDEM_EDIT_LINE_MEMORY_H
#define TANDEM_EDIT_LINE_MEMORY_H

#include <stddef.h>

/* Sets memory aside that readline gets when there is no other. Once that is used up too, `failed` is called, which
 * restores the terminal and ends the program. Call it before readline is used. When called again, only that function is
 * replaced. */
void line_memory_reserve(void (*failed)(void));

#endif
