#include "engine/text/jinja/value/value.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

#include "engine/base/utf8.h"

enum { DEEPEST = 200 }; /* containers in each other that are compared or printed */

struct value value_nothing(struct arena *a, const char *words)
{
    struct undefined *u = arena_clear(a, 1, sizeof *u);
    u->words = words;
    return (struct value){.kind = VALUE_UNDEFINED, .undefined = u};
}

void value_fail_undefined(struct arena *a, struct value v)
{
    const struct undefined *u = v.undefined;
    int length = (int)(u->name.length < 100 ? u->name.length : 100);
    if (u->words) trap_fail(a->trap, TDM_E_REFUSED, "%s", u->words);
    if (u->unsafe)
        trap_fail(a->trap, TDM_E_REFUSED, "access to attribute '%.*s' of '%s' is unsafe", length, u->name.bytes,
                  u->object);
    if (u->object) trap_fail(a->trap, TDM_E_REFUSED, "'%s' has no attribute '%.*s'", u->object, length, u->name.bytes);
    trap_fail(a->trap, TDM_E_REFUSED, "'%.*s' is undefined", length, u->name.bytes);
}

const char *value_type(struct value v)
{
    static const char *const lists[] = {
        [LIST_LIST] = "list",           [LIST_TUPLE] = "tuple",        [LIST_RANGE] = "range",
        [LIST_KEYS] = "dict_keys",      [LIST_VALUES] = "dict_values", [LIST_ITEMS] = "dict_items",
        [LIST_GENERATOR] = "generator",
    };
    static const char *const kinds[] = {
        [VALUE_UNDEFINED] = "Undefined",
        [VALUE_NONE] = "NoneType",
        [VALUE_BOOL] = "bool",
        [VALUE_INT] = "int",
        [VALUE_FLOAT] = "float",
        [VALUE_STR] = "str",
        [VALUE_DICT] = "dict",
        [VALUE_SPACE] = "Namespace",
        [VALUE_LOOP] = "LoopContext",
        [VALUE_MACRO] = "Macro",
        [VALUE_METHOD] = "builtin method",
        [VALUE_FUNCTION] = "function",
    };
    return v.kind == VALUE_LIST ? lists[v.list->form] : kinds[v.kind];
}

bool value_true(struct arena *a, struct value v)
{
    switch (v.kind) {
    case VALUE_UNDEFINED:
        if (v.undefined->unsafe) value_fail_undefined(a, v);
        return false;
    case VALUE_NONE:
        return false;
    case VALUE_BOOL:
        return v.truth;
    case VALUE_INT:
        return v.integer != 0;
    case VALUE_FLOAT:
        return v.real != 0;
    case VALUE_STR:
        return v.str->length > 0;
    case VALUE_LIST:
        return v.list->form == LIST_GENERATOR || v.list->n > 0;
    case VALUE_DICT:
        return v.dict->n > 0;
    default:
        return true;
    }
}

bool value_whole(struct value v, int64_t *out)
{
    if (v.kind == VALUE_BOOL || v.kind == VALUE_INT) {
        *out = value_integer(v);
        return true;
    }
    if (v.kind != VALUE_FLOAT || !(fabs(v.real) < 9e18) || v.real != floor(v.real)) return false;
    *out = (int64_t)v.real;
    return true;
}

/* ---- Equality and order -------------------------------------------------------------------------------------- */

static void check_depth(struct arena *a, int depth)
{
    if (depth > DEEPEST)
        trap_fail(a->trap, TDM_E_UNSUPPORTED, "more than %d lists and dictionaries in each other", DEEPEST);
}

static bool equal(struct arena *a, struct value x, struct value y, int depth)
{
    check_depth(a, depth);
    if (value_is_number(x) && value_is_number(y)) {
        int64_t i, k;
        bool whole = value_whole(x, &i);
        if (value_whole(y, &k) != whole) return false;
        return whole ? i == k : value_real(x) == value_real(y);
    }
    if (x.kind != y.kind) return false;
    switch (x.kind) {
    case VALUE_UNDEFINED:
        if (x.undefined->unsafe) value_fail_undefined(a, x);
        if (y.undefined->unsafe) value_fail_undefined(a, y);
        return true;
    case VALUE_NONE:
        return true;
    case VALUE_STR:
        return str_equal(x.str, y.str);
    case VALUE_LIST:
        if (x.list == y.list) return true;
        if (x.list->form != y.list->form || x.list->form > LIST_RANGE || x.list->n != y.list->n) return false;
        for (size_t i = 0; i < x.list->n; i++)
            if (!equal(a, x.list->items[i], y.list->items[i], depth + 1)) return false;
        return true;
    case VALUE_DICT:
        if (x.dict->n != y.dict->n) return false;
        for (size_t i = 0; i < x.dict->n; i++) {
            const struct value *other = dict_find(a, y.dict, x.dict->entries[i].key);
            if (!other || !equal(a, x.dict->entries[i].value, *other, depth + 1)) return false;
        }
        return true;
    default:
        return x.loop == y.loop;
    }
}

bool value_equal(struct arena *a, struct value x, struct value y)
{
    return equal(a, x, y, 0);
}

static int compare(struct arena *a, struct value x, struct value y, const char *what, int depth)
{
    check_depth(a, depth);
    if (x.kind == VALUE_UNDEFINED) value_fail_undefined(a, x);
    if (y.kind == VALUE_UNDEFINED) value_fail_undefined(a, y);
    if (value_is_number(x) && value_is_number(y)) {
        if (x.kind == VALUE_FLOAT || y.kind == VALUE_FLOAT) {
            double r = value_real(x), s = value_real(y);
            return (r > s) - (r < s);
        }
        return (value_integer(x) > value_integer(y)) - (value_integer(x) < value_integer(y));
    }
    if (x.kind == VALUE_STR && y.kind == VALUE_STR) return str_compare(x.str, y.str);
    if (x.kind != VALUE_LIST || y.kind != VALUE_LIST || x.list->form != y.list->form || x.list->form > LIST_TUPLE)
        trap_fail(a->trap, TDM_E_REFUSED, "'%s' not supported between instances of '%s' and '%s'", what, value_type(x),
                  value_type(y));
    for (size_t i = 0; i < x.list->n && i < y.list->n; i++)
        if (!equal(a, x.list->items[i], y.list->items[i], depth + 1))
            return compare(a, x.list->items[i], y.list->items[i], what, depth + 1);
    return (x.list->n > y.list->n) - (x.list->n < y.list->n);
}

int value_compare(struct arena *a, struct value x, struct value y, const char *what)
{
    return compare(a, x, y, what, 0);
}

/* ---- Lists --------------------------------------------------------------------------------------------------- */

struct list *list_new(struct arena *a, enum list_form form, bool data)
{
    struct list *list = arena_take(a, sizeof *list);
    *list = (struct list){.form = form, .data = data};
    return list;
}

void list_add(struct arena *a, struct list *list, struct value item)
{
    if (list->n == list->room) {
        size_t room = list->room ? 2 * list->room : 4;
        list->items = arena_grow(a, list->items, list->n * sizeof *list->items, room * sizeof *list->items);
        list->room = room;
    }
    list->items[list->n++] = item;
}

/* ---- Printing ------------------------------------------------------------------------------------------------ */

size_t value_write_float(double real, char out[VALUE_FLOAT_ROOM])
{
    if (isnan(real)) return (size_t)sprintf(out, "nan");
    if (isinf(real)) return (size_t)sprintf(out, real < 0 ? "-inf" : "inf");
    char digits[VALUE_FLOAT_ROOM];
    int precision = 0;
    do snprintf(digits, sizeof digits, "%.*e", precision, real);
    while (strtod(digits, NULL) != real && precision++ < 17);
    int exponent = atoi(strchr(digits, 'e') + 1);
    if (exponent < -4 || exponent >= 16) {
        const char *e = strchr(digits, 'e');
        return (size_t)sprintf(out, "%.*se%c%02d", (int)(e - digits), digits, exponent < 0 ? '-' : '+', abs(exponent));
    }
    int decimals = precision - exponent;
    return (size_t)snprintf(out, VALUE_FLOAT_ROOM, "%.*f", decimals > 1 ? decimals : 1, real);
}

static void print(struct arena *a, struct builder *b, struct value v, bool quoted, int depth);

static void print_list(struct arena *a, struct builder *b, const struct list *list, int depth)
{
    static const char *const ends[][2] = {
        [LIST_LIST] = {"[", "]"},
        [LIST_TUPLE] = {"(", ")"},
        [LIST_KEYS] = {"dict_keys([", "])"},
        [LIST_VALUES] = {"dict_values([", "])"},
        [LIST_ITEMS] = {"dict_items([", "])"},
    };
    if (list->form == LIST_GENERATOR) {
        builder_text(a, b, "<generator object>", list->data);
        return;
    }
    if (list->form == LIST_RANGE) {
        char text[64];
        int64_t first = list->n ? list->items[0].integer : 0;
        int64_t step = list->n > 1 ? list->items[1].integer - first : 1;
        snprintf(text, sizeof text,
                 step == 1 ? "range(%" PRId64 ", %" PRId64 ")" : "range(%" PRId64 ", %" PRId64 ", %" PRId64 ")", first,
                 first + step * (int64_t)list->n, step);
        builder_text(a, b, text, list->data);
        return;
    }
    builder_text(a, b, ends[list->form][0], list->data);
    for (size_t i = 0; i < list->n; i++) {
        if (i) builder_text(a, b, ", ", list->data);
        print(a, b, list->items[i], true, depth + 1);
    }
    if (list->form == LIST_TUPLE && list->n == 1) builder_text(a, b, ",", list->data);
    builder_text(a, b, ends[list->form][1], list->data);
}

static void print_dict(struct arena *a, struct builder *b, const struct dict *dict, int depth)
{
    builder_text(a, b, "{", dict->data);
    for (size_t i = 0; i < dict->n; i++) {
        if (i) builder_text(a, b, ", ", dict->data);
        print(a, b, dict->entries[i].key, true, depth + 1);
        builder_text(a, b, ": ", dict->data);
        print(a, b, dict->entries[i].value, true, depth + 1);
    }
    builder_text(a, b, "}", dict->data);
}

static bool printable(int32_t code)
{
    if (code == ' ') return true;
    switch (code < 0 ? UTF8PROC_CATEGORY_CS : utf8proc_category(code)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS:
        return false;
    default:
        return true;
    }
}

/* Quotes are whose the first byte is; an escape is whose the character is. */
static void print_quoted(struct arena *a, struct builder *b, const struct str *s)
{
    bool single = memchr(s->bytes, '\'', s->length), twice = memchr(s->bytes, '"', s->length);
    char quote = single && !twice ? '"' : '\'';
    bool data = str_has_data(s);
    builder_add(a, b, &quote, 1, data);
    for (size_t i = 0, n; i < s->length; i += n) {
        int32_t code;
        n = utf8_decode(s->bytes + i, s->length - i, &code);
        char escape[16];
        if (code == quote || code == '\\')
            snprintf(escape, sizeof escape, "\\%c", (char)code);
        else if (code == '\n' || code == '\r' || code == '\t')
            snprintf(escape, sizeof escape, "\\%c", code == '\n' ? 'n' : code == '\r' ? 'r' : 't');
        else if (printable(code))
            escape[0] = 0;
        else if (code < 0)
            snprintf(escape, sizeof escape, "\\udc%02x", (unsigned char)s->bytes[i]);
        else
            snprintf(escape, sizeof escape,
                     code < 0x100     ? "\\x%02x"
                     : code < 0x10000 ? "\\u%04x"
                                      : "\\U%08x",
                     (unsigned)code);
        if (escape[0])
            builder_text(a, b, escape, str_data_at(s, i));
        else
            builder_part(a, b, s, i, i + n);
    }
    builder_add(a, b, &quote, 1, data);
}

static void print(struct arena *a, struct builder *b, struct value v, bool quoted, int depth)
{
    char text[VALUE_FLOAT_ROOM];
    check_depth(a, depth);
    switch (v.kind) {
    case VALUE_UNDEFINED:
        if (v.undefined->unsafe) value_fail_undefined(a, v);
        if (quoted) builder_text(a, b, "Undefined", false);
        break;
    case VALUE_NONE:
        builder_text(a, b, "None", v.data);
        break;
    case VALUE_BOOL:
        builder_text(a, b, v.truth ? "True" : "False", v.data);
        break;
    case VALUE_INT:
        snprintf(text, sizeof text, "%" PRId64, v.integer);
        builder_text(a, b, text, v.data);
        break;
    case VALUE_FLOAT:
        builder_add(a, b, text, value_write_float(v.real, text), v.data);
        break;
    case VALUE_STR:
        if (quoted)
            print_quoted(a, b, v.str);
        else
            builder_str(a, b, v.str);
        break;
    case VALUE_LIST:
        print_list(a, b, v.list, depth);
        break;
    case VALUE_DICT:
        print_dict(a, b, v.dict, depth);
        break;
    case VALUE_SPACE:
        builder_text(a, b, "<Namespace ", v.dict->data);
        print_dict(a, b, v.dict, depth);
        builder_text(a, b, ">", v.dict->data);
        break;
    case VALUE_LOOP:
        snprintf(text, sizeof text, "<LoopContext %zu/%zu>", v.loop->index + 1, v.loop->n);
        builder_text(a, b, text, false);
        break;
    default:
        snprintf(text, sizeof text, "<%s>", value_type(v));
        builder_text(a, b, text, false);
        break;
    }
}

void value_print(struct arena *a, struct builder *b, struct value v)
{
    print(a, b, v, false, 0);
}

void value_repr(struct arena *a, struct builder *b, struct value v)
{
    print(a, b, v, true, 0);
}

const struct str *value_to_str(struct arena *a, struct value v)
{
    if (v.kind == VALUE_STR) return v.str;
    struct builder b = {0};
    value_print(a, &b, v);
    return builder_end(a, &b);
}

bool value_has_data(struct value v)
{
    switch (v.kind) {
    case VALUE_STR:
        return str_has_data(v.str);
    case VALUE_LIST:
        return v.list->data;
    case VALUE_DICT:
        return v.dict->data;
    default:
        return v.data;
    }
}
