#include "engine/text/jinja/library/strformat.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>


enum { WIDEST = 10000 };

/* [[fill]align][sign][#][0][width][.precision][type]; % has '-' for the alignment. */
struct spec {
    char fill, align, sign, type;
    bool alternate;
    int width, precision; /* precision below 0: none */
};

static int read_count(struct jinja *j, const char **at, const char *end)
{
    int n = 0;
    for (; *at < end && isdigit((unsigned char)**at); ++*at) {
        n = n * 10 + **at - '0';
        if (n > WIDEST) trap_fail(&j->trap, TDM_E_UNSUPPORTED, "a format wider than %d", WIDEST);
    }
    return n;
}

/* A text with fill characters on its sides. */
static void pad(struct jinja *j, struct builder *b, const struct str *s, const struct spec *spec, char otherwise)
{
    int64_t missing = spec->width - (int64_t)str_codes(str_span(s));
    char align = spec->align ? spec->align : otherwise;
    if (missing < 0) missing = 0;
    size_t sign = align == '=' && s->length && strchr("+- ", s->bytes[0]) ? 1 : 0;
    int64_t left = align == '>' || align == '=' ? missing : align == '^' ? missing / 2 : 0;
    builder_part(&j->arena, b, s, 0, sign);
    for (int64_t i = 0; i < left; i++) builder_add(&j->arena, b, &spec->fill, 1, false);
    builder_part(&j->arena, b, s, sign, s->length);
    for (int64_t i = left; i < missing; i++) builder_add(&j->arena, b, &spec->fill, 1, false);
}

static void add_number(struct jinja *j, struct builder *b, struct value v, const struct spec *spec)
{
    char text[512], sign[2] = {0};
    bool real = strchr("eEfFgG%", spec->type) && spec->type;
    struct builder number = {0};
    if (real) {
        char format[8] = {'%', '.', '*', spec->type == '%' ? 'f' : spec->type, 0};
        double x = value_real(v) * (spec->type == '%' ? 100 : 1);
        int precision = spec->precision < 0 ? 6 : spec->precision > 100 ? 100 : spec->precision;
        snprintf(text, sizeof text, format, precision, x);
        if (spec->type == '%') strcat(text, "%");
    } else {
        int64_t whole;
        if (!value_whole(v, &whole)) whole = (int64_t)value_real(v);
        uint64_t magnitude = whole < 0 ? 0 - (uint64_t)whole : (uint64_t)whole;
        const char *prefix = !spec->alternate    ? ""
                             : spec->type == 'x' ? "0x"
                             : spec->type == 'X' ? "0X"
                             : spec->type == 'o' ? "0o"
                                                 : "";
        const char *minus = whole < 0 ? "-" : "";
        if (spec->type == 'x')
            snprintf(text, sizeof text, "%s%s%" PRIx64, minus, prefix, magnitude);
        else if (spec->type == 'X')
            snprintf(text, sizeof text, "%s%s%" PRIX64, minus, prefix, magnitude);
        else if (spec->type == 'o')
            snprintf(text, sizeof text, "%s%s%" PRIo64, minus, prefix, magnitude);
        else
            snprintf(text, sizeof text, "%" PRId64, whole);
    }
    if (text[0] != '-' && (spec->sign == '+' || spec->sign == ' ')) sign[0] = spec->sign;
    builder_text(&j->arena, &number, sign, v.data);
    builder_text(&j->arena, &number, text, v.data);
    pad(j, b, builder_end(&j->arena, &number), spec, '>');
}

static void add_text(struct jinja *j, struct builder *b, const struct str *s, const struct spec *spec, char otherwise)
{
    if (spec->precision >= 0) s = str_part(&j->arena, s, 0, str_offset(str_span(s), (size_t)spec->precision));
    pad(j, b, s, spec, otherwise);
}

static const struct str *repr(struct jinja *j, struct value v)
{
    struct builder b = {0};
    value_repr(&j->arena, &b, v);
    return builder_end(&j->arena, &b);
}

/* ---- % ------------------------------------------------------------------------------------------------------- */

const struct str *strformat_percent(struct jinja *j, const struct str *format, struct value of)
{
    bool tuple = of.kind == VALUE_LIST && of.list->form == LIST_TUPLE;
    size_t used = 0, n = tuple ? of.list->n : 1;
    bool by_name = false;
    struct builder b = {0};
    const char *begin = format->bytes, *end = begin + format->length;
    for (const char *at = begin; at < end;) {
        const char *percent = memchr(at, '%', (size_t)(end - at));
        builder_part(&j->arena, &b, format, (size_t)(at - begin), (size_t)((percent ? percent : end) - begin));
        if (!percent) break;
        at = percent + 1;
        struct spec spec = {.fill = ' ', .precision = -1};
        struct value v = {0};
        bool named = at < end && *at == '(';
        if (named) {
            const char *close = memchr(at, ')', (size_t)(end - at));
            if (!close) jinja_refuse(j, "incomplete format key");
            if (of.kind != VALUE_DICT) jinja_refuse(j, "format requires a mapping");
            const struct value *item =
                dict_find_text(&j->arena, of.dict, (struct span){at + 1, (size_t)(close - at - 1)});
            if (!item) jinja_refuse(j, "there is no '%.*s' to format", (int)(close - at - 1), at + 1);
            v = *item;
            by_name = true;
            at = close + 1;
        }
        for (; at < end && *at && strchr("-+ 0#", *at); at++) {
            if (*at == '-') spec.align = '<';
            if (*at == '+' || *at == ' ') spec.sign = *at;
            if (*at == '#') spec.alternate = true;
            if (*at == '0' && !spec.align) spec.fill = '0', spec.align = '=';
        }
        if (spec.align == '<') spec.fill = ' ';
        spec.width = read_count(j, &at, end);
        if (at < end && *at == '.') {
            at++;
            spec.precision = read_count(j, &at, end);
        }
        if (at == end) jinja_refuse(j, "incomplete format");
        spec.type = *at++;
        if (spec.type == '%') {
            builder_part(&j->arena, &b, format, (size_t)(percent - begin), (size_t)(percent + 1 - begin));
            continue;
        }
        if (!named) {
            if (used == n) jinja_refuse(j, "not enough arguments for format string");
            v = tuple ? of.list->items[used] : of;
            used++;
        }
        if (spec.type == 's' || spec.type == 'r') {
            add_text(j, &b, spec.type == 's' ? value_to_str(&j->arena, v) : repr(j, v), &spec, '>');
        } else if (spec.type && strchr("diuxXoeEfFgG", spec.type)) {
            if (!value_is_number(v))
                jinja_refuse(j, "%%%c format: a real number is required, not %s", spec.type, value_type(v));
            add_number(j, &b, v, &spec);
        } else {
            jinja_refuse(j, "unsupported format character '%c'", spec.type);
        }
    }
    if (used < n && !by_name && of.kind != VALUE_DICT)
        jinja_refuse(j, "not all arguments converted during string formatting");
    jinja_work(j, b.n / 64);
    return builder_end(&j->arena, &b);
}

/* ---- {} ------------------------------------------------------------------------------------------------------ */

static struct spec read_spec(struct jinja *j, const char *at, const char *end)
{
    struct spec spec = {.fill = ' ', .precision = -1};
    if (end - at > 1 && at[1] && strchr("<>^=", at[1])) {
        spec.fill = *at++;
        spec.align = *at++;
    } else if (at < end && *at && strchr("<>^=", *at)) {
        spec.align = *at++;
    }
    if (spec.fill & 0x80) trap_fail(&j->trap, TDM_E_UNSUPPORTED, "a fill character that isn't ASCII");
    if (at < end && *at && strchr("+- ", *at)) spec.sign = *at++;
    if (at < end && *at == '#') spec.alternate = at++ != NULL;
    if (at < end && *at == '0') {
        if (!spec.align) spec.fill = '0', spec.align = '=';
        at++;
    }
    spec.width = read_count(j, &at, end);
    if (at < end && *at == '.') {
        at++;
        spec.precision = read_count(j, &at, end);
    }
    if (at < end) spec.type = *at++;
    if (at != end) trap_fail(&j->trap, TDM_E_UNSUPPORTED, "format specification isn't supported");
    return spec;
}

/* What a field's name means: an argument by number or name, then .attributes and [items]. *next counts those without.
 */
static struct value field_value(struct jinja *j, const struct args *args, struct span field, size_t *next)
{
    const char *at = field.bytes, *end = at + field.length;
    while (at < end && *at != '.' && *at != '[') at++;
    struct span name = {field.bytes, (size_t)(at - field.bytes)};
    const struct value *v = NULL;
    bool digits = true;
    size_t index = 0;
    for (size_t i = 0; i < name.length; i++) {
        digits = digits && isdigit((unsigned char)name.bytes[i]) && i < 6;
        if (digits) index = index * 10 + (size_t)(name.bytes[i] - '0');
    }
    if (digits) {
        if (!name.length) index = (*next)++;
        if (index < args->positional) v = &args->list[index];
        if (!v) jinja_refuse(j, "Replacement index %zu out of range for positional args tuple", index);
    }
    for (size_t i = args->positional; !v && i < args->n; i++)
        if (args->names[i - args->positional]->length == name.length &&
            !memcmp(args->names[i - args->positional]->bytes, name.bytes, name.length))
            v = &args->list[i];
    if (!v)
        jinja_refuse(j, "there is no argument '%.*s' to format", (int)(name.length < 60 ? name.length : 60),
                     name.bytes);
    struct value found = *v;
    while (at < end) {
        bool item = *at++ == '[';
        const char *stop = at;
        while (stop < end && (item ? *stop != ']' : *stop != '.' && *stop != '[')) stop++;
        const struct str *key = str_copy(&j->arena, (struct span){at, (size_t)(stop - at)}, false);
        bool number = item && key->length && key->length < 6 && strspn(key->bytes, "0123456789") >= key->length;
        if (number) {
            int64_t i = 0;
            for (size_t k = 0; k < key->length; k++) i = i * 10 + key->bytes[k] - '0';
            found = evaluate_item(j, found, value_int(i));
        } else {
            found = item ? evaluate_item(j, found, value_str(key)) : evaluate_attribute(j, found, key);
        }
        at = stop + (item && stop < end);
    }
    return found;
}

static void add_field(struct jinja *j, struct builder *b, const struct args *args, struct span field, size_t *next)
{
    const char *colon = memchr(field.bytes, ':', field.length), *end = field.bytes + field.length;
    const char *name_end = colon ? colon : end;
    const char *bang = memchr(field.bytes, '!', (size_t)(name_end - field.bytes));
    struct span name = {field.bytes, (size_t)((bang ? bang : name_end) - field.bytes)};
    struct value v = field_value(j, args, name, next);
    struct spec spec = read_spec(j, colon ? colon + 1 : end, end);
    if (bang) {
        if (name_end - bang != 2 || (bang[1] != 'r' && bang[1] != 's'))
            trap_fail(&j->trap, TDM_E_UNSUPPORTED, "conversion isn't supported");
        v = value_str(bang[1] == 'r' ? repr(j, v) : value_to_str(&j->arena, v));
    }
    bool number = value_is_number(v) && (v.kind != VALUE_BOOL || spec.type);
    if (number && spec.type && strchr("dnxXoeEfFgG%", spec.type)) {
        if (v.kind == VALUE_FLOAT && strchr("dnxXo", spec.type))
            jinja_refuse(j, "Unknown format code '%c' for object of type 'float'", spec.type);
        add_number(j, b, v, &spec);
        return;
    }
    if (spec.type && !(spec.type == 's' && v.kind == VALUE_STR))
        jinja_refuse(j, "Unknown format code '%c' for object of type '%s'", spec.type, value_type(v));
    if (colon && colon + 1 < end && v.kind != VALUE_STR && !value_is_number(v))
        jinja_refuse(j, "unsupported format string passed to %s.__format__", value_type(v));
    add_text(j, b, value_to_str(&j->arena, v), &spec, number ? '>' : '<');
}

const struct str *strformat_braces(struct jinja *j, const struct str *format, const struct args *args)
{
    struct builder b = {0};
    size_t next = 0;
    for (size_t at = 0, kept = 0;; at++) {
        bool done = at == format->length;
        char c = done ? 0 : format->bytes[at];
        if (!done && c != '{' && c != '}') continue;
        builder_part(&j->arena, &b, format, kept, at);
        if (done) break;
        if (at + 1 < format->length && format->bytes[at + 1] == c) { /* doubled: itself */
            builder_part(&j->arena, &b, format, at, at + 1);
            kept = ++at + 1;
            continue;
        }
        if (c == '}') jinja_refuse(j, "Single '}' encountered in format string");
        const char *close = memchr(format->bytes + at, '}', format->length - at);
        if (!close) jinja_refuse(j, "expected '}' before end of string");
        struct span field = {format->bytes + at + 1, (size_t)(close - format->bytes) - at - 1};
        if (memchr(field.bytes, '{', field.length))
            trap_fail(&j->trap, TDM_E_UNSUPPORTED, "fields in each other aren't supported");
        add_field(j, &b, args, field, &next);
        at = (size_t)(close - format->bytes);
        kept = at + 1;
    }
    jinja_work(j, b.n / 64);
    return builder_end(&j->arena, &b);
}
