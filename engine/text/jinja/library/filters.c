#include "engine/text/jinja/library/filters.h"

bool filters_truth(struct jinja *j, struct value arg, bool otherwise)
{
    return arg.kind == VALUE_UNDEFINED && !arg.undefined ? otherwise : value_true(&j->arena, arg);
}

int64_t filters_whole(struct jinja *j, struct value arg, int64_t otherwise)
{
    if (arg.kind == VALUE_UNDEFINED && !arg.undefined) return otherwise;
    if (arg.kind == VALUE_UNDEFINED) value_fail_undefined(&j->arena, arg);
    if (arg.kind != VALUE_INT && arg.kind != VALUE_BOOL)
        jinja_refuse(j, "'%s' object cannot be interpreted as an integer", value_type(arg));
    return value_integer(arg);
}

const struct str *filters_text(struct jinja *j, struct value v)
{
    return value_to_str(&j->arena, v);
}

const struct filter_entry *filters_find(struct span name)
{
    for (const struct filter_entry *entry = text_filters; entry->name; entry++)
        if (span_is(name, entry->name)) return entry;
    for (const struct filter_entry *entry = list_filters; entry->name; entry++)
        if (span_is(name, entry->name)) return entry;
    return NULL;
}

struct value filters_apply(struct jinja *j, const struct filter_entry *filter, struct value v, const struct args *args)
{
    if (v.kind == VALUE_UNDEFINED && v.undefined->unsafe) value_fail_undefined(&j->arena, v);
    if (filter->apply_rest) return filter->apply_rest(j, v, args);
    struct value arg[8] = {0};
    unsigned given = args_bind(j, args, filter->name, filter->parameters, filter->needed, arg);
    return filter->apply(j, v, arg, given);
}

/* Merges the runs order[begin, middle) and order[middle, end). */
static void merge(struct jinja *j, const struct list *list, bool reversed, size_t *order, size_t *spare, size_t begin,
                  size_t middle, size_t end)
{
    size_t a = begin, b = middle, to = begin;
    jinja_work(j, end - begin);
    while (a < middle || b < end) {
        bool first = b == end;
        if (a < middle && b < end) {
            int sign = value_compare(&j->arena, list->items[order[b]], list->items[order[a]], "<");
            first = reversed ? sign <= 0 : sign >= 0;
        }
        spare[to++] = order[first ? a++ : b++];
    }
    for (size_t i = begin; i < end; i++) order[i] = spare[i];
}

size_t *filters_order(struct jinja *j, const struct list *list, bool reversed)
{
    size_t *order = arena_take(&j->arena, (list->n + 1) * sizeof *order);
    size_t *spare = arena_take(&j->arena, (list->n + 1) * sizeof *spare);
    for (size_t i = 0; i < list->n; i++) order[i] = i;
    for (size_t width = 1; width < list->n; width *= 2)
        for (size_t begin = 0; begin + width < list->n; begin += 2 * width)
            merge(j, list, reversed, order, spare, begin, begin + width,
                  list->n - begin < 2 * width ? list->n : begin + 2 * width);
    return order;
}
