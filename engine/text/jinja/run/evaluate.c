/* Expressions: names, attributes, items, calls and conditions. */
#include "engine/text/jinja/library/filters.h"
#include "engine/text/jinja/library/methods.h"
#include "engine/text/jinja/run/state.h"
#include "engine/text/jinja/library/tests.h"

#include <string.h>

void jinja_work(struct jinja *j, uint64_t steps)
{
    if (steps > j->bounds.steps - j->steps)
        trap_fail(&j->trap, TDM_E_UNSUPPORTED, "the template takes more than %llu steps",
                  (unsigned long long)j->bounds.steps);
    j->steps += steps;
}

/* ---- Names --------------------------------------------------------------------------------------------------- */

static struct value lookup(struct jinja *j, int name)
{
    for (const struct scope *scope = j->scope; scope; scope = scope->around)
        for (size_t i = 0; i < scope->n; i++)
            if (scope->variables[i].name == name) return scope->variables[i].value;
    return j->globals[name];
}

static struct value no_attribute(struct jinja *j, struct value of, struct span name, bool unsafe)
{
    struct undefined *u = arena_clear(&j->arena, 1, sizeof *u);
    u->name = name;
    u->unsafe = unsafe;
    static const char *const objects[] = {
        [VALUE_NONE] = "None",          [VALUE_BOOL] = "bool object", [VALUE_INT] = "int object",
        [VALUE_FLOAT] = "float object", [VALUE_STR] = "str object",   [VALUE_LIST] = "list object",
        [VALUE_DICT] = "dict object",   [VALUE_SPACE] = "Namespace",  [VALUE_LOOP] = "LoopContext",
        [VALUE_MACRO] = "Macro",        [VALUE_METHOD] = "method",    [VALUE_FUNCTION] = "function",
    };
    u->object = objects[of.kind];
    return (struct value){.kind = VALUE_UNDEFINED, .undefined = u};
}

static struct value loop_attribute(struct jinja *j, struct value of, struct span name)
{
    const struct loop *loop = of.loop;
    const struct {
        const char *name;
        struct value value;
    } attributes[] = {
        {"index", value_int((int64_t)loop->index + 1)},
        {"index0", value_int((int64_t)loop->index)},
        {"first", value_bool(loop->index == 0)},
        {"last", value_bool(loop->index + 1 == loop->n)},
        {"length", value_int((int64_t)loop->n)},
        {"revindex", value_int((int64_t)(loop->n - loop->index))},
        {"revindex0", value_int((int64_t)(loop->n - loop->index) - 1)},
        {"depth", value_int(loop->depth + 1)},
        {"depth0", value_int(loop->depth)},
    };
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
        if (span_is(name, attributes[i].name)) return attributes[i].value;
    if (span_is(name, "previtem"))
        return loop->index ? loop->items[loop->index - 1] : value_nothing(&j->arena, "there is no previous item");
    if (span_is(name, "nextitem"))
        return loop->index + 1 < loop->n ? loop->items[loop->index + 1]
                                         : value_nothing(&j->arena, "there is no next item");
    return no_attribute(j, of, name, false);
}

/* The attributes that aren't items: a method, a loop's state, a namespace's member. VALUE_UNDEFINED: there is none. */
static struct value own_attribute(struct jinja *j, struct value of, const struct str *name)
{
    const struct method_entry *entry = methods_find(of, str_span(name));
    if (entry && !entry->call) return no_attribute(j, of, str_span(name), true);
    if (entry) {
        struct method *method = arena_take(&j->arena, sizeof *method);
        *method = (struct method){of, entry};
        return (struct value){.kind = VALUE_METHOD, .method = method};
    }
    if (of.kind == VALUE_LOOP) return loop_attribute(j, of, str_span(name));
    if (of.kind == VALUE_MACRO && span_is(str_span(name), "name"))
        return value_str(j->t->names[of.macro->node->name].text);
    const struct value *member = of.kind == VALUE_SPACE ? dict_find_text(&j->arena, of.dict, str_span(name)) : NULL;
    return member ? *member : no_attribute(j, of, str_span(name), false);
}

static bool nothing(struct value v)
{
    return v.kind == VALUE_UNDEFINED && !v.undefined->unsafe;
}

struct value evaluate_attribute(struct jinja *j, struct value of, const struct str *name)
{
    if (of.kind == VALUE_UNDEFINED) value_fail_undefined(&j->arena, of);
    struct value own = own_attribute(j, of, name);
    const struct value *item =
        nothing(own) && of.kind == VALUE_DICT ? dict_find(&j->arena, of.dict, value_str(name)) : NULL;
    return item ? *item : own;
}

/* ---- Items --------------------------------------------------------------------------------------------------- */

static struct value no_item(struct jinja *j, struct value of, struct value key)
{
    if (key.kind == VALUE_STR) return own_attribute(j, of, key.str);
    return no_attribute(j, of, str_span(value_to_str(&j->arena, key)), false);
}

struct value evaluate_item(struct jinja *j, struct value of, struct value key)
{
    if (of.kind == VALUE_UNDEFINED) value_fail_undefined(&j->arena, of);
    if (key.kind == VALUE_UNDEFINED && of.kind != VALUE_DICT) return no_attribute(j, of, (struct span){"", 0}, false);
    if (of.kind == VALUE_DICT) {
        if (key.kind >= VALUE_LIST && !(key.kind == VALUE_LIST && key.list->form == LIST_TUPLE))
            return no_item(j, of, key);
        const struct value *item = dict_find(&j->arena, of.dict, key);
        return item ? *item : no_item(j, of, key);
    }
    if (key.kind != VALUE_INT && key.kind != VALUE_BOOL) return no_item(j, of, key);
    int64_t i = value_integer(key);
    if (of.kind == VALUE_STR) {
        struct span s = str_span(of.str);
        jinja_work(j, s.length / 64);
        if (i < 0) i += (int64_t)str_codes(s);
        size_t begin = i < 0 ? s.length : str_offset(s, (size_t)i);
        if (begin >= s.length) return no_item(j, of, key);
        struct span rest = {s.bytes + begin, s.length - begin};
        return value_str(str_part(&j->arena, of.str, begin, begin + str_offset(rest, 1)));
    }
    if (of.kind != VALUE_LIST || of.list->form > LIST_RANGE) return no_item(j, of, key);
    if (i < 0) i += (int64_t)of.list->n;
    if (i < 0 || (uint64_t)i >= of.list->n) return no_item(j, of, key);
    return of.list->items[i];
}

/* One end of a slice: none, or a number. */
static bool slice_end(struct jinja *j, const struct node *node, int64_t *out)
{
    if (!node) return false;
    struct value v = evaluate(j, node);
    if (v.kind == VALUE_NONE) return false;
    if (v.kind != VALUE_INT && v.kind != VALUE_BOOL)
        jinja_refuse(j, "slice indices must be integers or None or have an __index__ method");
    *out = value_integer(v);
    return true;
}

static int64_t clamp(int64_t i, int64_t n, int64_t low, int64_t high)
{
    if (i < 0) i = i < -n ? low : i + n;
    return i < low ? low : i > high ? high : i;
}

static struct value slice(struct jinja *j, const struct node *node)
{
    struct value of = evaluate(j, node->a);
    int64_t begin = 0, end = 0, step = 1;
    bool has_begin = slice_end(j, node->b, &begin), has_end = slice_end(j, node->c, &end);
    slice_end(j, node->d, &step);
    if (of.kind == VALUE_UNDEFINED) value_fail_undefined(&j->arena, of);
    bool list = of.kind == VALUE_LIST && of.list->form <= LIST_RANGE;
    if (of.kind != VALUE_STR && !list) return no_attribute(j, of, (struct span){"slice", 5}, false);
    if (!step) jinja_refuse(j, "slice step cannot be zero");
    if (step < -INT32_MAX || step > INT32_MAX) step = step < 0 ? -INT32_MAX : INT32_MAX;
    int64_t n = list ? (int64_t)of.list->n : (int64_t)str_codes(str_span(of.str));
    int64_t low = step < 0 ? -1 : 0, high = step < 0 ? n - 1 : n;
    begin = has_begin ? clamp(begin, n, low, high) : step < 0 ? high : low;
    end = has_end ? clamp(end, n, low, high) : step < 0 ? low : high;
    jinja_work(j, (uint64_t)n / 64);
    if (!list && step == 1) {
        struct span s = str_span(of.str);
        return value_str(begin < end
                             ? str_part(&j->arena, of.str, str_offset(s, (size_t)begin), str_offset(s, (size_t)end))
                             : str_literal(&j->arena, ""));
    }
    if (!list) {
        size_t *offsets = arena_take(&j->arena, ((size_t)n + 1) * sizeof *offsets), at = 0;
        struct span s = str_span(of.str);
        for (int64_t i = 0; i <= n; i++) {
            offsets[i] = at;
            if (i < n) at += str_offset((struct span){s.bytes + at, s.length - at}, 1);
        }
        struct builder b = {0};
        for (int64_t i = begin; step > 0 ? i < end : i > end; i += step)
            builder_part(&j->arena, &b, of.str, offsets[i], offsets[i + 1]);
        return value_str(builder_end(&j->arena, &b));
    }
    struct list *part = list_new(&j->arena, of.list->form, of.list->data);
    if (step == 1 && begin < end) {
        *part = *of.list;
        part->items += begin;
        part->n = part->room = (size_t)(end - begin);
        return value_list(part);
    }
    for (int64_t i = begin; step > 0 ? i < end : i > end; i += step) list_add(&j->arena, part, of.list->items[i]);
    return value_list(part);
}

/* ---- Containers ---------------------------------------------------------------------------------------------- */

int64_t evaluate_length(struct jinja *j, struct value v)
{
    switch (v.kind) {
    case VALUE_UNDEFINED:
        if (v.undefined->unsafe) value_fail_undefined(&j->arena, v);
        return 0;
    case VALUE_STR:
        jinja_work(j, v.str->length / 64);
        return (int64_t)str_codes(str_span(v.str));
    case VALUE_LIST:
        if (v.list->form != LIST_GENERATOR) return (int64_t)v.list->n;
        break;
    case VALUE_DICT:
        return (int64_t)v.dict->n;
    case VALUE_LOOP:
        return (int64_t)v.loop->n;
    default:
        break;
    }
    jinja_refuse(j, "object of type '%s' has no len()", value_type(v));
}

struct list evaluate_iterate(struct jinja *j, struct value v)
{
    struct list items = {.form = LIST_LIST};
    switch (v.kind) {
    case VALUE_UNDEFINED:
        if (v.undefined->unsafe) value_fail_undefined(&j->arena, v);
        return items;
    case VALUE_STR:
        items.data = str_has_data(v.str);
        for (size_t at = 0, n; at < v.str->length; at += n) {
            jinja_work(j, 1);
            n = str_offset((struct span){v.str->bytes + at, v.str->length - at}, 1);
            list_add(&j->arena, &items, value_str(str_part(&j->arena, v.str, at, at + n)));
        }
        return items;
    case VALUE_LIST:
        items = *v.list;
        if (v.list->form == LIST_GENERATOR) v.list->n = 0;
        items.form = LIST_LIST;
        jinja_work(j, items.n);
        return items;
    case VALUE_DICT:
        items.data = v.dict->data;
        jinja_work(j, v.dict->n);
        for (size_t i = 0; i < v.dict->n; i++) list_add(&j->arena, &items, v.dict->entries[i].key);
        return items;
    default:
        jinja_refuse(j, "'%s' object is not iterable", value_type(v));
    }
}

bool evaluate_contains(struct jinja *j, struct value container, struct value item)
{
    if (container.kind == VALUE_STR) {
        if (item.kind == VALUE_UNDEFINED) value_fail_undefined(&j->arena, item);
        if (item.kind != VALUE_STR)
            jinja_refuse(j, "'in <string>' requires string as left operand, not %s", value_type(item));
        jinja_work(j, container.str->length / 64);
        return str_find(str_span(container.str), str_span(item.str), 0) != SIZE_MAX;
    }
    if (container.kind == VALUE_DICT) return dict_find(&j->arena, container.dict, item);
    if (container.kind != VALUE_UNDEFINED && container.kind != VALUE_LIST)
        jinja_refuse(j, "argument of type '%s' is not iterable", value_type(container));
    struct list items = evaluate_iterate(j, container);
    for (size_t i = 0; i < items.n; i++)
        if (value_equal(&j->arena, items.items[i], item)) return true;
    return false;
}

/* ---- Operators ----------------------------------------------------------------------------------------------- */

static bool holds(struct jinja *j, enum node_op op, struct value x, struct value y)
{
    static const char *const words[] = {
        [OP_LESS] = "<", [OP_LESS_EQUAL] = "<=", [OP_GREATER] = ">", [OP_GREATER_EQUAL] = ">="};
    if (op == OP_EQUAL || op == OP_NOT_EQUAL) return value_equal(&j->arena, x, y) == (op == OP_EQUAL);
    if (op == OP_IN || op == OP_NOT_IN) return evaluate_contains(j, y, x) == (op == OP_IN);
    int order = value_compare(&j->arena, x, y, words[op]);
    return op == OP_LESS ? order < 0 : op == OP_LESS_EQUAL ? order <= 0 : op == OP_GREATER ? order > 0 : order >= 0;
}

static struct value compare(struct jinja *j, const struct node *node)
{
    struct value left = evaluate(j, node->a);
    for (size_t i = 0; i < node->n; i++) {
        struct value right = evaluate(j, node->list[i]);
        if (!holds(j, node->ops[i], left, right)) return value_bool(false);
        left = right;
    }
    return value_bool(true);
}

/* A sum of texts is written in one go. */
static struct value math(struct jinja *j, const struct node *node)
{
    struct value left = evaluate(j, node->a);
    for (size_t i = 0; i < node->n; i++) {
        struct value right = evaluate(j, node->list[i]);
        if (node->ops[i] != OP_ADD || left.kind != VALUE_STR || right.kind != VALUE_STR || left.str->markup ||
            right.str->markup) {
            left = math_apply(j, node->ops[i], left, right);
            continue;
        }
        struct builder b = builder_from(&j->arena, left.str);
        size_t had = b.growth ? b.n : 0;
        builder_str(&j->arena, &b, right.str);
        while (i + 1 < node->n && node->ops[i + 1] == OP_ADD) {
            right = evaluate(j, node->list[i + 1]);
            if (right.kind != VALUE_STR || right.str->markup) break;
            builder_str(&j->arena, &b, right.str);
            i++;
        }
        jinja_work(j, (b.n - had) / 64);
        left = value_str(builder_end(&j->arena, &b));
        /* The operand that ended the texts is there already; it can't be evaluated twice. */
        if (i + 1 < node->n && node->ops[i + 1] == OP_ADD) left = math_apply(j, node->ops[++i], left, right);
    }
    return left;
}

static struct value concat(struct jinja *j, const struct node *node)
{
    struct builder b = builder_from(&j->arena, value_to_str(&j->arena, evaluate(j, node->list[0])));
    size_t had = b.growth ? b.n : 0;
    for (size_t i = 1; i < node->n; i++) value_print(&j->arena, &b, evaluate(j, node->list[i]));
    jinja_work(j, (b.n - had) / 64);
    return value_str(builder_end(&j->arena, &b));
}

static struct value container(struct jinja *j, const struct node *node)
{
    if (node->kind == NODE_DICT) {
        struct dict *dict = dict_new(&j->arena, false);
        for (size_t i = 0; i < node->n; i += 2) {
            struct value key = evaluate(j, node->list[i]);
            dict_put(&j->arena, dict, key, evaluate(j, node->list[i + 1]));
        }
        return value_dict(dict);
    }
    struct list *list = list_new(&j->arena, node->kind == NODE_LIST ? LIST_LIST : LIST_TUPLE, false);
    for (size_t i = 0; i < node->n; i++) list_add(&j->arena, list, evaluate(j, node->list[i]));
    return value_list(list);
}

struct args *evaluate_args(struct jinja *j, const struct call_args *from)
{
    struct args *args = arena_clear(&j->arena, 1, sizeof *args);
    if (!from) return args;
    struct value *list = arena_take(&j->arena, from->n * sizeof *list);
    for (size_t i = 0; i < from->n; i++) list[i] = evaluate(j, from->list[i]);
    *args = (struct args){list, from->n, from->positional, from->names};
    return args;
}

static struct value choose(struct jinja *j, const struct node *node)
{
    if (value_true(&j->arena, evaluate(j, node->a))) return evaluate(j, node->b);
    if (node->c) return evaluate(j, node->c);
    return value_nothing(&j->arena, "the inline if-expression evaluated to false and no else section was defined.");
}

static struct value filtered(struct jinja *j, const struct node *node)
{
    struct value v = evaluate(j, node->a);
    if (!node->filter) jinja_refuse(j, "No filter named '%.*s'.", (int)node->value.str->length, node->value.str->bytes);
    return filters_apply(j, node->filter, v, evaluate_args(j, node->args));
}

static struct value tested(struct jinja *j, const struct node *node)
{
    struct value v = evaluate(j, node->a);
    if (!node->test) jinja_refuse(j, "No test named '%.*s'.", (int)node->value.str->length, node->value.str->bytes);
    return value_bool(tests_apply(j, node->test, v, evaluate_args(j, node->args)));
}

static struct value expression(struct jinja *j, const struct node *node)
{
    struct value v;
    switch (node->kind) {
    case NODE_CONST:
        return node->value;
    case NODE_NAME:
        return lookup(j, node->name);
    case NODE_LIST:
    case NODE_TUPLE:
    case NODE_DICT:
        return container(j, node);
    case NODE_ATTR:
        return evaluate_attribute(j, evaluate(j, node->a), node->value.str);
    case NODE_ITEM:
        v = evaluate(j, node->a);
        return evaluate_item(j, v, evaluate(j, node->b));
    case NODE_SLICE:
        return slice(j, node);
    case NODE_CALL:
        v = evaluate(j, node->a);
        return call_value(j, v, evaluate_args(j, node->args));
    case NODE_FILTER:
        return filtered(j, node);
    case NODE_TEST:
        return tested(j, node);
    case NODE_NOT:
        return value_bool(!value_true(&j->arena, evaluate(j, node->a)));
    case NODE_NEGATE:
    case NODE_PLUS:
        v = evaluate(j, node->a);
        return node->kind == NODE_NEGATE ? math_negate(j, v) : math_negate(j, math_negate(j, v));
    case NODE_AND:
        v = evaluate(j, node->a);
        return value_true(&j->arena, v) ? evaluate(j, node->b) : v;
    case NODE_OR:
        v = evaluate(j, node->a);
        return value_true(&j->arena, v) ? v : evaluate(j, node->b);
    case NODE_IF_ELSE:
        return choose(j, node);
    case NODE_COMPARE:
        return compare(j, node);
    case NODE_MATH:
        return math(j, node);
    case NODE_CONCAT:
        return concat(j, node);
    default:
        panic("no expression");
    }
}

struct value evaluate(struct jinja *j, const struct node *node)
{
    if (++j->depth > j->bounds.depth)
        trap_fail(&j->trap, TDM_E_UNSUPPORTED, "more than %d expressions, tags and macros in each other",
                  j->bounds.depth);
    jinja_work(j, 1);
    j->trap.line = node->line;
    struct value v = expression(j, node);
    j->depth--;
    return v;
}
