#include "src/play/script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/json/json.h"
#include "src/files/files.h"
#include "src/io/messages.h"

enum { MAX_TURNS = 10000, MAX_EVENTS = 10000, LONGEST = 64 << 20 };

static const char *const action_names[SCRIPT_ACTIONS] = {"insert",   "delete",     "send", "send_now", "stop",
                                                     "continue", "regenerate", "undo", "redo",     "branch"};

const char *script_action_name(script_action action)
{
    return action_names[action];
}

bool script_action_is_late(script_action action)
{
    return action == SCRIPT_CONTINUE || action == SCRIPT_REGENERATE || action == SCRIPT_UNDO || action == SCRIPT_REDO;
}

void script_free(script *s)
{
    for (int i = 0; i < s->n; i++) free(s->turns[i].events);
    free(s->turns);
    free(s->history);
    json_free(s->root);
    *s = (script){0};
}

/* ---- Reading --------------------------------------------------------------------------------------------------- */

/* A whole number in [low, high], or -1 when absent; false when it is something else. */
static bool whole(json_object *o, const char *key, int64_t low, int64_t high, int *out)
{
    *out = -1;
    if (!json_has(o, key)) return true;
    int64_t value = json_int(o, key, INT64_MIN);
    if (value < low || value > high) return false;
    *out = (int)value;
    return true;
}

static tdm_status read_event(script_event *e, json_object *o, const char *where, tdm_error *err)
{
    const char *action = json_text(o, "do", NULL);
    int chars = -1, turn = -1;
    for (e->action = 0; e->action < SCRIPT_ACTIONS; e->action++)
        if (action && !strcmp(action, action_names[e->action])) break;
    if (e->action == SCRIPT_ACTIONS)
        return error_set(err, TDM_E_FORMAT, "%s: no such action '%s'", where, action ? action : "");
    bool good = whole(o, "at_chars", 0, INT32_MAX, &e->at_chars) &&
                whole(o, "after_tokens", 1, INT32_MAX, &e->after_tokens) && whole(o, "chars", 1, INT32_MAX, &chars) &&
                whole(o, "turn", 1, INT32_MAX, &turn);
    e->text = json_text(o, "text", NULL);
    e->chars = chars < 0 ? 1 : chars;
    e->turn = turn;
    if (!good)
        return error_set(err, TDM_E_FORMAT, "%s: at_chars, after_tokens, chars and turn are whole numbers", where);
    bool typed = e->action == SCRIPT_INSERT || e->action == SCRIPT_DELETE || e->action == SCRIPT_SEND;
    bool placed = e->action == SCRIPT_STOP || e->action == SCRIPT_SEND_NOW;
    if ((typed && e->at_chars < 0) || (placed && e->after_tokens < 0))
        return error_set(err, TDM_E_FORMAT, "%s: %s needs %s", where, action, typed ? "at_chars" : "after_tokens");
    if (e->action == SCRIPT_INSERT && !e->text) return error_set(err, TDM_E_FORMAT, "%s: insert needs a text", where);
    if (e->action == SCRIPT_BRANCH && e->turn < 0)
        return error_set(err, TDM_E_FORMAT, "%s: branch needs a turn", where);
    return TDM_OK;
}

static tdm_status read_events(script_turn *t, json_object *array, const char *where, tdm_error *err)
{
    size_t n = json_length(array);
    if (n > MAX_EVENTS)
        return error_set(err, TDM_E_FORMAT, "%s: %zu events, expected at most %d", where, n, MAX_EVENTS);
    if (!(t->events = calloc(n + 1, sizeof *t->events))) return error_set(err, TDM_E_NOMEM, "out of memory");
    t->n_events = (int)n;
    for (size_t i = 0; i < n; i++) {
        char place[300];
        snprintf(place, sizeof place, "%.250s: event %zu", where, i + 1);
        tdm_status status = read_event(&t->events[i], json_at(array, i), place, err);
        if (status) return status;
    }
    return TDM_OK;
}

static tdm_status read_turn(script_turn *t, json_object *o, const char *where, tdm_error *err)
{
    const char *speculation = json_text(o, "speculation", NULL);
    json_object *events = json_member(o, "events", JSON_ARRAY);
    t->text = json_text(o, "text", NULL);
    t->pause_s = json_real(o, "pause", 0);
    t->speculation = speculation ? tdm_speculation_find(speculation) : -1;
    if (!t->text || !t->text[0]) return error_set(err, TDM_E_FORMAT, "%s: expected a text", where);
    if (!(t->pause_s >= 0 && t->pause_s <= 3600))
        return error_set(err, TDM_E_FORMAT, "%s: pause: expected 0 to 3600 seconds", where);
    if (!whole(o, "start_after_tokens", 0, INT32_MAX, &t->start_after_tokens))
        return error_set(err, TDM_E_FORMAT, "%s: start_after_tokens: expected a whole number", where);
    if (speculation && t->speculation < 0)
        return error_set(err, TDM_E_FORMAT, "%s: speculation: no such level '%s'", where, speculation);
    return events ? read_events(t, events, where, err) : TDM_OK;
}

static tdm_status read_turns(script *s, const char *name, tdm_error *err)
{
    json_object *turns = json_member(s->root, "turns", JSON_ARRAY);
    size_t n = json_length(turns);
    if (!n || n > MAX_TURNS)
        return error_set(err, TDM_E_FORMAT, "%s: turns: expected an array of 1 to %d, found %zu", name, MAX_TURNS, n);
    if (!(s->turns = calloc(n, sizeof *s->turns))) return error_set(err, TDM_E_NOMEM, "out of memory");
    s->n = (int)n;
    for (size_t i = 0; i < n; i++) {
        char where[300];
        snprintf(where, sizeof where, "%.250s: turn %zu", name, i + 1);
        tdm_status status = read_turn(&s->turns[i], json_at(turns, i), where, err);
        if (status) return status;
    }
    return TDM_OK;
}

static tdm_status read_root(script *s, const char *name, tdm_error *err)
{
    json_object *history = json_member(s->root, "history", JSON_ARRAY);
    int max_tokens;
    int64_t seed = json_int(s->root, "seed", 0);
    s->system = json_text(s->root, "system", NULL);
    s->temperature = json_real(s->root, "temperature", -1);
    s->typing_cps = json_real(s->root, "typing_cps", 30);
    s->seed = (uint64_t)seed;
    if (!whole(s->root, "max_tokens", 1, 1 << 20, &max_tokens))
        return error_set(err, TDM_E_FORMAT, "%s: max_tokens: expected 1 to %d", name, 1 << 20);
    s->max_tokens = max_tokens < 0 ? 100 : max_tokens;
    if (seed < 0) return error_set(err, TDM_E_FORMAT, "%s: seed: expected 0 or more", name);
    if (s->temperature > 100) return error_set(err, TDM_E_FORMAT, "%s: temperature: expected 0 to 100", name);
    if (!(s->typing_cps >= 0 && s->typing_cps <= 1e6))
        return error_set(err, TDM_E_FORMAT, "%s: typing_cps: expected 0 to 1000000", name);
    tdm_status status = history ? messages_read(history, name, &s->history, &s->n_history, err) : TDM_OK;
    for (size_t i = 0; !status && i < s->n_history; i++)
        if (s->history[i].role != (i % 2 ? TDM_ASSISTANT : TDM_USER))
            status = error_set(err, TDM_E_FORMAT, "%s: history %zu: user and assistant take turns", name, i + 1);
    if (!status && s->n_history % 2)
        status = error_set(err, TDM_E_FORMAT, "%s: history: ends with a user's message", name);
    return status ? status : read_turns(s, name, err);
}

tdm_status script_parse(script *out, const char *name, const char *bytes, size_t n, tdm_error *err)
{
    *out = (script){0};
    tdm_status status = json_parse(&out->root, name, bytes, n, JSON_UTF8, err);
    if (status) return status;
    if (!json_is(out->root, JSON_OBJECT))
        status = error_set(err, TDM_E_FORMAT, "%s: expected an object", name);
    else
        status = read_root(out, name, err);
    if (status) script_free(out);
    return status;
}

tdm_status script_read(script *out, const char *path, tdm_error *err)
{
    char *bytes;
    size_t n;
    tdm_status status = files_read_text(path, LONGEST, &bytes, &n, err);
    if (status) return status;
    status = script_parse(out, path, bytes, n, err);
    free(bytes);
    return status;
}

tdm_status script_load_history(const script *s, tdm_chat *chat, const char *system, tdm_error *err)
{
    tdm_node *nodes = calloc(s->n_history + 1, sizeof *nodes);
    if (!nodes) return error_set(err, TDM_E_NOMEM, "out of memory");
    for (size_t i = 0; i < s->n_history; i++) /* borrowed: tdm_chat_load copies */
        nodes[i] = (tdm_node){.node = (int)i + 1,
                              .parent = (int)i,
                              .role = s->history[i].role,
                              .text = (char *)s->history[i].text,
                              .length = s->history[i].length};
    int n = (int)s->n_history;
    tdm_status status = tdm_chat_load(chat, system, system ? strlen(system) : 0, nodes, n, n, 0, err);
    free(nodes);
    return status;
}

int script_reply_limit(const script *s, int turn, bool last)
{
    int limit = s->max_tokens;
    for (int k = turn; k <= turn + last && k < s->n; k++) {
        script_action wanted = k == turn ? SCRIPT_STOP : SCRIPT_SEND_NOW;
        for (int i = 0; i < s->turns[k].n_events; i++) {
            const script_event *e = &s->turns[k].events[i];
            if (e->action == wanted && e->after_tokens < limit) limit = e->after_tokens;
        }
    }
    return limit;
}

double script_interval(const script *s, int turn, int character)
{
    if (s->typing_cps <= 0) return 0;
    /* splitmix64 of seed, turn and character */
    uint64_t z = s->seed * 0xD1342543DE82EF95u + ((uint64_t)turn << 32) + (uint64_t)character;
    z = (z + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    double u = (double)(z >> 11) * 0x1p-53;
    return (0.5 + u) / s->typing_cps;
}
