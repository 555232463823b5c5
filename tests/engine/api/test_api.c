/* The library as its users see it: models, text, sessions. */
#include "tests/check.h"

#include "engine/tandem/measure.h"
#include "tests/engine/model/family.h"

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
static char *answer(const tdm_model *m, tdm_sequence *s, const tdm_message *messages, size_t n, int most)
{
    tdm_ids ids = {0};
    tdm_sampling greedy = {.top_k = 1};
    tdm_id reply[64];
    int count = 0;
    char *text = NULL;
    size_t length;
    tdm_sequence_clear(s);
    if (tdm_render(m, messages, n, &(tdm_render_options){.generation_prompt = true}, &ids, NULL, &err)) return NULL;
    if (tdm_sequence_eval(s, ids.ids, ids.n, true, NULL, &err)) return NULL;
    while (count < most && count < 64) {
        tdm_id id;
        if (tdm_sequence_sample(s, &greedy, 1, 0, (uint32_t)count, &id, &err)) return NULL;
        if (tdm_model_is_end(m, id)) break;
        reply[count++] = id;
        if (tdm_sequence_eval(s, &id, 1, true, NULL, &err)) return NULL;
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
    tdm_sequence *s;
    tdm_sequence_options o = {.unit = TDM_DECODE_UNIT, .kv = TDM_KV_F16, .context = 512};
    REQUIRE(tdm_sequence_open(&s, m, machine, &o, &err) == TDM_OK);
    tdm_message message = {.role = TDM_USER, .text = "What is the capital of Peru?", .length = 28};
    char *text = answer(m, s, &message, 1, 32);
    CHECK(text && strstr(text, "Lima"));
    free(text);
    tdm_sequence_close(s);
    tdm_machine_close(machine);
    tdm_model_close(m);
}

/* What a program that knows no more than the header sets. */
TEST(zeros_are_the_defaults)
{
    tdm_model *m = open_model(BUILTIN, NULL);
    tdm_machine *machine = open_machine();
    REQUIRE(m && machine);
    tdm_sequence *s;
    tdm_id id = -7, other, prompt[] = {5, 6, 7};
    tdm_model_info info;
    tdm_model_describe(m, &info);
    REQUIRE(tdm_sequence_open(&s, m, machine, NULL, &err) == TDM_OK);
    CHECK_INT(TDM_E_ARG, tdm_sequence_sample(s, NULL, 0, 0, 0, &id, &err));
    CHECK_STR("there are no logits to sample from: evaluate with want_last first", err.text);
    CHECK_INT(-7, id);
    REQUIRE(tdm_sequence_eval(s, prompt, 3, true, NULL, &err) == TDM_OK);
    info.sampling.seed = 9;
    CHECK(tdm_sequence_sample(s, &info.sampling, 0, 0, 0, &id, &err) == TDM_OK);
    CHECK(tdm_sequence_sample(s, &(tdm_sampling){.seed = 9}, 0, 0, 0, &other, &err) == TDM_OK);
    CHECK_INT(id, other);
    CHECK_INT(TDM_E_ARG, tdm_sequence_sample(s, &(tdm_sampling){.top_p = 2}, 0, 0, 0, &id, &err));
    tdm_sequence_close(s);

    tdm_chat *c;
    tdm_chat_options o;
    REQUIRE(tdm_chat_open(&c, m, machine, &(tdm_chat_options){.max_tokens = 9, .kv = TDM_KV_Q8_0}, &err) == TDM_OK);
    tdm_chat_options_of(c, &o);
    CHECK(o.max_tokens == 9 && o.pipeline == TDM_PIPE_TANDEM && o.speculation == TDM_SPEC_FULL);
    CHECK(o.kv == TDM_KV_Q8_0 && o.prefill_kv == TDM_KV_Q8_0 && o.context > 0);
    CHECK_INT(info.sampling.top_k, o.sampling.top_k);
    /* What can't change stays where a zero is given. */
    CHECK(tdm_chat_configure(c, &(tdm_chat_options){.sampling.temperature = 0.5f}, &err) == TDM_OK);
    tdm_chat_options_of(c, &o);
    CHECK(o.max_tokens == 0 && o.kv == TDM_KV_Q8_0 && o.sampling.top_p == 1 && o.sampling.repeat_penalty == 1);
    CHECK_INT(TDM_E_ARG, tdm_chat_configure(c, &(tdm_chat_options){.kv = TDM_KV_F16}, &err));
    /* No text is an empty draft, and an event that is not there has no kind. */
    CHECK(tdm_chat_set_draft(c, NULL, 0, false, &err) == TDM_OK);
    tdm_event e = {.kind = TDM_EV_TEXT};
    while (tdm_chat_next_event(c, &e)) continue;
    CHECK_INT(TDM_EV_NONE, e.kind);
    tdm_chat_close(c);
    tdm_machine_close(machine);
    tdm_model_close(m);
}

/* A chat without a machine has one of its own, and waits for its events itself. */
TEST(a_chat_alone_answers)
{
    tdm_model *m = open_model(BUILTIN, NULL);
    REQUIRE(m);
    tdm_chat *c = (tdm_chat *)&err;
    CHECK_INT(TDM_E_ARG, tdm_chat_open(&c, m, NULL, &(tdm_chat_options){.dispatch = -1}, &err));
    CHECK(!c);
    REQUIRE(tdm_chat_open(&c, m, NULL, &(tdm_chat_options){.sampling.top_k = 1, .max_tokens = 32}, &err) == TDM_OK);
    tdm_event e = {.kind = TDM_EV_TEXT};
    CHECK(!tdm_chat_wait_event(c, &e, 0) && e.kind == TDM_EV_NONE);
    CHECK(!tdm_chat_wait_event(c, &e, 1) && e.kind == TDM_EV_NONE);
    REQUIRE(tdm_chat_send(c, "What is the capital of Peru?", 28, 0, &err) == TDM_OK);
    char text[256] = "";
    while (tdm_chat_wait_event(c, &e, -1) && e.kind != TDM_EV_END)
        if (e.kind == TDM_EV_TEXT && strlen(text) + e.length < sizeof text) strncat(text, e.text, e.length);
    CHECK(strstr(text, "Lima"));
    CHECK(e.stats.reply_tokens > 0 && e.stats.reply_tokens <= 32);
    tdm_chat_close(c);
    tdm_model_close(m);
}

/* What stands for an object that could not be opened may be closed. */
TEST(nothing_is_opened_where_opening_fails)
{
    tdm_model *m = (tdm_model *)&err;
    tdm_machine *machine = (tdm_machine *)&err;
    CHECK_INT(TDM_E_ARG, tdm_model_open(&m, NULL, &err));
    CHECK_INT(TDM_E_ARG, tdm_machine_open(&machine, &(tdm_machine_options){.prefill_kind = "quantum"}, &err));
    CHECK(!m && !machine);
    tdm_status status = tdm_machine_open(&machine, &(tdm_machine_options){.prefill_kind = "amx-bf16"}, &err);
    CHECK(status == TDM_OK || (status == TDM_E_UNSUPPORTED && !machine)); /* without AMX */
    tdm_machine_close(machine);
    m = open_model(BUILTIN, NULL);
    machine = open_machine();
    REQUIRE(m && machine);
    tdm_sequence *s = (tdm_sequence *)&err;
    tdm_chat *c = (tdm_chat *)&err;
    CHECK_INT(TDM_E_ARG, tdm_sequence_open(&s, m, machine, &(tdm_sequence_options){.context = -1}, &err));
    CHECK_INT(TDM_E_ARG, tdm_chat_open(&c, m, machine, &(tdm_chat_options){.dispatch = -1}, &err));
    CHECK(!s && !c);
    tdm_machine_close(machine);
    tdm_model_close(m);
}

TEST(parts_of_a_text_with_special_tokens_and_without)
{
    tdm_model *m;
    REQUIRE(tdm_model_open(&m, &(tdm_model_options){.path = BUILTIN, .text_only = true}, &err) == TDM_OK);
    const char *text = "<|im_end|><|im_end|>a<|im_end|>";
    static const tdm_text_part parts[] = {{5, false}, {10, false}, {20, true}, {21, true}, {31, false}};
    tdm_ids all = {0}, first = {0}, middle = {0}, last = {0};
    REQUIRE(tdm_tokenize_parts(m, text, parts, 5, &all, &err) == TDM_OK);
    REQUIRE(tdm_tokenize(m, text, 10, false, &first, &err) == TDM_OK);
    REQUIRE(tdm_tokenize(m, text + 10, 10, true, &middle, &err) == TDM_OK);
    REQUIRE(tdm_tokenize(m, text + 20, 11, false, &last, &err) == TDM_OK);
    REQUIRE(middle.n == 1 && all.n == first.n + middle.n + last.n);
    CHECK(!memcmp(all.ids, first.ids, first.n * sizeof *all.ids));
    CHECK_INT(middle.ids[0], all.ids[first.n]);
    CHECK(tdm_model_is_end(m, middle.ids[0]) && !tdm_model_is_end(m, first.ids[0]) && !tdm_model_is_end(m, -1));
    tdm_ids *lists[] = {&all, &first, &middle, &last};
    for (int i = 0; i < 4; i++) tdm_ids_free(lists[i]);
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
    CHECK_STR("own", info.template_name);
    CHECK(info.thinkings == 1 && !info.template_note && info.tied && info.sampling_from_file);
    CHECK_NEAR(0.6, info.sampling.temperature, 1e-6);
    CHECK_INT(20, info.sampling.top_k);
    CHECK_INT(TDM_INT8, info.arithmetic); /* of most of its weights, also where none are loaded */
    tdm_model_close(m);
}

/* Keys and values of layers without a window grow with the context, those of the others don't. */
TEST(facts_about_windows)
{
    enum { CONTEXT = 4096, WINDOW = 24, HELD_MAX = WINDOW + 8 * 32 /* positions that are held at once */ };
    static const struct {
        const char *name;
        int head_dim, window_kv_heads, window_head_dim, full_bytes, window_bytes, table_bytes;
    } rows[] = {
        {"mistral-window", 16, 0, 0, 0, 4 * 2 * 2 * 16 * 2, 0},
        {"gemma2", 32, 0, 0, 2 * 2 * 2 * 32 * 2, 2 * 2 * 2 * 32 * 2, 0},
        {"gemma3", 32, 0, 0, 1 * 2 * 2 * 32 * 2, 5 * 2 * 2 * 32 * 2, 0},
        {"gemma4-dense", 64, 4, 32, 1 * 1 * 2 * 64 * 2, 5 * 4 * 2 * 32 * 2, 0},
        {"gemma4-moe", 64, 4, 32, 1 * 1 * 2 * 64 * 2, 5 * 4 * 2 * 32 * 2, 0},
        {"gemma4-e", 64, 1, 32, 1 * 1 * 2 * 64 * 2, 5 * 1 * 2 * 32 * 2, 512 * 10 * 32 * 2}, /* 4 of 10 have none */
        {"gpt-oss", 32, 0, 0, 2 * 2 * 2 * 32 * 2, 2 * 2 * 2 * 32 * 2, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char folder[FAMILY_ROOM];
        tdm_model_info info;
        tdm_model *m = family_find(rows[i].name, folder) ? open_model(folder, NULL) : NULL;
        if (!m) continue;
        tdm_model_describe(m, &info);
        CHECK_INT(rows[i].head_dim, info.head_dim);
        CHECK_INT(rows[i].window_kv_heads, info.window_kv_heads);
        CHECK_INT(rows[i].window_head_dim, info.window_head_dim);
        CHECK_INT(rows[i].table_bytes, info.table_bytes);
        CHECK_INT(rows[i].full_bytes + rows[i].window_bytes, info.kv_bytes_per_token);
        CHECK_INT(CONTEXT, info.trained_context);
        uint64_t windows = info.kv_bytes_at_context - (uint64_t)CONTEXT * (uint64_t)rows[i].full_bytes;
        if (windows < (uint64_t)WINDOW * (uint64_t)rows[i].window_bytes ||
            windows > (uint64_t)HELD_MAX * (uint64_t)rows[i].window_bytes)
            CHECK_FAIL("%s: %llu bytes of windows", rows[i].name, (unsigned long long)windows);
        tdm_model_close(m);
    }
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
    CHECK_INT(info.full_layers * 2 * info.kv_heads * info.head_dim * 2, info.kv_bytes_per_token);
    CHECK_INT((uint64_t)info.trained_context * info.kv_bytes_per_token, info.kv_bytes_at_context);
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
    tdm_sequence *a, *b;
    tdm_sequence_options o = {.kv = TDM_KV_F16, .context = 128};
    REQUIRE(tdm_sequence_open(&a, m, machine, &o, &err) == TDM_OK);
    REQUIRE(tdm_sequence_open(&b, m, machine, &o, &err) == TDM_OK);
    tdm_id ids[70];
    for (int i = 0; i < 70; i++) ids[i] = (i * 37 + 11) % 500;
    REQUIRE(tdm_sequence_eval(a, ids, 70, true, NULL, &err) == TDM_OK);
    float logits[512];
    memcpy(logits, tdm_sequence_logits(a), sizeof logits);
    void *bytes;
    size_t n;
    REQUIRE(tdm_sequence_save(a, &bytes, &n, &err) == TDM_OK);
    REQUIRE(tdm_sequence_load(b, bytes, n, &err) == TDM_OK);
    CHECK(!memcmp(logits, tdm_sequence_logits(b), sizeof logits));
    CHECK(tdm_sequence_load(b, bytes, n - 1, &err) < 0);
    free(bytes);
    REQUIRE(tdm_sequence_handover(b, a, &err) == TDM_OK);
    CHECK(!memcmp(logits, tdm_sequence_logits(b), sizeof logits));
    CHECK_INT(TDM_E_CONTEXT, tdm_sequence_eval(b, ids, 59, false, NULL, &err));
    CHECK_INT(70, tdm_sequence_length(b));
    tdm_sequence_close(a);
    tdm_sequence_close(b);
    tdm_machine_close(machine);
    tdm_model_close(m);
}

TEST_MAIN(T(the_builtin_model_answers), T(zeros_are_the_defaults), T(a_chat_alone_answers),
          T(nothing_is_opened_where_opening_fails), T(parts_of_a_text_with_special_tokens_and_without),
          T(facts_about_a_model), T(facts_about_windows), T(facts_about_a_mixture), T(options_are_checked),
          T(text_goes_there_and_back), T(a_session_moves_through_the_bridge_and_in_memory))
