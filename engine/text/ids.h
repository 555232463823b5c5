/* A growing array of token ids, each with the offset in the text where it ends. Zero-initialised it is empty, as after
 * ids_free. */
#ifndef TANDEM_TEXT_IDS_H
#define TANDEM_TEXT_IDS_H

#include <stdlib.h>

#include "engine/base/error.h"

struct ids {
    tdm_id *id;
    size_t *end; /* end[i]: id[0..i] together stand for the first end[i] bytes of the text; ascending */
    size_t count, room;
};

tdm_status ids_reserve(struct ids *ids, size_t more, tdm_error *err);

static inline tdm_status ids_push(struct ids *ids, tdm_id id, size_t end, tdm_error *err)
{
    if (ids->count == ids->room) {
        tdm_status status = ids_reserve(ids, 1, err);
        if (status) return status;
    }
    ids->id[ids->count] = id;
    ids->end[ids->count++] = end;
    return TDM_OK;
}

/* Appends n ids to a list of the public kind (tdm_ids_free). */
tdm_status ids_list_append(tdm_ids *to, const tdm_id *ids, size_t n, tdm_error *err);

static inline void ids_free(struct ids *ids)
{
    free(ids->id);
    free(ids->end);
    *ids = (struct ids){0};
}

#endif
