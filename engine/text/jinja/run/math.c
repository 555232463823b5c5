/* Arithmetic, and what Python's operators do with texts and lists. */
#include <math.h>

#include "engine/text/jinja/library/strformat.h"
#include "engine/text/jinja/run/state.h"

static const char *const signs[] = {
    [OP_ADD] = "+",           [OP_SUBTRACT] = "-", [OP_MULTIPLY] = "*",        [OP_DIVIDE] = "/",
    [OP_FLOOR_DIVIDE] = "//", [OP_MODULO] = "%",   [OP_POWER] = "** or pow()",
};

static struct value power(struct jinja *j, int64_t x, int64_t y)
{
    if (y < 0) {
        if (!x) jinja_refuse(j, "0.0 cannot be raised to a negative power");
        return value_float(pow((double)x, (double)y));
    }
    int64_t result = 1;
    bool over = false;
    for (; y && !over; y >>= 1) {
        if (y & 1) over = __builtin_mul_overflow(result, x, &result);
        if (y > 1) over = over || __builtin_mul_overflow(x, x, &x);
    }
    if (over) trap_fail(&j->trap, TDM_E_UNSUPPORTED, "an integer of more than 64 bits");
    return value_int(result);
}

static struct value integers(struct jinja *j, enum node_op op, int64_t x, int64_t y)
{
    int64_t result = 0;
    bool over = false;
    if (!y && (op == OP_DIVIDE || op == OP_FLOOR_DIVIDE || op == OP_MODULO)) jinja_refuse(j, "division by zero");
    switch (op) {
    case OP_ADD:
        over = __builtin_add_overflow(x, y, &result);
        break;
    case OP_SUBTRACT:
        over = __builtin_sub_overflow(x, y, &result);
        break;
    case OP_MULTIPLY:
        over = __builtin_mul_overflow(x, y, &result);
        break;
    case OP_DIVIDE:
        return value_float((double)x / (double)y);
    case OP_POWER:
        return power(j, x, y);
    case OP_FLOOR_DIVIDE:
        if (y == -1) {
            over = __builtin_sub_overflow(0, x, &result);
            break;
        }
        result = x / y - (x % y && (x < 0) != (y < 0));
        break;
    default: /* OP_MODULO */
        if (y == -1) break;
        result = x % y;
        if (result && (x < 0) != (y < 0)) result += y;
        break;
    }
    if (over) trap_fail(&j->trap, TDM_E_UNSUPPORTED, "an integer of more than 64 bits");
    return value_int(result);
}

static struct value reals(struct jinja *j, enum node_op op, double x, double y)
{
    if (!(y < 0) && !(y > 0) && !isnan(y) && (op == OP_DIVIDE || op == OP_FLOOR_DIVIDE || op == OP_MODULO))
        jinja_refuse(j, "float division by zero");
    switch (op) {
    case OP_ADD:
        return value_float(x + y);
    case OP_SUBTRACT:
        return value_float(x - y);
    case OP_MULTIPLY:
        return value_float(x * y);
    case OP_DIVIDE:
        return value_float(x / y);
    case OP_POWER:
        return value_float(pow(x, y));
    case OP_FLOOR_DIVIDE:
        return value_float(floor(x / y));
    default: /* OP_MODULO */
        x = fmod(x, y);
        return value_float(x && (x < 0) != (y < 0) ? x + y : x);
    }
}

static struct value add_texts(struct jinja *j, const struct str *x, const struct str *y)
{
    bool markup = x->markup || y->markup;
    struct builder b = {0};
    builder_str(&j->arena, &b, markup ? str_escaped(&j->arena, x) : x);
    builder_str(&j->arena, &b, markup ? str_escaped(&j->arena, y) : y);
    const struct str *sum = builder_end(&j->arena, &b);
    return value_str(markup ? str_as_markup(&j->arena, sum, true) : sum);
}

static bool concatenable(struct value v)
{
    return v.kind == VALUE_LIST && v.list->form <= LIST_TUPLE;
}

static struct value add_lists(struct jinja *j, const struct list *x, const struct list *y)
{
    struct list *sum = list_new(&j->arena, x->form, x->data || y->data);
    jinja_work(j, x->n + y->n);
    for (size_t i = 0; i < x->n; i++) list_add(&j->arena, sum, x->items[i]);
    for (size_t i = 0; i < y->n; i++) list_add(&j->arena, sum, y->items[i]);
    return value_list(sum);
}

static struct value repeat(struct jinja *j, struct value v, int64_t times)
{
    if (times < 0) times = 0;
    size_t n = v.kind == VALUE_STR ? v.str->length : v.list->n;
    if (n && (uint64_t)times > j->bounds.memory / n)
        trap_fail(&j->trap, TDM_E_UNSUPPORTED, "the template needs more memory than %zu bytes", j->bounds.memory);
    jinja_work(j, n * (uint64_t)times / 8 + (uint64_t)(n ? times : 0));
    if (v.kind == VALUE_STR) {
        struct builder b = {0};
        for (int64_t i = 0; n && i < times; i++) builder_str(&j->arena, &b, v.str);
        return value_str(str_as_markup(&j->arena, builder_end(&j->arena, &b), v.str->markup));
    }
    struct list *list = list_new(&j->arena, v.list->form, v.list->data);
    for (int64_t i = 0; n && i < times; i++)
        for (size_t k = 0; k < n; k++) list_add(&j->arena, list, v.list->items[k]);
    return value_list(list);
}

struct value math_apply(struct jinja *j, enum node_op op, struct value x, struct value y)
{
    bool format = op == OP_MODULO && x.kind == VALUE_STR;
    if (x.kind == VALUE_UNDEFINED) value_fail_undefined(&j->arena, x);
    if (y.kind == VALUE_UNDEFINED && !format) value_fail_undefined(&j->arena, y);
    if (value_is_number(x) && value_is_number(y)) {
        struct value result = x.kind == VALUE_FLOAT || y.kind == VALUE_FLOAT
                                  ? reals(j, op, value_real(x), value_real(y))
                                  : integers(j, op, value_integer(x), value_integer(y));
        result.data = x.data || y.data;
        return result;
    }
    if (format) return value_str(strformat_percent(j, x.str, y));
    if (op == OP_ADD && x.kind == VALUE_STR && y.kind == VALUE_STR) return add_texts(j, x.str, y.str);
    if (op == OP_ADD && concatenable(x) && concatenable(y) && x.list->form == y.list->form)
        return add_lists(j, x.list, y.list);
    bool x_whole = x.kind == VALUE_INT || x.kind == VALUE_BOOL, y_whole = y.kind == VALUE_INT || y.kind == VALUE_BOOL;
    if (op == OP_MULTIPLY && (x.kind == VALUE_STR || concatenable(x)) && y_whole) return repeat(j, x, value_integer(y));
    if (op == OP_MULTIPLY && (y.kind == VALUE_STR || concatenable(y)) && x_whole) return repeat(j, y, value_integer(x));
    if (op == OP_ADD && (x.kind == VALUE_STR || concatenable(x)))
        jinja_refuse(j, "can only concatenate %s (not \"%s\") to %s", value_type(x), value_type(y), value_type(x));
    jinja_refuse(j, "unsupported operand type(s) for %s: '%s' and '%s'", signs[op], value_type(x), value_type(y));
}

struct value math_negate(struct jinja *j, struct value v)
{
    if (v.kind == VALUE_UNDEFINED) value_fail_undefined(&j->arena, v);
    if (!value_is_number(v)) jinja_refuse(j, "bad operand type for unary -: '%s'", value_type(v));
    struct value result = value_float(-value_real(v));
    if (v.kind != VALUE_FLOAT) result = integers(j, OP_SUBTRACT, 0, value_integer(v));
    result.data = v.data;
    return result;
}
