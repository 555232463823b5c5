/* Statements: output, branches, loops, variables, and the bodies whose text is caught. */
#include "engine/text/jinja/library/filters.h"
#include "engine/text/jinja/run/state.h"

void execute_set(struct jinja *j, int name, struct value value)
{
    struct scope *scope = j->scope;
    for (size_t i = 0; i < scope->n; i++) {
        if (scope->variables[i].name != name) continue;
        scope->variables[i].value = value;
        return;
    }
    if (scope->n == scope->room) {
        size_t room = scope->room ? 2 * scope->room : 4;
        scope->variables = arena_grow(&j->arena, scope->variables, scope->n * sizeof *scope->variables,
                                      room * sizeof *scope->variables);
        scope->room = room;
    }
    scope->variables[scope->n++] = (struct variable){name, value};
}

static void assign(struct jinja *j, const struct node *target, struct value value)
{
    if (target->kind == NODE_NAME) {
        execute_set(j, target->name, value);
        return;
    }
    if (target->kind == NODE_SPACE) {
        struct node name = {.kind = NODE_NAME, .line = target->line, .name = target->name};
        struct value space = evaluate(j, &name);
        if (space.kind != VALUE_SPACE) jinja_refuse(j, "cannot assign attribute on non-namespace object");
        dict_put(&j->arena, space.dict, target->value, value);
        return;
    }
    struct list items = evaluate_iterate(j, value);
    if (items.n != target->n)
        jinja_refuse(j, "%s values to unpack (expected %zu)", items.n < target->n ? "not enough" : "too many",
                     target->n);
    for (size_t i = 0; i < items.n; i++) assign(j, target->list[i], items.items[i]);
}

const struct str *execute_captured(struct jinja *j, const struct node *body, struct scope *scope)
{
    struct builder text = {.most = j->bounds.output}, *out = j->out;
    struct scope *before = j->scope;
    j->out = &text;
    j->scope = scope;
    execute(j, body);
    j->out = out;
    j->scope = before;
    return builder_end(&j->arena, &text);
}

/* ---- Loops --------------------------------------------------------------------------------------------------- */

/* Those of the items for which the loop's condition holds. */
static struct list filter_items(struct jinja *j, const struct node *node, struct list items)
{
    struct list kept = {.form = LIST_LIST, .data = items.data};
    struct scope scope = {.around = j->scope};
    j->scope = &scope;
    for (size_t i = 0; i < items.n; i++) {
        scope.n = 0;
        assign(j, node->a, items.items[i]);
        if (value_true(&j->arena, evaluate(j, node->c))) list_add(&j->arena, &kept, items.items[i]);
    }
    j->scope = scope.around;
    return kept;
}

enum flow execute_for(struct jinja *j, const struct node *node, struct list items, int depth)
{
    if (node->c) items = filter_items(j, node, items);
    struct scope *around = j->scope, *scope = arena_clear(&j->arena, 1, sizeof *scope);
    struct loop *loop = arena_clear(&j->arena, 1, sizeof *loop);
    *loop = (struct loop){.n = items.n, .items = items.items, .depth = depth, .scope = around};
    if (node->recursive) loop->recursive = node;
    scope->around = around;
    j->scope = scope;
    enum flow flow = FLOW_ON;
    for (; loop->index < items.n && flow != FLOW_BREAK; loop->index++) {
        jinja_work(j, 1);
        scope->n = 0;
        execute_set(j, j->loop_name, (struct value){.kind = VALUE_LOOP, .loop = loop});
        assign(j, node->a, items.items[loop->index]);
        flow = execute(j, node->d);
    }
    scope->n = 0;
    flow = !items.n && node->n ? execute(j, node->list[0]) : FLOW_ON;
    j->scope = around;
    return flow;
}

/* ---- Statements ---------------------------------------------------------------------------------------------- */

static enum flow branches(struct jinja *j, const struct node *node)
{
    size_t i = 0;
    for (; i + 1 < node->n; i += 2)
        if (value_true(&j->arena, evaluate(j, node->list[i]))) return execute(j, node->list[i + 1]);
    return i < node->n ? execute(j, node->list[i]) : FLOW_ON;
}

static const struct str *inner(struct jinja *j, const struct node *body)
{
    struct scope *scope = arena_clear(&j->arena, 1, sizeof *scope);
    scope->around = j->scope;
    return execute_captured(j, body, scope);
}

/* What the filters, the first of which has no operand, make of a text. */
static struct value through_filters(struct jinja *j, const struct node *filter, const struct str *text)
{
    struct value v = filter->a ? through_filters(j, filter->a, text) : value_str(text);
    if (!filter->filter)
        jinja_refuse(j, "No filter named '%.*s'.", (int)filter->value.str->length, filter->value.str->bytes);
    return filters_apply(j, filter->filter, v, evaluate_args(j, filter->args));
}

static struct value macro_of(struct jinja *j, const struct node *node)
{
    struct macro *macro = arena_take(&j->arena, sizeof *macro);
    *macro = (struct macro){node, j->scope};
    return (struct value){.kind = VALUE_MACRO, .macro = macro};
}

/* The call of a call block has one more argument, `caller`. */
static void call_block(struct jinja *j, const struct node *node)
{
    const struct node *call = node->a;
    struct value called = evaluate(j, call->a);
    const struct args *given = evaluate_args(j, call->args);
    struct value *list = arena_take(&j->arena, (given->n + 1) * sizeof *list);
    const struct str **names = arena_take(&j->arena, (given->n + 1) * sizeof *names);
    for (size_t i = 0; i < given->n; i++) {
        list[i] = given->list[i];
        if (i >= given->positional) names[i - given->positional] = given->names[i - given->positional];
    }
    list[given->n] = macro_of(j, node);
    names[given->n - given->positional] = j->t->names[node->name].text;
    value_print(&j->arena, j->out, call_value(j, called, &(struct args){list, given->n + 1, given->positional, names}));
}

static enum flow scoped(struct jinja *j, const struct node *node)
{
    struct scope *scope = arena_clear(&j->arena, 1, sizeof *scope), *around = j->scope;
    scope->around = around;
    struct value *values = arena_take(&j->arena, (node->n / 2 + 1) * sizeof *values);
    for (size_t i = 0; i < node->n; i += 2) values[i / 2] = evaluate(j, node->list[i + 1]);
    j->scope = scope;
    for (size_t i = 0; i < node->n; i += 2) assign(j, node->list[i], values[i / 2]);
    enum flow flow = execute(j, node->d);
    j->scope = around;
    return flow;
}

static enum flow statement(struct jinja *j, const struct node *node)
{
    switch (node->kind) {
    case NODE_BODY:
        for (size_t i = 0; i < node->n; i++) {
            enum flow flow = execute(j, node->list[i]);
            if (flow) return flow;
        }
        return FLOW_ON;
    case NODE_OUTPUT: {
        struct value v = evaluate(j, node->a);
        jinja_work(j, v.kind == VALUE_STR ? v.str->length / 64 : 1);
        value_print(&j->arena, j->out, v);
        return FLOW_ON;
    }
    case NODE_IF:
        return branches(j, node);
    case NODE_FOR:
        return execute_for(j, node, evaluate_iterate(j, evaluate(j, node->b)), 0);
    case NODE_SET:
        assign(j, node->a, evaluate(j, node->b));
        return FLOW_ON;
    case NODE_SET_BLOCK: {
        const struct str *text = inner(j, node->d);
        assign(j, node->a, node->b ? through_filters(j, node->b, text) : value_str(text));
        return FLOW_ON;
    }
    case NODE_MACRO:
        execute_set(j, node->name, macro_of(j, node));
        return FLOW_ON;
    case NODE_CALL_BLOCK:
        call_block(j, node);
        return FLOW_ON;
    case NODE_FILTERED: {
        const struct str *text = inner(j, node->d);
        value_print(&j->arena, j->out, through_filters(j, node->b, text));
        return FLOW_ON;
    }
    case NODE_WITH:
    case NODE_SCOPED:
        return scoped(j, node);
    case NODE_BREAK:
        return FLOW_BREAK;
    case NODE_CONTINUE:
        return FLOW_CONTINUE;
    default:
        panic("no statement");
    }
}

enum flow execute(struct jinja *j, const struct node *node)
{
    if (++j->depth > j->bounds.depth)
        trap_fail(&j->trap, TDM_E_UNSUPPORTED, "more than %d expressions, tags and macros in each other",
                  j->bounds.depth);
    jinja_work(j, 1);
    j->trap.line = node->line;
    enum flow flow = statement(j, node);
    j->depth--;
    return flow;
}
