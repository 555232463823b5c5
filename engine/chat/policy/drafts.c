#include "engine/chat/policy/drafts.h"

/* How much a new value moves the means at least: of shares, of relative costs. */
static const double share_weight = 1.0 / 48, cost_weight = 1.0 / 8;
/* What drafting must be better by, since the means are not exact. */
static const double margin = 1.03;
/* The share of right drafts at first, which counts as this many drafts, and what a token more is taken to cost until it
 * is measured. */
static const double first_share = 0.7, first_drafts = 2, first_slope = 0.1;

enum { ALONE_PASSES = 2, FIRST_STRETCH = 4, LONGEST_NGRAM = 32 };

void drafts_init(struct drafts *d, double draft)
{
    *d = (struct drafts){.draft = draft, .alone = ALONE_PASSES, .stretch = FIRST_STRETCH};
    for (int i = 0; i < DRAFTS_MAX; i++) d->right[i] = first_share;
    d->relative[0] = 1;
}

/* The relative cost of a pass of 1 + k tokens: measured, or going on from those that were; at most that of a larger
 * one, so that a size whose passes were held up is tried again. */
static double cost(const struct drafts *d, uint32_t k)
{
    uint32_t j = k;
    while (j > 0 && !d->costs[j]) j--;
    double slope = j ? (d->relative[j] - 1) / j : first_slope, least = d->relative[j];
    if (j < k) least += (k - j) * (slope > 0 ? slope : 0);
    for (j = k + 1; k && j <= DRAFTS_MAX; j++)
        if (d->costs[j] && d->relative[j] < least) least = d->relative[j];
    return least;
}

double drafts_cost(const struct drafts *d, uint32_t k)
{
    return cost(d, k) + k * d->draft;
}

double drafts_gain(const struct drafts *d, uint32_t k)
{
    double expected = 1, all_right = 1;
    for (uint32_t i = 0; i < k; i++) expected += all_right *= d->right[i];
    return expected / drafts_cost(d, k);
}

uint32_t drafts_choose(const struct drafts *d, uint32_t most)
{
    uint32_t best = 0;
    if (most > DRAFTS_MAX) most = DRAFTS_MAX;
    if (!most || d->alone) return 0;
    for (uint32_t k = 1; k <= most; k++)
        if (!best || drafts_gain(d, k) > drafts_gain(d, best)) best = k;
    if (drafts_gain(d, best) <= margin) return d->tokens < DRAFTS_PROBE_TOKENS ? 0 : best;
    if (d->passes >= d->stretch) return 0;
    if ((d->passes + 1) % DRAFTS_PROBE_SIZES) return best;
    bool more = d->passes / DRAFTS_PROBE_SIZES % 2;
    return more ? (best < most ? best + 1 : best) : best > 1 ? best - 1 : best;
}

static void approach(double *mean, double value, double weight)
{
    *mean += weight * (value - *mean);
}

/* The weight of a value that comes after n others: that of a plain mean until there are enough for a decaying one. */
static double weight_after(double n, double least)
{
    return 1 / (n + 1) > least ? 1 / (n + 1) : least;
}

/* A pass that was held up, or the one beside it, does not count for much. */
static double sane(double value, double expected)
{
    return value > 1.4 * expected ? 1.4 * expected : value < expected / 1.4 ? expected / 1.4 : value;
}

/* Only times of passes that follow each other are compared: what slows the machine for a while slows both. */
static void count_time(struct drafts *d, uint32_t k, double pass_s, double draft_s)
{
    double before = d->last_s, draft = k && pass_s > 0 ? draft_s / k * cost(d, k) / pass_s : 0;
    uint32_t of = k ? k : d->last_k;
    if (before > 0 && k != d->last_k) {
        double value = k ? pass_s / before * cost(d, d->last_k) : before / pass_s, expected = cost(d, of);
        if (!d->costs[of]) d->relative[of] = expected;
        approach(&d->relative[of], sane(value, expected), weight_after(d->costs[of], cost_weight));
        if (d->costs[of] < UINT32_MAX) d->costs[of]++;
    }
    if (draft > 0) approach(&d->draft, sane(draft, d->draft > 0 ? d->draft : draft), cost_weight);
    d->last_s = pass_s;
    d->last_k = k;
}

void drafts_count(struct drafts *d, uint32_t k, uint32_t right, double pass_s, double draft_s, bool timed)
{
    for (uint32_t i = 0; i < k && i <= right; i++) {
        approach(&d->right[i], i < right, weight_after(first_drafts + d->shares[i], share_weight));
        if (d->shares[i] < UINT32_MAX) d->shares[i]++;
    }
    /* Later drafts are not better than those before them. */
    for (uint32_t i = k; k && i < DRAFTS_MAX; i++)
        if (d->right[i] > d->right[i - 1]) d->right[i] = d->right[i - 1];
    if (!k && d->passes >= d->stretch && d->stretch < DRAFTS_PROBE_PASSES) d->stretch *= 2;
    d->passes = k ? d->passes + 1 : 0;
    /* A look that found a right draft is followed by another. */
    d->tokens = !k ? d->tokens + 1 : right ? DRAFTS_PROBE_TOKENS : 0;
    if (timed && pass_s > 0) count_time(d, k, pass_s, draft_s);
    else d->last_s = 0;
    if (timed && k == 0 && d->alone) d->alone--;
}

/* Equal tokens that end at a and at b, at most this many. */
static uint32_t equal_before(const tdm_id *tokens, uint32_t a, uint32_t b, uint32_t most)
{
    uint32_t n = 0;
    while (n < most && n < a && n < b && tokens[a - 1 - n] == tokens[b - 1 - n]) n++;
    return n;
}

uint32_t drafts_from_context(const tdm_id *tokens, uint32_t n, tdm_id next, tdm_id *out, uint32_t most)
{
    uint32_t longest = DRAFTS_NGRAM - 2, from = 0; /* before `next` */
    for (uint32_t at = n; at-- > 0;) {
        if (tokens[at] != next) continue;
        uint32_t length = equal_before(tokens, at, n, LONGEST_NGRAM);
        if (length <= longest) continue;
        longest = length;
        from = at + 1;
        if (length == LONGEST_NGRAM) break;
    }
    if (!from) return 0;
    uint32_t i = 0;
    for (; i < most && from + i <= n; i++) {
        out[i] = from + i < n ? tokens[from + i] : next;
        if (out[i] < 0) break; /* a picture, which no model writes */
    }
    return i;
}
