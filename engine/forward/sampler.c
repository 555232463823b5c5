#include "engine/forward/sampler.h"

#include "engine/base/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct sampler {
    uint32_t limit;
    uint32_t *reply_count; /* [limit] occurrences in the reply */
    uint8_t *seen;         /* [limit] in prompt or reply */
    tdm_id *seen_ids;      /* the ids with seen set, in order of appearance */
    uint32_t seen_n;
    float *adjusted;       /* [limit] logits after penalties */
    struct candidate *top; /* [limit] */
    double *weight;        /* [limit] of candidates, up to a common factor */
};

tdm_status sampler_new(struct sampler **out, uint32_t limit, tdm_error *err)
{
    *out = NULL;
    struct sampler *s = calloc(1, sizeof *s);
    if (s) {
        s->limit = limit;
        s->reply_count = calloc(limit, sizeof *s->reply_count);
        s->seen = calloc(limit, sizeof *s->seen);
        s->seen_ids = calloc(limit, sizeof *s->seen_ids);
        s->adjusted = calloc(limit, sizeof *s->adjusted);
        s->top = calloc(limit, sizeof *s->top);
        s->weight = calloc(limit, sizeof *s->weight);
    }
    if (!s || !s->reply_count || !s->seen || !s->seen_ids || !s->adjusted || !s->top || !s->weight) {
        sampler_free(s);
        return error_set(err, TDM_E_NOMEM, "no memory for sampling from %u ids", limit);
    }
    *out = s;
    return TDM_OK;
}

void sampler_free(struct sampler *s)
{
    if (!s) return;
    free(s->reply_count);
    free(s->seen);
    free(s->seen_ids);
    free(s->adjusted);
    free(s->top);
    free(s->weight);
    free(s);
}

static tdm_status out_of_range(const char *name, const char *range, double found, tdm_error *err)
{
    return error_set(err, TDM_E_ARG, "%s: expected %s, found %g", name, range, found);
}

tdm_sampling sampler_complete(const tdm_sampling *given, const tdm_sampling *recommended)
{
    tdm_sampling s = given ? *given : (tdm_sampling){0};
    if (s.temperature == 0 && s.top_k == 0 && s.top_p == 0 && s.min_p == 0 && s.presence_penalty == 0 &&
        s.frequency_penalty == 0 && s.repeat_penalty == 0) {
        s = *recommended;
        if (given) s.seed = given->seed;
    }
    if (s.top_p == 0) s.top_p = 1;
    if (s.repeat_penalty == 0) s.repeat_penalty = 1;
    return s;
}

tdm_status sampler_check(const tdm_sampling *s, tdm_error *err)
{
    /* Written so that NaN fails. */
    if (!(s->temperature >= 0 && s->temperature <= 100))
        return out_of_range("temperature", "0 to 100", s->temperature, err);
    if (s->top_k < 0) return out_of_range("top-k", "0 (off) or more", s->top_k, err);
    if (!(s->top_p > 0 && s->top_p <= 1)) return out_of_range("top-p", "more than 0, at most 1", s->top_p, err);
    if (!(s->min_p >= 0 && s->min_p <= 1)) return out_of_range("min-p", "0 to 1", s->min_p, err);
    if (!(s->presence_penalty >= -10 && s->presence_penalty <= 10))
        return out_of_range("presence penalty", "-10 to 10", s->presence_penalty, err);
    if (!(s->frequency_penalty >= -10 && s->frequency_penalty <= 10))
        return out_of_range("frequency penalty", "-10 to 10", s->frequency_penalty, err);
    if (!(s->repeat_penalty > 0 && s->repeat_penalty <= 100))
        return out_of_range("repeat penalty", "more than 0, at most 100", s->repeat_penalty, err);
    return TDM_OK;
}

static void see(struct sampler *s, tdm_id id)
{
    if (s->seen[id]) return;
    s->seen[id] = 1;
    s->seen_ids[s->seen_n++] = id;
}

void sampler_start(struct sampler *s, const tdm_id *prompt, size_t n)
{
    for (uint32_t i = 0; i < s->seen_n; i++) {
        s->seen[s->seen_ids[i]] = 0;
        s->reply_count[s->seen_ids[i]] = 0;
    }
    s->seen_n = 0;
    for (size_t i = 0; i < n; i++)
        if (prompt[i] >= 0 && (uint32_t)prompt[i] < s->limit) see(s, prompt[i]);
}

void sampler_accept(struct sampler *s, tdm_id id)
{
    if (id < 0 || (uint32_t)id >= s->limit) return;
    see(s, id);
    s->reply_count[id]++;
}

/* The finaliser of splitmix64 (Steele, Lea, Flood 2014): each output bit depends on every input bit. */
static uint64_t mix(uint64_t z)
{
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
}

double sampler_random(uint64_t seed, uint32_t turn, uint32_t attempt, uint32_t index)
{
    const uint64_t step = 0x9E3779B97F4A7C15;
    uint64_t h = mix(seed + step);
    h = mix(h + step + ((uint64_t)turn << 32 | attempt));
    h = mix(h + step + index);
    return (double)(h >> 11) * 0x1p-53;
}

static bool has_penalties(const tdm_sampling *s)
{
    return s->repeat_penalty != 1 || s->presence_penalty != 0 || s->frequency_penalty != 0;
}

/* The logit x of a token that was seen, after the penalties. */
static float penalty_of(const struct sampler *s, const tdm_sampling *sampling, tdm_id id, float x)
{
    x = x > 0 ? x / sampling->repeat_penalty : x * sampling->repeat_penalty;
    if (s->reply_count[id]) x -= sampling->frequency_penalty * (float)s->reply_count[id] + sampling->presence_penalty;
    return x;
}

/* The logits after the penalties: those given where there are none. */
static const float *penalised(struct sampler *s, const tdm_sampling *sampling, const float *logits)
{
    if (!has_penalties(sampling) || !s->seen_n) return logits;
    memcpy(s->adjusted, logits, s->limit * sizeof *logits);
    for (uint32_t i = 0; i < s->seen_n; i++) {
        tdm_id id = s->seen_ids[i];
        s->adjusted[id] = penalty_of(s, sampling, id, logits[id]);
    }
    return s->adjusted;
}

/* Is a a worse candidate than b? A strict order: no two candidates have the same id. */
static inline bool worse(struct candidate a, struct candidate b)
{
    return a.logit < b.logit || (a.logit == b.logit && a.id > b.id);
}

/* Restores the heap below i. The root is the worst candidate, or the best one. */
static inline void sift_down(struct candidate *heap, uint32_t n, uint32_t i, bool root_is_best)
{
    struct candidate c = heap[i];
    for (uint32_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && worse(heap[child + 1], heap[child]) != root_is_best) child++;
        if (worse(heap[child], c) == root_is_best) break;
        heap[i] = heap[child];
    }
    heap[i] = c;
}

static void make_heap(struct candidate *heap, uint32_t n, bool root_is_best)
{
    for (uint32_t i = n / 2; i-- > 0;) sift_down(heap, n, i, root_is_best);
}

/* Moves the root of a heap of n behind it; n-1 are left. */
static void pop(struct candidate *heap, uint32_t n, bool root_is_best)
{
    struct candidate root = heap[0];
    heap[0] = heap[n - 1];
    sift_down(heap, n - 1, 0, root_is_best);
    heap[n - 1] = root;
}

enum { LANES = 8, SCAN = 4 * LANES };
typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));
typedef int32_t lane_mask __attribute__((vector_size(LANES * sizeof(int32_t))));

/* Is one of SCAN floats greater than bound? Almost always not, so the scan of a whole vocabulary lives here. */
static inline bool any_greater(const float *x, float bound)
{
    lanes a, b, c, d;
    memcpy(&a, x, sizeof a);
    memcpy(&b, x + LANES, sizeof b);
    memcpy(&c, x + 2 * LANES, sizeof c);
    memcpy(&d, x + 3 * LANES, sizeof d);
    lane_mask m = (a > bound) | (b > bound) | (c > bound) | (d > bound);
    uint64_t words[sizeof m / sizeof(uint64_t)];
    memcpy(words, &m, sizeof m);
    return (words[0] | words[1] | words[2] | words[3]) != 0;
}

/* The k best finite candidates, best first, in s->top; returns how many there are. Ids are met in ascending order, so a
 * later equal logit never displaces an earlier one: ties go to the lowest id. */
static uint32_t best(struct sampler *s, const float *logits, uint32_t k)
{
    struct candidate *heap = s->top;
    uint32_t n = 0, i = 0;
    for (; i < s->limit && n < k; i++)
        if (isfinite(logits[i])) heap[n++] = (struct candidate){logits[i], (tdm_id)i};
    make_heap(heap, n, false);
    while (i < s->limit) {
        if (i + SCAN <= s->limit && !any_greater(logits + i, heap[0].logit)) {
            i += SCAN;
            continue;
        }
        uint32_t end = i + SCAN < s->limit ? i + SCAN : s->limit;
        for (; i < end; i++) {
            if (!(logits[i] > heap[0].logit) || !isfinite(logits[i])) continue;
            heap[0] = (struct candidate){logits[i], (tdm_id)i};
            sift_down(heap, n, 0, false);
        }
    }
    for (uint32_t left = n; left > 1; left--) pop(heap, left, false);
    return n;
}

static void reverse(struct candidate *c, uint32_t n)
{
    for (uint32_t i = 0; i < n / 2; i++) {
        struct candidate first = c[i];
        c[i] = c[n - 1 - i];
        c[n - 1 - i] = first;
    }
}

/* The logarithm of a weight, beside the best one's 1, below which a candidate is left out: a vocabulary of 2^18 such
 * weighs less than 1e-8. */
#define NEGLIGIBLE (-32.0)

/* Candidates whose logit is at least `bound`, in ascending id, in s->top. */
static uint32_t at_least(struct sampler *s, const float *logits, float bound)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->limit; i++)
        if (logits[i] >= bound && isfinite(logits[i])) s->top[n++] = (struct candidate){logits[i], (tdm_id)i};
    return n;
}

/* Fills s->weight for n candidates; returns the sum in their order. */
static double weigh(struct sampler *s, uint32_t n, float max, double temperature)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) sum += s->weight[i] = exp(((double)s->top[i].logit - max) / temperature);
    return sum;
}

/* Draws from the first n weights. */
static tdm_id pick(const struct sampler *s, uint32_t n, double random)
{
    double sum = 0, at = 0;
    for (uint32_t i = 0; i < n; i++) sum += s->weight[i];
    double target = random * sum;
    for (uint32_t i = 0; i < n; i++) {
        at += s->weight[i];
        if (target < at) return s->top[i].id;
    }
    return s->top[n - 1].id; /* the product rounded up to the sum */
}

/* Of n candidates in any order, the fewest best ones whose weight reaches `share` of all, best first. A heap instead of
 * an order of the whole vocabulary: mostly a few dozen reach it. */
static uint32_t best_that_reach(struct sampler *s, uint32_t n, float max, double temperature, double share)
{
    double total = weigh(s, n, max, temperature), sum = 0;
    uint32_t kept = 0;
    make_heap(s->top, n, true);
    while (kept < n && sum < share * total) {
        pop(s->top, n - kept, true);
        s->weight[kept] = exp(((double)s->top[n - 1 - kept].logit - max) / temperature);
        sum += s->weight[kept++];
    }
    reverse(s->top, n);
    return kept;
}

/* How many candidates are sampled from, at most; 0: all that weigh enough. */
static uint32_t wanted(const struct sampler *s, const tdm_sampling *sampling)
{
    if (sampling->temperature <= 0) return 1;
    return (uint32_t)sampling->top_k < s->limit ? (uint32_t)sampling->top_k : 0;
}

/* The least logit of those that are sampled from where top-k says nothing. */
static float least_of(const tdm_sampling *sampling, float max)
{
    return (float)(max + (double)sampling->temperature * NEGLIGIBLE);
}

/* Draws from the n candidates of s->top: best first, or, without top-k, in ascending id. */
static tdm_id draw_of(struct sampler *s, const tdm_sampling *sampling, uint32_t n, float max, double random)
{
    double temperature = sampling->temperature;
    if (sampling->top_p < 1)
        n = best_that_reach(s, n, max, temperature, sampling->top_p);
    else
        weigh(s, n, max, temperature);
    if (sampling->min_p > 0) {
        uint32_t kept = 0; /* the best one's weight is 1 */
        for (uint32_t i = 0; i < n; i++) {
            if (s->weight[i] < sampling->min_p) continue;
            s->weight[kept] = s->weight[i];
            s->top[kept++] = s->top[i];
        }
        n = kept;
    }
    return pick(s, n, random);
}

tdm_id sampler_sample(struct sampler *s, const tdm_sampling *sampling, const float *logits, uint32_t turn,
                      uint32_t attempt, uint32_t index)
{
    logits = penalised(s, sampling, logits);
    uint32_t k = wanted(s, sampling), n = best(s, logits, k ? k : 1);
    if (!n) return -1;
    struct candidate first = s->top[0];
    if (k == 1) return first.id;
    if (!k) n = at_least(s, logits, least_of(sampling, first.logit));
    return draw_of(s, sampling, n, first.logit, sampler_random(sampling->seed, turn, attempt, index));
}

bool sampler_takes_topk(const tdm_sampling *s)
{
    return s->temperature <= 0 && !has_penalties(s);
}

uint32_t sampler_limit(const struct sampler *s)
{
    return s->limit;
}

/* ---- From the best logits alone ------------------------------------------------------------------------------- */

/* No penalty makes a logit larger, rounded as it is. */
static bool only_lowers(const tdm_sampling *s)
{
    return s->repeat_penalty >= 1 && s->presence_penalty >= 0 && s->frequency_penalty >= 0;
}

bool sampler_needs_few(const tdm_sampling *s, uint32_t n)
{
    bool few = s->temperature <= 0 || (s->top_k > 0 && (uint32_t)s->top_k <= n);
    return few && (!has_penalties(s) || only_lowers(s));
}

/* Those that may be sampled, after the penalties, in s->top; returns how many. */
static uint32_t take(struct sampler *s, const tdm_sampling *sampling, const struct topk_logits *best)
{
    bool penalties = has_penalties(sampling);
    uint32_t n = 0;
    for (uint32_t i = 0; i < best->n && n < s->limit; i++) {
        struct candidate c = best->all[i];
        if (c.id < 0 || (uint32_t)c.id >= s->limit) continue;
        if (penalties && s->seen[c.id]) c.logit = penalty_of(s, sampling, c.id, c.logit);
        if (isfinite(c.logit)) s->top[n++] = c;
    }
    return n;
}

/* Moves the k best of n candidates to the front, best first. */
static void best_first(struct candidate *c, uint32_t n, uint32_t k)
{
    make_heap(c, n, true);
    for (uint32_t i = 0; i < k; i++) pop(c, n - i, true);
    reverse(c, n);
}

static int by_id(const void *a, const void *b)
{
    tdm_id x = ((const struct candidate *)a)->id, y = ((const struct candidate *)b)->id;
    return (x > y) - (x < y);
}

/* Of n candidates those at least as good as `bound`, in ascending id. */
static uint32_t sort_ids(struct sampler *s, uint32_t n, float bound)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++)
        if (s->top[i].logit >= bound) s->top[kept++] = s->top[i];
    qsort(s->top, kept, sizeof *s->top, by_id);
    return kept;
}

bool sampler_sample_topk(struct sampler *s, const tdm_sampling *sampling, const struct topk_logits *best, uint32_t turn,
                         uint32_t attempt, uint32_t index, tdm_id *out)
{
    if (has_penalties(sampling) && s->seen_n && !only_lowers(sampling)) return false;
    uint32_t n = take(s, sampling, best), k = wanted(s, sampling), first_n = k ? k : 1;
    bool whole = best->from == -INFINITY;
    if (!whole && n < first_n) return false;
    if (!n) {
        *out = -1;
        return true;
    }
    if (first_n > n) first_n = n;
    best_first(s->top, n, first_n);
    struct candidate first = s->top[0];
    /* All others are less than `from`, and with the penalties no more than that. */
    if (!whole && s->top[first_n - 1].logit < best->from) return false;
    if (!k && !whole && least_of(sampling, first.logit) < best->from) return false;
    *out = first.id;
    if (k == 1) return true;
    n = k ? first_n : sort_ids(s, n, least_of(sampling, first.logit));
    *out = draw_of(s, sampling, n, first.logit, sampler_random(sampling->seed, turn, attempt, index));
    return true;
}
