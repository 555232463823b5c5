#include "tests/server/fault.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[FAULTS] = {"none", "silent",  "busy",  "loading", "broken",
                                          "cut",  "garbage", "flood", "redirect"};

const char *fault_names(void)
{
    return "none, silent, busy:SECONDS, loading:SECONDS, broken:STATUS, cut:BYTES, garbage, flood:MIB, redirect:URL; "
           "*TIMES behind it";
}

bool fault_parse(fault *out, const char *text)
{
    size_t name = strcspn(text, ":*");
    const char *star = strrchr(text, '*'), *value = text[name] == ':' ? text + name + 1 : "";
    size_t length = star && star > value ? (size_t)(star - value) : strlen(value);
    *out = (fault){.times = star ? atoi(star + 1) : -1};
    while (out->kind < FAULTS && (strlen(names[out->kind]) != name || strncmp(names[out->kind], text, name)))
        out->kind++;
    if (text[name] != ':') length = 0;
    snprintf(out->to, sizeof out->to, "%.*s", (int)length, value);
    out->value = atoi(out->to);
    return out->kind < FAULTS;
}
