#include "engine/model/extents.h"

#include <stdlib.h>

#include "engine/base/error.h"

static int by_place(const void *a, const void *b)
{
    const struct extent *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

static int shown(struct span name)
{
    return (int)(name.length < 80 ? name.length : 80);
}

tdm_status extents_check(struct extent *list, size_t n, const char *file, tdm_error *err)
{
    qsort(list, n, sizeof *list, by_place);
    const struct extent *last = NULL; /* that has bytes */
    for (size_t i = 0; i < n; i++) {
        if (list[i].begin == list[i].end) continue;
        if (last && list[i].begin < last->end)
            return error_set(err, TDM_E_FORMAT,
                             "%s: tensors %.*s and %.*s: expected data of their own, found the same bytes", file,
                             shown(last->name), last->name.bytes, shown(list[i].name), list[i].name.bytes);
        last = &list[i];
    }
    return TDM_OK;
}
