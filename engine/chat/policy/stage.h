/* The state machine of a turn: its stages, the events that are possible in each, and the transitions. It is one table
 * (stage.c) without data; the data of a turn is in struct dialogue. (They are called stages because a state is what
 * evaluated tokens leave behind.)
 *
 *   IDLE     no turn                         READ     the follower reads the prompt
 *   PROMPT   the prompter reads it           RESUME   a stopped reply goes on from the decoder's own state
 *   COLD     a prompt is measured, no turn   PREFIX   the decode unit reads the ids of a continued reply
 *                                            DECODE   the reply is decoded
 *
 * The end of a stage's name says which state a running job uses:
 *
 *   _BUSY    the decoder's state, for another turn or for the follower: the turn waits for it
 *   _RUN     the prompter's state; in PREFIX and DECODE the decoder's, in DECODE also for the follower
 *   _DROP    the prompter's state, for a prompt that is not wanted any more
 *
 * A stage belongs to one turn: that in front has one, and that of the dialogue in the back (chat.h) has another. They
 * share neither decoders nor events.
 *
 * Threads: pure functions.
 */
#ifndef TANDEM_CHAT_STAGE_H
#define TANDEM_CHAT_STAGE_H

#include <stdbool.h>

enum stage {
    STAGE_IDLE,
    STAGE_IDLE_BUSY,
    STAGE_IDLE_DROP,
    STAGE_READ,
    STAGE_READ_BUSY,
    STAGE_RESUME,
    STAGE_RESUME_BUSY,
    STAGE_PROMPT,
    STAGE_PROMPT_BUSY,
    STAGE_PROMPT_RUN,
    STAGE_COLD,
    STAGE_COLD_BUSY,
    STAGE_COLD_RUN,
    STAGE_PREFIX,
    STAGE_PREFIX_RUN,
    STAGE_DECODE,
    STAGE_DECODE_RUN,
    STAGES
};

enum stage_event {
    ON_FOLLOW,       /* a turn begins, or its state is lost; the follower reads its prompt */
    ON_PROMPT,       /* likewise; its prompt is evaluated from an empty state */
    ON_COLD,         /* a prompt without a turn is evaluated from an empty state */
    ON_IN_PLACE,     /* the decoder's own state holds the prompt, or will when its job ends */
    ON_NOT_IN_PLACE, /* it turned out that it doesn't */
    ON_CLAIM,        /* a unit takes the stage's next job */
    ON_ADOPT,        /* a unit takes the job of copying the decoder's state for the follower */
    ON_RETURN,       /* the running job has ended */
    ON_PREFIX,          /* the decoder's state holds the prompt, but not the reply's own ids */
    ON_READY,        /* the decoder's state holds all of it */
    ON_END,          /* the turn is over, or the cold prompt */
    STAGE_EVENTS
};

/* The action of a transition. */
enum stage_action {
    DO_NOTHING,
    DO_WAKE,   /* the unit that waited for the job's end asks for work */
    DO_READ,   /* the follower reads the tokens that the decoder's state lacks */
    DO_CANCEL, /* the running dispatch of the prompt ends at its next layer */
    DO_REPLY,  /* the reply begins */
    DO_EVALUATE,
    DO_DECODE,
    DO_ADOPT, /* the job that is claimed */
    STAGE_ACTIONS
};

struct stage_transition {
    bool possible;
    enum stage next;
    enum stage_action action;
};

/* Not possible: the event cannot happen in this stage. */
struct stage_transition stage_transition(enum stage stage, enum stage_event event);

/* How a turn looks from outside. COLD is no turn. */
enum stage_phase { PHASE_IDLE, PHASE_PROMPT, PHASE_DECODE };
enum stage_phase stage_phase(enum stage stage);
/* Does a job use the decoder's state; the prompter's? Then nothing else may. */
bool stage_uses_decoder(enum stage stage);
bool stage_uses_prompter(enum stage stage);
/* Has the prompter a prompt, still wanted or not? */
bool stage_prompts(enum stage stage);

#endif
