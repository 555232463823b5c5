#include "engine/os/starving.h"

#include <signal.h>
#include <stdint.h>

enum { NEAR_NULL = 1 << 16 };

static _Thread_local volatile sig_atomic_t in_library;

bool starving_watch(bool in_call)
{
    bool before = in_library;
    in_library = in_call;
    return before;
}

bool starving_watched(void)
{
    return in_library;
}

bool starving_at(const void *address)
{
    return in_library && (uintptr_t)address < NEAR_NULL;
}
