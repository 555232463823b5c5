#include "ui/terminal/starving.h"

#include <signal.h>
#include <stdint.h>

enum { NEAR_NULL = 1 << 16 };

static _Thread_local volatile sig_atomic_t in_curses;

void starving_watch(bool in_call)
{
    in_curses = in_call;
}

bool starving_watched(void)
{
    return in_curses;
}

bool starving_at(const void *address)
{
    return in_curses && (uintptr_t)address < NEAR_NULL;
}
