/* Whether the machine runs on its battery, and when the prefill unit reads ahead then (--on-battery). The front end
 * asks when it is awake for another reason, and the battery is read at most every few seconds: an idle program is not
 * woken for it. */
#ifndef TANDEM_SRC_BATTERY_H
#define TANDEM_SRC_BATTERY_H

#include "src/cli/options.h"

typedef struct {
    const char *root;  /* NULL, or the folder of a made-up tree */
    int64_t looked_ns; /* 0: never */
    bool on;
} battery;

/* Whether the machine has changed from mains to battery, or back. */
bool battery_look(battery *b, int64_t now_ns);
/* When to read ahead, by the option. */
tdm_reading battery_reading(const battery *b, const options *o);
/* A line about the consequence of a change, or "". before, now: when tokens are read ahead. */
void battery_notice(const battery *b, tdm_reading before, tdm_reading now, char *out, size_t room);

#endif
