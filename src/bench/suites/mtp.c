/* `tandem bench mtp`: tokens that are drafted, and verified by one pass (engine/chat/writer/drafting.c). What passes
 * cost and what the head costs a prompt: verify.c. Here: replies with drafts beside replies without, and how much
 * of a text can be drafted at all. */
#include "src/bench/suites/mtp.h"

#include <stdlib.h>

#include "engine/base/error.h"
#include "engine/object/model.h"
#include "engine/tandem/measure.h"
#include "src/bench/report/plan.h"
#include "src/bench/talk.h"

/* ---- Decode ------------------------------------------------------------------------------------------------------ */

enum { REPLY_TOKENS = 128, SLOW_REPLY_TOKENS = 64, QUICK_REPLY_TOKENS = 24, MESSAGE_TOKENS = 74 };

/* Replies are shorter where reading the weights for a token takes long. */
static int reply_tokens(const bench *b)
{
    bool slow = (double)b->info.bytes_per_token > 0.1 * b->host.read;
    return b->quick ? QUICK_REPLY_TOKENS : slow ? SLOW_REPLY_TOKENS : REPLY_TOKENS;
}

static const char decode_columns[] = "decode:tok/s|of_off:x|a_pass:tokens|drafted:tokens|right:%";
enum { DECODE, OF_OFF, A_PASS, DRAFTED, RIGHT };

/* What is asked: acceptance depends on how predictable the words are. */
static const struct kind {
    const char *name;
    const char *questions[3]; /* one after the other; NULL: words of assets/bench.txt */
} kinds[] = {
    {"story", {"Tell me a short story about a dog.", "Tell me a story about an old lighthouse.",
               "Write a little story about two brothers."}},
    {"facts", {"What do you know about the Moon?", "What is the capital of Peru, and what else do you know about it?",
               "Explain to me what a volcano is."}},
    {"list", {"Count from 1 to 40.", "List the days of the week, then the months of the year.",
              "Give me a list of ten animals, one a line."}},
    {"any", {NULL}},
};
enum { KINDS = sizeof kinds / sizeof *kinds, ANY = KINDS - 1, QUESTIONS = 3 };

struct way {
    const char *name;
    int mtp;
    bool simulated; /* --mtp-accept */
};

struct decoding {
    bench_table *t;
    tdm_machine *machine;
    struct {
        int kind;
        struct way way;
    } row[4 * KINDS];
    int n;
    double off_tps[KINDS]; /* of the newest reply without drafts */
    double accept;
    int reply;
};

/* A reply in a conversation of its own, so that it includes learning how many drafts are worth while. Replies of one
 * round have the same seed, and so the same text, unless drafts are simulated. */
static tdm_status ask(bench *b, const struct decoding *x, int number, int round, tdm_turn_stats *stats, tdm_error *err)
{
    bench_talk talk;
    tdm_chat_options o;
    char *message = NULL;
    int kind = x->row[number].kind;
    const struct way *way = &x->row[number].way;
    const char *text = kinds[kind].questions[kind == ANY ? 0 : round % QUESTIONS];
    bench_chat_options(b, &o);
    o.max_tokens = x->reply;
    o.mtp = way->mtp;
    if (text) {
        tdm_chat_options models;
        tdm_chat_defaults(&models, b->models.model);
        o.sampling = models.sampling;
        o.sampling.seed = (uint64_t)round + 1;
    }
    tdm_status status = TDM_OK;
    if (!text)
        status = bench_prompt_message(&b->prompt, b->models.model, 0, MESSAGE_TOKENS, &message, err);
    if (!status) status = bench_talk_open(&talk, b->models.model, x->machine, &o, err);
    if (!status) {
        status = tdm_chat_pretend_drafts(talk.chat.chat, way->simulated ? x->accept : 0, err);
        if (!status) status = bench_talk_ask(&talk, text ? text : message, err);
        *stats = talk.stats;
        bench_talk_close(&talk);
    }
    free(message);
    return status;
}

static tdm_status measure_decode(bench *b, void *ctx, int number, int round, tdm_error *err)
{
    struct decoding *x = ctx;
    const struct way *way = &x->row[number].way;
    int kind = x->row[number].kind;
    tdm_turn_stats s;
    bench_step(b, "%s, %s", kinds[kind].name, way->name);
    tdm_status status = ask(b, x, number, round, &s, err);
    if (status || !s.passes) return status;
    int row = bench_table_row(x->t, "%s|%s", kinds[kind].name, way->name);
    bench_table_add(x->t, row, DECODE, s.decode_tps);
    if (way->mtp == TDM_MTP_OFF) x->off_tps[kind] = s.decode_tps;
    else if (x->off_tps[kind] > 0) bench_table_add(x->t, row, OF_OFF, s.decode_tps / x->off_tps[kind]);
    bench_table_add(x->t, row, A_PASS, 1 + (double)s.accepted / s.passes);
    if (way->mtp != TDM_MTP_OFF) bench_table_add(x->t, row, DRAFTED, (double)s.drafted / s.passes);
    if (s.drafted) bench_table_add(x->t, row, RIGHT, 100.0 * s.accepted / s.drafted);
    return TDM_OK;
}

static void add_row(bench *b, struct decoding *x, bench_plan *plan, int kind, struct way way)
{
    x->row[x->n].kind = kind;
    x->row[x->n++].way = way;
    bench_plan_add(b, plan, "%s|%s", kinds[kind].name, way.name);
}

static tdm_status plan_decode(bench *b, struct decoding *x, bench_plan *plan)
{
    static const struct way off = {"off", TDM_MTP_OFF, false}, automatic = {"auto", TDM_MTP_AUTO, false};
    static char name[48];
    snprintf(name, sizeof name, "auto, simulated P %g", x->accept);
    /* A made-up model answers no question. */
    for (int kind = b->info.synthetic ? ANY : 0; kind < KINDS; kind++) {
        add_row(b, x, plan, kind, off);
        add_row(b, x, plan, kind, automatic);
        if (kind == ANY && x->accept > 0) add_row(b, x, plan, kind, (struct way){name, TDM_MTP_AUTO, true});
    }
    return TDM_OK;
}

tdm_status bench_mtp_decode(bench *b, tdm_error *err)
{
    struct decoding x = {.reply = reply_tokens(b)};
    char title[200];
    x.accept = options_real(b->o, OPTION_MTP_ACCEPT, 0);
    snprintf(title, sizeof title,
             "replies of %d tokens by --mtp; of_off: of the reply without drafts of the same round, and seed; a pass: "
             "tokens of the reply for one reading of the weights",
             x.reply);
    x.t = bench_new_table(b, "decode", title, "text|drafts", decode_columns, err);
    if (!x.t) return err->code;
    if (x.accept > 0)
        bench_table_note(x.t,
                         "SIMULATION: with P %g a draft counts as right by a random number, whatever the model says: "
                         "the text is wrong, its time that of drafts as good as that",
                         x.accept);
    if (b->info.synthetic)
        bench_table_note(x.t, "made-up weights, no draft is right but by chance; auto: what it costs to find out");
    tdm_status status = bench_machine(b, &x.machine, !options_flag(b->o, OPTION_NO_LENDING), err);
    bench_plan plan;
    bench_plan_open(&plan, x.t);
    if (!status) status = plan_decode(b, &x, &plan);
    if (!status) status = bench_plan_run(b, &plan, measure_decode, &x, err);
    bench_plan_close(&plan);
    tdm_machine_close(x.machine);
    return status;
}

/* ---- Coverage ---------------------------------------------------------------------------------------------------- */

static bool can_be_drafted(const struct weights *w, tdm_id id)
{
    uint32_t tile = (uint32_t)id / MATRIX_TILE;
    if (tile < w->drafted.first_tiles) return true;
    for (uint32_t i = 0; i < w->drafted.n_more; i++)
        if (w->drafted.more[i] == tile) return true;
    return false;
}

tdm_status bench_mtp_coverage(bench *b, tdm_error *err)
{
    const struct weights *w = b->models.model->weights;
    tdm_ids ids = {0};
    bench_table *t = bench_new_table(b, "coverage", "tokens of a text that drafts can be: the LM head's first rows",
                                     "text", "tokens:tokens|rows:rows|covered:%", err);
    if (!t) return err->code;
    t->unwanted = !bench_wanted(b, "coverage bench.txt");
    if (t->unwanted) return TDM_OK;
    tdm_status status = bench_prompt_ids(&b->prompt, b->models.model, 0, (size_t)b->prompt.n, &ids, err);
    size_t covered = 0;
    for (size_t i = 0; i < ids.n; i++) covered += can_be_drafted(w, ids.ids[i]);
    uint32_t rows = (w->drafted.first_tiles + w->drafted.n_more) * MATRIX_TILE;
    for (int run = 0; run < BENCH_LEAST_RUNS && !status && ids.n; run++) { /* a count: each run is the same */
        int row = bench_table_row(t, "bench.txt");
        bench_table_add(t, row, 0, (double)ids.n);
        bench_table_add(t, row, 1, rows < w->config.vocab ? rows : w->config.vocab);
        bench_table_add(t, row, 2, 100.0 * (double)covered / (double)ids.n);
    }
    if (b->info.synthetic) bench_table_note(t, "the text is in the built-in model's tokens");
    tdm_ids_free(&ids);
    return status;
}

/* ---- All --------------------------------------------------------------------------------------------------------- */

tdm_status bench_mtp(bench *b, tdm_error *err)
{
    bool head = b->models.model->weights->config.mtp.there;
    bench_part(b, 0.25);
    tdm_status status = bench_mtp_passes(b, err);
    bench_part(b, 0.2);
    if (!status && head) status = bench_mtp_prefill(b, err);
    bench_part(b, 1);
    if (!status) status = bench_mtp_decode(b, err);
    if (!status && head) status = bench_mtp_coverage(b, err);
    return status;
}
