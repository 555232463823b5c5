/* Statements: the body of a template, tag by tag. */
#include "engine/text/jinja/syntax/parse.h"

#include <string.h>

struct span parse_found(const struct parser *p)
{
    const struct token *token = p->at;
    static const char *const words[] = {
        [TOKEN_DATA] = "text",      [TOKEN_VARIABLE_BEGIN] = "{{", [TOKEN_VARIABLE_END] = "}}",
        [TOKEN_BLOCK_BEGIN] = "{%", [TOKEN_BLOCK_END] = "%}",      [TOKEN_END] = "the template's end",
    };
    if (token->kind == TOKEN_END || token->kind <= TOKEN_BLOCK_END) return span_text(words[token->kind]);
    return token->text;
}

bool parse_is(const struct parser *p, const char *operator_)
{
    return p->at->kind == TOKEN_OPERATOR && span_is(p->at->text, operator_);
}

bool parse_is_word(const struct parser *p, const char *word)
{
    return p->at->kind == TOKEN_NAME && span_is(p->at->text, word);
}

bool parse_take(struct parser *p, const char *operator_)
{
    bool there = parse_is(p, operator_);
    p->at += there;
    return there;
}

bool parse_take_word(struct parser *p, const char *word)
{
    bool there = parse_is_word(p, word);
    p->at += there;
    return there;
}

void parse_expect(struct parser *p, const char *operator_)
{
    if (!parse_take(p, operator_)) parse_fail(p, "expected '%s', found '%.*s'", operator_, PARSE_FOUND(p));
}

void parse_expect_word(struct parser *p, const char *word)
{
    if (!parse_take_word(p, word)) parse_fail(p, "expected '%s', found '%.*s'", word, PARSE_FOUND(p));
}

int parse_intern(struct parser *p, struct span name)
{
    struct jinja_template *t = p->t;
    for (int i = 0; i < t->n_names; i++)
        if (t->names[i].text->length == name.length && !memcmp(t->names[i].text->bytes, name.bytes, name.length))
            return i;
    if (t->n_names == p->name_room) {
        int room = p->name_room ? 2 * p->name_room : 64;
        t->names = arena_grow(p->a, t->names, (size_t)t->n_names * sizeof *t->names, (size_t)room * sizeof *t->names);
        p->name_room = room;
    }
    t->names[t->n_names] = (struct node_name){str_of(p->a, name, false), false};
    return t->n_names++;
}

struct span parse_word(struct parser *p)
{
    if (p->at->kind != TOKEN_NAME) parse_fail(p, "expected a name, found '%.*s'", PARSE_FOUND(p));
    return p->at++->text;
}

int parse_name(struct parser *p)
{
    return parse_intern(p, parse_word(p));
}

struct node *parse_node(struct parser *p, enum node_kind kind)
{
    struct node *node = arena_clear(p->a, 1, sizeof *node);
    node->kind = kind;
    node->line = p->at->line;
    return node;
}

struct node *parse_below(struct parser *p, struct node *node, struct node *child)
{
    if (child && child->depth >= node->depth) node->depth = child->depth + 1;
    if (node->depth > NODE_DEEPEST) parse_fail(p, "more than %d expressions and tags in each other", NODE_DEEPEST);
    return child;
}

void parse_push(struct parser *p, struct node *node, struct node *child)
{
    if (!(node->n & (node->n - 1))) { /* the room is the next power of two */
        size_t room = node->n ? 2 * node->n : 1;
        node->list = arena_grow(p->a, node->list, node->n * sizeof *node->list, room * sizeof *node->list);
    }
    node->list[node->n++] = child;
    parse_below(p, node, child);
}

/* ---- Tags ---------------------------------------------------------------------------------------------------- */

static void tag_end(struct parser *p)
{
    if (p->at->kind != TOKEN_BLOCK_END) parse_fail(p, "expected '%%}', found '%.*s'", PARSE_FOUND(p));
    p->at++;
}

static struct node *statement(struct parser *p);

/* Everything up to a tag that begins with one of these words (NULL: none); p->at is that word. */
static struct node *body_until(struct parser *p, const char *const *ends)
{
    struct node *body = parse_node(p, NODE_BODY);
    const struct token *opened = p->at - (ends != NULL); /* the end of the tag before */
    for (;;) {
        struct node *node = NULL;
        switch (p->at->kind) {
        case TOKEN_DATA:
            node = parse_node(p, NODE_OUTPUT);
            node->a = parse_node(p, NODE_CONST);
            node->a->value = value_str(str_of(p->a, p->at++->text, false));
            break;
        case TOKEN_VARIABLE_BEGIN:
            node = parse_node(p, NODE_OUTPUT);
            p->at++;
            node->a = parse_below(p, node, parse_tuple(p, true, NULL));
            if (p->at->kind != TOKEN_VARIABLE_END) parse_fail(p, "expected '}}', found '%.*s'", PARSE_FOUND(p));
            p->at++;
            break;
        case TOKEN_BLOCK_BEGIN:
            p->at++;
            for (const char *const *end = ends; end && *end; end++)
                if (parse_is_word(p, *end)) return body;
            node = statement(p);
            break;
        default:
            if (!ends) return body;
            while (ends[1]) ends++; /* the tag that can't be left out */
            p->at = opened;
            parse_fail(p, "expected %s, found the template's end", *ends);
        }
        parse_push(p, body, node);
    }
}

/* The end of a tag, and the body up to the tag of `end`, which is stepped over. */
static struct node *body_of(struct parser *p, struct node *parent, const char *end)
{
    const char *const ends[] = {end, NULL};
    parse_take(p, ":");
    tag_end(p);
    struct node *body = body_until(p, ends);
    p->at++;
    parse_below(p, parent, body);
    return body;
}

static struct node *if_tag(struct parser *p)
{
    static const char *const ends[] = {"elif", "else", "endif", NULL}, *const last[] = {"endif", NULL};
    struct node *node = parse_node(p, NODE_IF);
    bool soft = p->soft;
    p->soft = true;
    for (;;) {
        parse_push(p, node, parse_tuple(p, false, NULL));
        parse_take(p, ":");
        tag_end(p);
        parse_push(p, node, body_until(p, ends));
        if (parse_take_word(p, "elif")) continue;
        if (!parse_take_word(p, "else")) break;
        parse_take(p, ":");
        tag_end(p);
        parse_push(p, node, body_until(p, last));
        break;
    }
    parse_expect_word(p, "endif");
    p->soft = soft;
    return node;
}

static struct node *for_tag(struct parser *p)
{
    static const char *const ends[] = {"else", "endfor", NULL};
    struct node *node = parse_node(p, NODE_FOR);
    node->a = parse_target(p, false);
    parse_expect_word(p, "in");
    node->b = parse_below(p, node, parse_tuple(p, false, "recursive"));
    bool soft = p->soft;
    p->soft = false;
    if (parse_take_word(p, "if")) node->c = parse_below(p, node, parse_expression(p, true));
    node->recursive = parse_take_word(p, "recursive");
    parse_take(p, ":");
    tag_end(p);
    p->loops++;
    node->d = parse_below(p, node, body_until(p, ends));
    p->loops--;
    if (parse_take_word(p, "else"))
        parse_push(p, node, body_of(p, node, "endfor"));
    else
        p->at++;
    p->soft = soft;
    return node;
}

static struct node *set_tag(struct parser *p)
{
    struct node *node = parse_node(p, NODE_SET);
    node->a = parse_target(p, true);
    if (parse_take(p, "=")) {
        node->b = parse_below(p, node, parse_tuple(p, true, NULL));
        return node;
    }
    bool soft = p->soft;
    p->soft = false;
    node->kind = NODE_SET_BLOCK;
    if (parse_is(p, "|")) node->b = parse_below(p, node, parse_filters(p, NULL, false));
    node->d = body_of(p, node, "endset");
    p->soft = soft;
    return node;
}

/* What follows a macro's name, or `call`: (a, b=1), and the body up to `end`. */
static void macro_rest(struct parser *p, struct node *macro, const char *end)
{
    bool soft = p->soft;
    int loops = p->loops;
    p->soft = false;
    p->loops = 0;
    if (parse_take(p, "(")) {
        while (!parse_is(p, ")")) {
            if (macro->n) parse_expect(p, ",");
            struct node *parameter = parse_node(p, NODE_NAME);
            parameter->name = parse_name(p);
            parse_push(p, macro, parameter);
            bool has_default = parse_take(p, "=");
            if (!has_default && macro->n > 2 && macro->list[macro->n - 2])
                parse_fail(p, "non-default argument follows default argument");
            parse_push(p, macro, has_default ? parse_expression(p, true) : NULL);
        }
        parse_expect(p, ")");
    }
    if (macro->kind == NODE_CALL_BLOCK) {
        macro->a = parse_below(p, macro, parse_expression(p, true));
        if (macro->a->kind != NODE_CALL) parse_fail(p, "expected a call");
    }
    macro->d = body_of(p, macro, end);
    p->loops = loops;
    p->soft = soft;
}

static struct node *macro_tag(struct parser *p)
{
    struct node *node = parse_node(p, NODE_MACRO);
    node->name = parse_name(p);
    if (!parse_is(p, "(")) parse_expect(p, "(");
    macro_rest(p, node, "endmacro");
    return node;
}

static struct node *call_tag(struct parser *p)
{
    struct node *node = parse_node(p, NODE_CALL_BLOCK);
    node->name = parse_intern(p, (struct span){"caller", 6});
    macro_rest(p, node, "endcall");
    return node;
}

static struct node *with_tag(struct parser *p)
{
    struct node *node = parse_node(p, NODE_WITH);
    bool soft = p->soft;
    p->soft = false;
    while (p->at->kind != TOKEN_BLOCK_END) {
        if (node->n) parse_expect(p, ",");
        parse_push(p, node, parse_target(p, false));
        parse_expect(p, "=");
        parse_push(p, node, parse_expression(p, true));
    }
    node->d = body_of(p, node, "endwith");
    p->soft = soft;
    return node;
}

static struct node *filter_tag(struct parser *p)
{
    struct node *node = parse_node(p, NODE_FILTERED);
    bool soft = p->soft;
    p->soft = false;
    node->b = parse_below(p, node, parse_filters(p, NULL, true));
    node->d = body_of(p, node, "endfilter");
    p->soft = soft;
    return node;
}

static struct node *generation_tag(struct parser *p)
{
    struct node *node = parse_node(p, NODE_SCOPED);
    bool soft = p->soft;
    int loops = p->loops;
    p->soft = false;
    p->loops = 0;
    node->d = body_of(p, node, "endgeneration");
    p->loops = loops;
    p->soft = soft;
    return node;
}

static struct node *print_tag(struct parser *p)
{
    struct node *node = parse_node(p, NODE_BODY);
    while (p->at->kind != TOKEN_BLOCK_END) {
        if (node->n) parse_expect(p, ",");
        struct node *output = parse_node(p, NODE_OUTPUT);
        output->a = parse_below(p, output, parse_expression(p, true));
        parse_push(p, node, output);
    }
    return node;
}

static struct node *jump(struct parser *p, enum node_kind kind)
{
    if (!p->loops) parse_fail(p, "'%s' outside of a loop", kind == NODE_BREAK ? "break" : "continue");
    return parse_node(p, kind);
}

static struct node *break_tag(struct parser *p)
{
    return jump(p, NODE_BREAK);
}

static struct node *continue_tag(struct parser *p)
{
    return jump(p, NODE_CONTINUE);
}

static struct node *statement(struct parser *p)
{
    static const struct {
        const char *word;
        struct node *(*parse)(struct parser *);
    } tags[] = {
        {"if", if_tag},
        {"for", for_tag},
        {"set", set_tag},
        {"macro", macro_tag},
        {"call", call_tag},
        {"filter", filter_tag},
        {"with", with_tag},
        {"break", break_tag},
        {"continue", continue_tag},
        {"print", print_tag},
        {"generation", generation_tag},
    };
    if (++p->depth > NODE_DEEPEST) parse_fail(p, "more than %d tags in each other", NODE_DEEPEST);
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
        if (!parse_take_word(p, tags[i].word)) continue;
        struct node *node = tags[i].parse(p);
        tag_end(p);
        p->depth--;
        return node;
    }
    parse_fail(p, "expected a tag, found '%.*s'", PARSE_FOUND(p));
}

void parse_template(struct jinja_template *t, struct span source)
{
    struct parser p = {.t = t, .a = &t->arena};
    p.at = lexer_tokens(p.a, source);
    t->body = body_until(&p, NULL);
    if (!p.missing) return;
    p.at = p.missing;
    parse_fail(&p, "No filter or test named '%.*s'.", PARSE_FOUND(&p));
}
