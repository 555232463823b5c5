/* What a tdm_chat is inside. Words first (engine/README.md has more of them): a *state* is what tokens leave behind
 * when they are evaluated (in other engines: the KV cache); the *target* is the next prompt, as far as it is known; a
 * *unit* is a set of cores or a GPU: the prefill unit reads prompts, the decode unit writes replies, and either asks
 * its source (turn.c) for a *job* when it has none, on a thread of its own. A *pass* is a forward pass over tokens of
 * the replies. A *draft* is the text that the user is typing; *drafted* tokens (writer/drafting) have nothing to do
 * with it: they are guessed, then verified.
 *
 * A chat has two dialogues (a conversation, its queued message, the turn under way with a decoder for each answer): one
 * in front, to which the user types, and one in the back, which the user left while it was answered. It has a reader,
 * which makes the state of the target, before Enter as far as it can (the follower, whose next dispatch is its *plan*)
 * or, in pipelines that don't read ahead, all of it after Enter (the prompter, from an empty state); a writer, whose
 * passes let decoders make replies of that state; and the one lock that guards all of it.
 *
 * A turn begins with Enter: tdm_chat_send (engine/api/actions.c) on the caller's thread, then
 *
 *     turn.c                 takes the prompt, and lets the follower hurry or the prompter begin
 *     reader/follow.c        the rest of the prompt is read, in jobs of the prefill unit (prompter: reader/prompt.c)
 *     writer/arrival.c       the whole prompt's state has come to the decoder: handed over within one memory, or copied
 *                            to that of another device (bridge.c)
 *     writer/decode.c        tokens are decoded, in jobs of the decode unit
 *     answer.c               the reply gets text; when it ends the turn is over
 *
 * A turn's stage (policy/stage.h) says what the turn waits for and which events are possible meanwhile; chat_event
 * alone changes it. The pipeline (policy/pipeline.h) says which unit does which part. When a job ends, it compares the
 * stage with the one that it started in, to see whether its turn was stopped meanwhile.
 *
 * A turn has one answer or several: a decoder each, whose tokens are evaluated in passes that they share. One of them
 * is selected: the screen shows it, the follower follows it, and the next message replies to it. The replies in the
 * back share the passes of those in front. Draft and reader serve the dialogue in front, and only that can have a
 * queued message; a function that takes no dialogue means that one.
 *
 * The lock. chat->lock guards everything here except what belongs to a running job: the follower's state while its plan
 * is active; the decoders' states, samplers and replies while the stage says that a job uses them; likewise the
 * prompter's state. It is held for moments only: no state is evaluated and no file read under it. The longest
 * operations under it are sampling one token at a hand-over and making the one checkpoint of a loaded state. The
 * functions of this folder that take a chat are called with it, unless a header says otherwise; the jobs that they give
 * to a unit (job_...) take it themselves. Order: chat->saving, chat->lock, the event queue's.
 *
 * The order of files. Each calls only files below it (tests/test_circle.sh):
 *
 *     turn                 who works next: the units' sources; a turn begins
 *     reader/follow        the prefill unit's work towards the target; the state is handed over
 *     writer/decode        the decode unit's passes, from a reply's first token on
 *     reader/prompt        prompts that are evaluated from an empty state
 *     writer/stream        replies of a server
 *     writer/arrival       a prompt's state has reached the decoder
 *     reader/adopt         the follower takes the decoder's state instead of reading the reply
 *     writer/reply_prefix  the decode unit reads the tokens that a continued reply has already
 *     reader/pictures      pictures are encoded before they are read
 *     prepare              makes the evaluators, decoders and states that a turn needs
 *     lost                 the cores take a GPU's place
 *     full                 turns are left out of a prompt where the context is full
 *     answer               a reply gets text, and ends; with the last one its turn
 *     reader/retarget      the target is computed anew
 *     sides                where each unit computes, and its memory for states
 *     writer/drafting      tokens that are drafted, and verified in a pass
 *     writer/burst         tokens that a GPU samples itself, several in a pass
 *     remote               what differs for a model on a server
 *     chat                 the lock, facts, and the transitions of a stage
 *
 * and then, without a chat: reader/replica, reader/follower, reader/prompter, reader/target, bridge, events, dialogue/,
 * policy/. Two actions must call upwards: a prompt whose state is complete is answered, and the end of a turn lets a
 * message that waits begin the next turn. They are callbacks (struct chat_steps).
 */
#ifndef TANDEM_CHAT_CHAT_H
#define TANDEM_CHAT_CHAT_H

#include "engine/backend/server.h"
#include "engine/chat/dialogue/dialogue.h"
#include "engine/chat/events.h"
#include "engine/chat/policy/pipeline.h"
#include "engine/chat/reader/reader.h"
#include "engine/chat/writer/writer.h"
#include "engine/object/machine.h"
#include "engine/object/model.h"
#include "engine/object/residence.h"

#include <pthread.h>

/* A side of a chat: what one unit needs to run its forward passes (sides.h). */
struct side {
    struct residence residence;
    const struct weights *weights; /* the model's, of the residence */
    struct evaluator *evaluator;   /* of the decoder and the prompter; the follower has one of its own */
    /* The same of both sides if backends, kernels of the weights, and types of keys and values agree. */
    struct pool *pool;
};

/* The two calls upwards, for the dialogue in front (turn.c has the functions), with the lock. When one returns, the
 * turn may have ended, or the next one may have begun. */
struct chat_steps {
    void (*reply)(struct tdm_chat *c);                /* the decoder has the state that the reply begins from */
    void (*over)(struct tdm_chat *c, int64_t now_ns); /* the turn is over, and the event of its end was posted */
};

/* Opened and closed by engine/api/chat.c. */
struct tdm_chat {
    pthread_mutex_t lock;
    /* Held while a checkpoint is copied for a file, and where another thread than the follower's may drop one: for a
     * smaller budget, or when a file's state replaces the follower's. */
    pthread_mutex_t saving;
    pthread_cond_t settled; /* signalled when a job, a turn or a copy for a file has ended */
    const struct tdm_model *model;
    struct tdm_machine *machine;
    struct tdm_machine *own_machine; /* the same, if the chat opened it; or NULL */
    struct machine_client client;    /* the sources of the machine's units while it serves this chat */
    const struct chat_steps *steps;
    tdm_chat_options options; /* as configured last; the stop strings are the chat's own, from its beginning */
    struct side side[TDM_UNITS];
    bool two_pools; /* each side has a pool, and a state is copied from one to the other (bridge.h) */
    bool lost; /* a GPU is lost, and the cores have not taken its place yet */
    struct events *events;
    struct dialogue dialogues[2];
    struct dialogue *front, *back; /* the one to which the user types, and the one that was left while it was
                                      answered */
    struct draft draft;
    struct reader reader;
    struct writer writer;
};

/* ---- The lock ---------------------------------------------------------------------------------------------------- */

void chat_lock(const struct tdm_chat *c);
/* Releases the lock, then signals the events that were posted meanwhile. In this order, because a reader woken on the
 * same CPU that still had to wait for the lock would not run again before the next scheduler tick. */
void chat_unlock(const struct tdm_chat *c);
/* Waits until no job uses a decoder's state or the prompter's; the lock is released meanwhile. */
void chat_quiesce(struct tdm_chat *c);

/* ---- Facts ------------------------------------------------------------------------------------------------------- */

struct unit *chat_unit(const struct tdm_chat *c, int unit);
/* The pipeline of the turn under way, or of the next one. */
const struct pipeline *chat_pipeline(const struct tdm_chat *c);
/* Of the dialogue in front. A phase is a group of stages (policy/stage.h). */
enum stage_phase chat_phase(const struct tdm_chat *c);
/* The options that the prompt depends on: during a turn those of its Enter, otherwise the current ones. */
struct prompt_options chat_prompt_options(const struct tdm_chat *c);
/* Is the model on a server? Then replies come as text (writer/stream.h), and no token is sampled. */
bool chat_on_server(const struct tdm_chat *c);
/* How much is read before Enter: as the options say, or less while nothing may be read ahead. */
tdm_speculation chat_level(const struct tdm_chat *c);
/* The most tokens of forward passes that read a prompt with this model. */
uint32_t chat_dispatch(const struct tdm_chat *c, const struct backend_model *m);
/* Do both units compute the same bits for a token? */
bool chat_sides_agree(const struct tdm_chat *c);
/* May the replies in the back go on now? Not while the one in front waits for its first token. */
bool chat_back_goes_on(const struct tdm_chat *c);

/* ---- Events ------------------------------------------------------------------------------------------------------ */

/* An event of this dialogue's turn: goes to the next stage and carries out the table's action. The event must be
 * possible in the present stage. ON_CLAIM and ON_ADOPT: a unit has asked for work and takes a job, which the caller
 * fills in. */
void chat_event(struct tdm_chat *c, struct dialogue *d, enum stage_event event);

#endif
