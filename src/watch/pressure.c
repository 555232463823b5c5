#include "src/watch/pressure.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define S INT64_C(1000000000)

enum { EVERY_S = 2, EASES_S = 30 };

/* Percent of 10 s: where a tenth of the time is lost, the machine is felt to be slow. */
static const double is_high = 10, is_low = 1;

/* Programs without privileges may ask for windows that are multiples of 2 s. */
static const char trigger[] = "some 200000 2000000";

static void open_source(pressure *p)
{
    p->open = true;
    p->fd = p->root ? -1 : open("/proc/pressure/memory", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (p->fd >= 0 && write(p->fd, trigger, sizeof trigger) < 0) {
        close(p->fd);
        p->fd = -1;
    }
}

/* "some avg10=0.12 avg60=..."; false: the line has no such figure. */
static bool read_share(const pressure *p, double *percent)
{
    char path[400], text[200];
    snprintf(path, sizeof path, "%s/proc/pressure/memory", p->root ? p->root : "");
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0) return false;
    text[n] = 0;
    return sscanf(text, "some avg10=%lf", percent) == 1 && *percent >= 0 && *percent <= 100;
}

pressure_change pressure_look(pressure *p, int64_t now_ns)
{
    double percent;
    if (!p->open) open_source(p);
    if (p->looked_ns && now_ns - p->looked_ns < EVERY_S * S) return PRESSURE_AS_BEFORE;
    p->looked_ns = now_ns;
    if (!read_share(p, &percent)) percent = 0;
    if (percent >= is_high) {
        p->is_short = true;
        p->eased_ns = 0;
        return PRESSURE_SHORT;
    }
    if (!p->is_short) return PRESSURE_AS_BEFORE;
    if (percent > is_low) p->eased_ns = 0;
    else if (!p->eased_ns) p->eased_ns = now_ns;
    if (!p->eased_ns || now_ns - p->eased_ns < EASES_S * S) return PRESSURE_AS_BEFORE;
    p->is_short = false;
    return PRESSURE_OVER;
}

int pressure_fd(const pressure *p)
{
    return p->open ? p->fd : -1;
}

int64_t pressure_deadline(const pressure *p)
{
    return p->is_short ? p->looked_ns + EVERY_S * S : INT64_MAX;
}

void pressure_close(pressure *p)
{
    if (p->open && p->fd >= 0) close(p->fd);
    p->open = false;
}
