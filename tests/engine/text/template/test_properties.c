/* Reading ahead with any template: for texts without the template's own marks, what is known of every beginning of a
 * draft and of a reply begins the ids of the prompt that comes of it; and no message forges a mark of any of them. The
 * public templates are used where they are (../shared), small ones of the tests' own anywhere. */
#include "tests/check.h"

#include "engine/text/incremental.h"
#include "engine/text/template/head.h"
#include "tests/engine/text/golden.h"
#include "tests/engine/text/jinja/support.h"
#include "tests/engine/text/template/forms.h"

static tdm_error err;

static const char *const texts[] = {
    "Tell me more, please.",
    "  leading blanks, and 42 numbers; it's   done.\n\nAnd so on: x_y->z\n",
    "caf\xc3\xa9 e\xcc\x81 \xe4\xbd\xa0\xe5\xa5\xbd \xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb ok",
    "\n\tif (a < b && c[1] > \"d\") { return '\\n'; }\n",
    ".",
    "- one\n- two\r\n\r\n1. three",
};
enum { TEXTS = sizeof texts / sizeof *texts };

static tdm_message message(tdm_role role, const char *text, size_t n)
{
    return (tdm_message){.role = role, .text = text, .length = n, .thinking = role == TDM_ASSISTANT ? "" : NULL};
}

struct growth {
    const char *name;
    const struct template *template;
    const struct tokenizer *tokenizer;
    struct incremental *growing;
    struct template_options options;
    int prompts, refused; /* that were looked at; turns that the template refuses */
};

/* What is known of the last message when it has n bytes begins these ids; false: it doesn't. */
static bool begins(struct growth *g, struct template_head *head, tdm_message *m, size_t count, const struct ids *whole)
{
    struct written text = {0};
    struct template_place place;
    struct ids *known;
    size_t limit, length;
    bool same = false;
    if (!head_grow(head, g->template, &g->options, m, count, &text, &place, &limit, &err) &&
        !incremental_set(g->growing, &text, head->cut, limit, &err) && !incremental_stable(g->growing, &length, &err) &&
        !incremental_encode(g->growing, length, &known, &err)) {
        same = known->count <= whole->count;
        for (size_t i = 0; i < known->count && same; i++) same = known->id[i] == whole->id[i];
        g->prompts++;
    }
    written_free(&text);
    return same;
}

/* Every beginning of the message at `grows`, of which the whole prompt has all of it and what follows. */
static void check_message(struct growth *g, tdm_message *m, size_t grows, size_t count)
{
    struct template_head head = {0};
    struct ids whole = {0};
    size_t n = m[grows].length;
    g->options.generation = true;
    if (forms_encode(g->template, g->tokenizer, &g->options, m, count, &whole, NULL, &err) ||
        head_make(&head, g->template, &g->options, m, grows + 1, false, &err)) {
        g->refused++;
    } else {
        for (size_t k = 0; k <= n && check_failures < 20; k++) {
            m[grows].length = k;
            if (!begins(g, &head, m, grows + 1, &whole))
                CHECK_FAIL("%s: %zu of %zu bytes of \"%s\" are no beginning", g->name, k, n, m[grows].text);
        }
    }
    m[grows].length = n;
    head_free(&head);
    ids_free(&whole);
}

static void check_growth(const char *name, const struct template *t, const struct tokenizer *tokenizer, int *prompts)
{
    struct growth g = {
        .name = name, .template = t, .tokenizer = tokenizer, .options = {.now = {2026, 11, 25, 9, 30, 0}}};
    REQUIRE(incremental_new(&g.growing, tokenizer, &err) == TDM_OK);
    /* Under a sanitizer the short form has two of the texts with a template, others with the next. */
    static int templates;
    int step = check_slow() && !getenv("TANDEM_LONG") ? 3 : 1;
    for (int i = templates++ % step; i < TEXTS; i += step)
        for (int think = 0; think < 2; think++) {
            const char *text = texts[i], *other = texts[(i + 1) % TEXTS];
            tdm_message m[] = {message(TDM_USER, "One", 3), message(TDM_ASSISTANT, text, strlen(text)),
                               message(TDM_USER, other, strlen(other))};
            g.options.think = think ? TDM_THINK_ON : TDM_THINK_OFF;
            if (!(template_facts(t)->thinkings >> g.options.think & 1)) continue;
            check_message(&g, m, 1, 3);
            check_message(&g, m, 2, 3);
            check_message(&g, m + 2, 0, 1);
        }
    /* One wants functions, which there are none of here. */
    bool wants = strstr(err.text, "'functions' is undefined");
    if (g.prompts < 100 && !wants)
        CHECK_FAIL("%s: %d beginnings, %d prompts refused: %s", name, g.prompts, g.refused, err.text);
    *prompts += g.prompts;
    incremental_free(g.growing);
}

/* What some of them know, as their texts say. */
static const struct known {
    const char *name;
    unsigned efforts; /* of thinking, without OFF */
    const char *opens;
    bool no_system, always_thinks;
    const char *answer; /* the channel of answers; NULL: it has no channels */
} known[] = {
#define EFFORT(e) (1u << TDM_THINK_##e)
    {"Qwen-Qwen3-0.6B", EFFORT(ON), "<think>", false, false, NULL},
    {"openai-gpt-oss-120b", EFFORT(ON) | EFFORT(LOW) | EFFORT(MEDIUM) | EFFORT(HIGH), "<|channel|>analysis<|message|>",
     false, true, "final"},
    {"google-gemma-2-2b-it", 0, "<think>", true, false, NULL},
    {"google-gemma-4-31B-it", EFFORT(ON), "<|channel>thought", false, false, NULL},
    {"deepseek-ai-DeepSeek-V3.1", EFFORT(ON), "<think>", false, false, NULL},
    {"tencent-Hy3", EFFORT(ON) | EFFORT(LOW) | EFFORT(HIGH), "<think:opensource>", false, false, NULL},
    {"ibm-granite-granite-3.3-2B-Instruct", EFFORT(ON), "<think>", false, false, NULL},
    {"microsoft-Phi-3.5-mini-instruct", 0, "<think>", false, false, NULL},
};

static void check_facts(const char *name, const struct template_facts *f)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i].name, name)) continue;
        const char *answer = f->channels.answer, *expected = known[i].answer;
        if (f->thinkings != (known[i].efforts | 1u << TDM_THINK_OFF) || f->no_system != known[i].no_system ||
            strcmp(f->opens ? f->opens : "", known[i].opens) || f->always_thinks != known[i].always_thinks ||
            strcmp(answer ? answer : "", expected ? expected : ""))
            CHECK_FAIL("%s: efforts %x, opens %s, no system prompt %d, always thinks %d, answers in %s", name,
                       f->thinkings, f->opens, f->no_system, f->always_thinks, answer);
    }
}

static void check_public(const char *name, struct span text, json_object *cases, void *context)
{
    struct template *t;
    struct template_source source = {.text = text, .bos = {"<s>", 3}, .eos = {"</s>", 4}, .tokenizer = golden_small()};
    (void)cases;
    if (template_new(&t, &source, &err)) {
        CHECK_FAIL("%s: %s", name, err.text);
        return;
    }
    check_facts(name, template_facts(t));
    check_growth(name, t, golden_small(), context);
    template_free(t);
}

static const char *const names[] = {"qwen35", "qwen36", "qwen38", "builtin", "channels", "instructions", "harmony"};
enum { NAMES = sizeof names / sizeof *names };

TEST(what_is_known_of_a_growing_message_begins_its_prompt)
{
    int prompts = 0;
    for (size_t i = 0; i < NAMES; i++) check_growth(names[i], forms_template(names[i]), golden_small(), &prompts);
    printf("# %d beginnings\n", prompts);
}

/* Where the template's marks are text, a message may join what stands before it. */
TEST(and_so_with_other_vocabularies)
{
    static const char *const vocabularies[] = {"gemma", "gpt-2", "llama-bpe", "tekken", "smollm"};
    int prompts = 0;
    for (size_t v = 0; v < sizeof vocabularies / sizeof *vocabularies; v++) {
        char path[100];
        struct tokenizer *tokenizer;
        snprintf(path, sizeof path, "goldens/tokenizers/%s.json", vocabularies[v]);
        REQUIRE(tokenizer_load_json(&tokenizer, check_data(path), NULL, &err) == TDM_OK);
        for (size_t i = 0; i < NAMES; i++) {
            const char *text = forms_text(names[i]);
            struct template_source source = {
                .text = {text, strlen(text)}, .bos = {"<s>", 3}, .eos = {"</s>", 4}, .tokenizer = tokenizer};
            struct template *t;
            REQUIRE(template_new(&t, &source, &err) == TDM_OK);
            check_growth(vocabularies[v], t, tokenizer, &prompts);
            template_free(t);
        }
        tokenizer_free(tokenizer);
    }
    printf("# %d beginnings\n", prompts);
}

TEST(and_so_with_the_public_templates)
{
    int prompts = 0, templates = support_each_golden(check_public, &prompts);
    printf("# %d templates, %d beginnings\n", templates, prompts);
}

TEST_MAIN(T(what_is_known_of_a_growing_message_begins_its_prompt), T(and_so_with_other_vocabularies),
          T(and_so_with_the_public_templates))
