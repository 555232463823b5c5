/* Filters of sequences and dictionaries. */
#include <string.h>

#include "engine/text/jinja/library/filters.h"
#include "engine/text/jinja/library/methods.h"
#include "engine/text/jinja/library/tests.h"

#define FILTER(name) static struct value name(struct jinja *j, struct value v, const struct value *arg, unsigned given)
#define UNUSED       (void)j, (void)arg, (void)given

/* ---- Attributes ---------------------------------------------------------------------------------------------- */

/* The attribute "a.b.0" of a value; `attribute` undefined or none: the value itself. */
static struct value reach(struct jinja *j, struct value v, struct value attribute)
{
    if (attribute.kind == VALUE_UNDEFINED || attribute.kind == VALUE_NONE) return v;
    if (attribute.kind == VALUE_INT) return evaluate_item(j, v, attribute);
    const struct str *path = filters_text(j, attribute);
    for (size_t at = 0; at <= path->length;) {
        size_t dot = str_find(str_span(path), (struct span){".", 1}, at);
        const struct str *name = str_part(&j->arena, path, at, dot == SIZE_MAX ? path->length : dot);
        bool number = name->length && name->length < 10;
        int64_t index = 0;
        for (size_t i = 0; i < name->length && number; i++) {
            number = name->bytes[i] >= '0' && name->bytes[i] <= '9';
            index = index * 10 + name->bytes[i] - '0';
        }
        v = evaluate_item(j, v, number ? value_int(index) : value_str(name));
        if (dot == SIZE_MAX) break;
        at = dot + 1;
    }
    return v;
}

/* What texts are compared by: in lower case, unless case matters. */
static struct value fold(struct jinja *j, struct value v, bool sensitive)
{
    return sensitive || v.kind != VALUE_STR ? v : value_str(methods_lower(j, v.str));
}

/* The items' attributes, folded. */
static struct list keys_of(struct jinja *j, const struct list *items, struct value attribute, bool sensitive)
{
    struct list keys = {.n = items->n, .items = arena_take(&j->arena, (items->n + 1) * sizeof(struct value))};
    for (size_t i = 0; i < items->n; i++) keys.items[i] = fold(j, reach(j, items->items[i], attribute), sensitive);
    return keys;
}

/* ---- Parts --------------------------------------------------------------------------------------------------- */

FILTER(filter_length)
{
    UNUSED;
    return value_int(evaluate_length(j, v));
}

FILTER(filter_first)
{
    UNUSED;
    struct list items = evaluate_iterate(j, v);
    return items.n ? items.items[0] : value_nothing(&j->arena, "No first item, sequence was empty.");
}

FILTER(filter_last)
{
    UNUSED;
    if (v.kind == VALUE_LIST && v.list->form == LIST_GENERATOR) jinja_refuse(j, "'generator' object is not reversible");
    struct list items = evaluate_iterate(j, v);
    return items.n ? items.items[items.n - 1] : value_nothing(&j->arena, "No last item, sequence was empty.");
}

FILTER(filter_list)
{
    UNUSED;
    struct list *list = list_new(&j->arena, LIST_LIST, false);
    *list = evaluate_iterate(j, v);
    return value_list(list);
}

FILTER(filter_reverse)
{
    UNUSED;
    if (v.kind == VALUE_LIST && v.list->form == LIST_GENERATOR) jinja_refuse(j, "argument must be iterable");
    struct list items = evaluate_iterate(j, v);
    struct list *list = list_new(&j->arena, LIST_GENERATOR, items.data);
    for (size_t i = items.n; i-- > 0;) list_add(&j->arena, list, items.items[i]);
    if (v.kind != VALUE_STR) return value_list(list);
    struct builder b = {0};
    for (size_t i = 0; i < list->n; i++) builder_str(&j->arena, &b, list->items[i].str);
    return value_str(builder_end(&j->arena, &b));
}

FILTER(filter_items)
{
    UNUSED;
    if (v.kind == VALUE_UNDEFINED) return value_list(list_new(&j->arena, LIST_GENERATOR, false));
    if (v.kind != VALUE_DICT) jinja_refuse(j, "Can only get item pairs from a mapping.");
    struct value items = methods_items(j, v);
    items.list->form = LIST_GENERATOR;
    return items;
}

FILTER(filter_join)
{
    const struct str *separator = given & 1 ? filters_text(j, arg[0]) : str_literal(&j->arena, "");
    struct list items = evaluate_iterate(j, v);
    struct builder b = {0};
    for (size_t i = 0; i < items.n; i++) {
        if (i) builder_str(&j->arena, &b, separator);
        value_print(&j->arena, &b, reach(j, items.items[i], arg[1]));
    }
    jinja_work(j, b.n / 64);
    return value_str(builder_end(&j->arena, &b));
}

static struct value batch(struct jinja *j, struct value v, const struct value *arg, unsigned given, bool slices)
{
    struct list items = evaluate_iterate(j, v);
    int64_t count = filters_whole(j, arg[0], 1);
    if (count < 1 || count > 100000) jinja_refuse(j, "expected a number from 1 to 100000");
    size_t parts = slices ? (size_t)count : (items.n + (size_t)count - 1) / (size_t)count, at = 0;
    struct list *list = list_new(&j->arena, LIST_GENERATOR, items.data);
    for (size_t i = 0; i < parts; i++) {
        struct list *part = list_new(&j->arena, LIST_LIST, items.data);
        size_t n = slices ? items.n / parts + (i < items.n % parts) : (size_t)count;
        for (size_t k = 0; k < n && at < items.n; k++) list_add(&j->arena, part, items.items[at++]);
        bool short_ = slices ? items.n % parts && i >= items.n % parts : part->n < n;
        size_t fills = !short_ || !(given & 2) || arg[1].kind == VALUE_NONE ? 0 : slices ? 1 : n - part->n;
        jinja_work(j, fills + 1);
        while (fills--) list_add(&j->arena, part, arg[1]);
        list_add(&j->arena, list, value_list(part));
    }
    return value_list(list);
}

FILTER(filter_batch)
{
    return batch(j, v, arg, given, false);
}

FILTER(filter_slice)
{
    return batch(j, v, arg, given, true);
}

/* ---- Order --------------------------------------------------------------------------------------------------- */

static struct value picked(struct jinja *j, const struct list *items, const size_t *order)
{
    struct list *list = list_new(&j->arena, LIST_LIST, items->data);
    for (size_t i = 0; i < items->n; i++) list_add(&j->arena, list, items->items[order[i]]);
    return value_list(list);
}

/* sort(reverse, case_sensitive, attribute): by several attributes where there are commas between them. */
FILTER(filter_sort)
{
    struct list items = evaluate_iterate(j, v);
    bool reversed = filters_truth(j, arg[0], false), sensitive = filters_truth(j, arg[1], false);
    const struct str *paths = given & 4 && arg[2].kind == VALUE_STR ? arg[2].str : NULL;
    if (!paths || str_find(str_span(paths), (struct span){",", 1}, 0) == SIZE_MAX) {
        struct list keys = keys_of(j, &items, arg[2], sensitive);
        return picked(j, &items, filters_order(j, &keys, reversed));
    }
    struct list tuples = {.n = items.n, .items = arena_take(&j->arena, (items.n + 1) * sizeof(struct value))};
    for (size_t i = 0; i < items.n; i++) tuples.items[i] = value_list(list_new(&j->arena, LIST_LIST, false));
    for (size_t at = 0; at <= paths->length;) {
        size_t comma = str_find(str_span(paths), (struct span){",", 1}, at);
        if (comma == SIZE_MAX) comma = paths->length;
        struct list keys = keys_of(j, &items, value_str(str_part(&j->arena, paths, at, comma)), sensitive);
        for (size_t i = 0; i < items.n; i++) list_add(&j->arena, tuples.items[i].list, keys.items[i]);
        at = comma + 1;
    }
    return picked(j, &items, filters_order(j, &tuples, reversed));
}

/* dictsort(case_sensitive, by, reverse) */
FILTER(filter_dictsort)
{
    if (v.kind == VALUE_UNDEFINED) value_fail_undefined(&j->arena, v);
    if (v.kind != VALUE_DICT) jinja_refuse(j, "'%s object' has no attribute 'items'", value_type(v));
    struct span by = given & 2 ? str_span(filters_text(j, arg[1])) : (struct span){"key", 3};
    if (!span_is(by, "key") && !span_is(by, "value"))
        jinja_refuse(j, "You can only sort by either \"key\" or \"value\"");
    struct list items = evaluate_iterate(j, methods_items(j, v));
    struct list keys = keys_of(j, &items, value_int(span_is(by, "value")), filters_truth(j, arg[0], false));
    return picked(j, &items, filters_order(j, &keys, filters_truth(j, arg[2], false)));
}

/* unique(case_sensitive, attribute) */
FILTER(filter_unique)
{
    (void)given;
    struct list items = evaluate_iterate(j, v);
    struct list keys = keys_of(j, &items, arg[1], filters_truth(j, arg[0], false));
    struct list *list = list_new(&j->arena, LIST_GENERATOR, items.data);
    struct dict *seen = dict_new(&j->arena, false);
    for (size_t i = 0; i < items.n; i++) {
        if (dict_find(&j->arena, seen, keys.items[i])) continue;
        dict_put(&j->arena, seen, keys.items[i], value_none());
        list_add(&j->arena, list, items.items[i]);
    }
    return value_list(list);
}

/* min and max(case_sensitive, attribute): the first of those that are equal. */
static struct value extreme(struct jinja *j, struct value v, const struct value *arg, int sign)
{
    struct list items = evaluate_iterate(j, v);
    struct list keys = keys_of(j, &items, arg[1], filters_truth(j, arg[0], false));
    if (!items.n) return value_nothing(&j->arena, "No aggregated item, sequence was empty.");
    size_t best = 0;
    for (size_t i = 1; i < items.n; i++)
        if (value_compare(&j->arena, keys.items[i], keys.items[best], sign < 0 ? "<" : ">") * sign > 0) best = i;
    return items.items[best];
}

FILTER(filter_min)
{
    (void)given;
    return extreme(j, v, arg, -1);
}

FILTER(filter_max)
{
    (void)given;
    return extreme(j, v, arg, 1);
}

/* sum(attribute, start) */
FILTER(filter_sum)
{
    struct list items = evaluate_iterate(j, v);
    struct value sum = given & 2 ? arg[1] : value_int(0);
    for (size_t i = 0; i < items.n; i++) sum = math_apply(j, OP_ADD, sum, reach(j, items.items[i], arg[0]));
    return sum;
}

/* ---- Filters and tests of each item -------------------------------------------------------------------------- */

static struct args rest_of(const struct args *args, size_t from)
{
    if (!from) return *args;
    return (struct args){args->list + from, args->n - from, args->positional - from, args->names};
}

/* map('filter', arguments ...) or map(attribute='name', default=value). */
static struct value filter_map(struct jinja *j, struct value v, const struct args *args)
{
    struct list *list = list_new(&j->arena, LIST_GENERATOR, value_has_data(v));
    if (!value_true(&j->arena, v)) return value_list(list); /* none and 0 too */
    struct list items = evaluate_iterate(j, v);
    if (!args->positional) {
        struct value given[2] = {0};
        unsigned set = args_bind(j, args, "map", "attribute default", 1, given);
        for (size_t i = 0; i < items.n; i++) {
            struct value item = reach(j, items.items[i], given[0]);
            list_add(&j->arena, list, item.kind == VALUE_UNDEFINED && set & 2 ? given[1] : item);
        }
        return value_list(list);
    }
    const struct str *name = filters_text(j, args->list[0]);
    const struct filter_entry *filter = filters_find(str_span(name));
    if (!filter) jinja_refuse(j, "No filter named '%.*s'.", (int)(name->length < 60 ? name->length : 60), name->bytes);
    struct args rest = rest_of(args, 1);
    if (++j->depth > j->bounds.depth)
        trap_fail(&j->trap, TDM_E_UNSUPPORTED, "more than %d filters in each other", j->bounds.depth);
    for (size_t i = 0; i < items.n; i++) list_add(&j->arena, list, filters_apply(j, filter, items.items[i], &rest));
    j->depth--;
    return value_list(list);
}

static struct value choose(struct jinja *j, struct value v, const struct args *args, bool attributes, bool wanted)
{
    struct list *list = list_new(&j->arena, LIST_GENERATOR, value_has_data(v));
    if (!value_true(&j->arena, v)) return value_list(list); /* none and 0 too */
    struct list items = evaluate_iterate(j, v);
    if (args->positional < (size_t)attributes) jinja_refuse(j, "Missing parameter for attribute name");
    struct value attribute = attributes ? args->list[0] : (struct value){0};
    struct args rest = rest_of(args, attributes);
    const struct test_entry *test = NULL;
    if (rest.positional) {
        const struct str *name = filters_text(j, rest.list[0]);
        test = tests_find(str_span(name));
        if (!test) jinja_refuse(j, "No test named '%.*s'.", (int)(name->length < 60 ? name->length : 60), name->bytes);
        rest = rest_of(&rest, 1);
    }
    for (size_t i = 0; i < items.n; i++) {
        struct value item = reach(j, items.items[i], attribute);
        bool holds = test ? tests_apply(j, test, item, &rest) : value_true(&j->arena, item);
        if (holds == wanted) list_add(&j->arena, list, items.items[i]);
    }
    return value_list(list);
}

static struct value filter_select(struct jinja *j, struct value v, const struct args *args)
{
    return choose(j, v, args, false, true);
}

static struct value filter_reject(struct jinja *j, struct value v, const struct args *args)
{
    return choose(j, v, args, false, false);
}

static struct value filter_selectattr(struct jinja *j, struct value v, const struct args *args)
{
    return choose(j, v, args, true, true);
}

static struct value filter_rejectattr(struct jinja *j, struct value v, const struct args *args)
{
    return choose(j, v, args, true, false);
}

const struct filter_entry list_filters[] = {
    {"batch", "linecount fill_with", 1, filter_batch, NULL},
    {"count", "", 0, filter_length, NULL},
    {"dictsort", "case_sensitive by reverse", 0, filter_dictsort, NULL},
    {"first", "", 0, filter_first, NULL},
    {"items", "", 0, filter_items, NULL},
    {"join", "d attribute", 0, filter_join, NULL},
    {"last", "", 0, filter_last, NULL},
    {"length", "", 0, filter_length, NULL},
    {"list", "", 0, filter_list, NULL},
    {"map", "", 0, NULL, filter_map},
    {"max", "case_sensitive attribute", 0, filter_max, NULL},
    {"min", "case_sensitive attribute", 0, filter_min, NULL},
    {"reject", "", 0, NULL, filter_reject},
    {"rejectattr", "", 0, NULL, filter_rejectattr},
    {"reverse", "", 0, filter_reverse, NULL},
    {"select", "", 0, NULL, filter_select},
    {"selectattr", "", 0, NULL, filter_selectattr},
    {"slice", "slices fill_with", 1, filter_slice, NULL},
    {"sort", "reverse case_sensitive attribute", 0, filter_sort, NULL},
    {"sum", "attribute start", 0, filter_sum, NULL},
    {"unique", "case_sensitive attribute", 0, filter_unique, NULL},
    {0},
};
