/* Calls: of macros, methods, functions and recursive loops. */
#include <stdio.h>
#include <string.h>

#include "engine/text/jinja/library/methods.h"
#include "engine/text/jinja/run/state.h"

unsigned args_bind(struct jinja *j, const struct args *args, const char *what, const char *names, unsigned needed,
                   struct value *out)
{
    unsigned given = 0, count = 0;
    struct span parameters[8];
    for (const char *at = names; *at;) {
        size_t n = strcspn(at, " ");
        parameters[count++] = (struct span){at, n};
        at += n + (at[n] == ' ');
    }
    if (args->positional > count)
        jinja_refuse(j, "%s takes at most %u arguments (%zu given)", what, count, args->positional);
    for (size_t i = 0; i < args->n; i++) {
        unsigned k = (unsigned)i;
        if (i >= args->positional) {
            struct span name = args_name(args, i);
            for (k = 0; k < count; k++)
                if (parameters[k].length == name.length && !memcmp(parameters[k].bytes, name.bytes, name.length)) break;
            if (k == count || given >> k & 1)
                jinja_refuse(j, "%s got an unexpected keyword argument '%.*s'", what,
                             (int)(name.length < 60 ? name.length : 60), name.bytes);
        }
        out[k] = args->list[i];
        given |= 1u << k;
    }
    for (unsigned k = 0; k < needed; k++)
        if (!(given >> k & 1))
            jinja_refuse(j, "%s is missing the argument '%.*s'", what, (int)parameters[k].length, parameters[k].bytes);
    return given;
}

/* ---- Macros -------------------------------------------------------------------------------------------------- */

/* Binds what stands in `varargs` and `kwargs` of a macro. */
static void set_rest(struct jinja *j, const struct macro *macro, const struct args *args, const bool *used)
{
    struct list *rest = list_new(&j->arena, LIST_TUPLE, false);
    struct dict *named = dict_new(&j->arena, false);
    for (size_t i = macro->node->n / 2; i < args->positional; i++) list_add(&j->arena, rest, args->list[i]);
    for (size_t i = args->positional; i < args->n; i++)
        if (!used[i]) dict_put(&j->arena, named, value_str(args->names[i - args->positional]), args->list[i]);
    for (int i = 0; i < j->t->n_names; i++) {
        if (span_is(str_span(j->t->names[i].text), "varargs")) execute_set(j, i, value_list(rest));
        if (span_is(str_span(j->t->names[i].text), "kwargs")) execute_set(j, i, value_dict(named));
    }
}

static void bind_parameters(struct jinja *j, const struct macro *macro, const struct args *args)
{
    const struct node *node = macro->node;
    size_t parameters = node->n / 2;
    struct span name = str_span(j->t->names[node->name].text);
    bool *used = arena_clear(&j->arena, args->n + 1, sizeof *used);
    if (args->positional > parameters && !j->rest)
        jinja_refuse(j, "macro '%.*s' takes not more than %zu argument(s)", (int)name.length, name.bytes, parameters);
    /* First what is given, then defaults, which see the parameters before them. */
    for (size_t k = 0; k < parameters; k++) {
        int parameter = node->list[2 * k]->name;
        const struct value *given = k < args->positional ? &args->list[k] : NULL;
        for (size_t i = args->positional; i < args->n && !given; i++) {
            if (!str_equal(args->names[i - args->positional], j->t->names[parameter].text)) continue;
            given = &args->list[i];
            used[i] = true;
        }
        if (given) execute_set(j, parameter, *given);
    }
    for (size_t i = args->positional; i < args->n; i++) {
        if (used[i]) continue;
        if (span_is(args_name(args, i), "caller")) {
            for (int k = 0; k < j->t->n_names; k++)
                if (str_equal(j->t->names[k].text, args->names[i - args->positional])) execute_set(j, k, args->list[i]);
            used[i] = true;
        } else if (!j->rest) {
            jinja_refuse(j, "macro '%.*s' takes no keyword argument '%.*s'", (int)name.length, name.bytes,
                         (int)args_name(args, i).length, args_name(args, i).bytes);
        }
    }
    if (j->rest) set_rest(j, macro, args, used);
    for (size_t k = 0; k < parameters; k++) {
        int parameter = node->list[2 * k]->name;
        bool bound = false;
        for (size_t i = 0; i < j->scope->n; i++) bound = bound || j->scope->variables[i].name == parameter;
        if (bound) continue;
        const struct node *other = node->list[2 * k + 1];
        execute_set(j, parameter,
                    other ? evaluate(j, other) : value_nothing(&j->arena, "parameter of a macro was not provided"));
    }
}

static struct value call_macro(struct jinja *j, const struct macro *macro, const struct args *args)
{
    struct scope *scope = arena_clear(&j->arena, 1, sizeof *scope), *before = j->scope;
    scope->around = macro->scope;
    j->scope = scope;
    bind_parameters(j, macro, args);
    struct value text = value_str(execute_captured(j, macro->node->d, scope));
    j->scope = before;
    return text;
}

static struct value call_loop(struct jinja *j, const struct loop *loop, const struct args *args)
{
    if (!loop->recursive) jinja_refuse(j, "The loop must have the 'recursive' marker to be called recursively.");
    struct value items;
    args_bind(j, args, "loop", "iterable", 1, &items);
    struct builder text = {.most = j->bounds.output}, *out = j->out;
    struct scope *before = j->scope;
    j->out = &text;
    j->scope = loop->scope;
    if (++j->depth > j->bounds.depth)
        trap_fail(&j->trap, TDM_E_UNSUPPORTED, "more than %d loops in each other", j->bounds.depth);
    execute_for(j, loop->recursive, evaluate_iterate(j, items), loop->depth + 1);
    j->depth--;
    j->scope = before;
    j->out = out;
    return value_str(builder_end(&j->arena, &text));
}

struct value call_value(struct jinja *j, struct value called, const struct args *args)
{
    int line = j->trap.line;
    struct value result;
    switch (called.kind) {
    case VALUE_UNDEFINED:
        value_fail_undefined(&j->arena, called);
    case VALUE_MACRO:
        result = call_macro(j, called.macro, args);
        break;
    case VALUE_METHOD:
        result = methods_call(j, called.method, args);
        break;
    case VALUE_FUNCTION:
        result = called.function->call(j, args);
        break;
    case VALUE_LOOP:
        result = call_loop(j, called.loop, args);
        break;
    default:
        jinja_refuse(j, "'%s' object is not callable", value_type(called));
    }
    j->trap.line = line;
    return result;
}

/* ---- Functions ----------------------------------------------------------------------------------------------- */

static int64_t whole(struct jinja *j, struct value v)
{
    if (v.kind == VALUE_UNDEFINED) value_fail_undefined(&j->arena, v);
    if (v.kind != VALUE_INT && v.kind != VALUE_BOOL)
        jinja_refuse(j, "'%s' object cannot be interpreted as an integer", value_type(v));
    return value_integer(v);
}

static struct value function_range(struct jinja *j, const struct args *args)
{
    enum { LIMIT = 100000 };
    struct value given[3];
    unsigned set = args_bind(j, args, "range", "start stop step", 1, given);
    int64_t begin = whole(j, given[0]), end = begin, step = set & 4 ? whole(j, given[2]) : 1;
    if (set & 2)
        end = whole(j, given[1]);
    else
        begin = 0;
    if (!step) jinja_refuse(j, "range() arg 3 must not be zero");
    struct list *list = list_new(&j->arena, LIST_RANGE, false);
    for (int64_t i = begin; step > 0 ? i < end : i > end;) {
        if (list->n == LIMIT) jinja_refuse(j, "Range too big. The sandbox blocks ranges larger than %d.", LIMIT);
        list_add(&j->arena, list, value_int(i));
        if (__builtin_add_overflow(i, step, &i)) break;
    }
    jinja_work(j, list->n);
    return value_list(list);
}

/* dict(mapping or pairs, name=value ...). */
static struct dict *make_dict(struct jinja *j, const struct args *args, const char *what)
{
    struct dict *dict = dict_new(&j->arena, false);
    if (args->positional > 1) jinja_refuse(j, "%s expected at most 1 argument, got %zu", what, args->positional);
    if (args->positional && args->list[0].kind == VALUE_DICT) {
        const struct dict *from = args->list[0].dict;
        dict->data = from->data;
        jinja_work(j, from->n);
        for (size_t i = 0; i < from->n; i++) dict_put(&j->arena, dict, from->entries[i].key, from->entries[i].value);
    } else if (args->positional) {
        struct list pairs = evaluate_iterate(j, args->list[0]);
        for (size_t i = 0; i < pairs.n; i++) {
            struct list pair = evaluate_iterate(j, pairs.items[i]);
            if (pair.n != 2)
                jinja_refuse(j, "dictionary update sequence element #%zu has length %zu; 2 is required", i, pair.n);
            dict_put(&j->arena, dict, pair.items[0], pair.items[1]);
        }
    }
    for (size_t i = args->positional; i < args->n; i++)
        dict_put(&j->arena, dict, value_str(args->names[i - args->positional]), args->list[i]);
    return dict;
}

static struct value function_dict(struct jinja *j, const struct args *args)
{
    return value_dict(make_dict(j, args, "dict"));
}

static struct value function_namespace(struct jinja *j, const struct args *args)
{
    return (struct value){.kind = VALUE_SPACE, .dict = make_dict(j, args, "namespace")};
}

static struct value function_raise_exception(struct jinja *j, const struct args *args)
{
    struct value message;
    args_bind(j, args, "raise_exception", "message", 1, &message);
    const struct str *text = value_to_str(&j->arena, message);
    j->trap.line = 0; /* the words are the template's own, for users */
    jinja_refuse(j, "%.*s", (int)(text->length < 400 ? text->length : 400), text->bytes);
}

/* The day of the week from 0, Sunday (Sakamoto). */
static int weekday(struct jinja_time t)
{
    static const int shift[] = {0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4};
    int year = t.year - (t.month < 3);
    return (year + year / 4 - year / 100 + year / 400 + shift[t.month - 1] + t.day) % 7;
}

static int day_of_year(struct jinja_time t)
{
    static const int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    bool leap = (t.year % 4 == 0 && t.year % 100 != 0) || t.year % 400 == 0;
    return before[t.month - 1] + t.day + (leap && t.month > 2);
}

static void write_time(struct jinja *j, struct builder *b, struct jinja_time t, char letter, bool padded)
{
    static const char *const months[] = {"January", "February", "March",     "April",   "May",      "June",
                                         "July",    "August",   "September", "October", "November", "December"};
    static const char *const days[] = {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
    const struct {
        char letter;
        int digits, number;
    } numbers[] = {
        {'Y', 4, t.year},
        {'m', 2, t.month},
        {'d', 2, t.day},
        {'H', 2, t.hour},
        {'M', 2, t.minute},
        {'S', 2, t.second},
        {'y', 2, t.year % 100},
        {'j', 3, day_of_year(t)},
        {'I', 2, t.hour % 12 ? t.hour % 12 : 12},
        {'u', 1, weekday(t) ? weekday(t) : 7},
        {'w', 1, weekday(t)},
    };
    static const struct {
        char letter;
        const char *parts;
    } sums[] = {{'F', "Y-m-d"}, {'T', "H:M:S"}, {'R', "H:M"}, {'D', "m/d/y"}, {'x', "m/d/y"}, {'X', "H:M:S"}};
    char text[16];
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (numbers[i].letter != letter) continue;
        snprintf(text, sizeof text, "%0*d", padded ? numbers[i].digits : 1, numbers[i].number);
        builder_text(&j->arena, b, text, false);
        return;
    }
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
        if (sums[i].letter != letter) continue;
        for (const char *part = sums[i].parts; *part; part++) {
            if (strchr("-:/", *part))
                builder_add(&j->arena, b, part, 1, false);
            else
                write_time(j, b, t, *part, true);
        }
        return;
    }
    if (letter == 'e') {
        snprintf(text, sizeof text, padded ? "%2d" : "%d", t.day);
        builder_text(&j->arena, b, text, false);
    } else if (letter == 'B' || letter == 'b' || letter == 'h') {
        builder_add(&j->arena, b, months[t.month - 1], letter == 'B' ? strlen(months[t.month - 1]) : 3, false);
    } else if (letter == 'A' || letter == 'a') {
        builder_add(&j->arena, b, days[weekday(t)], letter == 'A' ? strlen(days[weekday(t)]) : 3, false);
    } else if (letter == 'p') {
        builder_text(&j->arena, b, t.hour < 12 ? "AM" : "PM", false);
    } else if (letter == '%') {
        builder_text(&j->arena, b, "%", false);
    } else {
        trap_fail(&j->trap, TDM_E_UNSUPPORTED, "strftime_now doesn't know '%%%c'", letter);
    }
}

static struct value function_strftime_now(struct jinja *j, const struct args *args)
{
    struct value format;
    args_bind(j, args, "strftime_now", "format", 1, &format);
    if (format.kind != VALUE_STR) jinja_refuse(j, "strftime() argument 1 must be str, not %s", value_type(format));
    struct builder b = {0};
    const char *at = format.str->bytes, *end = at + format.str->length;
    for (size_t i; at < end; at += i) {
        const char *percent = memchr(at, '%', (size_t)(end - at));
        i = percent ? (size_t)(percent - at) : (size_t)(end - at);
        builder_part(&j->arena, &b, format.str, (size_t)(at - format.str->bytes), (size_t)(at + i - format.str->bytes));
        if (!percent) continue;
        bool bare = percent + 1 < end && percent[1] == '-';
        if (percent + 1 + bare >= end) break;
        write_time(j, &b, j->now, percent[1 + bare], !bare);
        i += 2 + bare;
    }
    return value_str(builder_end(&j->arena, &b));
}

const struct function *call_function(struct span name)
{
    static const struct function functions[] = {
        {"range", function_range},
        {"dict", function_dict},
        {"namespace", function_namespace},
        {"raise_exception", function_raise_exception},
        {"strftime_now", function_strftime_now},
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (span_is(name, functions[i].name)) return &functions[i];
    return NULL;
}
