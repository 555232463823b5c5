#include "engine/object/picture.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/checksum.h"
#include "engine/base/error.h"

/* Two checksums that begin otherwise. */
static void make_hash(struct tdm_picture *p, size_t bytes)
{
    const struct picture *x = &p->pixels;
    const uint32_t sides[CHECKSUM_STEP / sizeof(uint32_t)] = {x->width, x->height};
    for (uint64_t i = 0; i < 2; i++) {
        struct checksum c = {{1 + 4 * i, 2 + 4 * i, 3 + 4 * i, 4 + 4 * i}};
        checksum_add(&c, sides, sizeof sides);
        checksum_add(&c, x->rgb, bytes);
        p->hash[i] = checksum_end(&c);
    }
}

tdm_status picture_new(struct tdm_picture **out, const uint8_t *rgb, uint32_t width, uint32_t height, tdm_error *err)
{
    size_t bytes = (size_t)3 * width * height;
    *out = NULL;
    if (!width || !height || width > TDM_PICTURE_SIDE || height > TDM_PICTURE_SIDE)
        return error_set(err, TDM_E_ARG, "a picture of %u x %u: expected sides from 1 to %d", width, height,
                         TDM_PICTURE_SIDE);
    struct tdm_picture *p = malloc(sizeof *p + bytes);
    if (!p) return error_set(err, TDM_E_NOMEM, "no memory for a picture of %u x %u", width, height);
    memcpy(p + 1, rgb, bytes);
    p->pixels = (struct picture){width, height, (const uint8_t *)(p + 1)};
    atomic_init(&p->holders, 1);
    make_hash(p, bytes);
    *out = p;
    return TDM_OK;
}

struct tdm_picture *picture_hold(struct tdm_picture *p)
{
    atomic_fetch_add_explicit(&p->holders, 1, memory_order_relaxed);
    return p;
}

void picture_drop(struct tdm_picture *p)
{
    if (p && atomic_fetch_sub_explicit(&p->holders, 1, memory_order_acq_rel) == 1) free(p);
}

/* ---- Lists ------------------------------------------------------------------------------------------------------- */

static bool is_continuation(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

tdm_status picture_list_copy(struct picture_list *out, const tdm_placed_picture *from, size_t n, const char *text,
                             size_t length, tdm_error *err)
{
    *out = (struct picture_list){0};
    for (size_t i = 0; i < n; i++) {
        size_t at = from[i].at, least = i ? from[i - 1].at : 0;
        if (at < least || at > length || (at < length && is_continuation(text[at])))
            return error_set(err, TDM_E_ARG, "picture %zu stands at byte %zu of a text of %zu", i + 1, at, length);
    }
    return picture_list_append(out, 0, from, n, err);
}

void picture_list_free(struct picture_list *list)
{
    for (size_t i = 0; i < list->n; i++) picture_drop(list->at[i].picture);
    free(list->at);
    *list = (struct picture_list){0};
}

bool picture_list_equal(const struct picture_list *list, const tdm_placed_picture *other, size_t n)
{
    if (list->n != n) return false;
    for (size_t i = 0; i < n; i++)
        if (list->at[i].at != other[i].at || list->at[i].picture != other[i].picture) return false;
    return true;
}

tdm_status picture_list_append(struct picture_list *list, size_t length, const tdm_placed_picture *more, size_t n,
                               tdm_error *err)
{
    if (!n) return TDM_OK;
    tdm_placed_picture *grown = realloc(list->at, (list->n + n) * sizeof *grown);
    if (!grown) return error_set(err, TDM_E_NOMEM, "no memory for %zu pictures", list->n + n);
    list->at = grown;
    for (size_t i = 0; i < n; i++)
        list->at[list->n++] = (tdm_placed_picture){picture_hold(more[i].picture), length + more[i].at};
    return TDM_OK;
}
