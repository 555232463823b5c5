#include "src/watch/difference.h"

#include <string.h>

#include "engine/base/error.h"
#include "engine/json/write.h"

enum { MAX_SLIDES = 64, MAX_ELEMENTS = 1 << 16, MAX_MEMBERS = 1 << 12 };

/* ---- Making ----------------------------------------------------------------------------------------------------- */

static json_object *change(const char *tag)
{
    json_object *c = json_new_array();
    json_append_string(c, tag);
    return c;
}

static json_object *replaced(json_object *now)
{
    json_object *c = change("is");
    json_append_shared(c, now);
    return c;
}

static size_t elements_kept(json_object *before, json_object *now, size_t from)
{
    size_t n = json_length(before), m = json_length(now), kept = 0;
    while (from + kept < n && kept < m && json_equal(json_at(before, from + kept), json_at(now, kept))) kept++;
    return kept;
}

/* Where most of the array's beginning stood before: lists of what was done last lose at their beginning what they get
 * at their end. */
static size_t slide(json_object *before, json_object *now, size_t *kept)
{
    size_t n = json_length(before), best = 0, tries = 0;
    json_object *first = json_at(now, 0);
    *kept = 0;
    for (size_t from = 0; from < n && tries < MAX_SLIDES; from++) {
        if (!json_equal(json_at(before, from), first)) continue;
        size_t here = elements_kept(before, now, from);
        tries++;
        if (here <= *kept) continue;
        *kept = here;
        best = from;
    }
    return best;
}

static json_object *array_change(json_object *before, json_object *now)
{
    size_t n = json_length(before), m = json_length(now), kept = 0, others = 0;
    size_t from = m ? slide(before, now, &kept) : 0;
    for (size_t i = 0; i < m && n == m; i++) others += !json_equal(json_at(before, i), json_at(now, i));
    bool at = n == m && others < m && others <= m - kept;
    if (!at && !kept) return replaced(now);
    json_object *c = change(at ? "at" : "slide"), *list = json_new_array();
    if (!at) {
        json_append_int(c, (int64_t)from);
        json_append_int(c, (int64_t)kept);
    }
    for (size_t i = at ? 0 : kept; i < m; i++) {
        json_object *element = json_at(now, i), *pair;
        if (!at) {
            json_append_shared(list, element);
        } else if (!json_equal(json_at(before, i), element)) {
            pair = json_new_array();
            json_append_int(pair, (int64_t)i);
            json_append_shared(pair, element);
            json_append(list, pair);
        }
    }
    json_append(c, list);
    return c;
}

static json_object *value_change(json_object *before, json_object *now)
{
    json_kind type = json_kind_of(now);
    if (type != json_kind_of(before)) return replaced(now);
    if (type == JSON_ARRAY) return array_change(before, now);
    if (type != JSON_OBJECT) return replaced(now);
    json_object *c = change("in");
    json_append(c, difference_between(before, now));
    return c;
}

json_object *difference_between(json_object *before, json_object *now)
{
    json_object *changes = json_new_object();
    for (struct json_walk m = json_walk(now); json_next(&m);) {
        json_object *was = json_get(before, m.key);
        if (!json_has(before, m.key))
            json_add(changes, m.key, replaced(m.value));
        else if (!json_equal(was, m.value))
            json_add(changes, m.key, value_change(was, m.value));
    }
    for (struct json_walk m = json_walk(before); json_next(&m);)
        if (!json_has(now, m.key)) json_add(changes, m.key, change("gone"));
    return changes;
}

/* ---- Applying --------------------------------------------------------------------------------------------------- */

static json_object *part(json_object *c, size_t i, json_kind kind)
{
    json_object *o = json_at(c, i);
    return json_is(o, kind) ? o : NULL;
}

/* The word at the beginning of a change; "": it is no change. */
static const char *tag_of(json_object *c)
{
    const char *tag = json_text_of(json_at(c, 0));
    return tag ? tag : "";
}

/* An index or a count of at most `most`; -1: it is none. */
static int64_t number(json_object *c, size_t i, size_t most)
{
    json_object *o = part(c, i, JSON_INT);
    int64_t n = o ? json_int_of(o) : -1;
    return n >= 0 && (uint64_t)n <= most ? n : -1;
}

static bool slid(json_object *before, json_object *c, json_object *now)
{
    size_t n = json_length(before);
    int64_t from = number(c, 1, n), kept = from < 0 ? -1 : number(c, 2, n - (size_t)from);
    json_object *rest = part(c, 3, JSON_ARRAY);
    if (kept < 0 || !rest || (size_t)kept + json_length(rest) > MAX_ELEMENTS) return false;
    for (int64_t i = 0; i < kept; i++) json_append_shared(now, json_at(before, (size_t)(from + i)));
    for (size_t i = 0; i < json_length(rest); i++) json_append_shared(now, json_at(rest, i));
    return true;
}

static bool changed_at(json_object *before, json_object *c, json_object *now)
{
    size_t n = json_length(before), i = 0;
    json_object *list = part(c, 1, JSON_ARRAY);
    for (size_t k = 0; k < json_length(list); k++) {
        json_object *pair = part(list, k, JSON_ARRAY);
        int64_t at = json_length(pair) == 2 && n ? number(pair, 0, n - 1) : -1;
        if (at < 0 || (size_t)at < i) return false;
        for (; i < (size_t)at; i++) json_append_shared(now, json_at(before, i));
        json_append_shared(now, json_at(pair, 1));
        i++;
    }
    for (; i < n; i++) json_append_shared(now, json_at(before, i));
    return list != NULL;
}

/* What a change makes of a value. TDM_E_FORMAT: it is none of this value. */
static tdm_status value_after(json_object *before, json_object *c, json_object **now, tdm_error *err)
{
    const char *kind = tag_of(c);
    bool array = json_is(before, JSON_ARRAY), good = false;
    *now = NULL;
    if (!strcmp(kind, "is") && json_length(c) == 2) {
        *now = json_share(json_at(c, 1));
        return TDM_OK;
    }
    json_object *within = !strcmp(kind, "in") ? part(c, 1, JSON_OBJECT) : NULL;
    if (within && json_is(before, JSON_OBJECT)) return difference_apply(before, within, now, err);
    if (array && (!strcmp(kind, "slide") || !strcmp(kind, "at"))) {
        *now = json_new_array();
        good = kind[0] == 's' ? slid(before, c, *now) : changed_at(before, c, *now);
    }
    if (good) return TDM_OK;
    json_free(*now);
    *now = NULL;
    return error_set(err, TDM_E_FORMAT, "a change that is none of what was before");
}

/* Adds what a change makes of a value. */
static tdm_status add_after(json_object *out, const char *key, json_object *before, json_object *c, tdm_error *err)
{
    json_object *now;
    tdm_status status = value_after(before, c, &now, err);
    if (!status) json_add_shared(out, key, now);
    json_free(now);
    return status;
}

tdm_status difference_apply(json_object *before, json_object *changes, json_object **now, tdm_error *err)
{
    tdm_status status = TDM_OK;
    json_object *out = json_new_object();
    for (struct json_walk m = json_walk(before); !status && json_next(&m);) {
        json_object *c = json_get(changes, m.key);
        if (!json_has(changes, m.key))
            json_add_shared(out, m.key, m.value);
        else if (strcmp(tag_of(c), "gone"))
            status = add_after(out, m.key, m.value, c, err);
    }
    for (struct json_walk m = json_walk(changes); !status && json_next(&m);)
        if (!json_has(before, m.key)) status = add_after(out, m.key, NULL, m.value, err);
    if (!status && !out) status = error_set(err, TDM_E_NOMEM, "out of memory");
    if (!status && json_members(out) > MAX_MEMBERS)
        status = error_set(err, TDM_E_FORMAT, "more than %d members", MAX_MEMBERS);
    if (!status) {
        *now = out;
        return TDM_OK;
    }
    json_free(out);
    return status;
}
