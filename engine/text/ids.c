#include "engine/text/ids.h"

#include <string.h>

#include "engine/base/size.h"

tdm_status ids_reserve(struct ids *ids, size_t more, tdm_error *err)
{
    uint64_t need, bytes;
    if (!size_add(ids->count, more, &need)) return error_set(err, TDM_E_NOMEM, "too many tokens");
    if (need <= ids->room) return TDM_OK;
    if (need < ids->room * 2) need = ids->room * 2;
    if (need < 256) need = 256;
    if (!size_mul(need, sizeof *ids->end, &bytes)) return error_set(err, TDM_E_NOMEM, "too many tokens");
    tdm_id *id = realloc(ids->id, need * sizeof *id);
    if (id) ids->id = id;
    size_t *end = realloc(ids->end, bytes);
    if (end) ids->end = end;
    if (!id || !end) return error_set(err, TDM_E_NOMEM, "no memory for %llu tokens", (unsigned long long)need);
    ids->room = need;
    return TDM_OK;
}

tdm_status ids_list_append(tdm_ids *to, const tdm_id *ids, size_t n, tdm_error *err)
{
    uint64_t need, bytes;
    if (!size_add(to->n, n, &need)) return error_set(err, TDM_E_NOMEM, "too many tokens");
    if (need > to->capacity) {
        uint64_t capacity = need < 2 * (uint64_t)to->capacity ? 2 * (uint64_t)to->capacity : need < 64 ? 64 : need;
        tdm_id *grown = size_mul(capacity, sizeof *grown, &bytes) ? realloc(to->ids, bytes) : NULL;
        if (!grown) return error_set(err, TDM_E_NOMEM, "no memory for %llu tokens", (unsigned long long)need);
        to->ids = grown;
        to->capacity = capacity;
    }
    if (n) memcpy(to->ids + to->n, ids, n * sizeof *ids); /* an empty list has no array */
    to->n = need;
    return TDM_OK;
}
