#include "engine/chat/policy/pause.h"

#include <string.h>

static const int64_t MS = 1000000;
enum { MAX_MS = 150, LEAST_MS = 20, REST_MS = 1000 };
enum { MEMORY = 8 }; /* keys that the mean looks back, about */

void typing_key(struct typing *t, int64_t now_ns)
{
    int64_t interval = now_ns - t->last_ns;
    if (t->last_ns && interval <= REST_MS * MS) {
        if (interval < LEAST_MS / 2 * MS) interval = LEAST_MS / 2 * MS; /* a key held down, a paste in pieces */
        t->interval_ns += t->interval_ns ? (interval - t->interval_ns) / MEMORY : interval;
    }
    t->last_ns = now_ns;
}

/* Takes one of these off the text's end; they are separated by spaces. */
static bool take_off(const char *text, size_t *n, const char *these)
{
    while (*these) {
        size_t length = strcspn(these, " ");
        if (length <= *n && !memcmp(text + *n - length, these, length)) {
            *n -= length;
            return true;
        }
        these += length + (these[length] == ' ');
    }
    return false;
}

static bool ends_sentence(const char *text, size_t n)
{
    while (n && strchr(" \t\r\n", text[n - 1])) n--;
    while (take_off(text, &n, "\" ' ) ] } * _ ` \xc2\xbb \xe2\x80\x99 \xe2\x80\x9d \xe3\x80\x8d")) continue;
    return take_off(text, &n, ". ? ! \xe2\x80\xa6 \xe3\x80\x82 \xef\xbc\x9f \xef\xbc\x81");
}

int64_t pause_auto(const struct typing *t, const char *draft, size_t n, int64_t suffix_ns)
{
    if (ends_sentence(draft, n)) return 0;
    int64_t pause = MAX_MS * MS, keys = 2 * t->interval_ns;
    if (suffix_ns && 2 * suffix_ns < pause) pause = 2 * suffix_ns;
    return keys && keys < pause ? keys : pause;
}
