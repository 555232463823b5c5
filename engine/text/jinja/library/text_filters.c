/* Filters that make texts, numbers and single values. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/text/jinja/library/filters.h"
#include "engine/text/jinja/library/methods.h"
#include "engine/text/jinja/library/strformat.h"
#include "engine/text/jinja/library/text_methods.h"
#include "engine/text/jinja/library/tojson.h"
#include "engine/text/unicode.h"

#define FILTER(name) static struct value name(struct jinja *j, struct value v, const struct value *arg, unsigned given)
#define UNUSED       (void)j, (void)arg, (void)given

FILTER(filter_default)
{
    (void)given;
    bool missing = v.kind == VALUE_UNDEFINED || (filters_truth(j, arg[1], false) && !value_true(&j->arena, v));
    if (!missing) return v;
    return given & 1 ? arg[0] : value_str(str_literal(&j->arena, ""));
}

FILTER(filter_string)
{
    UNUSED;
    return value_str(filters_text(j, v));
}

FILTER(filter_upper)
{
    UNUSED;
    return value_str(methods_upper(j, filters_text(j, v)));
}

FILTER(filter_lower)
{
    UNUSED;
    return value_str(methods_lower(j, filters_text(j, v)));
}

FILTER(filter_capitalize)
{
    UNUSED;
    return value_str(methods_capitalize(j, filters_text(j, v)));
}

/* Words begin behind '-', white space and opening brackets. */
FILTER(filter_title)
{
    UNUSED;
    const struct str *s = filters_text(j, v);
    const uint8_t *classes = unicode_classes();
    struct builder b = {0};
    bool begins = true;
    jinja_work(j, s->length);
    for (size_t i = 0, n; i < s->length; i += n) {
        bool space = unicode_class(classes, s->bytes + i, s->length - i, &n) & UNICODE_STRIP;
        const struct str *letter = str_part(&j->arena, s, i, i + n);
        builder_str(&j->arena, &b, begins ? methods_upper(j, letter) : methods_lower(j, letter));
        begins = space || (s->bytes[i] && strchr("-({[<", s->bytes[i]));
    }
    return value_str(builder_end(&j->arena, &b));
}

FILTER(filter_trim)
{
    bool all = !(given & 1) || arg[0].kind == VALUE_NONE;
    return value_str(methods_strip(j, filters_text(j, v), all ? NULL : filters_text(j, arg[0]), true, true));
}

FILTER(filter_replace)
{
    int64_t count = given & 4 && arg[2].kind != VALUE_NONE ? filters_whole(j, arg[2], -1) : -1;
    return value_str(methods_replace(j, str_as_markup(&j->arena, filters_text(j, v), false), filters_text(j, arg[0]),
                                     filters_text(j, arg[1]), count));
}

FILTER(filter_safe)
{
    UNUSED;
    return value_str(str_as_markup(&j->arena, filters_text(j, v), true));
}

FILTER(filter_escape)
{
    UNUSED;
    return value_str(str_escaped(&j->arena, filters_text(j, v)));
}

FILTER(filter_forceescape)
{
    UNUSED;
    return value_str(str_escaped(&j->arena, str_as_markup(&j->arena, filters_text(j, v), false)));
}

/* As many spaces as `width` says, or the text itself. */
static const struct str *indentation(struct jinja *j, struct value width, int64_t otherwise)
{
    if (width.kind == VALUE_STR) return width.str;
    int64_t n = filters_whole(j, width, otherwise);
    struct builder b = {0};
    if (n > 10000) trap_fail(&j->trap, TDM_E_UNSUPPORTED, "more than 10000 spaces of indentation");
    for (int64_t i = 0; i < n; i++) builder_add(&j->arena, &b, " ", 1, false);
    return builder_end(&j->arena, &b);
}

FILTER(filter_indent)
{
    (void)given;
    const struct str *indent = indentation(j, arg[0], 4);
    bool first = filters_truth(j, arg[1], false), blank = filters_truth(j, arg[2], false);
    if (v.kind == VALUE_UNDEFINED) value_fail_undefined(&j->arena, v);
    if (v.kind != VALUE_STR) jinja_refuse(j, "can't indent '%s'", value_type(v));
    struct list *lines = methods_splitlines(j, v.str, true);
    struct builder b = {0};
    if (first) builder_str(&j->arena, &b, indent);
    bool broken = false;
    for (size_t i = 0; i < lines->n; i++) {
        const struct str *line = lines->items[i].str;
        size_t n = line->length;
        broken = line != lines->items[lines->n - 1].str || methods_splitlines(j, line, false)->items[0].str->length < n;
        if (broken) n = methods_splitlines(j, line, false)->items[0].str->length;
        if (i && (blank || n)) builder_str(&j->arena, &b, indent);
        builder_part(&j->arena, &b, line, 0, n);
        if (broken) builder_add(&j->arena, &b, "\n", 1, str_data_at(line, n));
    }
    /* A line break at the end has an empty line behind it. */
    if (broken && blank) builder_str(&j->arena, &b, indent);
    jinja_work(j, b.n / 64);
    return value_str(builder_end(&j->arena, &b));
}

FILTER(filter_tojson)
{
    (void)given;
    bool pretty = given & 2 && arg[1].kind != VALUE_NONE;
    struct tojson_how how = {.item = str_literal(&j->arena, pretty ? "," : ", "), .key = str_literal(&j->arena, ": ")};
    how.ascii = filters_truth(j, arg[0], false);
    how.sorted = filters_truth(j, arg[3], false);
    if (pretty) how.indent = indentation(j, arg[1], 0);
    if (given & 4 && arg[2].kind != VALUE_NONE) {
        struct list pair = evaluate_iterate(j, arg[2]);
        if (pair.n != 2) jinja_refuse(j, "expected two separators, found %zu", pair.n);
        how.item = filters_text(j, pair.items[0]);
        how.key = filters_text(j, pair.items[1]);
    }
    return value_str(tojson(j, v, &how));
}

FILTER(filter_center)
{
    (void)given;
    struct value width = value_int(filters_whole(j, arg[0], 80));
    return text_center(j, value_str(filters_text(j, v)), &(struct args){&width, 1, 1, NULL});
}

FILTER(filter_wordcount)
{
    UNUSED;
    const struct str *s = filters_text(j, v);
    const uint8_t *classes = unicode_classes();
    bool within = false;
    int64_t words = 0;
    jinja_work(j, s->length / 16);
    for (size_t i = 0, n; i < s->length; i += n) {
        bool word = unicode_class(classes, s->bytes + i, s->length - i, &n) & UNICODE_WORD;
        words += word && !within;
        within = word;
    }
    return value_int(words);
}

FILTER(filter_truncate)
{
    (void)given;
    const struct str *s = filters_text(j, v),
                     *end = given & 4 ? filters_text(j, arg[2]) : str_literal(&j->arena, "...");
    int64_t length = filters_whole(j, arg[0], 255), leeway = filters_whole(j, arg[3], 5);
    int64_t n = (int64_t)str_codes(str_span(s)), ending = (int64_t)str_codes(str_span(end));
    if (length < ending || leeway < 0) jinja_refuse(j, "expected length >= %lld", (long long)ending);
    if (n <= length || n - length <= leeway) return value_str(s);
    size_t cut = str_offset(str_span(s), (size_t)(length - ending));
    if (!filters_truth(j, arg[1], false)) {
        size_t space = span_find_last((struct span){s->bytes, cut}, (struct span){" ", 1});
        if (space != SIZE_MAX) cut = space;
    }
    struct builder b = {0};
    builder_part(&j->arena, &b, s, 0, cut);
    builder_str(&j->arena, &b, end);
    return value_str(builder_end(&j->arena, &b));
}

/* The values that fill a format: Python's %. */
static struct value filter_format(struct jinja *j, struct value v, const struct args *args)
{
    struct value values;
    if (args->positional && args->positional < args->n)
        jinja_refuse(j, "can't handle positional and keyword arguments at the same time");
    if (args->positional) {
        struct list *tuple = list_new(&j->arena, LIST_TUPLE, false);
        for (size_t i = 0; i < args->n; i++) list_add(&j->arena, tuple, args->list[i]);
        values = value_list(tuple);
    } else {
        struct dict *dict = dict_new(&j->arena, false);
        for (size_t i = 0; i < args->n; i++) dict_put(&j->arena, dict, value_str(args->names[i]), args->list[i]);
        values = value_dict(dict);
    }
    return value_str(strformat_percent(j, filters_text(j, v), values));
}

/* ---- Numbers ------------------------------------------------------------------------------------------------- */

/* A text as Python's int() or float() reads it; false: it is no number. */
static bool read_number(struct jinja *j, const struct str *s, int base, bool real, struct value *out)
{
    const struct str *stripped = methods_strip(j, s, NULL, true, true);
    char *digits = arena_take(&j->arena, stripped->length + 1), *to = digits, *end;
    for (size_t i = 0; i < stripped->length; i++) {
        char c = stripped->bytes[i];
        if (c == '_' && i && i + 1 < stripped->length) continue;
        if (!c || c == 'x' || c == 'X' || c == 'p' || c == 'P') {
            if (real || base != 16) return false; /* strtod takes hexadecimal numbers, Python doesn't */
        }
        *to++ = c;
    }
    *to = 0;
    if (!*digits) return false;
    errno = 0;
    if (real)
        *out = value_float(strtod(digits, &end));
    else
        *out = value_int(strtoll(digits, &end, base));
    out->data = str_has_data(s);
    return !*end && (real || !errno);
}

FILTER(filter_int)
{
    struct value otherwise = given & 1 ? arg[0] : value_int(0), number;
    int64_t base = filters_whole(j, arg[1], 10);
    if (base < 2 || base > 36) jinja_refuse(j, "int() base must be >= 2 and <= 36");
    if (v.kind == VALUE_UNDEFINED) value_fail_undefined(&j->arena, v);
    if (v.kind == VALUE_STR) {
        if (read_number(j, v.str, (int)base, false, &number)) return number;
        if (!read_number(j, v.str, 10, true, &number)) return otherwise;
        v = number;
    }
    if (!value_is_number(v)) return otherwise;
    if (v.kind == VALUE_FLOAT && !(fabs(v.real) < 9e18)) return otherwise;
    number = value_int(v.kind == VALUE_FLOAT ? (int64_t)v.real : value_integer(v));
    number.data = v.data;
    return number;
}

FILTER(filter_float)
{
    struct value otherwise = given & 1 ? arg[0] : value_float(0), number;
    if (v.kind == VALUE_UNDEFINED) value_fail_undefined(&j->arena, v);
    if (v.kind == VALUE_STR) return read_number(j, v.str, 10, true, &number) ? number : otherwise;
    if (!value_is_number(v)) return otherwise;
    number = value_float(value_real(v));
    number.data = v.data;
    return number;
}

FILTER(filter_abs)
{
    UNUSED;
    if (!value_is_number(v)) jinja_refuse(j, "bad operand type for abs(): '%s'", value_type(v));
    return value_real(v) < 0 ? math_negate(j, v) : v;
}

FILTER(filter_round)
{
    (void)given;
    int64_t precision = filters_whole(j, arg[0], 0);
    const struct str *method = given & 2 ? filters_text(j, arg[1]) : str_literal(&j->arena, "common");
    if (!value_is_number(v)) jinja_refuse(j, "can't round '%s'", value_type(v));
    if (precision > 300 || precision < -300) jinja_refuse(j, "can't round to %lld digits", (long long)precision);
    double scale = pow(10, (double)precision), x = value_real(v) * scale, rounded = nearbyint(x);
    if (span_is(str_span(method), "ceil"))
        rounded = ceil(x);
    else if (span_is(str_span(method), "floor"))
        rounded = floor(x);
    else if (!span_is(str_span(method), "common"))
        jinja_refuse(j, "method must be common, ceil or floor");
    struct value number = value_float(rounded / scale);
    if (v.kind != VALUE_FLOAT && span_is(str_span(method), "common")) number = value_int((int64_t)(rounded / scale));
    number.data = v.data;
    return number;
}

static struct value filter_attr(struct jinja *j, struct value v, const struct value *arg, unsigned given)
{
    (void)given;
    struct value attribute = evaluate_attribute(j, v, filters_text(j, arg[0]));
    /* What a dictionary has under this name is no attribute. */
    const struct value *item =
        v.kind == VALUE_DICT ? dict_find_text(&j->arena, v.dict, str_span(filters_text(j, arg[0]))) : NULL;
    return item && attribute.kind != VALUE_METHOD ? value_nothing(&j->arena, "a dictionary has no such attribute")
                                                  : attribute;
}

const struct filter_entry text_filters[] = {
    {"abs", "", 0, filter_abs, NULL},
    {"attr", "name", 1, filter_attr, NULL},
    {"capitalize", "", 0, filter_capitalize, NULL},
    {"center", "width", 0, filter_center, NULL},
    {"d", "default_value boolean", 0, filter_default, NULL},
    {"default", "default_value boolean", 0, filter_default, NULL},
    {"e", "", 0, filter_escape, NULL},
    {"escape", "", 0, filter_escape, NULL},
    {"float", "default", 0, filter_float, NULL},
    {"forceescape", "", 0, filter_forceescape, NULL},
    {"format", "", 0, NULL, filter_format},
    {"indent", "width first blank", 0, filter_indent, NULL},
    {"int", "default base", 0, filter_int, NULL},
    {"lower", "", 0, filter_lower, NULL},
    {"replace", "old new count", 2, filter_replace, NULL},
    {"round", "precision method", 0, filter_round, NULL},
    {"safe", "", 0, filter_safe, NULL},
    {"string", "", 0, filter_string, NULL},
    {"title", "", 0, filter_title, NULL},
    {"tojson", "ensure_ascii indent separators sort_keys", 0, filter_tojson, NULL},
    {"trim", "chars", 0, filter_trim, NULL},
    {"truncate", "length killwords end leeway", 0, filter_truncate, NULL},
    {"upper", "", 0, filter_upper, NULL},
    {"wordcount", "", 0, filter_wordcount, NULL},
    {0},
};
