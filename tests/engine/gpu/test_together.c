/* Conversations with a GPU whose passes of one token are one dispatch, so that greedy replies come several tokens at
 * once: the same text and ids as token by token, and what is saved in the middle goes on with the same bits. The
 * backend is the real one, with other devices: those of a kind that does not do so by itself are made to. */
#include "engine/gpu/gpu.h"
#include "tests/engine/gpu/rig.h"

static int parts; /* of replies that had more than one token */

static tdm_status open_together(struct gpu **out, const char *name, const struct gpu_options *options, tdm_error *err)
{
    (void)options;
    return gpu_open(out, name, &(struct gpu_options){.tuning = &gpu_rig_fused}, err);
}

static tdm_status counted_reply(const struct gpu_reply *r, tdm_id sampled[GPU_BURST], uint32_t *appended,
                                tdm_error *err)
{
    parts += r->n > 1;
    return gpu_reply(r, sampled, appended, err);
}

#define gpu_open(out, name, options, err)  open_together(out, name, options, err)
#define gpu_reply(r, sampled, appended, err) counted_reply(r, sampled, appended, err)
#include "engine/backend/gpu.c"
#undef gpu_open
#undef gpu_reply

#include "engine/object/model.h"
#include "tests/check.h"
#include "tests/engine/chat/played.h"

static tdm_error err;

/* With keys and values in Q8_0, as in test_exact: drivers on cores compile a shader for such passes in five seconds. */
#define MODEL "tests/goldens/gguf/tiny-a-q8_0.gguf"
enum { REPLY = 11, TURNS = 2 };

struct told {
    char text[4096];
    uint64_t hash[TURNS];
};

/* stops: after each token the host looks for a string that never comes. */
static void play(struct told *out, bool stops)
{
    static const char *const never[] = {"\x01", NULL};
    struct played p = {0};
    tdm_machine *machine = NULL;
    tdm_chat *c = NULL;
    tdm_machine_options m = {.decode_unit = gpu_rig_name()};
    tdm_chat_options o = talk_options(talk_model(NULL));
    o.sampling = (tdm_sampling){.temperature = 0, .top_p = 1, .repeat_penalty = 1};
    o.hash_logits = false;
    o.kv = TDM_KV_Q8_0;
    o.mtp = TDM_MTP_OFF;
    o.max_tokens = REPLY;
    o.stops = stops ? never : NULL;
    if (tdm_machine_open(&machine, &m, &err) || tdm_chat_open(&c, talk_model(NULL), machine, &o, &err)) {
        CHECK_FAIL("%s", err.text);
        return;
    }
    out->text[0] = 0;
    for (int i = 0; i < TURNS; i++) {
        played_say(c, &p, played_lines[i]);
        tdm_node node;
        if (tdm_chat_node(c, TDM_FRONT, p.node[i], &node, &err)) CHECK_FAIL("%s", err.text);
        size_t at = strlen(out->text);
        snprintf(out->text + at, sizeof out->text - at, "%.*s|", (int)node.length, node.text);
        tdm_node_free(&node);
        out->hash[i] = p.stats[i].ids_hash;
        CHECK_INT(REPLY, p.stats[i].reply_tokens);
    }
    CHECK_STR("", p.errors);
    tdm_chat_close(c);
    tdm_machine_close(machine);
}

TEST(the_text_is_that_of_single_tokens)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    static struct told single, burst;
    talk_path = MODEL;
    play(&single, true);
    CHECK_INT(0, parts);
    play(&burst, false);
    CHECK_INT(TURNS * 3, parts); /* of the 10 behind the first: 4, 4, 2 */
    CHECK_STR(single.text, burst.text);
    for (int i = 0; i < TURNS; i++) CHECK(single.hash[i] == burst.hash[i]);
}

/* A state that such a part left, saved, and loaded by another: both go on with the same logits. */
TEST(what_is_saved_goes_on_with_the_same_bits)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    enum { CONTEXT = 256 };
    talk_path = MODEL;
    const struct tdm_model *m = talk_model(NULL);
    struct backend_device *d;
    struct backend_model *loaded;
    struct evaluator *e;
    struct pool *pool_of;
    struct state *s, *again;
    struct sampler *sampler;
    struct team team;
    team_solo(&team);
    struct backend_load what = {.weights = m->weights, .kv = KV_Q8_0, .context = CONTEXT};
    struct source_options options = {0};
    struct source *source;
    REQUIRE(!source_open(&source, talk_path, &options, &err));
    what.source = source;
    REQUIRE(!backend_gpu.open(&d, gpu_rig_name(), &err) && !backend_gpu.load(&loaded, d, &what, &err));
    source_close(source);
    struct evaluator_form form = {32, 1, 1, CONTEXT};
    REQUIRE(!backend_pool(&pool_of, loaded, KV_Q8_0, CONTEXT, &err) && !evaluator_new(&e, loaded, &form, &err));
    REQUIRE(!state_new(&s, pool_of, &err) && !state_new(&again, pool_of, &err));
    REQUIRE(!sampler_new(&sampler, 500, &err));
    tdm_sampling greedy = {.temperature = 0, .top_p = 1, .repeat_penalty = 1};
    struct sampling_request request = {sampler, &greedy, 0, 0, 0};
    tdm_id ids[] = {5, 9, 30, 77, 12}, sampled[BACKEND_BURST];
    struct forward_run run = {.state = s, .tokens = ids, .n = 5, .logits = LOGITS_LAST};
    REQUIRE(!evaluator_forward(&team, e, &run, 1, NULL, NULL, &err));
    CHECK_INT(BURST, backend_gpu.burst(e, &greedy));
    uint32_t n;
    uint64_t bytes;
    struct burst some = {.state = s, .next = 8, .n = BURST};
    REQUIRE(!backend_gpu.reply(e, &some, &request, sampled, &n, &bytes, &err));
    CHECK(n == BURST && s->length == 5 + BURST && s->tokens[6] == sampled[0] && s->logits_valid);
    struct state_bytes saved = {0};
    REQUIRE(!state_save_memory(s, 1, &saved, &err));
    REQUIRE(!state_load_memory(again, 1, saved.data, saved.size, &err));
    for (int i = 0; i < 3; i++) {
        const float *a, *b;
        REQUIRE(!state_logits(s, &a, &err) && !state_logits(again, &b, &err));
        CHECK(!memcmp(a, b, m->weights->config.vocab * sizeof *a));
        CHECK_INT(sampled[n - 1], sampler_sample(sampler, &greedy, a, 0, 0, 0));
        tdm_id other[BACKEND_BURST], next = sampled[n - 1];
        some = (struct burst){.state = s, .next = next, .n = 3};
        REQUIRE(!backend_gpu.reply(e, &some, &request, sampled, &n, &bytes, &err));
        some.state = again;
        REQUIRE(!backend_gpu.reply(e, &some, &request, other, &n, &bytes, &err));
        CHECK(!memcmp(sampled, other, n * sizeof *sampled));
    }
    state_bytes_free(&saved);
    state_free(s);
    state_free(again);
    sampler_free(sampler);
    evaluator_free(e);
    pool_free(pool_of);
    backend_gpu.unload(loaded);
    backend_gpu.close(d);
}

TEST_MAIN(T(the_text_is_that_of_single_tokens), T(what_is_saved_goes_on_with_the_same_bits))
