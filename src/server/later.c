#include "src/server/later.h"

#include <string.h>
#include <strings.h>

enum { SOONEST_S = 1 }; /* a server that says 'at once' each time would be asked without end */

/* The word in any case. */
static bool has_word(struct span text, const char *word)
{
    size_t n = strlen(word);
    for (size_t at = 0; at + n <= text.length; at++)
        if (!strncasecmp(text.bytes + at, word, n)) return true;
    return false;
}

bool later_is_loading(const later_answer *a)
{
    return a->status == 503 && (a->loads || a->retry_after_s >= 0 || has_word(a->body, "loading"));
}

int later_seconds(const later_answer *a, int tries, int waited_s)
{
    if (a->status == 429)
        return tries < LATER_TRIES && a->retry_after_s >= 0 && a->retry_after_s <= LATER_BUSY_S ? a->retry_after_s : -1;
    if (!later_is_loading(a)) return -1;
    int wait = a->retry_after_s < 0 ? LATER_LOADING_S : a->retry_after_s < SOONEST_S ? SOONEST_S : a->retry_after_s;
    return wait <= LATER_MAX_S && waited_s <= LATER_MAX_S - wait ? wait : -1;
}
