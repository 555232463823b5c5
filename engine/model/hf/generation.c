#include "engine/model/hf/generation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/json/json.h"
#include "engine/model/gguf/gguf.h"

/* ---- Sampling ---------------------------------------------------------------------------------------------------- */

struct range {
    const char *field, *key; /* in JSON; in GGUF, or NULL */
    double low, high;
    bool above; /* low itself isn't a value */
};

enum { TEMPERATURE, TOP_P, MIN_P, REPEAT, PRESENCE, FREQUENCY, TOP_K, RANGES };

static const struct range ranges[RANGES] = {
    [TEMPERATURE] = {"temperature", "general.sampling.temp", 0, 100, false},
    [TOP_P] = {"top_p", "general.sampling.top_p", 0, 1, true},
    [MIN_P] = {"min_p", "general.sampling.min_p", 0, 1, false},
    [REPEAT] = {"repetition_penalty", "general.sampling.penalty_repeat", 0, 100, true},
    [PRESENCE] = {"presence_penalty", NULL, -100, 100, false},
    [FREQUENCY] = {"frequency_penalty", NULL, -100, 100, false},
    [TOP_K] = {"top_k", "general.sampling.top_k", -1, INT32_MAX, false},
};

/* Takes a value that is in its range; where there is none, `what` was found. */
static void take(struct sampling *out, int i, double value, const char *what, const char *place, const char *file,
                 struct notes *notes)
{
    const struct range *r = &ranges[i];
    float *const reals[] = {&out->temperature, &out->top_p,            &out->min_p,
                            &out->repeat_penalty, &out->presence_penalty, &out->frequency_penalty};
    bool good = !what && value >= r->low && value <= r->high && !(r->above && value == r->low);
    if (i == TOP_K && good && value != floor(value)) good = false;
    if (good && i == TOP_K)
        out->top_k = value > 0 ? (int32_t)value : 0;
    else if (good)
        *reals[i] = (float)value;
    else if (what)
        notes_add(notes, "%s: %s is left out: expected a number, found %s", file, place, what);
    else
        notes_add(notes, "%s: %s is left out: expected %s%g to %g%s, found %g", file, place,
                  r->above ? "more than " : "", r->low, r->high, i == TOP_K ? ", a whole number" : "", value);
}

void generation_sampling_from_json(struct sampling *out, struct json_object *json, const char *file,
                                   struct notes *notes)
{
    for (int i = 0; i < RANGES; i++) {
        struct json_object *v = json_get(json, ranges[i].field);
        const char *what = json_is_number(v) ? NULL : json_kind_name(v);
        if (v) take(out, i, json_real_of(v), what, ranges[i].field, file, notes);
    }
    struct json_object *v = json_get(json, "do_sample");
    if (!v) return;
    if (!json_is(v, JSON_BOOL) && !json_is(v, JSON_INT))
        notes_add(notes, "%s: do_sample is left out: expected true or false, found %s", file, json_kind_name(v));
    else if (!json_truth_of(v))
        out->temperature = 0; /* that is what this switch means: greedy */
}

void generation_sampling_from_gguf(struct sampling *out, const struct gguf *gguf, struct notes *notes)
{
    for (int i = 0; i < RANGES; i++) {
        double value = 0;
        bool found = false;
        if (!ranges[i].key) continue;
        bool number = !gguf_get_number(gguf, ranges[i].key, &value, &found, NULL);
        if (found) take(out, i, value, number ? NULL : "another type", ranges[i].key, gguf_path(gguf), notes);
    }
}

/* ---- Ends -------------------------------------------------------------------------------------------------------- */

static void add_number(struct config *c, double id, const char *place, const char *file, struct notes *notes)
{
    if (id >= 0 && id < c->vocab && id == floor(id))
        config_add_stop(&c->stops, (int64_t)id);
    else
        notes_add(notes, "%s: %s: the end token %.15g is left out: expected an id below %u", file, place, id, c->vocab);
}

static void add_end(struct ends *ends, struct json_object *v)
{
    struct span text = json_span_of(v);
    if (!text.length || text.length >= GENERATION_END_ROOM || ends->n == GENERATION_ENDS) return;
    if (strlen(text.bytes) != text.length) return;
    for (size_t i = 0; i < ends->n; i++)
        if (!strcmp(ends->texts[i], text.bytes)) return;
    memcpy(ends->texts[ends->n++], text.bytes, text.length + 1);
}

void generation_stops_from_json(struct config *c, struct ends *ends, struct json_object *json, const char *file,
                                struct notes *notes)
{
    struct json_object *v = json_get(json, "eos_token_id");
    bool list = json_is(v, JSON_ARRAY);
    size_t n = list ? json_length(v) : v != NULL;
    for (size_t i = 0; i < n; i++) {
        struct json_object *id = list ? json_at(v, i) : v;
        if (json_is(id, JSON_STRING))
            add_end(ends, id);
        else if (json_is_number(id))
            add_number(c, json_real_of(id), "eos_token_id", file, notes);
        else
            notes_add(notes, "%s: eos_token_id: an entry is left out: expected a token's id, found %s", file,
                      json_kind_name(id));
    }
}

void generation_ends_from_json(struct ends *ends, struct json_object *json)
{
    struct json_object *v = json_get(json, "eos_token");
    add_end(ends, json_is(v, JSON_OBJECT) ? json_get(v, "content") : v);
}

/* An id (2^32 - 1: none) or a list of ids. */
static void stops_of_key(struct config *c, const struct gguf *g, const char *key, struct notes *notes)
{
    tdm_error err;
    double value = 0;
    bool found;
    int32_t *ids = NULL;
    uint64_t count = 0;
    if (!gguf_get_number(g, key, &value, &found, NULL)) {
        if (found && value != UINT32_MAX && value != -1) add_number(c, value, key, gguf_path(g), notes);
        return;
    }
    if (gguf_get_i32s(g, key, &ids, &count, NULL, &err)) notes_add(notes, "%s: it is left out", err.text);
    for (uint64_t i = 0; i < count && ids; i++) add_number(c, ids[i], key, gguf_path(g), notes);
    free(ids);
}

tdm_status generation_stops_from_gguf(struct config *c, const struct gguf *g, struct notes *notes, tdm_error *err)
{
    static const char *const keys[] = {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eos_token_ids",
                                       "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"};
    static const char *const markers[] = {"<|im_end|>", "<|endoftext|>"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) stops_of_key(c, g, keys[i], notes);
    struct span *tokens = NULL;
    uint64_t count = 0;
    tdm_status status = gguf_get_strings(g, "tokenizer.ggml.tokens", &tokens, &count, NULL, err);
    for (uint64_t i = 0; !status && i < count && i < c->vocab; i++)
        for (size_t m = 0; m < sizeof markers / sizeof *markers; m++)
            if (span_is(tokens[i], markers[m])) config_add_stop(&c->stops, (int64_t)i);
    free(tokens);
    return status;
}
