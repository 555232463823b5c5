#include "tests/engine/chat/talk.h"

#include <poll.h>

#include "engine/base/fnv.h"
#include "engine/object/model.h"
#include "tests/check.h"
#include "tests/engine/model/family.h"
#include "tests/engine/text/template/forms.h"

enum { KEPT = 32 };

const char *talk_path = "tests/goldens/tiny-a";
uint32_t talk_context = 1024;
const char *talk_units[TDM_UNITS];
const char *const talk_builtin = "assets/tandem-demo-51m-q6_k.gguf";

static tdm_error err;

const tdm_model *talk_model(const char *kernels)
{
    static struct { char name[32]; const char *path; tdm_model *model; } kept[KEPT];
    const char *name = kernels ? kernels : "";
    int i = 0;
    while (i < KEPT && kept[i].model && (kept[i].path != talk_path || strcmp(kept[i].name, name))) i++;
    if (i == KEPT) return NULL;
    if (kept[i].model) return kept[i].model;
    tdm_model_options o = {.path = talk_path, .kernels = kernels};
    if (strcmp(talk_path, talk_builtin)) o.chat_template = forms_text("qwen35");
    if (tdm_model_open(&kept[i].model, &o, &err)) CHECK_FAIL("%s", err.text);
    snprintf(kept[i].name, sizeof kept[i].name, "%s", name);
    kept[i].path = talk_path;
    return kept[i].model;
}

bool talk_family(const char *name)
{
    static struct {
        char name[32], folder[FAMILY_ROOM];
    } kept[KEPT];
    int i = 0;
    while (i < KEPT && kept[i].name[0] && strcmp(kept[i].name, name)) i++;
    if (i == KEPT || (!kept[i].name[0] && !family_find(name, kept[i].folder))) return false;
    snprintf(kept[i].name, sizeof kept[i].name, "%s", name);
    talk_path = kept[i].folder;
    return true;
}

void talk_set_template(const tdm_model *m, const char *name)
{
    static struct {
        const tdm_model *model;
        const char *name;
        struct template *template, *before;
    } kept[KEPT]; /* a chat may have any of them; before: what the model had, perhaps its own */
    struct tdm_model *model = (struct tdm_model *)m; /* talk_model's own */
    const char *text = forms_text(name);
    struct template_source source = {.tokenizer = model->tokenizer};
    if (model->vision) source.pad = tokenizer_bytes(model->tokenizer, model->vision->pad);
    int i = 0;
    while (i < KEPT && kept[i].template && (kept[i].model != m || strcmp(kept[i].name, name))) i++;
    if (text) source.text = (struct span){text, strlen(text)};
    if (i == KEPT || !text || (!kept[i].template && template_new(&kept[i].template, &source, &err))) {
        CHECK_FAIL("%s: no template", name);
        return;
    }
    kept[i].model = m;
    kept[i].name = name;
    if (!kept[i].before) kept[i].before = model->template;
    model->template = kept[i].template;
}

tdm_machine *talk_machine(int threads)
{
    static struct { const char *units[TDM_UNITS]; int threads; tdm_machine *machine; } kept[KEPT];
    int i = 0;
    while (i < KEPT && kept[i].machine &&
           (kept[i].threads != threads || memcmp(kept[i].units, talk_units, sizeof talk_units)))
        i++;
    if (i == KEPT) return NULL;
    if (kept[i].machine) return kept[i].machine;
    kept[i].threads = threads;
    memcpy(kept[i].units, talk_units, sizeof talk_units);
    tdm_machine_options o = {
        .threads = threads, .prefill_unit = talk_units[TDM_PREFILL_UNIT], .decode_unit = talk_units[TDM_DECODE_UNIT]};
    if (tdm_machine_open(&kept[i].machine, &o, &err)) CHECK_FAIL("%s", err.text);
    return kept[i].machine;
}

tdm_chat_options talk_options(const tdm_model *m)
{
    tdm_chat_options o;
    tdm_chat_defaults(&o, m);
    o.pause_ms = 3;
    o.context = talk_context;
    o.max_tokens = 8;
    o.ignore_eos = true;
    o.hash_logits = true;
    o.checkpoint_bytes = 64 << 20;
    o.sampling = (tdm_sampling){.temperature = 0.8f, .top_k = 20, .top_p = 0.95f, .repeat_penalty = 1.1f, .seed = 7};
    return o;
}

bool talk_open(struct talk *t, const char *kernels, int threads, const tdm_chat_options *options)
{
    memset(t, 0, sizeof *t);
    const tdm_model *m = talk_model(kernels);
    tdm_machine *machine = talk_machine(threads);
    if (!m || !machine) return false;
    tdm_chat_options o = options ? *options : talk_options(m);
    if (tdm_chat_open(&t->chat, m, machine, &o, &err)) CHECK_FAIL("%s", err.text);
    return t->chat != NULL;
}

void talk_close(struct talk *t)
{
    tdm_chat_close(t->chat);
    t->chat = NULL;
}

static uint64_t hash_of_text(const tdm_chat *c, int node)
{
    tdm_node found;
    if (node == 0 || tdm_chat_node(c, TDM_FRONT, node, &found, &err)) return 0;
    uint64_t hash = fnv_bytes(FNV_START, found.text, found.length);
    tdm_node_free(&found);
    return hash;
}

void talk_events(struct talk *t)
{
    tdm_event e;
    while (tdm_chat_next_event(t->chat, &e)) {
        if (e.kind == TDM_EV_END && e.dialogue == TDM_FRONT) {
            if (t->n < TALK_TURNS)
                t->turns[t->n] = (struct talk_turn){e.stats, e.finish, hash_of_text(t->chat, e.node)};
            t->n++;
        } else if (e.kind == TDM_EV_ERROR && strlen(t->errors) + e.length + 2 < sizeof t->errors) {
            strcat(strcat(t->errors, e.text), "\n");
        }
    }
}

void talk_until(struct talk *t, int turns)
{
    talk_events(t);
    /* Seconds in which nothing happens, not the clock's: the test may be stopped meanwhile. */
    for (int still = 0; t->n < turns && still < 120;) {
        struct pollfd fd = {.fd = tdm_chat_fd(t->chat), .events = POLLIN};
        still = poll(&fd, 1, 1000) > 0 ? 0 : still + 1;
        talk_events(t);
    }
    if (t->n < turns) CHECK_FAIL("only %d of %d turns ended", t->n, turns);
}

uint32_t talk_draw(uint64_t *seed, uint32_t n)
{
    uint64_t x = *seed ? *seed : 88172645463325252u;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    *seed = x;
    return (uint32_t)(x >> 32) % n;
}
