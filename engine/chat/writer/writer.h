/* What writing replies works with: the pass that is planned or running, and what passes cost. */
#ifndef TANDEM_CHAT_WRITER_H
#define TANDEM_CHAT_WRITER_H

#include "engine/backend/server.h"
#include "engine/chat/bridge.h"
#include "engine/chat/dialogue/dialogue.h"
#include "engine/chat/policy/drafts.h"
#include "engine/chat/policy/joining.h"
#include "engine/chat/policy/overlap_cost.h"

/* What a run of a pass drew: a token for each of its rows until one differs from the draft of the next row; or for each
 * of several tokens that the backend drew itself. */
enum { SAMPLED_MAX = BACKEND_BURST };
struct sampled {
    tdm_id id[SAMPLED_MAX];
    uint64_t hash[SAMPLED_MAX]; /* of the logits so far, where these are hashed */
    uint32_t n;
    uint32_t taken;    /* of these: up to the reply's last one; as many of its rows stay in the state */
    tdm_finish finish; /* why the last one taken is the reply's last; TDM_FINISH_UNFINISHED: it isn't */
};

/* What the decode unit evaluates at once: a run for each answer that is being written, those in front first. */
enum { PASS_RUNS = 2 * TDM_ANSWERS_MAX };
struct decode_pass {
    struct decoder *decoder[PASS_RUNS];
    struct forward_run run[PASS_RUNS];
    struct sampled sampled[PASS_RUNS];
    tdm_status status[PASS_RUNS]; /* of its sampling, or of making its state; and why it failed */
    tdm_error err[PASS_RUNS];
    uint32_t n;
    uint32_t front, back;       /* of these, runs of the two dialogues */
    const struct state *forked; /* the state that the pass forks for other answers, or NULL */
    bool shares;               /* it began while a dispatch ran */
    uint32_t drafts;           /* of its first run: wanted at first, then made */
    tdm_id tokens[1 + DRAFTS_MAX]; /* of that run: the token that follows, then the drafts */
    double draft_s;            /* seconds that the drafts took */
    struct burst burst; /* if the pass has one run: what the backend evaluates and samples at once; n is 1: no burst */
};

/* The most tokens of a continued reply's own ids in one pass. */
enum { OWN_ROWS = 32 };

/* The running pass over such ids. */
struct own_pass {
    struct decoder *decoder;
    tdm_id ids[OWN_ROWS];
    uint32_t n;
    bool last; /* no ids are left after this pass */
};

/* The decode unit's part: its passes, over the replies of both dialogues. */
struct writer {
    struct decode_pass pass; /* the running one */
    struct joining joining;  /* what it costs the replies in front that those in the back share their passes */
    int waiting;             /* callers that wait until no job uses a decoder; no such job begins meanwhile */
    struct own_pass own_pass;
    uint32_t prefix_from;    /* the decoder's own ids begin behind this many tokens of the prompt */
    struct decoder *carrier; /* the decoder that has the state of the prompt, once it has arrived */
    struct arrival {         /* how the state of the prompt reached the decoder */
        int64_t since_ns;    /* when it began to move; 0: it was there */
        uint64_t bytes;      /* copied for that */
        bool in_place;       /* a reply goes on from the decoder's own state */
    } arrival;
    struct bridge bridge;
    struct server_prompt asked; /* of a server, for the reply under way */
    struct drafting {        /* kept: NULL: no tokens are drafted */
        struct drafts drafts;
        struct forward_kept *kept;
        const struct backend_model *model; /* that `kept` is for; NULL: none */
        float *logits;                     /* [1 + DRAFTS_MAX][vocab] */
        double pretended_share; /* the share of drafts that is accepted; 0: the right ones (tandem/measure.h) */
    } drafting;
    bool again; /* a GPU was lost, or turns were left out: the reply that is read again goes on when it has been read */
    int64_t not_before_ns;   /* pace: when the next token is due; 0: at once */
    struct overlap_cost kept; /* the decoder's speed while the other unit prefills, relative to its speed alone */
    double handover_ms;
    double decode_rate;      /* of the last reply */
};

#endif
