#include "engine/text/jinja/library/tests.h"

#include <string.h>

#include "engine/text/jinja/library/filters.h"
#include "engine/text/jinja/library/text_methods.h"

struct test_entry {
    const char *name;
    bool (*ask)(struct jinja *, struct value v, const struct value *arg);
    bool takes; /* one argument */
};

static int64_t whole(struct jinja *j, struct value v)
{
    int64_t n;
    if (v.kind == VALUE_UNDEFINED) value_fail_undefined(&j->arena, v);
    if (!value_whole(v, &n)) jinja_refuse(j, "expected an integer, found '%s'", value_type(v));
    return n;
}

static bool is_defined(struct jinja *j, struct value v, const struct value *arg)
{
    (void)j, (void)arg;
    return v.kind != VALUE_UNDEFINED;
}

static bool is_undefined(struct jinja *j, struct value v, const struct value *arg)
{
    (void)j, (void)arg;
    return v.kind == VALUE_UNDEFINED;
}

static bool is_none(struct jinja *j, struct value v, const struct value *arg)
{
    (void)j, (void)arg;
    return v.kind == VALUE_NONE;
}

static bool is_boolean(struct jinja *j, struct value v, const struct value *arg)
{
    (void)j, (void)arg;
    return v.kind == VALUE_BOOL;
}

static bool is_true(struct jinja *j, struct value v, const struct value *arg)
{
    (void)j, (void)arg;
    return v.kind == VALUE_BOOL && v.truth;
}

static bool is_false(struct jinja *j, struct value v, const struct value *arg)
{
    (void)j, (void)arg;
    return v.kind == VALUE_BOOL && !v.truth;
}

static bool is_integer(struct jinja *j, struct value v, const struct value *arg)
{
    (void)j, (void)arg;
    return v.kind == VALUE_INT;
}

static bool is_float(struct jinja *j, struct value v, const struct value *arg)
{
    (void)j, (void)arg;
    return v.kind == VALUE_FLOAT;
}

static bool is_number(struct jinja *j, struct value v, const struct value *arg)
{
    (void)j, (void)arg;
    return value_is_number(v);
}

static bool is_string(struct jinja *j, struct value v, const struct value *arg)
{
    (void)j, (void)arg;
    return v.kind == VALUE_STR;
}

static bool is_mapping(struct jinja *j, struct value v, const struct value *arg)
{
    (void)j, (void)arg;
    return v.kind == VALUE_DICT;
}

static bool is_iterable(struct jinja *j, struct value v, const struct value *arg)
{
    (void)j, (void)arg;
    return v.kind == VALUE_UNDEFINED || v.kind == VALUE_STR || v.kind == VALUE_LIST || v.kind == VALUE_DICT ||
           v.kind == VALUE_LOOP;
}

/* What has a length and items: dictionaries too, views not. */
static bool is_sequence(struct jinja *j, struct value v, const struct value *arg)
{
    (void)j, (void)arg;
    return v.kind == VALUE_UNDEFINED || v.kind == VALUE_STR || v.kind == VALUE_DICT ||
           (v.kind == VALUE_LIST && v.list->form <= LIST_RANGE);
}

static bool is_callable(struct jinja *j, struct value v, const struct value *arg)
{
    (void)j, (void)arg;
    return v.kind == VALUE_UNDEFINED || v.kind == VALUE_MACRO || v.kind == VALUE_METHOD || v.kind == VALUE_FUNCTION ||
           v.kind == VALUE_LOOP;
}

static bool is_escaped(struct jinja *j, struct value v, const struct value *arg)
{
    (void)j, (void)arg;
    return v.kind == VALUE_STR && v.str->markup;
}

static bool is_upper(struct jinja *j, struct value v, const struct value *arg)
{
    (void)arg;
    return text_is_case(j, value_to_str(&j->arena, v), true);
}

static bool is_lower(struct jinja *j, struct value v, const struct value *arg)
{
    (void)arg;
    return text_is_case(j, value_to_str(&j->arena, v), false);
}

static bool is_odd(struct jinja *j, struct value v, const struct value *arg)
{
    (void)arg;
    return whole(j, v) % 2 != 0;
}

static bool is_even(struct jinja *j, struct value v, const struct value *arg)
{
    (void)arg;
    return whole(j, v) % 2 == 0;
}

static bool is_divisibleby(struct jinja *j, struct value v, const struct value *arg)
{
    int64_t by = whole(j, *arg);
    if (!by) jinja_refuse(j, "division by zero");
    return by == -1 || whole(j, v) % by == 0;
}

static bool is_equal(struct jinja *j, struct value v, const struct value *arg)
{
    return value_equal(&j->arena, v, *arg);
}

static bool is_unequal(struct jinja *j, struct value v, const struct value *arg)
{
    return !value_equal(&j->arena, v, *arg);
}

static bool is_less(struct jinja *j, struct value v, const struct value *arg)
{
    return value_compare(&j->arena, v, *arg, "<") < 0;
}

static bool is_less_or_equal(struct jinja *j, struct value v, const struct value *arg)
{
    return value_compare(&j->arena, v, *arg, "<=") <= 0;
}

static bool is_greater(struct jinja *j, struct value v, const struct value *arg)
{
    return value_compare(&j->arena, v, *arg, ">") > 0;
}

static bool is_greater_or_equal(struct jinja *j, struct value v, const struct value *arg)
{
    return value_compare(&j->arena, v, *arg, ">=") >= 0;
}

static bool is_in(struct jinja *j, struct value v, const struct value *arg)
{
    return evaluate_contains(j, *arg, v);
}

/* The same object, as far as values that never change have an identity. */
static bool is_sameas(struct jinja *j, struct value v, const struct value *arg)
{
    if (v.kind != arg->kind) return false;
    if (v.kind == VALUE_STR) return str_equal(v.str, arg->str);
    return v.kind < VALUE_STR ? value_equal(&j->arena, v, *arg) : v.loop == arg->loop;
}

static bool is_filter(struct jinja *j, struct value v, const struct value *arg)
{
    (void)j, (void)arg;
    return v.kind == VALUE_STR && filters_find(str_span(v.str));
}

static bool is_test(struct jinja *j, struct value v, const struct value *arg)
{
    (void)j, (void)arg;
    return v.kind == VALUE_STR && tests_find(str_span(v.str));
}

const struct test_entry *tests_find(struct span name)
{
    static const struct test_entry entries[] = {
        {"!=", is_unequal, true},
        {"<", is_less, true},
        {"<=", is_less_or_equal, true},
        {"==", is_equal, true},
        {">", is_greater, true},
        {">=", is_greater_or_equal, true},
        {"boolean", is_boolean, false},
        {"callable", is_callable, false},
        {"defined", is_defined, false},
        {"divisibleby", is_divisibleby, true},
        {"eq", is_equal, true},
        {"equalto", is_equal, true},
        {"escaped", is_escaped, false},
        {"even", is_even, false},
        {"false", is_false, false},
        {"filter", is_filter, false},
        {"float", is_float, false},
        {"ge", is_greater_or_equal, true},
        {"greaterthan", is_greater, true},
        {"gt", is_greater, true},
        {"in", is_in, true},
        {"integer", is_integer, false},
        {"iterable", is_iterable, false},
        {"le", is_less_or_equal, true},
        {"lessthan", is_less, true},
        {"lower", is_lower, false},
        {"lt", is_less, true},
        {"mapping", is_mapping, false},
        {"ne", is_unequal, true},
        {"none", is_none, false},
        {"number", is_number, false},
        {"odd", is_odd, false},
        {"sameas", is_sameas, true},
        {"sequence", is_sequence, false},
        {"string", is_string, false},
        {"test", is_test, false},
        {"true", is_true, false},
        {"undefined", is_undefined, false},
        {"upper", is_upper, false},
    };
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (span_is(name, entries[i].name)) return &entries[i];
    return NULL;
}

bool tests_apply(struct jinja *j, const struct test_entry *test, struct value v, const struct args *args)
{
    if (args->n != (size_t)test->takes) jinja_refuse(j, "the test '%s' takes %d arguments", test->name, test->takes);
    if (v.kind == VALUE_UNDEFINED && v.undefined->unsafe && test->ask != is_defined && test->ask != is_undefined)
        value_fail_undefined(&j->arena, v);
    return test->ask(j, v, args->list);
}
