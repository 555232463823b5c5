#include "src/watch/difference.h"

#include <string.h>

#include "engine/base/error.h"
#include "src/io/jsonio.h"

enum { MAX_SLIDES = 64, MAX_ELEMENTS = 1 << 16, MAX_MEMBERS = 1 << 12 };

/* ---- Making ----------------------------------------------------------------------------------------------------- */

static json_object *change(const char *tag)
{
    json_object *c = jsonio_array();
    jsonio_append_string(c, tag);
    return c;
}

static json_object *shared(json_object *value)
{
    return json_object_get(value);
}

static void append_shared(json_object *array, json_object *value)
{
    if (value)
        jsonio_append(array, shared(value));
    else
        jsonio_append_null(array);
}

static json_object *replaced(json_object *now)
{
    json_object *c = change("is");
    append_shared(c, now);
    return c;
}

static size_t elements_kept(json_object *before, json_object *now, size_t from)
{
    size_t n = json_object_array_length(before), m = json_object_array_length(now), kept = 0;
    while (from + kept < n && kept < m &&
           json_object_equal(json_object_array_get_idx(before, from + kept), json_object_array_get_idx(now, kept)))
        kept++;
    return kept;
}

/* Where most of the array's beginning stood before: lists of what was done last lose at their beginning what they get
 * at their end. */
static size_t slide(json_object *before, json_object *now, size_t *kept)
{
    size_t n = json_object_array_length(before), best = 0, tries = 0;
    json_object *first = json_object_array_get_idx(now, 0);
    *kept = 0;
    for (size_t from = 0; from < n && tries < MAX_SLIDES; from++) {
        if (!json_object_equal(json_object_array_get_idx(before, from), first)) continue;
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
    size_t n = json_object_array_length(before), m = json_object_array_length(now), kept = 0, others = 0;
    size_t from = m ? slide(before, now, &kept) : 0;
    for (size_t i = 0; i < m && n == m; i++)
        others += !json_object_equal(json_object_array_get_idx(before, i), json_object_array_get_idx(now, i));
    bool at = n == m && others < m && others <= m - kept;
    if (!at && !kept) return replaced(now);
    json_object *c = change(at ? "at" : "slide"), *list = jsonio_array();
    if (!at) {
        jsonio_append_int(c, (int64_t)from);
        jsonio_append_int(c, (int64_t)kept);
    }
    for (size_t i = at ? 0 : kept; i < m; i++) {
        json_object *element = json_object_array_get_idx(now, i), *pair;
        if (!at) {
            append_shared(list, element);
        } else if (!json_object_equal(json_object_array_get_idx(before, i), element)) {
            pair = jsonio_array();
            jsonio_append_int(pair, (int64_t)i);
            append_shared(pair, element);
            jsonio_append(list, pair);
        }
    }
    jsonio_append(c, list);
    return c;
}

static json_object *value_change(json_object *before, json_object *now)
{
    json_type type = json_object_get_type(now);
    if (type != json_object_get_type(before)) return replaced(now);
    if (type == json_type_array) return array_change(before, now);
    if (type != json_type_object) return replaced(now);
    json_object *c = change("in");
    jsonio_append(c, difference_between(before, now));
    return c;
}

json_object *difference_between(json_object *before, json_object *now)
{
    json_object *changes = jsonio_object(), *was;
    json_object_object_foreach(now, key, value)
    {
        if (!json_object_object_get_ex(before, key, &was))
            jsonio_add(changes, key, replaced(value));
        else if (!json_object_equal(was, value))
            jsonio_add(changes, key, value_change(was, value));
    }
    json_object_object_foreach(before, old, unused)
    {
        (void)unused;
        if (!json_object_object_get_ex(now, old, NULL)) jsonio_add(changes, old, change("gone"));
    }
    return changes;
}

/* ---- Applying --------------------------------------------------------------------------------------------------- */

static json_object *part(json_object *c, size_t i, json_type type)
{
    json_object *o = i < json_object_array_length(c) ? json_object_array_get_idx(c, i) : NULL;
    return json_object_is_type(o, type) ? o : NULL;
}

/* An index or a count of at most `most`; -1: it is none. */
static int64_t number(json_object *c, size_t i, size_t most)
{
    json_object *o = part(c, i, json_type_int);
    int64_t n = o ? json_object_get_int64(o) : -1;
    return n >= 0 && (uint64_t)n <= most ? n : -1;
}

static bool slid(json_object *before, json_object *c, json_object *now)
{
    size_t n = json_object_array_length(before);
    int64_t from = number(c, 1, n), kept = from < 0 ? -1 : number(c, 2, n - (size_t)from);
    json_object *rest = part(c, 3, json_type_array);
    if (kept < 0 || !rest || (size_t)kept + json_object_array_length(rest) > MAX_ELEMENTS) return false;
    for (int64_t i = 0; i < kept; i++) append_shared(now, json_object_array_get_idx(before, (size_t)(from + i)));
    for (size_t i = 0; i < json_object_array_length(rest); i++) append_shared(now, json_object_array_get_idx(rest, i));
    return true;
}

static bool changed_at(json_object *before, json_object *c, json_object *now)
{
    size_t n = json_object_array_length(before), i = 0;
    json_object *list = part(c, 1, json_type_array);
    for (size_t k = 0; list && k < json_object_array_length(list); k++) {
        json_object *pair = part(list, k, json_type_array);
        int64_t at = pair && json_object_array_length(pair) == 2 && n ? number(pair, 0, n - 1) : -1;
        if (at < 0 || (size_t)at < i) return false;
        for (; i < (size_t)at; i++) append_shared(now, json_object_array_get_idx(before, i));
        append_shared(now, json_object_array_get_idx(pair, 1));
        i++;
    }
    for (; i < n; i++) append_shared(now, json_object_array_get_idx(before, i));
    return list != NULL;
}

/* What a change makes of a value. TDM_E_FORMAT: it is none of this value. */
static tdm_status value_after(json_object *before, json_object *c, json_object **now, tdm_error *err)
{
    json_object *tag = json_object_is_type(c, json_type_array) ? part(c, 0, json_type_string) : NULL;
    const char *kind = tag ? json_object_get_string(tag) : "";
    bool array = json_object_is_type(before, json_type_array), good = false;
    *now = NULL;
    if (!strcmp(kind, "is") && json_object_array_length(c) == 2) {
        *now = shared(json_object_array_get_idx(c, 1));
        return TDM_OK;
    }
    json_object *within = !strcmp(kind, "in") ? part(c, 1, json_type_object) : NULL;
    if (within && json_object_is_type(before, json_type_object)) return difference_apply(before, within, now, err);
    if (array && (!strcmp(kind, "slide") || !strcmp(kind, "at"))) {
        *now = jsonio_array();
        good = kind[0] == 's' ? slid(before, c, *now) : changed_at(before, c, *now);
    }
    if (good) return TDM_OK;
    json_object_put(*now);
    *now = NULL;
    return error_set(err, TDM_E_FORMAT, "a change that is none of what was before");
}

tdm_status difference_apply(json_object *before, json_object *changes, json_object **now, tdm_error *err)
{
    tdm_status status = TDM_OK;
    json_object *out = jsonio_object(), *c, *value;
    json_object_object_foreach(before, key, was)
    {
        if (!json_object_object_get_ex(changes, key, &c)) {
            if (was)
                jsonio_add(out, key, shared(was));
            else
                jsonio_add_null(out, key);
            continue;
        }
        json_object *tag = json_object_is_type(c, json_type_array) ? part(c, 0, json_type_string) : NULL;
        if (tag && !strcmp(json_object_get_string(tag), "gone")) continue;
        if (!status) status = value_after(was, c, &value, err);
        if (status) break;
        if (value)
            jsonio_add(out, key, value);
        else
            jsonio_add_null(out, key);
    }
    json_object_object_foreach(changes, added, how)
    {
        if (status || json_object_object_get_ex(before, added, NULL)) continue;
        status = value_after(NULL, how, &value, err);
        if (status) break;
        if (value)
            jsonio_add(out, added, value);
        else
            jsonio_add_null(out, added);
    }
    if (!status && !out) status = error_set(err, TDM_E_NOMEM, "out of memory");
    if (!status && json_object_object_length(out) > MAX_MEMBERS)
        status = error_set(err, TDM_E_FORMAT, "more than %d members", MAX_MEMBERS);
    if (!status) {
        *now = out;
        return TDM_OK;
    }
    json_object_put(out);
    return status;
}
