/* Expressions, by recursive descent as Jinja's own parser has it. Chains of one precedence become one node, so that
 * long ones are neither deep nor slow. */
#include <string.h>

#include "engine/text/jinja/library/filters.h"
#include "engine/text/jinja/syntax/parse.h"
#include "engine/text/jinja/library/tests.h"

static void enter(struct parser *p)
{
    if (++p->depth > NODE_DEEPEST) parse_fail(p, "more than %d expressions in each other", NODE_DEEPEST);
}

static struct node *constant(struct parser *p, struct value value)
{
    struct node *node = parse_node(p, NODE_CONST);
    node->value = value;
    return node;
}

/* ---- Primaries ----------------------------------------------------------------------------------------------- */

static struct node *strings(struct parser *p)
{
    struct builder b = {0};
    struct node *node = constant(p, value_none());
    for (; p->at->kind == TOKEN_STRING; p->at++) builder_add(p->a, &b, p->at->text.bytes, p->at->text.length, false);
    node->value = value_str(builder_end(p->a, &b));
    return node;
}

static struct node *name(struct parser *p)
{
    static const struct {
        const char *word;
        struct value value;
    } words[] = {
        {"true", {.kind = VALUE_BOOL, .truth = true}},
        {"True", {.kind = VALUE_BOOL, .truth = true}},
        {"false", {.kind = VALUE_BOOL, .truth = false}},
        {"False", {.kind = VALUE_BOOL, .truth = false}},
        {"none", {.kind = VALUE_NONE}},
        {"None", {.kind = VALUE_NONE}},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (parse_take_word(p, words[i].word)) return constant(p, words[i].value);
    struct node *node = parse_node(p, NODE_NAME);
    node->name = parse_name(p);
    p->t->names[node->name].read = true;
    return node;
}

/* The rest of [a, b] or {a: b}. */
static struct node *brackets(struct parser *p, enum node_kind kind)
{
    struct node *node = parse_node(p, kind);
    const char *close = kind == NODE_DICT ? "}" : "]";
    while (!parse_is(p, close)) {
        if (node->n) {
            parse_expect(p, ",");
            if (parse_is(p, close)) break;
        }
        parse_push(p, node, parse_expression(p, true));
        if (kind == NODE_LIST) continue;
        parse_expect(p, ":");
        parse_push(p, node, parse_expression(p, true));
    }
    parse_expect(p, close);
    return node;
}

static struct node *primary(struct parser *p)
{
    const struct token *token = p->at;
    if (token->kind == TOKEN_NAME) return name(p);
    if (token->kind == TOKEN_STRING) return strings(p);
    if (token->kind == TOKEN_INTEGER || token->kind == TOKEN_FLOAT) {
        p->at++;
        return constant(p, token->kind == TOKEN_INTEGER ? value_int(token->integer) : value_float(token->real));
    }
    if (parse_take(p, "[")) return brackets(p, NODE_LIST);
    if (parse_take(p, "{")) return brackets(p, NODE_DICT);
    if (!parse_take(p, "(")) parse_fail(p, "expected an expression, found '%.*s'", PARSE_FOUND(p));
    struct node *node = NULL;
    if (parse_is(p, ")"))
        node = parse_node(p, NODE_TUPLE);
    else
        node = parse_tuple(p, true, NULL);
    parse_expect(p, ")");
    return node;
}

/* ---- What stands behind -------------------------------------------------------------------------------------- */

static const struct call_args *arguments(struct parser *p, struct node *of)
{
    struct call_args *args = arena_clear(p->a, 1, sizeof *args);
    struct node *list = parse_node(p, NODE_LIST);
    const struct token *names[64];
    size_t n_names = 0;
    parse_expect(p, "(");
    while (!parse_is(p, ")")) {
        if (list->n) {
            parse_expect(p, ",");
            if (parse_is(p, ")")) break;
        }
        if (parse_is(p, "*") || parse_is(p, "**")) parse_fail(p, "*args and **args in calls aren't supported");
        bool named = p->at->kind == TOKEN_NAME && p->at[1].kind == TOKEN_OPERATOR && span_is(p->at[1].text, "=");
        if (named) {
            if (n_names == sizeof names / sizeof *names) parse_fail(p, "too many arguments");
            names[n_names++] = p->at;
            p->at += 2;
        } else if (n_names) {
            parse_fail(p, "an argument without a name behind one with a name");
        }
        parse_push(p, list, parse_expression(p, true));
    }
    parse_expect(p, ")");
    parse_below(p, of, list);
    args->list = list->list;
    args->n = list->n;
    args->positional = list->n - n_names;
    args->names = arena_take(p->a, n_names * sizeof *args->names);
    for (size_t i = 0; i < n_names; i++) args->names[i] = str_of(p->a, names[i]->text, false);
    return args;
}

struct node *parse_call(struct parser *p, struct node *called)
{
    struct node *node = parse_node(p, NODE_CALL);
    node->a = parse_below(p, node, called);
    node->args = arguments(p, node);
    return node;
}

static struct node *attribute(struct parser *p, struct node *of)
{
    struct node *node = parse_node(p, NODE_ATTR);
    node->a = parse_below(p, node, of);
    if (p->at->kind == TOKEN_INTEGER) {
        node->kind = NODE_ITEM;
        node->b = constant(p, value_int(p->at++->integer));
        return node;
    }
    node->value = value_str(str_of(p->a, parse_word(p), false));
    return node;
}

static struct node *subscript(struct parser *p, struct node *of)
{
    struct node *node = parse_node(p, NODE_ITEM);
    node->a = parse_below(p, node, of);
    if (!parse_is(p, ":")) node->b = parse_below(p, node, parse_tuple(p, true, NULL));
    if (parse_take(p, ":")) {
        node->kind = NODE_SLICE;
        if (!parse_is(p, ":") && !parse_is(p, "]")) node->c = parse_below(p, node, parse_expression(p, true));
        if (parse_take(p, ":") && !parse_is(p, "]")) node->d = parse_below(p, node, parse_expression(p, true));
    }
    parse_expect(p, "]");
    return node;
}

static struct node *postfix(struct parser *p, struct node *node)
{
    for (;;) {
        if (parse_take(p, "."))
            node = attribute(p, node);
        else if (parse_take(p, "["))
            node = subscript(p, node);
        else if (parse_is(p, "("))
            node = parse_call(p, node);
        else
            return node;
    }
}

struct node *parse_postfix_primary(struct parser *p)
{
    return postfix(p, primary(p));
}

/* A filter's or test's name, which may have dots. */
static struct span dotted(struct parser *p)
{
    struct span text = parse_word(p);
    while (parse_take(p, ".")) {
        parse_word(p);
        text.length = (size_t)(p->at[-1].text.bytes + p->at[-1].text.length - text.bytes);
    }
    return text;
}

struct node *parse_filters(struct parser *p, struct node *to, bool started)
{
    while (started || parse_take(p, "|")) {
        started = false;
        struct node *node = parse_node(p, NODE_FILTER);
        struct span filter = dotted(p);
        node->a = parse_below(p, node, to);
        node->value = value_str(str_of(p->a, filter, false));
        node->filter = filters_find(filter);
        if (!node->filter && !p->soft && !p->missing) p->missing = p->at - 1;
        if (parse_is(p, "(")) node->args = arguments(p, node);
        to = node;
    }
    return to;
}

static struct node *test(struct parser *p, struct node *of)
{
    struct node *node = parse_node(p, NODE_TEST);
    bool negated = parse_take_word(p, "not");
    struct span text = dotted(p);
    node->a = parse_below(p, node, of);
    node->value = value_str(str_of(p->a, text, false));
    node->test = tests_find(text);
    if (!node->test && !p->soft && !p->missing) p->missing = p->at - 1;
    bool word =
        p->at->kind == TOKEN_NAME && !parse_is_word(p, "else") && !parse_is_word(p, "or") && !parse_is_word(p, "and");
    bool literal = p->at->kind == TOKEN_STRING || p->at->kind == TOKEN_INTEGER || p->at->kind == TOKEN_FLOAT;
    if (parse_is(p, "(")) {
        node->args = arguments(p, node);
    } else if (word || literal || parse_is(p, "[") || parse_is(p, "{")) {
        if (parse_is_word(p, "is")) parse_fail(p, "You cannot chain multiple tests with is");
        struct call_args *args = arena_clear(p->a, 1, sizeof *args);
        args->list = arena_take(p->a, sizeof *args->list);
        args->list[0] = parse_below(p, node, parse_postfix_primary(p));
        args->n = args->positional = 1;
        node->args = args;
    }
    if (!negated) return node;
    struct node *not_ = parse_node(p, NODE_NOT);
    not_->a = parse_below(p, not_, node);
    return not_;
}

static struct node *unary(struct parser *p, bool filters)
{
    struct node *node;
    enter(p);
    if (parse_is(p, "-") || parse_is(p, "+")) {
        node = parse_node(p, parse_is(p, "-") ? NODE_NEGATE : NODE_PLUS);
        p->at++;
        node->a = parse_below(p, node, unary(p, false));
    } else {
        node = primary(p);
    }
    node = postfix(p, node);
    while (filters) {
        if (parse_is(p, "|"))
            node = parse_filters(p, node, false);
        else if (parse_take_word(p, "is"))
            node = test(p, node);
        else if (parse_is(p, "("))
            node = parse_call(p, node);
        else
            break;
    }
    p->depth--;
    return node;
}

/* ---- Operators ----------------------------------------------------------------------------------------------- */

struct sign {
    const char *text;
    enum node_op op;
};

static const struct sign powers[] = {{"**", OP_POWER}, {0}},
                         products[] = {{"*", OP_MULTIPLY},
                                       {"/", OP_DIVIDE},
                                       {"//", OP_FLOOR_DIVIDE},
                                       {"%", OP_MODULO},
                                       {0}},
                         sums[] = {{"+", OP_ADD}, {"-", OP_SUBTRACT}, {0}},
                         comparisons[] = {{"==", OP_EQUAL},
                                          {"!=", OP_NOT_EQUAL},
                                          {"<", OP_LESS},
                                          {"<=", OP_LESS_EQUAL},
                                          {">", OP_GREATER},
                                          {">=", OP_GREATER_EQUAL},
                                          {0}};

/* One more operand of a chain. */
static void push_operand(struct parser *p, struct node *node, enum node_op op, struct node *operand)
{
    if (!(node->n & (node->n - 1))) { /* the room is the next power of two, as in parse_push */
        size_t room = node->n ? 2 * node->n : 1;
        node->ops = arena_grow(p->a, node->ops, node->n * sizeof *node->ops, room * sizeof *node->ops);
    }
    node->ops[node->n] = op;
    parse_push(p, node, operand);
}

static bool take_sign(struct parser *p, const struct sign *signs, enum node_op *op)
{
    for (; signs->text; signs++) {
        if (!parse_take(p, signs->text)) continue;
        *op = signs->op;
        return true;
    }
    return false;
}

/* Operands of one precedence. */
static struct node *chain(struct parser *p, const struct sign *signs, struct node *(*operand)(struct parser *))
{
    struct node *first = operand(p), *node = NULL;
    enum node_op op;
    while (take_sign(p, signs, &op)) {
        if (!node) {
            node = parse_node(p, NODE_MATH);
            node->a = parse_below(p, node, first);
        }
        push_operand(p, node, op, operand(p));
    }
    return node ? node : first;
}

static struct node *operand_unary(struct parser *p)
{
    return unary(p, true);
}

static struct node *operand_power(struct parser *p)
{
    return chain(p, powers, operand_unary);
}

static struct node *operand_product(struct parser *p)
{
    return chain(p, products, operand_power);
}

static struct node *operand_concat(struct parser *p)
{
    struct node *first = operand_product(p), *node = NULL;
    while (parse_take(p, "~")) {
        if (!node) {
            node = parse_node(p, NODE_CONCAT);
            parse_push(p, node, first);
        }
        parse_push(p, node, operand_product(p));
    }
    return node ? node : first;
}

static struct node *operand_sum(struct parser *p)
{
    return chain(p, sums, operand_concat);
}

static struct node *comparison(struct parser *p)
{
    struct node *first = operand_sum(p), *node = NULL;
    for (;;) {
        enum node_op op;
        if (!take_sign(p, comparisons, &op)) {
            if (parse_take_word(p, "in")) {
                op = OP_IN;
            } else if (parse_is_word(p, "not") && p->at[1].kind == TOKEN_NAME && span_is(p->at[1].text, "in")) {
                p->at += 2;
                op = OP_NOT_IN;
            } else {
                return node ? node : first;
            }
        }
        if (!node) {
            node = parse_node(p, NODE_COMPARE);
            node->a = parse_below(p, node, first);
        }
        push_operand(p, node, op, operand_sum(p));
    }
}

static struct node *negation(struct parser *p)
{
    if (!parse_is_word(p, "not")) return comparison(p);
    struct node *node = parse_node(p, NODE_NOT);
    p->at++;
    enter(p);
    node->a = parse_below(p, node, negation(p));
    p->depth--;
    return node;
}

static struct node *logical(struct parser *p, bool and_)
{
    struct node *left = and_ ? negation(p) : logical(p, true);
    while (parse_take_word(p, and_ ? "and" : "or")) {
        struct node *node = parse_node(p, and_ ? NODE_AND : NODE_OR);
        node->a = parse_below(p, node, left);
        node->b = parse_below(p, node, and_ ? negation(p) : logical(p, true));
        left = node;
    }
    return left;
}

struct node *parse_expression(struct parser *p, bool conditional)
{
    const struct token *missing = p->missing;
    enter(p);
    struct node *node = logical(p, false);
    while (conditional && parse_take_word(p, "if")) {
        struct node *choice = parse_node(p, NODE_IF_ELSE);
        choice->b = parse_below(p, choice, node);
        choice->a = parse_below(p, choice, logical(p, false));
        if (parse_take_word(p, "else")) choice->c = parse_below(p, choice, parse_expression(p, true));
        node = choice;
        p->missing = missing; /* what stands under a condition may not be run */
    }
    p->depth--;
    return node;
}

/* ---- Lists without brackets ---------------------------------------------------------------------------------- */

static bool tuple_ends(const struct parser *p, const char *end)
{
    return p->at->kind == TOKEN_VARIABLE_END || p->at->kind == TOKEN_BLOCK_END || parse_is(p, ")") ||
           (end && parse_is_word(p, end));
}

struct node *parse_tuple(struct parser *p, bool conditional, const char *end)
{
    struct node *first = parse_expression(p, conditional), *node = NULL;
    while (parse_take(p, ",")) {
        if (!node) {
            node = parse_node(p, NODE_TUPLE);
            parse_push(p, node, first);
        }
        if (tuple_ends(p, end)) break;
        parse_push(p, node, parse_expression(p, conditional));
    }
    return node ? node : first;
}

static struct node *target_name(struct parser *p)
{
    if (parse_take(p, "(")) {
        struct node *node = parse_target(p, false);
        parse_expect(p, ")");
        return node;
    }
    struct node *node = parse_node(p, NODE_NAME);
    if (p->at->kind == TOKEN_NAME &&
        (parse_is_word(p, "true") || parse_is_word(p, "false") || parse_is_word(p, "none")))
        parse_fail(p, "can't assign to '%.*s'", PARSE_FOUND(p));
    node->name = parse_name(p);
    return node;
}

struct node *parse_target(struct parser *p, bool spaces)
{
    enter(p);
    if (spaces && p->at->kind == TOKEN_NAME && p->at[1].kind == TOKEN_OPERATOR && span_is(p->at[1].text, ".")) {
        struct node *node = parse_node(p, NODE_SPACE);
        node->name = parse_name(p);
        p->at++;
        node->value = value_str(str_of(p->a, parse_word(p), false));
        p->depth--;
        return node;
    }
    struct node *first = target_name(p), *node = NULL;
    while (parse_take(p, ",")) {
        if (!node) {
            node = parse_node(p, NODE_TUPLE);
            parse_push(p, node, first);
        }
        if (parse_is(p, "=") || parse_is_word(p, "in") || parse_is(p, ")")) break;
        parse_push(p, node, target_name(p));
    }
    p->depth--;
    return node ? node : first;
}
