/* What the parsers of expressions and of statements share: a cursor over the tokens. */
#ifndef TANDEM_TEXT_JINJA_PARSE_H
#define TANDEM_TEXT_JINJA_PARSE_H

#include "engine/text/jinja/syntax/lexer.h"
#include "engine/text/jinja/syntax/node.h"

struct parser {
    struct jinja_template *t;
    struct arena *a;
    const struct token *at;
    int depth;
    int loops;                   /* that `break` could end */
    bool soft;                   /* unknown filters and tests are an error only when they run */
    const struct token *missing; /* the first unknown one that is an error in any case; NULL: none */
    int name_room;
};

#define parse_fail(p, ...) ((p)->a->trap->line = (p)->at->line, trap_fail((p)->a->trap, TDM_E_FORMAT, __VA_ARGS__))
/* The present token for "expected ..., found ...": arguments of the format "%.*s". */
#define PARSE_FOUND(p) parse_found(p).length > 40 ? 40 : (int)parse_found(p).length, parse_found(p).bytes
struct span parse_found(const struct parser *p);

bool parse_is(const struct parser *p, const char *operator_);
bool parse_is_word(const struct parser *p, const char *word);
/* Steps over it if it is there. */
bool parse_take(struct parser *p, const char *operator_);
bool parse_take_word(struct parser *p, const char *word);
void parse_expect(struct parser *p, const char *operator_);
void parse_expect_word(struct parser *p, const char *word);
/* An identifier, and that of a variable as an index. */
struct span parse_word(struct parser *p);
int parse_name(struct parser *p);
int parse_intern(struct parser *p, struct span name);

struct node *parse_node(struct parser *p, enum node_kind kind);
/* Updates the depth of `node` for its child, and returns the child. */
struct node *parse_below(struct parser *p, struct node *node, struct node *child);
void parse_push(struct parser *p, struct node *node, struct node *child);

/* An expression; without `conditional` no `x if y else z` that isn't in brackets. */
struct node *parse_expression(struct parser *p, bool conditional);
/* Expressions with commas between them, as a tuple where there are any. Ends also before the word `end`, if given. */
struct node *parse_tuple(struct parser *p, bool conditional, const char *end);
/* The target of an assignment: left of `=`, or between `for` and `in`. */
struct node *parse_target(struct parser *p, bool spaces);
/* Filters behind `|`, applied to `to`; `started`: the first has no `|`. */
struct node *parse_filters(struct parser *p, struct node *to, bool started);
/* The arguments that follow `called`, as a call of it. */
struct node *parse_call(struct parser *p, struct node *called);
struct node *parse_postfix_primary(struct parser *p);

#endif
