/* How much of its speed the decoder keeps while the other unit prefills: the time that a token takes alone over the
 * time that it takes beside a dispatch, each the median of the newest tokens. The chat's lock guards it. */
#ifndef TANDEM_CHAT_KEPT_H
#define TANDEM_CHAT_KEPT_H

#include <stdbool.h>

enum { KEPT_TOKENS = 32, KEPT_LEAST = 16 };

struct kept {
    struct kept_row {
        double seconds[KEPT_TOKENS]; /* a ring */
        unsigned n;                  /* all that came */
    } alone, shared;
};

/* A token took so many seconds. shared: a dispatch ran the whole time; otherwise none ran at all. */
void kept_add(struct kept *k, bool shared, double seconds);

/* The share, above 0 and at most 1; 0: not known. That is so until there are KEPT_LEAST tokens of either sort; while
 * two standard errors of the share exceed a tenth of it; and where it exceeds 1 by more than these, because a dispatch
 * cannot speed up the decoder: something else on the machine was slower before. */
double kept_share(const struct kept *k);

#endif
