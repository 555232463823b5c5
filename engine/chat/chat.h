/* What a tdm_chat is inside: a conversation, a follower, decoders, and the lock that they share.
 *
 * One lock (chat->lock) guards everything here except what belongs to a running job: the follower's state while its
 * plan is active, the decoders' states, samplers and replies while the stage says that a job uses them, likewise the
 * prompter's state. It is held for moments only: nobody evaluates a state or reads a file under it, the
 * longest things done under it are sampling one token at a hand-over and the one checkpoint of a state that was loaded.
 * Order: chat->saving, chat->lock, the event queue's.
 *
 * The two units have the chat as their source (turn.c: chat_next_...) while the machine serves it, one chat at a time.
 *
 * What a turn waits for, and what may happen then, is its stage (stage.h). Only chat_on changes it. A job that ends
 * tells by the stage it finds whether its turn is still the one that it worked for.
 *
 * A turn has one answer or several: a decoder each, whose tokens are evaluated in passes that they share. One of them
 * is looked at: the follower follows it, and the next message replies to it.
 *
 * A conversation that is left while it is answered goes on elsewhere (elsewhere.c): its replies have decoders too, and
 * share the passes of the conversation that is in front. Everything else is for the one in front alone.
 */
#ifndef TANDEM_CHAT_CHAT_H
#define TANDEM_CHAT_CHAT_H

#include "engine/backend/server.h"
#include "engine/base/buffer.h"
#include "engine/chat/conversation.h"
#include "engine/chat/drafts.h"
#include "engine/chat/events.h"
#include "engine/chat/follower.h"
#include "engine/chat/guard.h"
#include "engine/chat/joining.h"
#include "engine/chat/kept.h"
#include "engine/chat/pause.h"
#include "engine/chat/pipeline.h"
#include "engine/chat/reply.h"
#include "engine/chat/stage.h"
#include "engine/chat/target.h"
#include "engine/forward/sampler.h"
#include "engine/object/machine.h"
#include "engine/object/model.h"
#include "engine/object/place.h"
#include "engine/state/statefile.h"

#include <pthread.h>

/* What one unit needs to run forward passes. */
struct side {
    struct place place;
    const struct weights *weights; /* the model's, of the place */
    struct evaluator *evaluator;   /* of the decoder and the prompter; the follower has one of its own */
    struct pool *pool; /* both sides share one where backends, weights' kernels and key/value types agree */
};

/* A prompt of a pipeline that doesn't follow, or of tdm_chat_cold. */
struct prompter {
    struct state *state;     /* on the prompt's side; scratch between prompts */
    tdm_ids ids;
    uint32_t done;           /* of ids, evaluated */
    tdm_pipeline pipeline;
    uint32_t dispatch;       /* as it was when the running job was claimed */
    bool cold;               /* only to its first token, for comparison */
    atomic_bool cancel;
    tdm_cold answer;
    tdm_id first_id;         /* the first token of the turn that is compared */
    int reply;               /* its node, turn and attempt */
    uint32_t turn, attempt;
    int64_t start_ns;
};

/* One answer: a reply on its way from the state of its prompt to its last token. */
struct decoder {
    struct state *state;     /* prompt + reply ids, or all of them but the last */
    int number;              /* among the turn's answers, from 1 */
    int node;                /* its reply; 0: none yet, or its conversation is gone */
    bool elsewhere;          /* that is one of the conversation elsewhere */
    bool writing;            /* the reply has begun and not ended */
    size_t lost;             /* the last bytes of its text that no event could tell */
    int unit;                /* where it decodes */
    uint32_t prompt;         /* tokens of the state before the reply */
    tdm_ids own;             /* of a reply to be continued: those that the decode unit reads, not the prefill unit */
    uint32_t held;           /* tokens of the state while no job runs on it; 0: no state to continue from */
    uint32_t turn, attempt;  /* of the random numbers */
    uint32_t index;          /* number of the next token in its reply */
    tdm_id next;             /* sampled last, not evaluated yet */
    struct sampler *sampler;
    tdm_sampling sampling;   /* as it was when the reply began */
    uint32_t max_tokens;     /* likewise; 0: no limit */
    uint32_t max_answer;     /* likewise; thinking is not counted */
    struct reply reply;
    struct guard guard;      /* of what the reply has since it began or was continued */
    double mtp_accept;       /* likewise */
    bool hashes;
    uint64_t logits_hash;    /* so far; the running job's, copied to the statistics when its token is taken */
    uint32_t coming;         /* tokens that the running job adds to the state, at most: from 1 on of a reply's, 0 of
                                another job */
    /* While accepted drafts are added to the state: those, the first one's forerunner before them, and the token drawn
     * last; else `flights` is 0 and only `next` is known of what follows in the state. */
    tdm_id flight[2 + DRAFTS_MOST];
    uint32_t flights;
    tdm_turn_stats stats;    /* the turn's, with those of this reply */
};

/* The tokens that are known behind those that the state holds while no job runs. */
static inline uint32_t decoder_behind(const struct decoder *d)
{
    return d->flights ? d->flights : 1;
}
static inline tdm_id decoder_token(const struct decoder *d, uint32_t i)
{
    return d->flights ? d->flight[i] : d->next;
}

/* What a run of a pass drew: a token for each of its rows until one differs from the draft of the next row; or for each
 * of several tokens that the backend drew itself. */
enum { DRAWN_MOST = BACKEND_SEVERAL };
struct drawn {
    tdm_id id[DRAWN_MOST];
    uint64_t hash[DRAWN_MOST]; /* of the logits so far, where these are hashed */
    uint32_t n;
    uint32_t taken;    /* of these: up to the reply's last one; as many of its rows stay in the state */
    tdm_finish finish; /* why the last one taken is the reply's last; TDM_UNFINISHED: it isn't */
};

/* What the decode unit evaluates at once: a run for each answer that is being written, those in front first. */
enum { PASS_RUNS = 2 * TDM_ANSWERS_MAX };
struct decode_pass {
    struct decoder *decoder[PASS_RUNS];
    struct forward_run run[PASS_RUNS];
    struct drawn drawn[PASS_RUNS];
    tdm_status status[PASS_RUNS]; /* of its draw, or of making its state; and why it failed */
    tdm_error err[PASS_RUNS];
    uint32_t n;
    uint32_t front, elsewhere; /* of these, runs of the two conversations */
    const struct state *forked; /* the state of which it makes others, or NULL */
    bool shares;               /* it began while a dispatch ran */
    uint32_t drafts;           /* of its first run: wanted at first, then made */
    tdm_id tokens[1 + DRAFTS_MOST]; /* of that run: the token that follows, then the drafts */
    double draft_s;            /* seconds that the drafts took */
    struct several several;    /* of its only run, what the backend evaluates and draws at once; n is 1: no more */
};

/* A conversation that was left while it was answered: what struct tdm_chat has of the one in front. Where there is
 * none, its decoders are spare ones, and its stage may be IDLE_BUSY until the pass that they were in has ended. */
struct elsewhere {
    bool there;
    struct conversation conversation;
    int path_start, user_node, reply_node;
    tdm_ids last_prompt;
    tdm_turn_stats stats;
    int turns_since_load;
    bool was_loaded, context_warned;
    enum stage stage; /* IDLE or DECODE, and what these become while a job runs */
    tdm_pipeline pipeline;
    struct decoder *decoders[TDM_ANSWERS_MAX], *decoder;
    int answers;
    bool forks;
};

/* The most tokens of a continued reply's own ids in one pass. */
enum { OWN_ROWS = 32 };

/* The running pass over such ids. */
struct own_pass {
    struct decoder *decoder;
    tdm_id ids[OWN_ROWS];
    uint32_t n;
    bool last; /* none is left behind it */
};

/* Pages and buffers kept ready, already touched, for the next dispatches, forks and hand-overs. */
enum { READY_PAGES = 16, READY_BUFFERS = 3 };

struct tdm_chat {
    pthread_mutex_t lock;
    pthread_mutex_t saving;  /* a checkpoint is being copied for a file, or may be dropped by another thread than the
                                follower's: another budget, a file's state that takes the follower's place */
    pthread_cond_t settled;  /* signalled when something ended: tdm_chat_wait_idle, tdm_chat_save_state */
    const struct tdm_model *model;
    struct tdm_machine *machine;
    struct client client;    /* of the machine's */
    tdm_chat_options options;
    const char **stops;      /* copies */
    struct side side[TDM_UNITS];
    bool two_pools;
    tdm_pipeline pipeline;   /* of the turn under way */

    struct events *events;
    struct conversation conversation;
    int editing;             /* the user node that the draft will be a sibling of, or 0 */
    int leaf_before_edit;
    int path_start;          /* messages left out at the beginning of the path (drop-oldest) */

    struct buffer draft;
    bool draft_held, draft_closed, draft_too_long;
    struct typing typing;    /* last_ns: its last change */
    uint32_t draft_tokens;   /* of one that is too long, with what closes its turn; 0: not counted */

    struct target_cache *targets;
    struct target target;
    struct follower follower;
    uint32_t read_again;     /* tokens behind the first that the last tdm_chat_configure made another one */
    struct state *loaded;    /* read from a file; replaces the follower's state when no job uses that; or NULL */
    bool dry;                /* the pool could not be warmed: no memory */
    bool follower_failed;    /* its last dispatch failed: it rests until the target changes */

    enum stage stage;        /* of the turn */
    int user_node;
    int reply_node;          /* while its prompt is evaluated: the reply that is to be continued, or 0 */
    tdm_turn_stats stats;    /* of the turn under way: of its prompt, from which those of its replies begin */
    uint64_t evaluated_mark; /* follower.figures.evaluated when the last reply began */
    uint32_t suffix_mark;    /* follower.figures.suffixes when the last reply began */
    uint32_t turn_base;      /* tokens that the prompt shares with the last one: not evaluated for this turn */
    uint32_t read_at_enter;  /* tokens of the prompt evaluated at Enter and not discarded since */
    struct {                 /* the follower's tokens [from, to) came from the decoder's state */
        uint32_t from, to;
    } adopted;
    tdm_ids last_prompt;     /* without its user turn */
    uint32_t unfollowed;     /* reply tokens since the follower was woken */
    int turns_since_load;    /* turns since the conversation was begun or loaded */
    bool was_loaded;         /* it was loaded */
    bool head_start;         /* the draft began as the text of an edited message */
    bool context_warned;

    struct buffer queued;
    bool has_queued;
    int queued_answers;      /* that the message gets; without a message: more to the last one; 0: one */

    struct prompter prompter;
    struct decoder *decoders[TDM_ANSWERS_MAX]; /* that there are; the turn's answers are the first ones; then NULL */
    int answers;             /* of the turn under way or the last one */
    bool forks;              /* the other answers' states are to be made from the first one's */
    struct decoder *decoder; /* the answer that is looked at; changes while no answer is, or among a turn's */
    struct decode_pass pass; /* the running one */
    struct elsewhere elsewhere;
    struct joining joining;  /* what it costs the replies in front that it shares their passes */
    int waiting;             /* callers who wait until no job uses a decoder: none is begun meanwhile */
    struct own_pass own_pass;
    struct decoder *carrier; /* whose state is that of the prompt, when it has arrived */
    struct drafting {        /* kept: NULL: no tokens are drafted */
        struct drafts drafts;
        struct forward_kept *kept;
        const struct backend_model *model; /* that `kept` is for; NULL: none */
        float *logits;       /* [1 + DRAFTS_MOST][vocab] */
    } drafting;
    uint32_t own_from;       /* the decoder's own ids begin behind so many tokens of the prompt */
    bool lost;               /* a GPU is lost, and the cores have not taken its place yet */
    bool again;              /* the reply that is read again goes on then, as if nothing had been */
    struct arrival {         /* how the state of the prompt reached the decoder */
        int64_t since_ns;    /* when it began to move; 0: it was there */
        uint64_t bytes;      /* copied for that */
        bool in_place;       /* a reply goes on from the state that it left */
    } arrival;
    int64_t not_before_ns;   /* pace: when the next token is due; 0: at once */
    struct kept kept;        /* the decoder's speed while the other unit prefills, relative to its speed alone */
    struct state_bytes bridge;
    double handover_ms;
    double decode_rate;      /* of the last reply */
    double prefill_rate;
    bool never_adopts;       /* the follower evaluates everything itself: for measuring, and with a server */
    uint32_t asked;          /* of a server: tokens of the turn's prompt that it was asked to evaluate before Enter */
    bool ahead_failed;       /* it could not be asked to read ahead, which was said; until it can */
    atomic_int fail_dispatches; /* fault injection: how many of the follower's next dispatches fail */
};

/* ---- chat.c ------------------------------------------------------------------------------------------------------ */

void chat_lock(const struct tdm_chat *c);
/* Releases the lock, then signals the events that were posted meanwhile. In this order, because a reader woken on the
 * same CPU that still had to wait for the lock would not run again before the next scheduler tick. */
void chat_unlock(const struct tdm_chat *c);

/* The functions below are called with the lock held unless it says otherwise; the jobs of the units (job_...) take it
 * themselves.
 *
 * ---- turn.c: the sources of the units, a turn's beginning and end ------------------------------------------------ */

struct unit *chat_unit(const struct tdm_chat *c, int unit);
/* The pipeline of the turn under way, or of the next one. */
const struct pipeline *chat_pipeline(const struct tdm_chat *c);
/* Something happened: goes to the next stage and carries out what the table says. It must be possible now. A claimed
 * job (ON_CLAIM) is the caller's to fill in. */
void chat_on(struct tdm_chat *c, enum stage_event event);
enum stage_phase chat_phase(const struct tdm_chat *c);

/* The sources of the units; without the lock. */
int64_t chat_next_prefill(void *chat, int64_t now_ns, struct work *work);
int64_t chat_next_decode(void *chat, int64_t now_ns, struct work *work);

/* Waits until a stopped prompt is let go, at its next layer. TDM_E_BUSY: a cold one is being measured. */
tdm_status chat_let_go(struct tdm_chat *c, tdm_error *err);
/* Starts on so many answers to `user`; 0: on the continuation of the current leaf, a reply to it. */
tdm_status chat_begin(struct tdm_chat *c, int user, int answers, int64_t enter_ns, tdm_turn_mark mark, tdm_error *err);
/* Ends the replies that are being written, or discards the prompt that is being evaluated. */
void chat_end(struct tdm_chat *c, tdm_finish finish);
/* Ends one reply that is being written. With the last one the turn ends, and the next may have begun on return. */
void chat_end_answer(struct tdm_chat *c, struct decoder *d, tdm_finish finish);
/* Sends the queued message, if there is one. */
void chat_send_queued(struct tdm_chat *c, int64_t now_ns, tdm_turn_mark mark);

/* ---- retarget.c: the target of the moment ------------------------------------------------------------------------ */

/* Computes the newest target. */
void chat_compute_target(struct tdm_chat *c, int64_t now_ns);
/* The same, then cancels a running dispatch that is not part of it, and wakes the prefill unit. */
void chat_retarget(struct tdm_chat *c, int64_t now_ns);
/* What is read before Enter: as the options say, less where nothing is to be read ahead for now. */
tdm_speculation chat_level(const struct tdm_chat *c);
/* Where reading happens at pauses only, when the next may begin: INT64_MAX, after the reply; 0: now. */
int64_t chat_rests_until(const struct tdm_chat *c, int64_t now_ns);
/* How long the user must rest before the draft is treated as the complete message. */
int64_t chat_pause_ns(const struct tdm_chat *c);
/* Has the user rested that long? */
bool chat_draft_rests(const struct tdm_chat *c, int64_t now_ns);
/* Will the draft be treated as the complete message if the user types nothing more? */
bool chat_waits_for_pause(const struct tdm_chat *c);
/* Tokens of the prompt if the draft were sent now; 0 if there is none. Invalidates the target. */
uint32_t chat_prompt_length(struct tdm_chat *c);

/* ---- follow.c: the work of the prefill unit ---------------------------------------------------------------------- */

/* The next work towards the target: as chat_next_prefill, with the lock. */
int64_t chat_next_follow(struct tdm_chat *c, int64_t now_ns, struct work *work);
/* The follower has read the whole prompt, and the decoder is free. */
bool chat_can_hand_over(const struct tdm_chat *c);
/* Exchanges the states of follower and decoder, which takes no time, and begins the reply. Within one pool only. */
void chat_hand_over(struct tdm_chat *c);
/* Replaces the follower's state by `loaded`, which is set; no job uses the follower's state. */
void chat_adopt_loaded(struct tdm_chat *c);

/* ---- adopt.c: the decoder's state as the follower's -------------------------------------------------------------- */

/* Is the newest target, as computed last, wholly made of tokens that the decoder has or is about to evaluate, so that
 * the follower need not? Only where its state can be adopted at all. */
bool chat_decoder_leads(const struct tdm_chat *c);
/* How many tokens of the target an adoption would bring now; 0: there is nothing to adopt. */
uint32_t chat_adoptable(const struct tdm_chat *c);
/* The next work, if the follower is to adopt the decoder's state now; the unit's driver is of `unit`. */
bool chat_next_adoption(struct tdm_chat *c, int unit, int64_t now_ns, struct work *work);

/* ---- prompt.c: prompts from an empty state ----------------------------------------------------------------------- */

int64_t chat_next_prompt(struct tdm_chat *c, struct work *work);
/* Evaluates the ids of the target in the current pipeline. */
tdm_status chat_begin_prompt(struct tdm_chat *c, tdm_error *err);
/* Evaluates the prompt of this reply from an empty state, to its first token. After chat_let_go. */
tdm_status chat_begin_cold(struct tdm_chat *c, int reply, tdm_pipeline pipeline, tdm_error *err);

/* ---- decoders.c -------------------------------------------------------------------------------------------------- */

/* Makes a decoder without a state at this place, where there is none. */
tdm_status chat_add_decoder(const struct tdm_chat *c, struct decoder **at, tdm_error *err);
/* Frees it with its state; the place is empty then. No job uses it. */
void chat_remove_decoder(struct decoder **at);
/* A turn with so many answers is to begin: the decoder that is looked at, whose state may serve it, becomes the first
 * and for now the only one. Those that are not needed are freed if no job uses them. */
void chat_arrange_decoders(struct tdm_chat *c, int answers);
/* The decoder that wrote, or writes, this node in the turn under way or the last one; or NULL. */
struct decoder *chat_decoder_of(const struct tdm_chat *c, int node);
/* How many answers of the turn under way are being written. */
int chat_writing(const struct tdm_chat *c);

/* ---- elsewhere.c: a conversation that is answered in the background ---------------------------------------------- */

/* What a decoder's reply belongs to, and how many answers its turn has. */
struct conversation *chat_conversation_of(struct tdm_chat *c, const struct decoder *d);
int chat_answers_of(const struct tdm_chat *c, const struct decoder *d);
/* Is a reply being written that this decoder is one of, and does a job run for it? */
bool chat_runs(const struct tdm_chat *c, const struct decoder *d);
/* How many answers are being written elsewhere. */
int chat_writing_elsewhere(const struct tdm_chat *c);
/* As chat_on, for the turn elsewhere. */
void chat_on_elsewhere(struct tdm_chat *c, enum stage_event event);
/* May its replies go on now? Not while the one in front waits for its first token. */
bool chat_goes_on_elsewhere(const struct tdm_chat *c);
/* Its replies end. */
void chat_end_elsewhere(struct tdm_chat *c, tdm_finish finish);
/* One of them has ended: as chat_end_answer, which calls it. */
void chat_conclude_elsewhere(struct tdm_chat *c, const struct decoder *d, tdm_finish finish);
/* Frees the states of its decoders unless they are needed. */
void chat_rest_elsewhere(struct tdm_chat *c);
void chat_close_elsewhere(struct tdm_chat *c);
/* Waits until no job uses a decoder's state or the prompter's. */
void chat_quiesce(struct tdm_chat *c);

/* ---- own.c: what a continued reply has already, where the units give other bits ---------------------------------- */

/* A reply is to be continued, and the target was computed for that: takes its own ids. */
tdm_status chat_take_own(struct tdm_chat *c, tdm_error *err);
/* Is a part of them missing in the decoder's state, which holds the prompt? */
bool chat_lacks_own(const struct tdm_chat *c);
/* The next work of the decode unit in STAGE_OWN. */
int64_t chat_next_own(struct tdm_chat *c, struct work *work);

/* ---- decode.c: replies ------------------------------------------------------------------------------------------- */

/* The next pass of the unit, for the replies in front and elsewhere. */
int64_t chat_next_token(struct tdm_chat *c, int unit, int64_t now_ns, struct work *work);
/* The decoder has the state of the whole prompt: makes the reply's node, and ON_READY happens.
 * moving_ns: when the state began to move here, bytes: what that copied; 0: it did not move. */
void chat_begin_reply(struct tdm_chat *c, int64_t moving_ns, uint64_t bytes);
/* Begins the replies and draws their first token. One that goes on from the decoder's own state may lack its last token
 * there, which is then the first that is decoded. */
void chat_reply(struct tdm_chat *c);
/* Does the decoder's state hold the whole prompt but for one token at most, or will it at the end of its running job?
 * Then a reply is continued right there. */
bool chat_continues_in_place(const struct tdm_chat *c);
/* Goes on with a stopped reply, once no job runs on the decoder's state. The last one may have failed. */
void chat_go_on(struct tdm_chat *c);
/* Does the loop guard look at replies now? Where it doesn't, it begins anew when it does again. */
bool chat_guards(const struct tdm_chat *c, struct decoder *d);
/* The message that a reply answers. */
struct span chat_message_of(struct tdm_chat *c, const struct decoder *d);
/* Appends text to a reply and tells it. id: the token that it came with, -1: none. */
void chat_give_text(struct tdm_chat *c, struct decoder *d, struct span text, bool thinking, tdm_id id);
/* Fills in what of this turn's prompt was there at Enter, and so its kind. */
void chat_account_before(struct tdm_chat *c);

/* ---- stream.c: replies of a server ------------------------------------------------------------------------------- */

/* Is the model on a server? Then replies come as text (chat_next_stream), and no token is drawn. */
bool chat_on_server(const struct tdm_chat *c);
/* TDM_E_UNSUPPORTED: an option asks for what only a model that is here can do. */
tdm_status chat_check_server(const tdm_chat_options *o, const tdm_model *m, tdm_error *err);
/* What may not be read ahead there is not: lowers the level. told: says so, unless it was as low before. */
void chat_cap_server(struct tdm_chat *c, bool told);
/* How much more of our tokens than of the server's a context may hold, 1 where the model is here: words are counted by
 * a small vocabulary, and the server knows better when its context is full. */
uint32_t chat_room_factor(const struct tdm_chat *c);
/* Tokens of the context that a reply has filled with its prompt: the server's own count where it told it. */
uint32_t chat_filled(const struct decoder *d);
/* Says which of the options have no meaning there; once. */
void chat_tell_server(struct tdm_chat *c);
/* The prompt of the turn is known, and the decoder is free: begins the reply, whatever was read ahead of it. */
void chat_ask_server(struct tdm_chat *c);
/* The next work of the decode unit in STAGE_DECODE. */
int64_t chat_next_stream(struct tdm_chat *c, struct work *work);
/* A key has changed the draft, and something may be sent before Enter: the server's caller learns of it, so without the
 * lock. */
void chat_warn_server(const struct tdm_chat *c);
/* The least rest of a draft that is worth a request, in ns. */
int64_t chat_server_pause_ns(const struct tdm_chat *c);

/* ---- drafting.c: tokens drafted and verified --------------------------------------------------------------------- */

/* Allocates what drafting needs if the decode unit's backend can verify; without memory for it nothing is drafted. */
void chat_prepare_drafting(struct tdm_chat *c);
/* Is what is prepared for the unit that decodes now? */
bool chat_drafting_fits(const struct tdm_chat *c);
void chat_free_drafting(struct tdm_chat *c);
/* How many tokens to draft for the pass to come, which has this decoder's run alone. */
uint32_t chat_drafts_wanted(const struct tdm_chat *c, const struct decoder *d);
/* Of a claimed pass, without the lock: makes its drafts and its run one to be verified, unless there are none. */
void chat_make_drafts(struct tdm_chat *c, struct team *team);
/* Likewise after the pass: draws the tokens of a verified run's rows. */
void chat_draw_rows(const struct tdm_chat *c, struct decoder *d, const struct forward_run *run, struct drawn *out);
/* Likewise: the rows of the tokens taken become the state's. */
void chat_accept_drafts(struct tdm_chat *c, struct team *team);
/* With the lock: the pass took so many seconds, its drafts included. */
void chat_count_drafts(struct tdm_chat *c, double took, bool timed);

/* ---- several.c: tokens that a backend draws itself -------------------------------------------------------------- */

/* The pass to come has one run: how much of that may be evaluated at once, before the host is needed, if no tokens can
 * be drafted. */
void chat_plan_several(struct tdm_chat *c);
/* Of a claimed pass, without the lock: evaluates and draws them. */
tdm_status chat_draw_several(struct tdm_chat *c, uint64_t *bytes, tdm_error *err);

/* ---- chat.c ------------------------------------------------------------------------------------------------------ */

/* The most tokens of forward passes that read a prompt with this model. */
uint32_t chat_dispatch(const struct tdm_chat *c, const struct backend_model *m);
/* Makes *e one for so many rows and runs, or more, if it is not; *e may be NULL. No job uses it. */
tdm_status chat_evaluator(struct tdm_chat *c, struct evaluator **e, const struct side *side, uint32_t rows,
                          uint32_t runs, tdm_error *err);

/* Copies a node for tdm_chat_node. */
tdm_status chat_copy_node(const struct conversation *c, int node, tdm_node *out, tdm_error *err);

/* Allocates the evaluators, decoders and states of a pipeline that are not there yet, for so many answers. Not during
 * a turn. cold: for chat_begin_cold, which evaluates the prompt by itself in any pipeline. */
tdm_status chat_prepare(struct tdm_chat *c, tdm_pipeline pipeline, int answers, bool cold, tdm_error *err);

/* ---- sides.c ----------------------------------------------------------------------------------------------------- */

/* Where each unit computes, and the pools of its states; by the options and the machine. */
tdm_status chat_open_sides(struct tdm_chat *c, tdm_error *err);
/* The default where it is 0. */
tdm_status chat_set_context(tdm_chat_options *o, const struct tdm_model *m, tdm_error *err);
/* After all states. */
void chat_close_sides(struct tdm_chat *c);
/* Does a token get the same bits whichever unit evaluates it? */
bool chat_sides_agree(const struct tdm_chat *c);

/* ---- lost.c ------------------------------------------------------------------------------------------------------ */

/* A job has failed and returned: was that because a GPU is lost? Then says so, once, and the turn waits for the cores
 * to take its place. In STAGE_DECODE it goes back to its prompt. */
bool chat_lose(struct tdm_chat *c, const char *why);
/* The cores take the lost GPU's place. False: a job uses its states, ask again. */
bool chat_recover(struct tdm_chat *c);

/* ---- bridge.c ---------------------------------------------------------------------------------------------------- */

/* Moves a state from one side to another: in memory where the pool is the same, else through the bridge. *state becomes
 * the result on the destination's pool; spare, a state of that pool, is consumed. Fills the times in stats. Without the
 * lock. */
tdm_status chat_transfer(struct tdm_chat *c, struct state **state, struct state *spare, tdm_turn_stats *stats,
                         tdm_error *err);
/* Copies these times. */
void chat_record_transfer(tdm_turn_stats *to, const tdm_turn_stats *from);

#endif
