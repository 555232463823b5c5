/* Weights on their way from memory: part of a kernel set (set_template.h).
 *
 * A CPU's own prefetching stops at pages and loses a stream that is read in several places (two halves of a group and
 * their scales), so each product asks for what comes next: while a group of columns is in use, what lies some KiB after
 * it is fetched, a few lines at a time. Rows that follow the ones asked for are most likely the next to be asked for,
 * so it goes on into them; what it fetches beyond the matrix is never read. */

/* next: the first line that isn't fetched yet. */
struct stream {
    const uint8_t *next;
};

/* What one step of a product fetches. */
struct ahead {
    const uint8_t *at;
    uint32_t lines;
    bool near; /* to L1, where that was measured to be better; else to L2 */
};

/* What each of `steps` steps fetches while the group [group, group + bytes) is in use, so that at its end `distance`
 * bytes after it are on their way: at the beginning up to twice a group, later as much as a group. */
static ALWAYS_INLINE struct ahead stream_on(struct stream *s, const uint8_t *group, size_t bytes, size_t distance,
                                            bool near, uint32_t steps)
{
    const uint8_t *upto = group + bytes + distance;
    if (s->next < group + bytes) s->next = group + bytes;
    if (upto > s->next + 2 * bytes) upto = s->next + 2 * bytes;
    if (upto <= s->next) return (struct ahead){s->next, 0, near};
    struct ahead next = {s->next, (uint32_t)((size_t)(upto - s->next) / 64 / steps) + 1, near};
    s->next += 64 * (size_t)next.lines * steps;
    return next;
}

/* What is fetched after this many steps have been: for the next piece of tokens. */
static ALWAYS_INLINE struct ahead ahead_after(struct ahead a, uint32_t steps)
{
    a.at += 64 * (size_t)a.lines * steps;
    return a;
}

/* Always inlined: GCC takes a function that does nothing else for one without effects, and drops its calls. */
static ALWAYS_INLINE void fetch(struct ahead *a)
{
    for (uint32_t line = 0; line < a->lines; line++, a->at += 64) {
        if (a->near) __builtin_prefetch(a->at, 0, 3);
        else __builtin_prefetch(a->at, 0, 2);
    }
}
