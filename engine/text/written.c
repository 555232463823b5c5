#include "engine/text/written.h"

#include <stdlib.h>
#include <string.h>

void written_free(struct written *w)
{
    free(w->text);
    free(w->ends);
    *w = (struct written){0};
}

void written_clear(struct written *w)
{
    w->n = w->n_ends = 0;
}

static tdm_status make_room(struct written *w, size_t more, tdm_error *err)
{
    if (more > w->room - w->n) {
        size_t room = 2 * (w->n + more);
        char *grown = realloc(w->text, room);
        if (!grown) return error_set(err, TDM_E_NOMEM, "no memory for a prompt of %zu bytes", w->n + more);
        w->text = grown;
        w->room = room;
    }
    if (w->n_ends + 2 > w->ends_room) {
        size_t room = 2 * w->n_ends + 16;
        size_t *grown = realloc(w->ends, room * sizeof *grown);
        if (!grown) return error_set(err, TDM_E_NOMEM, "no memory for a prompt of %zu bytes", w->n + more);
        w->ends = grown;
        w->ends_room = room;
    }
    return TDM_OK;
}

tdm_status written_add(struct written *w, struct span text, bool data, tdm_error *err)
{
    if (!text.length) return TDM_OK;
    tdm_status status = make_room(w, text.length, err);
    if (status) return status;
    memcpy(w->text + w->n, text.bytes, text.length);
    if (!w->n_ends && data) w->ends[w->n_ends++] = 0;
    if (!w->n_ends || (w->n_ends % 2 == 0) != data) w->ends[w->n_ends++] = w->n;
    w->n += text.length;
    w->ends[w->n_ends - 1] = w->n;
    return TDM_OK;
}

tdm_status written_add_part(struct written *w, const struct written *from, size_t begin, size_t end, tdm_error *err)
{
    tdm_status status = TDM_OK;
    for (size_t i = 0, at = 0; i < from->n_ends && at < end && !status; at = from->ends[i++]) {
        size_t first = at > begin ? at : begin, last = from->ends[i] < end ? from->ends[i] : end;
        if (first < last) status = written_add(w, (struct span){from->text + first, last - first}, i % 2, err);
    }
    return status;
}

void written_cut(struct written *w, size_t n)
{
    if (n >= w->n) return;
    while (w->n_ends > 1 && w->ends[w->n_ends - 2] >= n) w->n_ends--;
    if (w->n_ends) w->ends[w->n_ends - 1] = n;
    w->n = n;
}

static size_t common_bytes(const char *a, const char *b, size_t n)
{
    enum { STEP = 4096 };
    size_t i = 0;
    while (i + STEP <= n && !memcmp(a + i, b + i, STEP)) i += STEP;
    while (i < n && a[i] == b[i]) i++;
    return i;
}

size_t written_common(const struct written *a, const struct written *b)
{
    size_t n = a->n < b->n ? a->n : b->n, most = a->n_ends < b->n_ends ? a->n_ends : b->n_ends;
    for (size_t i = 0; i < most; i++) {
        if (a->ends[i] == b->ends[i]) continue;
        size_t end = a->ends[i] < b->ends[i] ? a->ends[i] : b->ends[i];
        if (end < n) n = end;
        break;
    }
    return n ? common_bytes(a->text, b->text, n) : 0;
}

bool written_is_data(const struct written *w, size_t begin, size_t end)
{
    size_t low = 0, high = w->n_ends; /* the first stretch that ends behind `begin` */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (w->ends[middle] <= begin)
            low = middle + 1;
        else
            high = middle;
    }
    return low < w->n_ends && low % 2 && end <= w->ends[low];
}
