/* The memory of a parse or a rendering, freed all at once, and its error exit: a failure jumps (longjmp) to the trap
 * that the public function has set. The code in between owns nothing but arena memory, so the jump leaks nothing. */
#ifndef TANDEM_TEXT_JINJA_ARENA_H
#define TANDEM_TEXT_JINJA_ARENA_H

#include <setjmp.h>

#include "engine/base/error.h"

struct trap {
    jmp_buf back;
    tdm_status status;
    tdm_error err;
    int line; /* line of the template that is being parsed or run; 0: none yet */
};

/* Jumps back with "line N: ..." or, if `line` is 0, with the message alone. */
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
/* Grows a block and keeps its first old_size bytes; it stays in place if it was taken last. */
void *arena_grow(struct arena *a, void *old, size_t old_size, size_t size);
void arena_free(struct arena *a);

#endif
