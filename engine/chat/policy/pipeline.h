/* The pipelines of engine/README.md: where a prompt is evaluated, in what pieces, and how its state reaches the unit
 * that decodes. One table; the chat, the options and the benches read it.
 */
#ifndef TANDEM_CHAT_PIPELINE_H
#define TANDEM_CHAT_PIPELINE_H

#include "engine/tandem.h"

enum pieces {
    PIECES_WHOLE,    /* one dispatch, as long as the prompt (at most pipeline_rows) */
    PIECES_SLOTS,    /* full dispatches of the largest slot, then the rest padded to the smallest slot that holds it */
    PIECES_ONE,      /* one token a dispatch */
    PIECES_DISPATCH, /* the chat's dispatch size */
};

enum transfer {
    TRANSFER_NONE,   /* the same unit decodes */
    TRANSFER_BRIDGE, /* the state is saved to bytes and restored from them */
    TRANSFER_MOVE,   /* the state is handed over in memory */
};

struct pipeline {
    const char *name;
    int prompt_unit, decode_unit; /* TDM_PREFILL_UNIT or TDM_DECODE_UNIT */
    enum pieces pieces;
    enum transfer transfer;
    bool follows;                 /* the follower reads ahead; otherwise each prompt starts from an empty state */
};

const struct pipeline *pipeline_of(tdm_pipeline p);

/* The maximum number of rows in a forward pass of the prompt. */
uint32_t pipeline_rows(const struct pipeline *p, uint32_t dispatch, uint32_t context);

/* The number of tokens in the next dispatch, at least 1, when `rest` are still to be evaluated; *padded: the rows
 * computed for them, padding included. limit: the maximum number of rows in one forward pass. */
uint32_t pipeline_piece(const struct pipeline *p, uint32_t rest, uint32_t dispatch, uint32_t limit, uint32_t *padded);

#endif
