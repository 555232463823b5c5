#include "engine/text/jinja/value/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/size.h"

enum { BLOCK = 32 << 10, ALIGNMENT = 16 };

struct arena_block {
    struct arena_block *next;
    _Alignas(ALIGNMENT) char bytes[];
};

void trap_fail(struct trap *trap, tdm_status status, const char *format, ...)
{
    char text[sizeof trap->err.text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    trap->status = status;
    if (trap->line)
        error_set(&trap->err, status, "line %d: %s", trap->line, text);
    else
        error_set(&trap->err, status, "%s", text);
    longjmp(trap->back, 1);
}

void *arena_take(struct arena *a, size_t n)
{
    if (n > SIZE_MAX / 2)
        trap_fail(a->trap, TDM_E_UNSUPPORTED, "the template needs more memory than %zu bytes", a->most);
    n = n ? (n + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1) : ALIGNMENT;
    if (n <= a->left) {
        void *at = a->at;
        a->at += n;
        a->left -= n;
        return at;
    }
    size_t size = n > BLOCK / 4 ? n : BLOCK;
    if (size > a->most - a->used)
        trap_fail(a->trap, TDM_E_UNSUPPORTED, "the template needs more memory than %zu bytes", a->most);
    struct arena_block *block = malloc(sizeof *block + size);
    if (!block) trap_fail(a->trap, TDM_E_NOMEM, "no memory for a template's values");
    block->next = a->blocks;
    a->blocks = block;
    a->used += size;
    /* A large piece has a block of its own; small ones go on in the one that was begun, if that has more room. */
    if (size - n >= a->left) {
        a->at = block->bytes + n;
        a->left = size - n;
    }
    return block->bytes;
}

void *arena_clear(struct arena *a, size_t count, size_t size)
{
    uint64_t bytes;
    if (!size_mul(count, size, &bytes)) bytes = UINT64_MAX;
    return memset(arena_take(a, bytes), 0, bytes);
}

void *arena_grow(struct arena *a, void *old, size_t old_size, size_t size)
{
    size_t had = (old_size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    if (old && (char *)old + had == a->at && size >= had && size - had <= a->left) {
        arena_take(a, size - had);
        return old;
    }
    void *to = arena_take(a, size);
    if (old_size) memcpy(to, old, old_size);
    return to;
}

void arena_free(struct arena *a)
{
    for (struct arena_block *block = a->blocks, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    a->blocks = NULL;
}
