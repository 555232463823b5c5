/* Methods of lists, dictionaries and loops; those of texts that give no text or lists of them. */
#include "engine/text/jinja/library/methods.h"

#include <string.h>

#include "engine/base/utf8.h"
#include "engine/text/jinja/library/strformat.h"
#include "engine/text/jinja/library/text_methods.h"
#include "engine/text/unicode.h"

/* ---- Dictionaries -------------------------------------------------------------------------------------------- */

static struct value dict_get(struct jinja *j, struct value self, const struct args *args)
{
    struct value given[2] = {value_none(), value_none()};
    args_bind(j, args, "get", "key default", 1, given);
    const struct value *there = dict_find(&j->arena, self.dict, given[0]);
    return there ? *there : given[1];
}

static struct value view(struct jinja *j, struct value self, enum list_form form)
{
    const struct dict *dict = self.dict;
    struct list *list = list_new(&j->arena, form, dict->data);
    jinja_work(j, dict->n);
    for (size_t i = 0; i < dict->n; i++) {
        struct value item = form == LIST_KEYS ? dict->entries[i].key : dict->entries[i].value;
        if (form == LIST_ITEMS) {
            struct list *pair = list_new(&j->arena, LIST_TUPLE, dict->data);
            list_add(&j->arena, pair, dict->entries[i].key);
            list_add(&j->arena, pair, dict->entries[i].value);
            item = value_list(pair);
        }
        list_add(&j->arena, list, item);
    }
    return value_list(list);
}

struct value methods_items(struct jinja *j, struct value dict)
{
    return view(j, dict, LIST_ITEMS);
}

static struct value dict_items(struct jinja *j, struct value self, const struct args *args)
{
    args_bind(j, args, "items", "", 0, NULL);
    return view(j, self, LIST_ITEMS);
}

static struct value dict_keys(struct jinja *j, struct value self, const struct args *args)
{
    args_bind(j, args, "keys", "", 0, NULL);
    return view(j, self, LIST_KEYS);
}

static struct value dict_values(struct jinja *j, struct value self, const struct args *args)
{
    args_bind(j, args, "values", "", 0, NULL);
    return view(j, self, LIST_VALUES);
}

/* Values never change, so a copy is the value itself. */
static struct value copy(struct jinja *j, struct value self, const struct args *args)
{
    args_bind(j, args, "copy", "", 0, NULL);
    return self;
}

/* ---- Lists and loops ----------------------------------------------------------------------------------------- */

static struct value list_count(struct jinja *j, struct value self, const struct args *args)
{
    struct value what;
    args_bind(j, args, "count", "value", 1, &what);
    int64_t count = 0;
    jinja_work(j, self.list->n);
    for (size_t i = 0; i < self.list->n; i++) count += value_equal(&j->arena, self.list->items[i], what);
    return value_int(count);
}

static struct value list_index(struct jinja *j, struct value self, const struct args *args)
{
    struct value what;
    args_bind(j, args, "index", "value", 1, &what);
    jinja_work(j, self.list->n);
    for (size_t i = 0; i < self.list->n; i++)
        if (value_equal(&j->arena, self.list->items[i], what)) return value_int((int64_t)i);
    jinja_refuse(j, "the value is not in the list");
}

static struct value loop_cycle(struct jinja *j, struct value self, const struct args *args)
{
    if (!args->positional) jinja_refuse(j, "no items for cycling given");
    return args->list[self.loop->index % args->positional];
}

static struct value loop_changed(struct jinja *j, struct value self, const struct args *args)
{
    struct list *now = list_new(&j->arena, LIST_TUPLE, false);
    for (size_t i = 0; i < args->positional; i++) list_add(&j->arena, now, args->list[i]);
    struct list *before = self.loop->changed;
    self.loop->changed = now;
    return value_bool(!before || !value_equal(&j->arena, value_list(before), value_list(now)));
}

/* ---- Texts: questions ---------------------------------------------------------------------------------------- */

/* The part of a text from code point `begin` to `end`, which count from the end where they are negative. */
static struct span window(struct jinja *j, struct span s, unsigned given, const struct value *bounds)
{
    int64_t n = given ? (int64_t)str_codes(s) : 0, at[2] = {0, n};
    for (int k = 0; k < 2; k++) {
        if (!(given >> k & 1) || bounds[k].kind == VALUE_NONE) continue;
        if (bounds[k].kind != VALUE_INT) jinja_refuse(j, "slice indices must be integers or None");
        at[k] = bounds[k].integer < 0 ? bounds[k].integer + n : bounds[k].integer;
        at[k] = at[k] < 0 ? 0 : at[k] > n ? n : at[k];
    }
    if (!given) return s;
    size_t begin = str_offset(s, (size_t)at[0]), end = str_offset(s, (size_t)at[1]);
    return (struct span){s.bytes + begin, end > begin ? end - begin : 0};
}

static bool has_affix(struct span s, struct span affix, bool ends)
{
    if (affix.length > s.length) return false;
    return !memcmp(ends ? s.bytes + s.length - affix.length : s.bytes, affix.bytes, affix.length);
}

static struct value affix(struct jinja *j, struct value self, const struct args *args, bool ends)
{
    struct value given[3];
    unsigned set = args_bind(j, args, ends ? "endswith" : "startswith", "affix start end", 1, given);
    struct span s = window(j, str_span(self.str), set >> 1, given + 1);
    if (given[0].kind != VALUE_LIST || given[0].list->form != LIST_TUPLE)
        return value_bool(has_affix(s, str_span(text_argument(j, given[0])), ends));
    for (size_t i = 0; i < given[0].list->n; i++)
        if (has_affix(s, str_span(text_argument(j, given[0].list->items[i])), ends)) return value_bool(true);
    return value_bool(false);
}

static struct value text_startswith(struct jinja *j, struct value self, const struct args *args)
{
    return affix(j, self, args, false);
}

static struct value text_endswith(struct jinja *j, struct value self, const struct args *args)
{
    return affix(j, self, args, true);
}

static struct value find(struct jinja *j, struct value self, const struct args *args, bool last, bool fails)
{
    struct value given[3];
    unsigned set = args_bind(j, args, "find", "sub start end", 1, given);
    struct span all = str_span(self.str), s = window(j, all, set >> 1, given + 1);
    struct span what = str_span(text_argument(j, given[0]));
    jinja_work(j, s.length / 16);
    size_t at = last ? span_find_last(s, what) : str_find(s, what, 0);
    if (at != SIZE_MAX)
        return value_int((int64_t)str_codes((struct span){all.bytes, (size_t)(s.bytes - all.bytes) + at}));
    if (fails) jinja_refuse(j, "substring not found");
    return value_int(-1);
}

static struct value text_find(struct jinja *j, struct value self, const struct args *args)
{
    return find(j, self, args, false, false);
}

static struct value text_rfind(struct jinja *j, struct value self, const struct args *args)
{
    return find(j, self, args, true, false);
}

static struct value text_index(struct jinja *j, struct value self, const struct args *args)
{
    return find(j, self, args, false, true);
}

static struct value text_rindex(struct jinja *j, struct value self, const struct args *args)
{
    return find(j, self, args, true, true);
}

static struct value text_count(struct jinja *j, struct value self, const struct args *args)
{
    struct value what;
    args_bind(j, args, "count", "sub", 1, &what);
    struct span s = str_span(self.str), sub = str_span(text_argument(j, what));
    jinja_work(j, s.length / 16);
    if (!sub.length) return value_int((int64_t)str_codes(s) + 1);
    int64_t count = 0;
    for (size_t at = 0; (at = str_find(s, sub, at)) != SIZE_MAX; at += sub.length) count++;
    return value_int(count);
}

enum { LETTERS = UNICODE_LETTER, DIGITS = UNICODE_NUMBER, SPACES = UNICODE_STRIP };

static struct value all_of(struct jinja *j, struct value self, const struct args *args, int classes)
{
    args_bind(j, args, "a str's question", "", 0, NULL);
    const uint8_t *table = unicode_classes();
    jinja_work(j, self.str->length / 16);
    for (size_t i = 0, n; i < self.str->length; i += n)
        if (!(unicode_class(table, self.str->bytes + i, self.str->length - i, &n) & classes)) return value_bool(false);
    return value_bool(self.str->length > 0);
}

static struct value text_isalpha(struct jinja *j, struct value self, const struct args *args)
{
    return all_of(j, self, args, LETTERS);
}

static struct value text_isdigit(struct jinja *j, struct value self, const struct args *args)
{
    return all_of(j, self, args, DIGITS);
}

static struct value text_isalnum(struct jinja *j, struct value self, const struct args *args)
{
    return all_of(j, self, args, LETTERS | DIGITS);
}

static struct value text_isspace(struct jinja *j, struct value self, const struct args *args)
{
    return all_of(j, self, args, SPACES);
}

static struct value text_isupper(struct jinja *j, struct value self, const struct args *args)
{
    args_bind(j, args, "isupper", "", 0, NULL);
    return value_bool(text_is_case(j, self.str, true));
}

static struct value text_islower(struct jinja *j, struct value self, const struct args *args)
{
    args_bind(j, args, "islower", "", 0, NULL);
    return value_bool(text_is_case(j, self.str, false));
}

/* ---- Texts: splitting and joining ---------------------------------------------------------------------------- */

static void add_part(struct jinja *j, struct list *list, const struct str *s, size_t begin, size_t end)
{
    jinja_work(j, 1);
    list_add(&j->arena, list, value_str(str_part(&j->arena, s, begin, end)));
}

static void reverse(struct list *list)
{
    for (size_t i = 0; i < list->n / 2; i++) {
        struct value other = list->items[i];
        list->items[i] = list->items[list->n - 1 - i];
        list->items[list->n - 1 - i] = other;
    }
}

/* Whether white space ends at text + end, end > 0. */
static bool space_before(const char *text, size_t end)
{
    size_t at = utf8_before(text, end), n;
    return unicode_class(unicode_classes(), text + at, end - at, &n) & UNICODE_STRIP;
}

/* At white space; what is empty is left out. */
static void split_words(struct jinja *j, struct list *list, const struct str *s, int64_t most, bool right)
{
    const uint8_t *classes = unicode_classes();
    size_t n;
    for (size_t end = s->length, begin; right; end = begin) {
        while (end && space_before(s->bytes, end)) end = utf8_before(s->bytes, end);
        if (!end) break;
        begin = most ? end : 0;
        while (begin && !space_before(s->bytes, begin)) begin = utf8_before(s->bytes, begin);
        add_part(j, list, s, begin, end);
        most--;
    }
    if (right) {
        reverse(list);
        return;
    }
    size_t at = 0;
    for (;;) {
        while (at < s->length && unicode_class(classes, s->bytes + at, s->length - at, &n) & UNICODE_STRIP) at += n;
        if (at == s->length) break;
        size_t end = most ? at : s->length;
        while (end < s->length && !(unicode_class(classes, s->bytes + end, s->length - end, &n) & UNICODE_STRIP))
            end += n;
        add_part(j, list, s, at, end);
        at = end;
        most--;
    }
}

static struct value split(struct jinja *j, struct value self, const struct args *args, bool right)
{
    struct value given[2] = {value_none(), value_int(-1)};
    args_bind(j, args, right ? "rsplit" : "split", "sep maxsplit", 0, given);
    if (given[1].kind != VALUE_INT) jinja_refuse(j, "maxsplit must be an integer");
    int64_t most = given[1].integer < 0 ? INT64_MAX : given[1].integer;
    const struct str *s = self.str;
    struct list *list = list_new(&j->arena, LIST_LIST, str_has_data(s));
    jinja_work(j, s->length / 16);
    if (given[0].kind == VALUE_NONE) {
        split_words(j, list, s, most, right);
        return value_list(list);
    }
    struct span separator = str_span(text_argument(j, given[0]));
    if (!separator.length) jinja_refuse(j, "empty separator");
    if (right) {
        size_t end = s->length, at;
        while (most-- > 0 && (at = span_find_last((struct span){s->bytes, end}, separator)) != SIZE_MAX) {
            add_part(j, list, s, at + separator.length, end);
            end = at;
        }
        add_part(j, list, s, 0, end);
        reverse(list);
        return value_list(list);
    }
    size_t begin = 0, at;
    while (most-- > 0 && (at = str_find(str_span(s), separator, begin)) != SIZE_MAX) {
        add_part(j, list, s, begin, at);
        begin = at + separator.length;
    }
    add_part(j, list, s, begin, s->length);
    return value_list(list);
}

static struct value text_split(struct jinja *j, struct value self, const struct args *args)
{
    return split(j, self, args, false);
}

static struct value text_rsplit(struct jinja *j, struct value self, const struct args *args)
{
    return split(j, self, args, true);
}

static struct value partition(struct jinja *j, struct value self, const struct args *args, bool right)
{
    struct value given;
    args_bind(j, args, "partition", "sep", 1, &given);
    const struct str *s = self.str, *separator = text_argument(j, given);
    if (!separator->length) jinja_refuse(j, "empty separator");
    jinja_work(j, s->length / 16);
    size_t at =
        right ? span_find_last(str_span(s), str_span(separator)) : str_find(str_span(s), str_span(separator), 0);
    struct list *list = list_new(&j->arena, LIST_TUPLE, str_has_data(s));
    size_t cut = at != SIZE_MAX ? at : right ? 0 : s->length, past = at != SIZE_MAX ? at + separator->length : cut;
    add_part(j, list, s, 0, cut);
    add_part(j, list, s, cut, past);
    add_part(j, list, s, past, s->length);
    return value_list(list);
}

static struct value text_partition(struct jinja *j, struct value self, const struct args *args)
{
    return partition(j, self, args, false);
}

static struct value text_rpartition(struct jinja *j, struct value self, const struct args *args)
{
    return partition(j, self, args, true);
}

struct list *methods_splitlines(struct jinja *j, const struct str *s, bool keep)
{
    struct list *list = list_new(&j->arena, LIST_LIST, str_has_data(s));
    size_t begin = 0;
    jinja_work(j, s->length / 16);
    for (size_t i = 0, n; i < s->length; i += n) {
        int32_t code;
        n = utf8_decode(s->bytes + i, s->length - i, &code);
        bool ends = (code >= '\n' && code <= '\r') || (code >= 0x1C && code <= 0x1E) || code == 0x85 ||
                    code == 0x2028 || code == 0x2029;
        if (!ends) continue;
        size_t end = i;
        if (code == '\r' && i + 1 < s->length && s->bytes[i + 1] == '\n') n = 2;
        add_part(j, list, s, begin, keep ? i + n : end);
        begin = i + n;
    }
    if (begin < s->length) add_part(j, list, s, begin, s->length);
    return list;
}

static struct value text_splitlines(struct jinja *j, struct value self, const struct args *args)
{
    struct value keep = value_bool(false);
    args_bind(j, args, "splitlines", "keepends", 0, &keep);
    return value_list(methods_splitlines(j, self.str, value_true(&j->arena, keep)));
}

static struct value text_join(struct jinja *j, struct value self, const struct args *args)
{
    struct value given;
    args_bind(j, args, "join", "iterable", 1, &given);
    struct list items = evaluate_iterate(j, given);
    struct builder b = {0};
    for (size_t i = 0; i < items.n; i++) {
        if (items.items[i].kind != VALUE_STR)
            jinja_refuse(j, "sequence item %zu: expected str instance, %s found", i, value_type(items.items[i]));
        if (i) builder_str(&j->arena, &b, self.str);
        builder_str(&j->arena, &b, items.items[i].str);
    }
    jinja_work(j, b.n / 64);
    return value_str(builder_end(&j->arena, &b));
}

static struct value text_format(struct jinja *j, struct value self, const struct args *args)
{
    return value_str(strformat_braces(j, self.str, args));
}

/* ---- The tables ---------------------------------------------------------------------------------------------- */

static const struct method_entry text_entries[] = {
    {"capitalize", text_capitalize},
    {"casefold", text_lower},
    {"center", text_center},
    {"count", text_count},
    {"endswith", text_endswith},
    {"find", text_find},
    {"format", text_format},
    {"index", text_index},
    {"isalnum", text_isalnum},
    {"isalpha", text_isalpha},
    {"isdecimal", text_isdigit},
    {"isdigit", text_isdigit},
    {"islower", text_islower},
    {"isnumeric", text_isdigit},
    {"isspace", text_isspace},
    {"isupper", text_isupper},
    {"join", text_join},
    {"ljust", text_ljust},
    {"lower", text_lower},
    {"lstrip", text_lstrip},
    {"partition", text_partition},
    {"removeprefix", text_removeprefix},
    {"removesuffix", text_removesuffix},
    {"replace", text_replace},
    {"rfind", text_rfind},
    {"rindex", text_rindex},
    {"rjust", text_rjust},
    {"rpartition", text_rpartition},
    {"rsplit", text_rsplit},
    {"rstrip", text_rstrip},
    {"split", text_split},
    {"splitlines", text_splitlines},
    {"startswith", text_startswith},
    {"strip", text_strip},
    {"swapcase", text_swapcase},
    {"title", text_title},
    {"upper", text_upper},
    {"zfill", text_zfill},
    {0},
};
static const struct method_entry dict_entries[] = {
    {"get", dict_get},
    {"items", dict_items},
    {"keys", dict_keys},
    {"values", dict_values},
    {"copy", copy},
    {"clear", NULL},
    {"pop", NULL},
    {"popitem", NULL},
    {"setdefault", NULL},
    {"update", NULL},
    {0},
};
static const struct method_entry list_entries[] = {
    {"count", list_count}, {"index", list_index}, {"copy", copy},   {"append", NULL},
    {"clear", NULL},       {"extend", NULL},      {"insert", NULL}, {"pop", NULL},
    {"remove", NULL},      {"reverse", NULL},     {"sort", NULL},   {0},
};
static const struct method_entry tuple_entries[] = {
    {"count", list_count},
    {"index", list_index},
    {0},
};
static const struct method_entry loop_entries[] = {
    {"cycle", loop_cycle},
    {"changed", loop_changed},
    {0},
};

const struct method_entry *methods_find(struct value self, struct span name)
{
    const struct method_entry *entry = NULL;
    if (self.kind == VALUE_STR) entry = text_entries;
    if (self.kind == VALUE_DICT) entry = dict_entries;
    if (self.kind == VALUE_LOOP) entry = loop_entries;
    if (self.kind == VALUE_LIST && self.list->form == LIST_LIST) entry = list_entries;
    if (self.kind == VALUE_LIST && (self.list->form == LIST_TUPLE || self.list->form == LIST_RANGE))
        entry = tuple_entries;
    for (; entry && entry->name; entry++)
        if (span_is(name, entry->name)) return entry;
    return NULL;
}

struct value methods_call(struct jinja *j, const struct method *method, const struct args *args)
{
    return method->entry->call(j, method->self, args);
}
