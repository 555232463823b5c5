#include "engine/text/jinja/jinja.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/json/scan.h"
#include "engine/text/jinja/run/state.h"

const struct jinja_bounds jinja_default_bounds = {
    .steps = 256u << 20, .depth = 1000, .output = 256u << 20, .memory = 1u << 30};

enum { PARSED_MAX = 256 << 20 }; /* bytes of a parsed template of JINJA_LONGEST */

/* ---- Templates ----------------------------------------------------------------------------------------------- */

tdm_status jinja_parse(struct jinja_template **out, const char *text, size_t n, tdm_error *err)
{
    *out = NULL;
    if (n > JINJA_LONGEST)
        return error_set(err, TDM_E_FORMAT, "expected a template of at most %d bytes, found %zu", JINJA_LONGEST, n);
    struct jinja_template *t = calloc(1, sizeof *t);
    if (!t) return error_set(err, TDM_E_NOMEM, "no memory for a template");
    struct trap trap = {0};
    t->arena = (struct arena){.trap = &trap, .most = PARSED_MAX};
    if (setjmp(trap.back)) {
        jinja_template_free(t);
        if (err) *err = trap.err;
        return trap.status;
    }
    parse_template(t, (struct span){text, n});
    t->arena.trap = NULL;
    *out = t;
    return TDM_OK;
}

void jinja_template_free(struct jinja_template *t)
{
    if (!t) return;
    arena_free(&t->arena);
    free(t);
}

static int name_index(const struct jinja_template *t, const char *name)
{
    for (int i = 0; i < t->n_names; i++)
        if (span_is(str_span(t->names[i].text), name)) return i;
    return -1;
}

bool jinja_names(const struct jinja_template *t, const char *variable)
{
    int name = name_index(t, variable);
    return name >= 0 && t->names[name].read;
}

/* ---- Values -------------------------------------------------------------------------------------------------- */

struct jinja *jinja_new(const struct jinja_bounds *bounds)
{
    struct jinja *j = calloc(1, sizeof *j);
    if (!j) return NULL;
    j->bounds = bounds ? *bounds : jinja_default_bounds;
    j->arena = (struct arena){.trap = &j->trap, .most = j->bounds.memory};
    return j;
}

void jinja_free(struct jinja *j)
{
    if (!j) return;
    arena_free(&j->arena);
    free(j);
}

/* Builds a value for the caller: the first failure is kept in the trap, and rendering reports it. */
#define BUILD(j, failed)                                                                                               \
    do {                                                                                                               \
        if ((j)->trap.status || setjmp((j)->trap.back)) return failed;                                                 \
    } while (0)

static struct value *keep(struct jinja *j, struct value v)
{
    struct value *kept = arena_take(&j->arena, sizeof *kept);
    *kept = v;
    return kept;
}

jinja_value *jinja_none(struct jinja *j)
{
    BUILD(j, NULL);
    return keep(j, (struct value){.kind = VALUE_NONE, .data = true});
}

jinja_value *jinja_truth(struct jinja *j, bool truth)
{
    BUILD(j, NULL);
    return keep(j, (struct value){.kind = VALUE_BOOL, .data = true, .truth = truth});
}

jinja_value *jinja_text(struct jinja *j, const char *bytes, size_t n, enum jinja_source source)
{
    BUILD(j, NULL);
    return keep(j, value_str(str_copy(&j->arena, (struct span){bytes, n}, source == JINJA_DATA)));
}

jinja_value *jinja_list(struct jinja *j, enum jinja_source source)
{
    BUILD(j, NULL);
    return keep(j, value_list(list_new(&j->arena, LIST_LIST, source == JINJA_DATA)));
}

void jinja_add(struct jinja *j, jinja_value *list, const jinja_value *item)
{
    BUILD(j, );
    if (list && item) list_add(&j->arena, list->list, *item);
}

jinja_value *jinja_dict(struct jinja *j, enum jinja_source source)
{
    BUILD(j, NULL);
    return keep(j, value_dict(dict_new(&j->arena, source == JINJA_DATA)));
}

void jinja_put(struct jinja *j, jinja_value *dict, const char *key, const jinja_value *item)
{
    BUILD(j, );
    if (!dict || !item) return;
    const struct str *name = str_copy(&j->arena, span_text(key), dict->dict->data);
    dict_put(&j->arena, dict->dict, value_str(name), *item);
}

jinja_value *jinja_get(struct jinja *j, jinja_value *dict, const char *key)
{
    BUILD(j, NULL);
    if (!dict || dict->kind != VALUE_DICT) return NULL;
    return dict_find_text(&j->arena, dict->dict, span_text(key));
}

bool jinja_is_list(const jinja_value *value)
{
    return value && value->kind == VALUE_LIST;
}

void jinja_set(struct jinja *j, const char *variable, const jinja_value *value)
{
    BUILD(j, );
    if (!value) return;
    if (!j->variables) j->variables = dict_new(&j->arena, false);
    struct span name = span_text(variable);
    dict_put(&j->arena, j->variables, value_str(str_copy(&j->arena, name, false)), *value);
}

void jinja_set_now(struct jinja *j, struct jinja_time now)
{
    assert_always(now.month >= 1 && now.month <= 12 && now.day >= 1 && now.day <= 31 && now.year >= 1);
    j->has_now = true;
    j->now = now;
}

static bool is_word(struct span s)
{
    for (size_t i = 0; i < s.length; i++) {
        char c = s.bytes[i];
        bool letter = (c | 32) >= 'a' && (c | 32) <= 'z';
        if (!letter && !(c >= '0' && c <= '9') && c != '-' && c != '_') return false;
    }
    return s.length > 0;
}

void jinja_trust_roles(struct jinja *j, jinja_value *messages)
{
    BUILD(j, );
    if (!messages || messages->kind != VALUE_LIST) return;
    for (size_t i = 0; i < messages->list->n; i++) {
        struct value message = messages->list->items[i];
        struct value *role =
            message.kind == VALUE_DICT ? dict_find_text(&j->arena, message.dict, (struct span){"role", 4}) : NULL;
        if (role && role->kind == VALUE_STR && is_word(str_span(role->str)))
            role->str = str_of(&j->arena, str_span(role->str), false);
    }
}

/* ---- JSON ---------------------------------------------------------------------------------------------------- */

static struct value read_number(struct jinja *j, struct jsonscan *s)
{
    const char *begin = s->at;
    bool real = false;
    for (; s->at < s->end && *s->at && strchr("+-.0123456789eE", *s->at); s->at++) real = real || strchr(".eE", *s->at);
    size_t n = (size_t)(s->at - begin);
    char *text = arena_take(&j->arena, n + 1), *end;
    memcpy(text, begin, n);
    text[n] = 0;
    struct value v = {.kind = VALUE_INT, .data = true};
    errno = 0;
    if (!real) v.integer = strtoll(text, &end, 10);
    if (real || errno) {
        v.kind = VALUE_FLOAT;
        v.real = strtod(text, &end);
    }
    if (!n || *end) {
        s->at = begin;
        jsonscan_fail(s, "a value");
    }
    return v;
}

static struct value read_json(struct jinja *j, struct jsonscan *s)
{
    struct value v = {.kind = VALUE_NONE, .data = true};
    char c = jsonscan_peek(s);
    struct span key;
    if (s->status) return v;
    if (c == '{') {
        v = value_dict(dict_new(&j->arena, true));
        jsonscan_object(s);
        while (jsonscan_member(s, &key)) {
            struct value name = value_str(str_copy(&j->arena, key, true));
            dict_put(&j->arena, v.dict, name, read_json(j, s));
        }
    } else if (c == '[') {
        v = value_list(list_new(&j->arena, LIST_LIST, true));
        jsonscan_array(s);
        while (jsonscan_element(s)) list_add(&j->arena, v.list, read_json(j, s));
    } else if (c == '"') {
        v = value_str(str_copy(&j->arena, jsonscan_string(s), true));
    } else if (c == 't' || c == 'f') {
        v = (struct value){.kind = VALUE_BOOL, .data = true, .truth = jsonscan_boolean(s)};
    } else if (c == 'n') {
        if (!jsonscan_null(s)) jsonscan_fail(s, "a value");
    } else {
        v = read_number(j, s);
    }
    return v;
}

tdm_status jinja_json(struct jinja *j, const char *name, const char *text, size_t n, jinja_value **out, tdm_error *err)
{
    struct jsonscan *s = malloc(sizeof *s);
    *out = NULL;
    if (!s) return error_set(err, TDM_E_NOMEM, "no memory for %s", name);
    jsonscan_open(s, name, text, n, err);
    s->raw_controls = true;
    tdm_status status = j->trap.status;
    if (status || setjmp(j->trap.back)) {
        jsonscan_close(s);
        free(s);
        if (err) *err = j->trap.err;
        return j->trap.status;
    }
    struct value v = read_json(j, s);
    jsonscan_finish(s);
    if (!s->status) *out = keep(j, v);
    status = s->status;
    jsonscan_close(s);
    free(s);
    return status;
}

/* ---- Rendering ----------------------------------------------------------------------------------------------- */

static void set_globals(struct jinja *j)
{
    const struct jinja_template *t = j->t;
    j->globals = arena_clear(&j->arena, (size_t)t->n_names + 1, sizeof *j->globals);
    for (int i = 0; i < t->n_names; i++) {
        struct span name = str_span(t->names[i].text);
        struct value *set = j->variables ? dict_find_text(&j->arena, j->variables, name) : NULL;
        const struct function *function = call_function(name);
        if (function && !j->has_now && span_is(name, "strftime_now")) function = NULL;
        if (set) {
            j->globals[i] = *set;
        } else if (function) {
            j->globals[i] = (struct value){.kind = VALUE_FUNCTION, .function = function};
        } else {
            struct undefined *u = arena_clear(&j->arena, 1, sizeof *u);
            u->name = name;
            j->globals[i] = (struct value){.kind = VALUE_UNDEFINED, .undefined = u};
        }
    }
    j->loop_name = name_index(t, "loop");
    j->rest = name_index(t, "varargs") >= 0 || name_index(t, "kwargs") >= 0;
}

static tdm_status take_output(struct builder *text, struct jinja_output *out, tdm_error *err)
{
    out->text = malloc(text->n + 1);
    out->runs = malloc((text->n_runs + 1) * sizeof *out->runs);
    if (!out->text || !out->runs) {
        jinja_output_free(out);
        return error_set(err, TDM_E_NOMEM, "no memory for a prompt of %zu bytes", text->n);
    }
    if (text->n) memcpy(out->text, text->bytes, text->n);
    out->text[text->n] = 0;
    out->length = text->n;
    out->n_runs = text->n_runs;
    for (size_t i = 0; i < text->n_runs; i++)
        out->runs[i] = (struct jinja_run){text->runs[i].end, text->runs[i].data ? JINJA_DATA : JINJA_TEMPLATE};
    return TDM_OK;
}

tdm_status jinja_render(struct jinja *j, const struct jinja_template *t, struct jinja_output *out, tdm_error *err)
{
    *out = (struct jinja_output){0};
    struct builder *text = NULL;
    if (j->trap.status || setjmp(j->trap.back)) {
        if (err) *err = j->trap.err;
        return j->trap.status;
    }
    text = arena_clear(&j->arena, 1, sizeof *text);
    text->most = j->bounds.output;
    j->t = t;
    j->out = text;
    j->scope = arena_clear(&j->arena, 1, sizeof *j->scope);
    set_globals(j);
    execute(j, t->body);
    return take_output(j->out, out, err);
}

void jinja_output_free(struct jinja_output *out)
{
    free(out->text);
    free(out->runs);
    *out = (struct jinja_output){0};
}
