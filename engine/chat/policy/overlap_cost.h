/* How much of its speed the decoder keeps while the other unit prefills: the time that a token takes alone over the
 * time that it takes beside a dispatch, each the median of the newest tokens. The chat's lock guards it. */
#ifndef TANDEM_CHAT_OVERLAP_COST_H
#define TANDEM_CHAT_OVERLAP_COST_H

#include <stdbool.h>

enum { OVERLAP_COST_TOKENS = 32, OVERLAP_COST_LEAST = 16 };

struct overlap_cost {
    struct overlap_cost_row {
        double seconds[OVERLAP_COST_TOKENS]; /* a ring */
        unsigned n;                          /* tokens in all, newest at (n - 1) % OVERLAP_COST_TOKENS */
    } alone, shared;
};

/* A token took this many seconds. shared: a dispatch ran the whole time; otherwise none ran at all. */
void overlap_cost_add(struct overlap_cost *k, bool shared, double seconds);

/* The share, above 0 and at most 1; 0: not known. That is so until there are OVERLAP_COST_LEAST tokens of either sort;
 * while two standard errors of the share exceed a tenth of it; and where it exceeds 1 by more than these, because a
 * dispatch cannot speed up the decoder: then something else slowed the decoder while it was alone. */
double overlap_cost_share(const struct overlap_cost *k);

#endif
