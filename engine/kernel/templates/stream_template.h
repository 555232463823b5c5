/* Prefetching of weights: part of a kernel set (set_template.h).
 *
 * A CPU's own prefetcher stops at page boundaries and does not follow a stream that is read in several places (two
 * halves of a group and their scales). So each product prefetches: while it uses a group of columns, it fetches the
 * bytes some KiB after it, a few lines at a time. It continues into the rows after those of the call, which are most
 * likely the next; lines that it fetches beyond the matrix are never read. */

/* next: the first line that isn't fetched yet. */
struct stream {
    const uint8_t *next;
};

/* The lines that one step of a product fetches. */
struct ahead {
    const uint8_t *at;
    uint32_t lines;
    bool near; /* to L1, if measured to be faster; else to L2 */
};

/* The lines that each of `steps` steps fetches while the group [group, group + bytes) is in use, so that at its end the
 * `distance` bytes after it have been requested: at the beginning up to two groups, later one. */
static ALWAYS_INLINE struct ahead stream_on(struct stream *s, const uint8_t *group, size_t bytes, size_t distance,
                                            bool near, uint32_t steps)
{
    const uint8_t *upto = group + bytes + distance;
    if (s->next < group + bytes) s->next = group + bytes;
    if (upto > s->next + 2 * bytes) upto = s->next + 2 * bytes;
    if (upto <= s->next) return (struct ahead){s->next, 0, near};
    struct ahead next = {s->next, (uint32_t)((upto - s->next) / 64) / steps + 1, near}; /* 32 bits divide sooner */
    s->next += 64 * (size_t)next.lines * steps;
    return next;
}

/* The lines to fetch after this many steps, for the next piece of tokens. */
static ALWAYS_INLINE struct ahead ahead_after(struct ahead a, uint32_t steps)
{
    a.at += 64 * (size_t)a.lines * steps;
    return a;
}

/* Always inlined: GCC treats a function that only prefetches as one without effects, and drops its calls. */
static ALWAYS_INLINE void fetch(struct ahead *a)
{
    for (uint32_t line = 0; line < a->lines; line++, a->at += 64) {
        if (a->near) __builtin_prefetch(a->at, 0, 3);
        else __builtin_prefetch(a->at, 0, 2);
    }
}
