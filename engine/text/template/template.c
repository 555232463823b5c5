#include "engine/text/template/inside.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "engine/base/error.h"
#include "engine/text/unicode.h"

const struct template_switch template_switches[TEMPLATE_SWITCHES] = {
    {"enable_thinking", "true", "false"},
    {"thinking", "true", "false"},
    {"thinking_mode", "\"enabled\"", "\"disabled\""},
    {"thinking_budget", NULL, "0"},
};

const struct template_keeper template_keepers[TEMPLATE_KEEPERS] = {
    {"preserve_thinking", true},          {"keep_thinking", true}, {"clear_thinking", false}, {"drop_thinking", false},
    {"truncate_history_thinking", false},
};

static const char chatml[] = "{%- for m in messages -%}"
                             "{{- '<|im_start|>' + m.role + '\\n' + (m.content | trim) + '<|im_end|>\\n' -}}"
                             "{%- endfor -%}"
                             "{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}";
static const char plain[] = "{%- for m in messages -%}"
                            "{{- m.content -}}{%- if m.role != 'user' -%}{{- '\\n' -}}{%- endif -%}"
                            "{%- endfor -%}";

static const char *const role_names[] = {[TDM_SYSTEM] = "system", [TDM_USER] = "user", [TDM_ASSISTANT] = "assistant"};

/* ---- Making one -------------------------------------------------------------------------------------------------- */

static bool has_chatml(const struct tokenizer *t)
{
    return !t || (tokenizer_find(t, "<|im_start|>") >= 0 && tokenizer_find(t, "<|im_end|>") >= 0);
}

static bool copy_span(struct span *to, struct span from)
{
    char *copy = malloc(from.length + 1);
    if (copy && from.length) memcpy(copy, from.bytes, from.length);
    *to = (struct span){copy, from.length};
    return copy;
}

tdm_status template_new(struct template **out, const struct template_source *source, tdm_error *err)
{
    struct template *t = *out = calloc(1, sizeof *t);
    struct span text = source->text;
    if (!t || !copy_span(&t->bos, source->bos) || !copy_span(&t->eos, source->eos) ||
        !copy_span(&t->pad, source->pad)) {
        template_free(t);
        *out = NULL;
        return error_set(err, TDM_E_NOMEM, "no memory for a chat template");
    }
    t->tokenizer = source->tokenizer;
    if (!text.length) {
        bool marks = has_chatml(source->tokenizer);
        t->facts.kind = marks ? TEMPLATE_CHATML : TEMPLATE_PLAIN;
        text = marks ? (struct span){chatml, sizeof chatml - 1} : (struct span){plain, sizeof plain - 1};
    }
    tdm_status status = jinja_parse(&t->parsed, text.bytes, text.length, err);
    if (!status) status = traits_find(t, err);
    if (!status && source->served && !source->text.length) t->facts.thinkings = (1u << TDM_THINKINGS) - 1;
    if (!status) return TDM_OK;
    template_free(t);
    *out = NULL;
    return status;
}

void template_free(struct template *t)
{
    if (!t) return;
    jinja_template_free(t->parsed);
    traits_free(&t->facts);
    free((char *)t->bos.bytes);
    free((char *)t->eos.bytes);
    free((char *)t->pad.bytes);
    free(t);
}

struct span template_chatml(void)
{
    return (struct span){chatml, sizeof chatml - 1};
}

const struct template_facts *template_facts(const struct template *t)
{
    return &t->facts;
}

tdm_status template_check(const struct template *t, tdm_thinking think, tdm_keep_thinking keep, tdm_error *err)
{
    const struct template_facts *f = &t->facts;
    char efforts[80] = "";
    if ((unsigned)think >= TDM_THINKINGS || (unsigned)keep >= TDM_KEEPS)
        return error_set(err, TDM_E_ARG, "no such way of thinking, or of keeping it");
    for (int k = TDM_THINK_LOW; k < TDM_THINKINGS; k++) {
        size_t n = strlen(efforts);
        if (f->thinkings >> k & 1)
            snprintf(efforts + n, sizeof efforts - n, ", %s", tdm_thinking_name((tdm_thinking)k));
    }
    if (think && !(f->thinkings >> TDM_THINK_ON & 1))
        return error_set(err, TDM_E_REFUSED, "this model has no thinking mode");
    if (!(f->thinkings >> think & 1) && efforts[0])
        return error_set(err, TDM_E_REFUSED, "this model's chat template has other efforts: expected off, on%s",
                         efforts);
    if (!(f->thinkings >> think & 1))
        return error_set(err, TDM_E_REFUSED,
                         "this model thinks or doesn't: expected on or off, its chat template knows no effort");
    if (keep == TDM_KEEP_ON && !f->can_keep)
        return error_set(err, TDM_E_REFUSED, "this model's chat template can't keep the thinking of past turns");
    if (keep == TDM_KEEP_OFF && !f->can_drop)
        return error_set(err, TDM_E_REFUSED, "this model's chat template always keeps the thinking of past turns");
    return TDM_OK;
}

/* ---- Rendering --------------------------------------------------------------------------------------------------- */

static jinja_value *data(struct jinja *j, const char *text, size_t n)
{
    return jinja_text(j, n ? text : "", n, JINJA_DATA);
}

static void add_part(struct jinja *j, jinja_value *list, const char *type, const char *text, size_t n)
{
    jinja_value *part = jinja_dict(j, JINJA_DATA);
    jinja_put(j, part, "type", jinja_text(j, type, strlen(type), JINJA_TEMPLATE));
    if (n) jinja_put(j, part, "text", data(j, text, n));
    jinja_add(j, list, part);
}

/* Text and pictures in turn. */
static jinja_value *parts_value(struct jinja *j, const tdm_message *m)
{
    jinja_value *list = jinja_list(j, JINJA_DATA);
    size_t at = 0;
    for (size_t i = 0; i < m->n_pictures; at = m->pictures[i++].at) {
        if (m->pictures[i].at > at) add_part(j, list, "text", m->text + at, m->pictures[i].at - at);
        add_part(j, list, "image", NULL, 0);
    }
    if (m->length > at) add_part(j, list, "text", m->text + at, m->length - at);
    return list;
}

static jinja_value *message_value(struct jinja *j, const struct template *t, const tdm_message *m)
{
    jinja_value *value = jinja_dict(j, JINJA_DATA);
    const char *role = role_names[m->role];
    jinja_put(j, value, "role", jinja_text(j, role, strlen(role), JINJA_TEMPLATE));
    bool shows = m->n_pictures && t->pad.length;
    jinja_put(j, value, "content", shows ? parts_value(j, m) : data(j, m->text, m->length));
    if (m->role != TDM_ASSISTANT || !m->thinking) return value;
    jinja_value *thinking = data(j, m->thinking, m->thinking_length);
    jinja_put(j, value, "reasoning_content", thinking);
    if (m->thinking_length && t->thought) jinja_put(j, value, t->thought, thinking);
    return value;
}

static tdm_status set_json(struct jinja *j, const char *name, const char *json, tdm_error *err)
{
    jinja_value *value;
    if (!json) return TDM_OK;
    tdm_status status = jinja_json(j, name, json, strlen(json), &value, err);
    if (!status) jinja_set(j, name, value);
    return status;
}

static tdm_status set_thinking(struct jinja *j, const struct template *t, const struct template_options *o,
                               tdm_error *err)
{
    const char *effort = t->effort[o->think];
    tdm_status status = TDM_OK;
    for (int i = 0; i < TEMPLATE_SWITCHES && !status; i++) {
        const struct template_switch *s = &template_switches[i];
        if (jinja_names(t->parsed, s->name)) status = set_json(j, s->name, o->think ? s->on : s->off, err);
    }
    if (effort) jinja_set(j, TEMPLATE_EFFORT, jinja_text(j, effort, strlen(effort), JINJA_TEMPLATE));
    for (int i = 0; i < TEMPLATE_KEEPERS && o->keep != TDM_KEEP_AUTO; i++) {
        const struct template_keeper *k = &template_keepers[i];
        if (jinja_names(t->parsed, k->name))
            jinja_set(j, k->name, jinja_truth(j, k->keeps == (o->keep == TDM_KEEP_ON)));
    }
    return status;
}

static tdm_status set_variables(struct jinja *j, const struct template *t, const struct template_options *o,
                                const tdm_message *messages, size_t n, tdm_error *err)
{
    jinja_value *list = jinja_list(j, JINJA_DATA);
    for (size_t i = 0; i < n; i++) {
        if ((unsigned)messages[i].role > TDM_ASSISTANT)
            return error_set(err, TDM_E_REFUSED, "message %zu has an unknown role", i + 1);
        jinja_add(j, list, message_value(j, t, &messages[i]));
    }
    jinja_set(j, "messages", list);
    jinja_set(j, "tools", t->empty_tools ? jinja_list(j, JINJA_TEMPLATE) : jinja_none(j));
    jinja_set(j, "documents", jinja_none(j));
    jinja_set(j, "add_generation_prompt", jinja_truth(j, o->generation));
    if (t->bos.length) jinja_set(j, "bos_token", jinja_text(j, t->bos.bytes, t->bos.length, JINJA_TEMPLATE));
    if (t->eos.length) jinja_set(j, "eos_token", jinja_text(j, t->eos.bytes, t->eos.length, JINJA_TEMPLATE));
    if (o->now.month) jinja_set_now(j, o->now);
    return set_thinking(j, t, o, err);
}

static tdm_status take_output(struct written *out, const struct jinja_output *from, tdm_error *err)
{
    tdm_status status = TDM_OK;
    written_clear(out);
    for (size_t i = 0, at = 0; i < from->n_runs && !status; at = from->runs[i++].end)
        status = written_add(out, (struct span){from->text + at, from->runs[i].end - at},
                             from->runs[i].source == JINJA_DATA, err);
    return status;
}

/* A template is a stranger's program, and the thread that renders can't be told to stop. So a short conversation has
 * small bounds, and only a long one those of jinja.h. */
static struct jinja_bounds bounds_of(const tdm_message *messages, size_t n)
{
    enum { STEPS = 1 << 20, MESSAGE_STEPS = 64 << 10, MEMORY = 16 << 20, MESSAGE_MEMORY = 1 << 20, FOR_A_BYTE = 64 };
    struct jinja_bounds bounds = jinja_default_bounds;
    uint64_t bytes = 0;
    for (size_t i = 0; i < n; i++) bytes += messages[i].length + messages[i].thinking_length;
    uint64_t steps = STEPS + (uint64_t)MESSAGE_STEPS * n + FOR_A_BYTE * bytes;
    uint64_t memory = MEMORY + (uint64_t)MESSAGE_MEMORY * n + FOR_A_BYTE * bytes;
    if (steps < bounds.steps) bounds.steps = steps;
    if (memory < bounds.memory) bounds.memory = (size_t)memory;
    return bounds;
}

tdm_status template_render(const struct template *t, const struct template_options *options,
                           const tdm_message *messages, size_t n, struct written *out, tdm_error *err)
{
    struct jinja_output output = {0};
    tdm_error inner = {0};
    struct jinja_bounds bounds = bounds_of(messages, n);
    struct jinja *j = jinja_new(&bounds);
    if (!j) return error_set(err, TDM_E_NOMEM, "no memory for a prompt of %zu messages", n);
    tdm_status status = set_variables(j, t, options, messages, n, &inner);
    if (!status) status = jinja_render(j, t->parsed, &output, &inner);
    jinja_free(j);
    if (status == TDM_E_REFUSED)
        error_set(err, status, "the chat template refuses: %s", inner.text);
    else if (status)
        error_set(err, status, "the chat template: %s", inner.text);
    if (!status) status = take_output(out, &output, err);
    jinja_output_free(&output);
    return status;
}

struct jinja_time template_time(int64_t seconds)
{
    time_t at = (time_t)seconds;
    struct tm local;
    if (!localtime_r(&at, &local)) return (struct jinja_time){0};
    return (struct jinja_time){local.tm_year + 1900, local.tm_mon + 1, local.tm_mday,
                               local.tm_hour,        local.tm_min,     local.tm_sec};
}

/* ---- Places ------------------------------------------------------------------------------------------------------ */

enum { STRETCHES_AHEAD = 8 }; /* of data, in which a message's text is looked for */

/* The end of the next pad that the template wrote at `at` or behind it; 0: there is none. */
static size_t pad_end(const struct template *t, const struct written *prompt, size_t at)
{
    size_t n = t->pad.length;
    while (n && at < prompt->n) {
        const char *found = memmem(prompt->text + at, prompt->n - at, t->pad.bytes, n);
        if (!found) return 0;
        at = (size_t)(found - prompt->text) + n;
        if (!written_is_data(prompt, at - n, at)) return at;
    }
    return 0;
}

void template_places(const struct template *t, const struct written *prompt, const tdm_message *messages, size_t n,
                     struct template_place *places)
{
    size_t at = 0, stretch = 1; /* odd ones are data */
    for (size_t k = 0; k < n; k++) {
        const tdm_message *m = &messages[k];
        size_t fixed = template_fixed(m), begin = 0, end = m->length - fixed, shown = 0;
        for (size_t pad; shown < m->n_pictures && (pad = pad_end(t, prompt, at)); shown++) at = pad;
        while (m->n_pictures && stretch + 2 < prompt->n_ends && prompt->ends[stretch] <= at) stretch += 2;
        places[k] = (struct template_place){
            .found = m->n_pictures && shown == m->n_pictures, .begin = at, .end = at, .source = fixed};
        if (end) unicode_strip(m->text + fixed, &begin, &end);
        if (begin == end || m->role == TDM_SYSTEM) continue;
        begin += fixed;
        end += fixed;
        for (size_t i = stretch; i < prompt->n_ends && i <= stretch + 2 * STRETCHES_AHEAD; i += 2) {
            size_t from = prompt->ends[i - 1] > at ? prompt->ends[i - 1] : at;
            if (from >= prompt->ends[i]) continue;
            const char *found = memmem(prompt->text + from, prompt->ends[i] - from, m->text + begin, end - begin);
            if (!found) continue;
            size_t place = (size_t)(found - prompt->text);
            places[k] = (struct template_place){true, place, place + end - begin, begin};
            stretch = i;
            at = place + end - begin;
            break;
        }
    }
}

size_t template_turn(const struct template *t, const struct written *prompt, const tdm_message *m, size_t begin)
{
    const char *opens = m->role == TDM_USER ? t->facts.user : t->facts.reply;
    size_t n = strlen(opens), open = begin;
    /* The place before a picture is found by the template's own words alone. */
    while (m->n_pictures && n && open >= n &&
           (memcmp(prompt->text + open - n, opens, n) || written_is_data(prompt, open - n, open)))
        open--;
    if (m->n_pictures && n && open >= n) return open - n;
    bool there = n <= begin && n && !memcmp(prompt->text + begin - n, opens, n);
    return there ? begin - n : begin;
}

size_t template_count(const struct ids *ids, size_t end)
{
    size_t low = 0, high = ids->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ids->end[middle] <= end)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t template_read(const struct template_place *place, size_t end)
{
    if (end <= place->begin) return 0;
    return place->source + (end < place->end ? end : place->end) - place->begin;
}
