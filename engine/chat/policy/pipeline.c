#include "engine/chat/policy/pipeline.h"

#include "engine/base/error.h"

static const struct pipeline pipelines[TDM_PIPELINES] = {
    [TDM_PIPE_SINGLE] = {"single", TDM_DECODE_UNIT, TDM_DECODE_UNIT, PIECES_WHOLE, TRANSFER_NONE, false},
    [TDM_PIPE_SLOTS] = {"slots", TDM_PREFILL_UNIT, TDM_DECODE_UNIT, PIECES_SLOTS, TRANSFER_BRIDGE, false},
    [TDM_PIPE_SEQUENTIAL_SOLO] = {"sequential-solo", TDM_PREFILL_UNIT, TDM_PREFILL_UNIT, PIECES_ONE, TRANSFER_NONE,
                                  false},
    [TDM_PIPE_SEQUENTIAL] = {"sequential", TDM_PREFILL_UNIT, TDM_DECODE_UNIT, PIECES_ONE, TRANSFER_BRIDGE, false},
    [TDM_PIPE_BATCH_SOLO] = {"batch-solo", TDM_PREFILL_UNIT, TDM_PREFILL_UNIT, PIECES_DISPATCH, TRANSFER_NONE, false},
    [TDM_PIPE_BATCH] = {"batch", TDM_PREFILL_UNIT, TDM_DECODE_UNIT, PIECES_DISPATCH, TRANSFER_BRIDGE, false},
    [TDM_PIPE_TANDEM] = {"tandem", TDM_PREFILL_UNIT, TDM_DECODE_UNIT, PIECES_DISPATCH, TRANSFER_MOVE, true},
};

static const uint32_t slots[] = {64, 256, 512};
enum { SLOTS = sizeof slots / sizeof *slots };

/* 'The whole prompt' in one pass up to this length: the memory of a pass grows with its rows. */
enum { WHOLE_MAX = 1024 };

const struct pipeline *pipeline_of(tdm_pipeline p)
{
    assert_always((unsigned)p < TDM_PIPELINES);
    return &pipelines[p];
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

uint32_t pipeline_rows(const struct pipeline *p, uint32_t dispatch, uint32_t context)
{
    switch (p->pieces) {
    case PIECES_WHOLE: return least(context, WHOLE_MAX);
    case PIECES_ONE: return 1;
    case PIECES_DISPATCH: return least(dispatch, context);
    case PIECES_SLOTS: break;
    }
    return slots[SLOTS - 1];
}

uint32_t pipeline_piece(const struct pipeline *p, uint32_t rest, uint32_t dispatch, uint32_t limit, uint32_t *padded)
{
    assert_always(rest > 0 && limit > 0);
    switch (p->pieces) {
    case PIECES_WHOLE: return *padded = least(rest, limit);
    case PIECES_ONE: return *padded = 1;
    case PIECES_DISPATCH: return *padded = least(rest, least(dispatch, limit));
    case PIECES_SLOTS: break;
    }
    assert_always(limit >= slots[SLOTS - 1]);
    int slot = 0;
    while (slot < SLOTS - 1 && slots[slot] < rest) slot++;
    *padded = slots[slot];
    return least(rest, slots[slot]);
}
