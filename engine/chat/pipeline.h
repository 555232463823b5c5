/* The pipelines of engine/README.md: where a prompt is evaluated, in what pieces, and how its state reaches the unit
 * that decodes. One table; chat.c, the options and the benches read it.
 */
#ifndef TANDEM_CHAT_PIPELINE_H
#define TANDEM_CHAT_PIPELINE_H

#include "engine/tandem.h"

enum pieces {
    PIECES_WHOLE,    /* one dispatch, as long as the prompt (at most pipeline_rows) */
    PIECES_SLOTS,    /* padded to the smallest slot that holds the rest; above the largest, whole slots first */
    PIECES_ONE,      /* one token a dispatch */
    PIECES_DISPATCH, /* the chat's dispatch size */
};

enum transfer {
    TRANSFER_NONE,   /* the same unit goes on */
    TRANSFER_BRIDGE, /* saved, read and restored */
    TRANSFER_MOVE,   /* handed over in memory */
};

struct pipeline {
    const char *name;
    int prompt_unit, decode_unit; /* TDM_PREFILL_UNIT or TDM_DECODE_UNIT */
    enum pieces pieces;
    enum transfer transfer;
    bool follows;                 /* the follower keeps a state ready; otherwise each prompt starts from nothing */
};

const struct pipeline *pipeline_of(tdm_pipeline p);

/* The most rows that a forward pass of the prompt has. */
uint32_t pipeline_rows(const struct pipeline *p, uint32_t dispatch, uint32_t context);

/* Tokens of the next dispatch when `rest` are still to be evaluated, at least 1, and in *padded the rows that are
 * computed for them (>= the result). limit: the most rows of one forward pass. */
uint32_t pipeline_piece(const struct pipeline *p, uint32_t rest, uint32_t dispatch, uint32_t limit, uint32_t *padded);

#endif
