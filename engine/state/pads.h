/* Pads: the ids by which tokens stand for pictures (image tokens; a template writes one of them as <|image_pad|>). What
 * only fills up rows is called padding.
 *
 * A picture becomes as many tokens as its grid has cells. Each has an id below 0 that is its alone: the same wherever
 * the same picture stands, seen through the same tower at the same size (the same hash), and no other's. So whatever
 * compares tokens (prefixes, checkpoints, adoption, replicas) compares pictures too, and what keeps tokens (states,
 * copies, lost devices) keeps each picture's place, grid and hash. The ids are given out as pictures are met, so they
 * mean something in this process alone: files and sums have the hash instead.
 *
 * Positions follow from the ids as well. A token after text has three equal ones, t = h = w. Of a picture that begins
 * at position p, the cell in a row and a column has t = p, h = p + row, w = p + column; what comes behind it goes on at
 * p + max(rows, columns). So a position lags behind the token's number, by more behind every picture (pads_lag). Keys
 * are masked by number and rotated by position.
 *
 * Threads: any number may call everything here. Entries stay for the life of the process, about 64 bytes for each
 * picture that differs.
 */
#ifndef TANDEM_STATE_PADS_H
#define TANDEM_STATE_PADS_H

#include "engine/tandem.h"

#include <stdatomic.h>

struct pads {
    uint64_t hash[2];               /* of the pixels, and of whatever else their rows of embeddings depend on */
    uint32_t rows, columns, tokens; /* rows * columns */
    tdm_id first;                   /* id of the first cell; that of cell i is first - i */
    /* [tokens][width] rows of embeddings, which the model takes in the tokens' places. NULL: they are not there.
     * A pass that evaluates pads keeps them meanwhile. */
    _Atomic(const float *) embeddings;
    uint32_t width, holders; /* of the embeddings */
};

/* TDM_E_CONTEXT: more pictures were met than there are ids; TDM_E_NOMEM. Equal hashes have equal grids; else
 * TDM_E_FORMAT. */
tdm_status pads_of(struct pads **out, const uint64_t hash[2], uint32_t rows, uint32_t columns, tdm_error *err);
/* pads_give makes the embeddings those of the picture, and the caller a holder; pads_hold makes the caller a holder of
 * embeddings that are there. They stay until all holders have dropped them. Where there are some already, which are the
 * same, pads_give frees those that it was given. */
void pads_give(struct pads *p, float *embeddings, uint32_t width);
bool pads_hold(struct pads *p); /* false: there are none */
void pads_drop(struct pads *p);

/* The pads of an id below 0; *cell (may be NULL): the number of its token. NULL: the id is no picture's. */
struct pads *pads_find(tdm_id id, uint32_t *cell);
/* Whether ids[0..n) have ids below 0. */
bool pads_among(const tdm_id *ids, uint32_t n);
/* Whether a model can take an id in: TDM_E_ARG where it is none of its vocabulary, nor a pad whose row is there. */
tdm_status pads_check(tdm_id id, uint32_t vocab, uint32_t width, tdm_error *err);
/* The row of embeddings of an id; NULL: it is not there, or has another width. */
const float *pads_embedding(tdm_id id, uint32_t width);

/* The next picture in ids[*i .. n), which don't begin within one: *i becomes the place of its first token; returns how
 * many of its tokens are there. 0: there is none. */
uint32_t pads_next(const tdm_id *ids, uint32_t *i, uint32_t n);

/* The position of a token that comes behind ids[0..n), which begin a text, is n less this. */
uint32_t pads_lag(const tdm_id *ids, uint32_t n);

struct pads_position {
    uint32_t t, h, w;
};
/* Of ids[i]; ids[0] is token number `first`, before which positions lag by `lag`. */
struct pads_position pads_position(const tdm_id *ids, uint32_t i, uint32_t first, uint32_t lag);

/* A number that identifies an id in every process: a pad's is made of its picture's hash, another id's is the id. */
uint64_t pads_word(tdm_id id);

/* Where a model rotates by which axis, the pairs interleaved: of pair j. sections: pairs of t, h and w. */
static inline uint32_t pads_axis(const struct pads_position *p, const uint32_t *sections, uint32_t j)
{
    if (j % 3 == 1 && j < 3 * sections[1]) return p->h;
    if (j % 3 == 2 && j < 3 * sections[2]) return p->w;
    return p->t;
}

#endif
