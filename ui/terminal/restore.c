#include "ui/terminal/restore.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "engine/os/inout.h"
#include "ui/terminal/questions.h"

/* All of it is written before `armed` is set. */
static struct {
    volatile sig_atomic_t armed;
    int in;
    struct termios modes;
    struct outlet out;
    char bytes[RESTORE_BYTES];
    size_t n;
} kept;

bool restore_in_front(int fd)
{
    pid_t front = tcgetpgrp(fd);
    return front <= 0 || front == getpgrp();
}

void restore_arm(int in, const struct termios *modes, int out, const char *bytes, size_t n)
{
    restore_disarm();
    kept.in = in;
    kept.modes = *modes;
    kept.n = n < sizeof kept.bytes ? n : sizeof kept.bytes;
    memcpy(kept.bytes, bytes, kept.n);
    outlet_open(&kept.out, out, -1);
    outlet_hurry(&kept.out);
    kept.armed = 1;
}

void restore_disarm(void)
{
    if (!kept.armed) return;
    kept.armed = 0;
    outlet_close(&kept.out);
}

bool restore_is_armed(void)
{
    return kept.armed;
}

void restore_now(void)
{
    if (!kept.armed) return;
    kept.armed = 0;
    if (!restore_in_front(kept.in)) return;
    outlet_write(&kept.out, kept.bytes, kept.n);
    questions_end();
    tcsetattr(kept.in, TCSANOW, &kept.modes);
}
