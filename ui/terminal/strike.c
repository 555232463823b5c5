#include "ui/terminal/strike.h"

#include <string.h>

bool strike_able(const char *(*capability)(void *arg, const char *name), void *arg)
{
    const char *strike = capability(arg, "smxx"), *blink = capability(arg, "blink");
    return strike && blink && !strcmp(strike, "\033[9m") && !strcmp(blink, "\033[5m");
}

/* The numbers between "ESC [" and "m": a 5 of its own, not one within a colour (38;5;N), becomes a 9. */
static void put_in(char *numbers, size_t n)
{
    int skip = 0; /* numbers that still belong to a colour */
    bool form = false; /* the next one says how many */
    for (size_t at = 0, end; at < n; at = end + 1) {
        for (end = at; end < n && numbers[end] != ';';) end++;
        char c = end == at + 1 ? numbers[at] : 0;
        bool colour = end == at + 2 && (numbers[at] == '3' || numbers[at] == '4') && numbers[at + 1] == '8';
        if (form) skip = c == '5' ? 1 : c == '2' ? 3 : 0;
        else if (skip) skip--;
        else if (c == '5') numbers[at] = '9';
        form = !form && !skip && colour;
    }
}

void strike_put(char *bytes, size_t n)
{
    for (char *at = bytes, *end = bytes + n; (at = memchr(at, '\033', (size_t)(end - at)));) {
        char *numbers = at + 1 < end && at[1] == '[' ? at + 2 : NULL;
        at++;
        if (!numbers) continue;
        for (at = numbers; at < end && (*at == ';' || (*at >= '0' && *at <= '9'));) at++;
        if (at < end && *at == 'm') put_in(numbers, (size_t)(at - numbers));
    }
}
