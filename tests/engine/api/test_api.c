/* The library as its users see it: models, text, sessions. */
#include "tests/check.h"

#include "engine/tandem.h"

#define BUILTIN "assets/tandem-demo-51m-q6_k.gguf"

static tdm_error err;

static tdm_model *open_model(const char *path, const char *kernels)
{
    tdm_model *m;
    tdm_model_options o = {.path = path, .builtin = BUILTIN, .kernels = kernels};
    if (tdm_model_open(&m, &o, &err)) {
        CHECK_FAIL("%s", err.text);
        return NULL;
    }
    return m;
}

static tdm_machine *open_machine(void)
{
    tdm_machine *machine;
    if (tdm_machine_open(&machine, &(tdm_machine_options){0}, &err)) {
        CHECK_FAIL("%s", err.text);
        return NULL;
    }
    return machine;
}

/* Greedy reply to a prompt of messages, as text; ends at the end token or after `most` tokens. */
static char *answer(const tdm_model *m, tdm_session *s, const tdm_message *messages, size_t n, int most)
{
    tdm_ids ids = {0};
    tdm_sampling greedy = {.repeat_penalty = 1, .top_p = 1};
    tdm_id reply[64];
    int count = 0;
    char *text = NULL;
    size_t length;
    tdm_session_clear(s);
    if (tdm_render(m, messages, n, &(tdm_render_options){.generation_prompt = true}, &ids, NULL, &err)) return NULL;
    if (tdm_session_eval(s, ids.ids, ids.n, true, NULL, &err)) return NULL;
    while (count < most && count < 64) {
        tdm_id id = tdm_session_sample(s, &greedy, 1, 0, (uint32_t)count);
        if (id == 8189 || id == 8187) break;
        reply[count++] = id;
        if (tdm_session_eval(s, &id, 1, true, NULL, &err)) return NULL;
    }
    tdm_ids_free(&ids);
    if (tdm_detokenize(m, reply, (size_t)count, &text, &length, &err)) return NULL;
    return text;
}

TEST(the_builtin_model_answers)
{
    tdm_model *m = open_model(BUILTIN, NULL);
    tdm_machine *machine = open_machine();
    REQUIRE(m && machine);
    tdm_session *s;
    tdm_session_options o = {.unit = TDM_DECODE_UNIT, .kv = TDM_KV_F16, .context = 512};
    REQUIRE(tdm_session_open(&s, m, machine, &o, &err) == TDM_OK);
    tdm_message message = {.role = TDM_USER, .text = "What is the capital of Peru?", .length = 28};
    char *text = answer(m, s, &message, 1, 32);
    CHECK(text && strstr(text, "Lima"));
    free(text);
    tdm_session_close(s);
    tdm_machine_close(machine);
    tdm_model_close(m);
}

TEST(facts_about_a_model)
{
    tdm_model *m;
    tdm_model_options o = {.path = BUILTIN, .text_only = true};
    tdm_model_info info;
    REQUIRE(tdm_model_open(&m, &o, &err) == TDM_OK);
    tdm_model_describe(m, &info);
    CHECK_INT(12, info.layers);
    CHECK_INT(3, info.full_layers);
    CHECK_INT(8192, info.vocabulary);
    CHECK_STR("qwen35", info.architecture);
    CHECK_STR("built-in", info.template_name);
    CHECK(!info.can_think && !info.template_replaced && info.tied && info.sampling_from_file);
    CHECK_NEAR(0.6, info.sampling.temperature, 1e-6);
    CHECK_INT(20, info.sampling.top_k);
    tdm_model_close(m);
}

TEST(facts_about_a_mixture)
{
    tdm_model *m;
    tdm_model_options o = {.path = "tests/goldens/tiny-d", .quant = "q8_0", .expert_memory = 100000};
    tdm_model_info info;
    REQUIRE(tdm_model_open(&m, &o, &err) == TDM_OK);
    tdm_model_describe(m, &info);
    CHECK_STR("qwen35moe", info.architecture);
    CHECK_INT(8, info.experts);
    CHECK_INT(2, info.experts_used);
    CHECK_INT(32, info.expert_intermediate);
    CHECK_INT(683856, info.parameters);
    /* Of the 8 experts of 3 x 32 x 64 weights in 8 layers, 6 are not used; nor are the embeddings. */
    CHECK_INT(683856 - 6 * 3 * 32 * 64 * 8 - 512 * 64, info.active_parameters);
    CHECK_INT((8 + 1) * 8 * 3 * 32 * 64 / 32 * 34, info.expert_bytes); /* the MTP head has a layer */
    CHECK(info.expert_memory > 90000 && info.expert_memory <= 100000 && info.from_disk_tps > 0);
    CHECK(info.packed_bytes < info.expert_bytes + 512 * 64 * 4);
    tdm_model_close(m);
    o.expert_memory = 0;
    REQUIRE(tdm_model_open(&m, &o, &err) == TDM_OK);
    tdm_model_describe(m, &info);
    CHECK(info.expert_memory == info.expert_bytes && info.from_disk_tps == 0);
    tdm_chat_options chat;
    tdm_chat_defaults(&chat, m);
    CHECK_INT(0, chat.dispatch);
    tdm_model_close(m);
    o.expert_memory = 1000;
    CHECK_INT(TDM_E_NOMEM, tdm_model_open(&m, &o, &err));
    CHECK(!strncmp(err.text, "memory for experts: expected at least", 37));
}

TEST(options_are_checked)
{
    tdm_model *m;
    CHECK_INT(TDM_E_ARG, tdm_model_open(&m, &(tdm_model_options){.path = BUILTIN, .quant = "q9"}, &err));
    CHECK_STR("quant: expected q8_0 or q4_0, found q9", err.text);
    CHECK(tdm_model_open(&m, &(tdm_model_options){.path = "/nowhere/at-all.gguf"}, &err) < 0);
    tdm_machine *machine;
    CHECK_INT(TDM_E_ARG, tdm_machine_open(&machine, &(tdm_machine_options){.prefill_kind = "quantum"}, &err));
    CHECK(tdm_machine_open(&machine, &(tdm_machine_options){.decode_unit = "cpu:1-"}, &err) < 0);
}

TEST(text_goes_there_and_back)
{
    tdm_model *m;
    REQUIRE(tdm_model_open(&m, &(tdm_model_options){.path = BUILTIN, .text_only = true}, &err) == TDM_OK);
    const char *text = "Na\xc3\xafve caf\xc3\xa9 \xe2\x80\x94 \xf0\x9f\x98\x80\n  two";
    tdm_ids ids = {0};
    char *back;
    size_t length;
    REQUIRE(tdm_tokenize(m, text, strlen(text), false, &ids, &err) == TDM_OK);
    REQUIRE(tdm_detokenize(m, ids.ids, ids.n, &back, &length, &err) == TDM_OK);
    CHECK_STR(text, back);
    free(back);
    ids.ids[0] = 1 << 20;
    CHECK_INT(TDM_E_ARG, tdm_detokenize(m, ids.ids, ids.n, &back, &length, &err));
    tdm_ids_free(&ids);
    tdm_model_close(m);
}

TEST(a_session_moves_through_the_bridge_and_in_memory)
{
    tdm_model *m = open_model("tests/goldens/tiny-a", NULL);
    tdm_machine *machine = open_machine();
    REQUIRE(m && machine);
    tdm_session *a, *b;
    tdm_session_options o = {.kv = TDM_KV_F16, .context = 128};
    REQUIRE(tdm_session_open(&a, m, machine, &o, &err) == TDM_OK);
    REQUIRE(tdm_session_open(&b, m, machine, &o, &err) == TDM_OK);
    tdm_id ids[70];
    for (int i = 0; i < 70; i++) ids[i] = (i * 37 + 11) % 500;
    REQUIRE(tdm_session_eval(a, ids, 70, true, NULL, &err) == TDM_OK);
    float logits[512];
    memcpy(logits, tdm_session_logits(a), sizeof logits);
    void *bytes;
    size_t n;
    REQUIRE(tdm_session_save(a, &bytes, &n, &err) == TDM_OK);
    REQUIRE(tdm_session_load(b, bytes, n, &err) == TDM_OK);
    CHECK(!memcmp(logits, tdm_session_logits(b), sizeof logits));
    CHECK(tdm_session_load(b, bytes, n - 1, &err) < 0);
    free(bytes);
    REQUIRE(tdm_session_handover(b, a, &err) == TDM_OK);
    CHECK(!memcmp(logits, tdm_session_logits(b), sizeof logits));
    CHECK_INT(TDM_E_CONTEXT, tdm_session_eval(b, ids, 59, false, NULL, &err));
    CHECK_INT(70, tdm_session_length(b));
    tdm_session_close(a);
    tdm_session_close(b);
    tdm_machine_close(machine);
    tdm_model_close(m);
}

TEST_MAIN(T(the_builtin_model_answers), T(facts_about_a_model), T(facts_about_a_mixture),
          T(options_are_checked), T(text_goes_there_and_back),
          T(a_session_moves_through_the_bridge_and_in_memory))
