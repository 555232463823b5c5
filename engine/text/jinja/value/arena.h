/* Memory of a parse or a rendering, all given back at once, and the way out of it: whatever fails jumps to the trap
 * that the public function has set. Nothing but the arena is held on the way, so nothing is lost by that. */
#ifndef TANDEM_TEXT_JINJA_ARENA_H
#define TANDEM_TEXT_JINJA_ARENA_H

#include <setjmp.h>

#include "engine/base/error.h"

struct trap {
    jmp_buf back;
    tdm_status status;
    tdm_error err;
    int line; /* of the template, where work is being done; 0: nowhere yet */
};

/* Jumps back with "line N: ..." or, without a line, the words alone. */
_Noreturn void trap_fail(struct trap *trap, tdm_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

struct arena {
    struct trap *trap; /* of the function that is running */
    struct arena_block *blocks;
    char *at;
    size_t left, used, most; /* used: of all blocks; never more than most */
};

/* Aligned for every type, not cleared. Fails past `most` and without memory. */
void *arena_take(struct arena *a, size_t n);
/* The same for `count` items of `size` bytes, cleared. */
void *arena_clear(struct arena *a, size_t count, size_t size);
/* More room for what was taken, whose first `old` bytes are kept: at the same place where it was taken last. */
void *arena_grow(struct arena *a, void *old, size_t old_size, size_t size);
void arena_free(struct arena *a);

#endif
