/* Pads: the ids by which tokens stand for pictures (image tokens; a template writes one of them as <|image_pad|>).
 * (Rows that only fill a batch are called padding.)
 *
 * A picture becomes as many tokens as its grid has cells. Each has an id below 0 of its own: the same wherever the same
 * picture stands, if it was encoded by the same tower at the same size (the same hash), and that of no other picture.
 * So code that compares tokens (prefixes, checkpoints, adoption, replicas) compares pictures too, and code that keeps
 * tokens (states, copies, lost devices) keeps each picture's place, grid and hash. Ids are assigned as pictures come,
 * so they are valid in this process alone: files and hashes of ids use the picture's hash instead.
 *
 * Positions follow from the ids as well. A token after text has three equal ones, t = h = w. Of a picture that begins
 * at position p, the cell in a row and a column has t = p, h = p + row, w = p + column; the token after it has p +
 * max(rows, columns). So positions lag behind the tokens' numbers, and the lag grows with every picture (pads_lag).
 * Keys are masked by number and rotated by position.
 *
 * Threads: any number may call everything here. Entries stay for the life of the process, about 64 bytes for each
 * picture that differs.
 */
#ifndef TANDEM_STATE_PADS_H
#define TANDEM_STATE_PADS_H

#include "engine/tandem.h"

#include <stdatomic.h>

struct pads {
    uint64_t hash[2];               /* of the pixels and of everything else that determines their rows of embeddings */
    uint32_t rows, columns, tokens; /* rows * columns */
    tdm_id first;                   /* id of the first cell; that of cell i is first - i */
    /* [tokens][width] rows of embeddings, which the model takes in the tokens' places. NULL: not available. A pass that
     * evaluates pads holds them meanwhile. */
    _Atomic(const float *) embeddings;
    uint32_t width, holders; /* of the embeddings */
};

/* TDM_E_CONTEXT: all ids are assigned; TDM_E_NOMEM. TDM_E_FORMAT: pads with this hash have another grid. */
tdm_status pads_of(struct pads **out, const uint64_t hash[2], uint32_t rows, uint32_t columns, tdm_error *err);
/* pads_give passes the embeddings to the picture, and the caller becomes a holder; pads_hold makes the caller a holder
 * of existing embeddings. They stay until all holders have dropped them. If the picture has embeddings already, which
 * are equal, pads_give frees the new ones. */
void pads_give(struct pads *p, float *embeddings, uint32_t width);
bool pads_hold(struct pads *p); /* false: there are none */
void pads_drop(struct pads *p);

/* The pads of an id below 0; *cell (may be NULL): the number of its token. NULL: the id is no picture's. */
struct pads *pads_find(tdm_id id, uint32_t *cell);
/* Whether ids[0..n) have ids below 0. */
bool pads_among(const tdm_id *ids, uint32_t n);
/* Whether a model can evaluate an id: TDM_E_ARG if it is neither in the vocabulary nor a pad with embeddings. */
tdm_status pads_check(tdm_id id, uint32_t vocab, uint32_t width, tdm_error *err);
/* The row of embeddings of a pad; NULL: not available, or of another width. */
const float *pads_embedding(tdm_id id, uint32_t width);

/* The next picture in ids[*i .. n), which don't begin within one: *i becomes the place of its first token; returns how
 * many of its tokens are there. 0: there is none. */
uint32_t pads_next(const tdm_id *ids, uint32_t *i, uint32_t n);

/* The lag of the next position after ids[0..n), which begin a text: that position is n minus the lag. */
uint32_t pads_lag(const tdm_id *ids, uint32_t n);

struct pads_position {
    uint32_t t, h, w;
};
/* Of ids[i]; ids[0] is token number `first`, before which positions lag by `lag`. */
struct pads_position pads_position(const tdm_id *ids, uint32_t i, uint32_t first, uint32_t lag);

/* A number that identifies an id in every process: for a pad it is made from its picture's hash, otherwise it is the
 * id. */
uint64_t pads_word(tdm_id id);

/* The position by which pair j is rotated, if pairs of the axes are interleaved. sections: numbers of pairs of t, h and
 * w. */
static inline uint32_t pads_axis(const struct pads_position *p, const uint32_t *sections, uint32_t j)
{
    if (j % 3 == 1 && j < 3 * sections[1]) return p->h;
    if (j % 3 == 2 && j < 3 * sections[2]) return p->w;
    return p->t;
}

#endif
