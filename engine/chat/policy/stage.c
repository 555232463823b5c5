#include "engine/chat/policy/stage.h"

#include "engine/base/error.h"

#define TO(stage, action) {true, STAGE_##stage, DO_##action}

/* A transition that is not here can't happen. Jobs end before anything else follows from them: a stage whose job runs
 * knows only its return and the turn's end. */
static const struct stage_transition transitions[STAGES][STAGE_EVENTS] =
    {
        [STAGE_IDLE] =
            {
                [ON_FOLLOW] = TO(READ, NOTHING),
                [ON_PROMPT] = TO(PROMPT, NOTHING),
                [ON_COLD] = TO(COLD, NOTHING),
                [ON_ADOPT] = TO(IDLE_BUSY, ADOPT),
            },
        [STAGE_IDLE_BUSY] =
            {
                [ON_FOLLOW] = TO(READ_BUSY, NOTHING),
                [ON_PROMPT] = TO(PROMPT_BUSY, NOTHING),
                [ON_COLD] = TO(COLD_BUSY, NOTHING),
                [ON_RETURN] = TO(IDLE, NOTHING),
            },
        [STAGE_IDLE_DROP] =
            {
                /* what begins waits for its end: turn_wait_for_stopped_prompt */
                [ON_RETURN] = TO(IDLE, NOTHING),
            },
        [STAGE_READ] =
            {
                [ON_IN_PLACE] = TO(RESUME, NOTHING),
                [ON_ADOPT] = TO(READ_BUSY, ADOPT),
                [ON_PREFIX] = TO(PREFIX, WAKE),
                [ON_READY] = TO(DECODE, REPLY),
                [ON_END] = TO(IDLE, NOTHING),
            },
        [STAGE_READ_BUSY] =
            {
                [ON_IN_PLACE] = TO(RESUME_BUSY, NOTHING),
                [ON_RETURN] = TO(READ, WAKE),
                [ON_END] = TO(IDLE_BUSY, NOTHING),
            },
        [STAGE_RESUME] =
            {
                [ON_NOT_IN_PLACE] = TO(READ, READ),
                [ON_READY] = TO(DECODE, REPLY),
                [ON_END] = TO(IDLE, NOTHING),
            },
        [STAGE_RESUME_BUSY] =
            {
                [ON_RETURN] = TO(RESUME, WAKE),
                [ON_END] = TO(IDLE_BUSY, NOTHING),
            },
        [STAGE_PROMPT] =
            {
                [ON_CLAIM] = TO(PROMPT_RUN, EVALUATE),
                [ON_PREFIX] = TO(PREFIX, WAKE),
                [ON_READY] = TO(DECODE, REPLY),
                [ON_END] = TO(IDLE, NOTHING),
            },
        [STAGE_PROMPT_BUSY] =
            {
                [ON_RETURN] = TO(PROMPT, WAKE),
                [ON_END] = TO(IDLE_BUSY, NOTHING),
            },
        [STAGE_PROMPT_RUN] =
            {
                [ON_RETURN] = TO(PROMPT, NOTHING),
                [ON_END] = TO(IDLE_DROP, CANCEL),
            },
        [STAGE_COLD] =
            {
                [ON_CLAIM] = TO(COLD_RUN, EVALUATE),
                [ON_ADOPT] = TO(COLD_BUSY, ADOPT),
                [ON_END] = TO(IDLE, NOTHING),
            },
        [STAGE_COLD_BUSY] =
            {
                /* its first token is sampled by the decoder's sampler */
                [ON_RETURN] = TO(COLD, WAKE),
            },
        [STAGE_COLD_RUN] =
            {
                [ON_RETURN] = TO(COLD, NOTHING),
            },
        [STAGE_PREFIX] =
            {
                [ON_FOLLOW] = TO(READ, NOTHING),
                [ON_PROMPT] = TO(PROMPT, NOTHING),
                [ON_CLAIM] = TO(PREFIX_RUN, EVALUATE),
                [ON_READY] = TO(DECODE, REPLY),
                [ON_END] = TO(IDLE, NOTHING),
            },
        [STAGE_PREFIX_RUN] =
            {
                [ON_RETURN] = TO(PREFIX, NOTHING),
                [ON_END] = TO(IDLE_BUSY, NOTHING),
            },
        [STAGE_DECODE] =
            {
                [ON_FOLLOW] = TO(READ, NOTHING),
                [ON_PROMPT] = TO(PROMPT, NOTHING),
                [ON_CLAIM] = TO(DECODE_RUN, DECODE),
                [ON_ADOPT] = TO(DECODE_RUN, ADOPT),
                [ON_END] = TO(IDLE, NOTHING),
            },
        [STAGE_DECODE_RUN] =
            {
                [ON_RETURN] = TO(DECODE, NOTHING),
                [ON_END] = TO(IDLE_BUSY, NOTHING),
            },
};

static const struct {
    enum stage_phase phase;
    bool decoder, prompter, prompts;
} stages[STAGES] = {
    [STAGE_IDLE] = {PHASE_IDLE, false, false, false},         [STAGE_IDLE_BUSY] = {PHASE_IDLE, true, false, false},
    [STAGE_IDLE_DROP] = {PHASE_IDLE, false, true, true},      [STAGE_READ] = {PHASE_PROMPT, false, false, false},
    [STAGE_READ_BUSY] = {PHASE_PROMPT, true, false, false},   [STAGE_RESUME] = {PHASE_PROMPT, false, false, false},
    [STAGE_RESUME_BUSY] = {PHASE_PROMPT, true, false, false}, [STAGE_PROMPT] = {PHASE_PROMPT, false, false, true},
    [STAGE_PROMPT_BUSY] = {PHASE_PROMPT, true, false, true},  [STAGE_PROMPT_RUN] = {PHASE_PROMPT, false, true, true},
    [STAGE_COLD] = {PHASE_IDLE, false, false, true},          [STAGE_COLD_BUSY] = {PHASE_IDLE, true, false, true},
    [STAGE_COLD_RUN] = {PHASE_IDLE, false, true, true},       [STAGE_PREFIX] = {PHASE_PROMPT, false, false, false},
    [STAGE_PREFIX_RUN] = {PHASE_PROMPT, true, false, false},  [STAGE_DECODE] = {PHASE_DECODE, false, false, false},
    [STAGE_DECODE_RUN] = {PHASE_DECODE, true, false, false},
};

struct stage_transition stage_transition(enum stage stage, enum stage_event event)
{
    assert_always((unsigned)stage < STAGES && (unsigned)event < STAGE_EVENTS);
    return transitions[stage][event];
}

enum stage_phase stage_phase(enum stage stage)
{
    return stages[stage].phase;
}

bool stage_uses_decoder(enum stage stage)
{
    return stages[stage].decoder;
}

bool stage_uses_prompter(enum stage stage)
{
    return stages[stage].prompter;
}

bool stage_prompts(enum stage stage)
{
    return stages[stage].prompts;
}
