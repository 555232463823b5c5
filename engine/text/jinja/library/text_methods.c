#include "engine/text/jinja/library/text_methods.h"

#include <string.h>

#include <utf8proc.h>

#include "engine/base/utf8.h"
#include "engine/text/unicode.h"

const struct str *text_argument(struct jinja *j, struct value v)
{
    if (v.kind == VALUE_UNDEFINED) value_fail_undefined(&j->arena, v);
    if (v.kind != VALUE_STR) jinja_refuse(j, "expected a str, found '%s'", value_type(v));
    return v.str;
}

/* The text with the markup's mark of the one that it was made of. */
static const struct str *end_like(struct jinja *j, struct builder *b, const struct str *s)
{
    const struct str *made = builder_end(&j->arena, b);
    return s->markup ? str_as_markup(&j->arena, made, true) : made;
}

/* ---- Letters ------------------------------------------------------------------------------------------------- */

static void add_code(struct jinja *j, struct builder *b, int32_t code, bool data)
{
    char bytes[4];
    builder_add(&j->arena, b, bytes, utf8_encode((uint32_t)code, bytes), data);
}

/* One character of s at i, in upper or lower case; ß is the one whose capital is two letters that texts have. */
static size_t add_cased(struct jinja *j, struct builder *b, const struct str *s, size_t i, bool upper)
{
    int32_t code;
    size_t n = utf8_decode(s->bytes + i, s->length - i, &code);
    bool data = str_data_at(s, i);
    int32_t to = code < 0 ? code : upper ? utf8proc_toupper(code) : utf8proc_tolower(code);
    if (code == 0xDF && upper)
        builder_text(&j->arena, b, "SS", data);
    else if (to == code || code < 0)
        builder_part(&j->arena, b, s, i, i + n);
    else
        add_code(j, b, to, data);
    return n;
}

static const struct str *cased(struct jinja *j, const struct str *s, bool upper)
{
    struct builder b = {0};
    jinja_work(j, s->length / 16);
    for (size_t i = 0; i < s->length;) i += add_cased(j, &b, s, i, upper);
    return end_like(j, &b, s);
}

const struct str *methods_upper(struct jinja *j, const struct str *s)
{
    return cased(j, s, true);
}

const struct str *methods_lower(struct jinja *j, const struct str *s)
{
    return cased(j, s, false);
}

const struct str *methods_capitalize(struct jinja *j, const struct str *s)
{
    struct builder b = {0};
    jinja_work(j, s->length / 16);
    for (size_t i = 0; i < s->length;) i += add_cased(j, &b, s, i, i == 0);
    return end_like(j, &b, s);
}

struct value text_upper(struct jinja *j, struct value self, const struct args *args)
{
    args_bind(j, args, "upper", "", 0, NULL);
    return value_str(cased(j, self.str, true));
}

struct value text_lower(struct jinja *j, struct value self, const struct args *args)
{
    args_bind(j, args, "lower", "", 0, NULL);
    return value_str(cased(j, self.str, false));
}

struct value text_capitalize(struct jinja *j, struct value self, const struct args *args)
{
    args_bind(j, args, "capitalize", "", 0, NULL);
    return value_str(methods_capitalize(j, self.str));
}

static bool has_case(int32_t code, bool *upper)
{
    if (code < 0) return false;
    bool up = utf8proc_isupper(code), low = utf8proc_islower(code);
    *upper = up;
    return up || low;
}

struct value text_swapcase(struct jinja *j, struct value self, const struct args *args)
{
    args_bind(j, args, "swapcase", "", 0, NULL);
    struct builder b = {0};
    const struct str *s = self.str;
    for (size_t i = 0; i < s->length;) {
        int32_t code;
        bool upper = false;
        utf8_decode(s->bytes + i, s->length - i, &code);
        has_case(code, &upper);
        i += add_cased(j, &b, s, i, !upper);
    }
    return value_str(end_like(j, &b, s));
}

struct value text_title(struct jinja *j, struct value self, const struct args *args)
{
    args_bind(j, args, "title", "", 0, NULL);
    struct builder b = {0};
    const struct str *s = self.str;
    bool within = false, unused;
    for (size_t i = 0; i < s->length;) {
        int32_t code;
        utf8_decode(s->bytes + i, s->length - i, &code);
        i += add_cased(j, &b, s, i, !within);
        within = has_case(code, &unused);
    }
    return value_str(end_like(j, &b, s));
}

bool text_is_case(struct jinja *j, const struct str *s, bool upper)
{
    bool any = false, is_upper;
    jinja_work(j, s->length / 16);
    for (size_t i = 0; i < s->length;) {
        int32_t code;
        i += utf8_decode(s->bytes + i, s->length - i, &code);
        if (!has_case(code, &is_upper)) continue;
        if (is_upper != upper) return false;
        any = true;
    }
    return any;
}

/* ---- Ends ---------------------------------------------------------------------------------------------------- */

const struct str *methods_strip(struct jinja *j, const struct str *s, const struct str *characters, bool left,
                                bool right)
{
    size_t begin = 0, end = s->length;
    if (!characters) {
        unicode_strip(s->bytes, &begin, &end);
        if (begin > end) begin = end;
        return str_part(&j->arena, s, left ? begin : 0, right ? end : s->length);
    }
    struct span set = str_span(characters);
    for (size_t n; left && begin < end; begin += n) {
        int32_t code;
        n = utf8_decode(s->bytes + begin, end - begin, &code);
        jinja_work(j, 1);
        if (str_find(set, (struct span){s->bytes + begin, n}, 0) == SIZE_MAX) break;
    }
    for (size_t at; right && end > begin; end = at) {
        at = utf8_before(s->bytes, end);
        jinja_work(j, 1);
        if (str_find(set, (struct span){s->bytes + at, end - at}, 0) == SIZE_MAX) break;
    }
    return str_part(&j->arena, s, begin, end);
}

static struct value strip(struct jinja *j, struct value self, const struct args *args, bool left, bool right)
{
    struct value characters = value_none();
    args_bind(j, args, "strip", "chars", 0, &characters);
    const struct str *set = characters.kind == VALUE_NONE ? NULL : text_argument(j, characters);
    return value_str(methods_strip(j, self.str, set, left, right));
}

struct value text_strip(struct jinja *j, struct value self, const struct args *args)
{
    return strip(j, self, args, true, true);
}

struct value text_lstrip(struct jinja *j, struct value self, const struct args *args)
{
    return strip(j, self, args, true, false);
}

struct value text_rstrip(struct jinja *j, struct value self, const struct args *args)
{
    return strip(j, self, args, false, true);
}

struct value text_removeprefix(struct jinja *j, struct value self, const struct args *args)
{
    struct value given;
    args_bind(j, args, "removeprefix", "prefix", 1, &given);
    const struct str *s = self.str, *prefix = text_argument(j, given);
    bool there = prefix->length <= s->length && !memcmp(s->bytes, prefix->bytes, prefix->length);
    return value_str(str_part(&j->arena, s, there ? prefix->length : 0, s->length));
}

struct value text_removesuffix(struct jinja *j, struct value self, const struct args *args)
{
    struct value given;
    args_bind(j, args, "removesuffix", "suffix", 1, &given);
    const struct str *s = self.str, *suffix = text_argument(j, given);
    bool there =
        suffix->length <= s->length && !memcmp(s->bytes + s->length - suffix->length, suffix->bytes, suffix->length);
    return value_str(str_part(&j->arena, s, 0, s->length - (there ? suffix->length : 0)));
}

/* ---- Replacing ----------------------------------------------------------------------------------------------- */

const struct str *methods_replace(struct jinja *j, const struct str *s, const struct str *old, const struct str *with,
                                  int64_t count)
{
    struct builder b = {0};
    size_t begin = 0;
    jinja_work(j, s->length / 16);
    if (count < 0) count = INT64_MAX;
    if (!old->length) { /* between all characters, and at both ends */
        for (; count > 0; count--) {
            builder_str(&j->arena, &b, with);
            if (begin == s->length) break;
            size_t n = str_offset((struct span){s->bytes + begin, s->length - begin}, 1);
            builder_part(&j->arena, &b, s, begin, begin + n);
            begin += n;
        }
        builder_part(&j->arena, &b, s, begin, s->length);
        jinja_work(j, b.n / 64);
        return builder_end(&j->arena, &b);
    }
    for (size_t at; count > 0 && (at = str_find(str_span(s), str_span(old), begin)) != SIZE_MAX; count--) {
        builder_part(&j->arena, &b, s, begin, at);
        builder_str(&j->arena, &b, with);
        begin = at + old->length;
    }
    if (!begin) return s;
    builder_part(&j->arena, &b, s, begin, s->length);
    jinja_work(j, b.n / 64);
    return builder_end(&j->arena, &b);
}

struct value text_replace(struct jinja *j, struct value self, const struct args *args)
{
    struct value given[3] = {[2] = value_int(-1)};
    args_bind(j, args, "replace", "old new count", 2, given);
    if (given[2].kind != VALUE_INT) jinja_refuse(j, "count must be an integer");
    return value_str(
        methods_replace(j, self.str, text_argument(j, given[0]), text_argument(j, given[1]), given[2].integer));
}

/* ---- Filling up ---------------------------------------------------------------------------------------------- */

/* The text with `left` and `right` fill characters at its ends. */
static struct value fill(struct jinja *j, const struct str *s, const struct str *with, int64_t left, int64_t right)
{
    struct builder b = {0};
    jinja_work(j, (uint64_t)((left > 0 ? left : 0) + (right > 0 ? right : 0)));
    for (int64_t i = 0; i < left; i++) builder_str(&j->arena, &b, with);
    builder_str(&j->arena, &b, s);
    for (int64_t i = 0; i < right; i++) builder_str(&j->arena, &b, with);
    return value_str(end_like(j, &b, s));
}

/* How many characters are missing, of a width that is the first argument. */
static int64_t missing(struct jinja *j, const struct str *s, const struct args *args, const struct str **with)
{
    struct value given[2] = {value_int(0), value_str(str_literal(&j->arena, " "))};
    args_bind(j, args, "the method", "width fillchar", 1, given);
    if (given[0].kind != VALUE_INT) jinja_refuse(j, "expected a width, found '%s'", value_type(given[0]));
    *with = text_argument(j, given[1]);
    if (str_codes(str_span(*with)) != 1) jinja_refuse(j, "The fill character must be exactly one character long");
    int64_t n = (int64_t)str_codes(str_span(s));
    return given[0].integer > n ? given[0].integer - n : 0;
}

struct value text_ljust(struct jinja *j, struct value self, const struct args *args)
{
    const struct str *with;
    int64_t n = missing(j, self.str, args, &with);
    return fill(j, self.str, with, 0, n);
}

struct value text_rjust(struct jinja *j, struct value self, const struct args *args)
{
    const struct str *with;
    int64_t n = missing(j, self.str, args, &with);
    return fill(j, self.str, with, n, 0);
}

struct value text_center(struct jinja *j, struct value self, const struct args *args)
{
    const struct str *with;
    int64_t n = missing(j, self.str, args, &with), width = n + (int64_t)str_codes(str_span(self.str));
    int64_t left = n / 2 + (n & width & 1);
    return fill(j, self.str, with, left, n - left);
}

struct value text_zfill(struct jinja *j, struct value self, const struct args *args)
{
    const struct str *with, *s = self.str;
    int64_t n = missing(j, s, args, &with);
    size_t sign = s->length && (s->bytes[0] == '-' || s->bytes[0] == '+');
    struct value rest = fill(j, str_part(&j->arena, s, sign, s->length), str_literal(&j->arena, "0"), n, 0);
    struct builder b = {0};
    builder_part(&j->arena, &b, s, 0, sign);
    builder_str(&j->arena, &b, rest.str);
    return value_str(end_like(j, &b, s));
}
