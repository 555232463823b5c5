/* The data of writing replies: the planned or running pass, and measured costs of passes. */
#ifndef TANDEM_CHAT_WRITER_H
#define TANDEM_CHAT_WRITER_H

#include "engine/backend/server.h"
#include "engine/chat/bridge.h"
#include "engine/chat/dialogue/dialogue.h"
#include "engine/chat/policy/drafts.h"
#include "engine/chat/policy/joining.h"
#include "engine/chat/policy/overlap_cost.h"

/* The tokens that were sampled for a run of a pass: one for each of its rows, until one differs from the draft of the
 * next row; or those of a burst, which the backend sampled itself. */
enum { SAMPLED_MAX = BACKEND_BURST };
struct sampled {
    tdm_id id[SAMPLED_MAX];
    uint64_t hash[SAMPLED_MAX]; /* of the logits so far, where these are hashed */
    uint32_t n;
    uint32_t taken;    /* how many of these the reply takes; as many rows stay in the state */
    tdm_finish finish; /* why the last one taken is the reply's last; TDM_FINISH_UNFINISHED: it isn't */
};

/* A pass of the decode unit: a run for each answer that is being written, those in front first. */
enum { PASS_RUNS = 2 * TDM_ANSWERS_MAX };
struct decode_pass {
    struct decoder *decoder[PASS_RUNS];
    struct forward_run run[PASS_RUNS];
    struct sampled sampled[PASS_RUNS];
    tdm_status status[PASS_RUNS]; /* of a run's sampling, or of making its state; err: why it failed */
    tdm_error err[PASS_RUNS];
    uint32_t n;
    uint32_t front, back;       /* of these, runs of the two dialogues */
    const struct state *forked; /* the state that the pass forks for other answers, or NULL */
    bool shares;               /* it began while a dispatch ran */
    uint32_t drafts;           /* of its first run: first the wanted number, then the number made */
    tdm_id tokens[1 + DRAFTS_MAX]; /* of that run: the token that follows, then the drafts */
    double draft_s;            /* seconds that the drafts took */
    struct burst burst; /* if the pass has one run: what the backend evaluates and samples at once; n is 1: no burst */
};

/* The most tokens of a continued reply's own ids in one pass. */
enum { PREFIX_ROWS = 32 };

/* The running pass over such ids. */
struct prefix_pass {
    struct decoder *decoder;
    tdm_id ids[PREFIX_ROWS];
    uint32_t n;
    bool last; /* no ids are left after this pass */
};

/* The decode unit's part: its passes, over the replies of both dialogues. */
struct writer {
    struct decode_pass pass; /* the running one */
    struct joining joining;  /* what it costs the replies in front that those in the back share their passes */
    int waiting;             /* callers that wait until no job uses a decoder; no such job begins meanwhile */
    struct prefix_pass prefix_pass;
    uint32_t prefix_from;    /* the ids of the continued reply begin after this many tokens of the prompt */
    struct decoder *carrier; /* the decoder that has the state of the prompt, once it has arrived */
    struct arrival {         /* how the state of the prompt reached the decoder */
        int64_t since_ns;    /* when it began to move; 0: it was there */
        uint64_t bytes;      /* copied to move it */
        bool in_place;       /* a reply goes on from the decoder's own state */
    } arrival;
    struct bridge bridge;
    struct server_prompt asked; /* the prompt of the running request to a server */
    struct drafting {        /* kept: NULL: no tokens are drafted */
        struct drafts drafts;
        struct forward_kept *kept;
        const struct backend_model *model; /* for which `kept` was made; NULL: none */
        float *logits;                     /* [1 + DRAFTS_MAX][vocab] */
        double pretended_share; /* the share of drafts that is accepted; 0: the right ones (tandem/measure.h) */
    } drafting;
    bool again; /* a GPU was lost, or turns were left out: the reply is being read again, and goes on afterwards */
    int64_t not_before_ns;   /* pace: when the next token is due; 0: at once */
    struct overlap_cost overlap_cost; /* of the decoder, while the other unit prefills */
    double handover_ms;
    double decode_rate;      /* of the last reply */
};

#endif
