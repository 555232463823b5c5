/* The state of a rendering, and the functions by which its files call each other. */
#ifndef TANDEM_TEXT_JINJA_STATE_H
#define TANDEM_TEXT_JINJA_STATE_H

#include "engine/text/jinja/jinja.h"
#include "engine/text/jinja/syntax/node.h"

/* The variables of one body; lookups go on in the one around it. */
struct scope {
    struct scope *around;
    struct variable {
        int name;
        struct value value;
    } * variables;
    size_t n, room;
};

struct jinja {
    struct arena arena;
    struct trap trap;
    struct jinja_bounds bounds;
    uint64_t steps;
    int depth;
    struct dict *variables; /* what the caller has set */
    bool has_now;
    struct jinja_time now;
    const struct jinja_template *t;
    struct value *globals; /* of each of the template's names: the caller's variable, a function, or undefined */
    struct scope *scope;   /* that of the running statement */
    struct builder *out;   /* where its output goes */
    int loop_name;         /* the name `loop` */
    bool rest;             /* the template names `varargs` or `kwargs`: macros take any arguments */
};

/* Fails where Python would raise an exception. */
#define jinja_refuse(j, ...) trap_fail(&(j)->trap, TDM_E_REFUSED, __VA_ARGS__)

/* Counts work; fails past the bound. */
void jinja_work(struct jinja *j, uint64_t steps);

/* The arguments of a call, computed. */
struct args {
    const struct value *list; /* first those by position ... */
    size_t n, positional;
    const struct str *const *names; /* ... then those by name: of list[positional + i] */
};

static inline struct span args_name(const struct args *args, size_t i)
{
    return str_span(args->names[i - args->positional]);
}

/* Puts arguments into the places of parameters: `names` are their names with spaces between them; `out` has a value for
 * each, which stays as it is if the argument isn't given. Fails, naming `what`, for unknown names, too many arguments,
 * or if one of the first `needed` is missing. Returns a bit for each argument that is given. */
unsigned args_bind(struct jinja *j, const struct args *args, const char *what, const char *names, unsigned needed,
                   struct value *out);

/* evaluate.c */
struct value evaluate(struct jinja *j, const struct node *node);
struct args *evaluate_args(struct jinja *j, const struct call_args *args);
/* a.name as Jinja defines it: methods, then items. */
struct value evaluate_attribute(struct jinja *j, struct value of, const struct str *name);
/* a[key]: items, then, where the key is a text, methods. */
struct value evaluate_item(struct jinja *j, struct value of, struct value key);
bool evaluate_contains(struct jinja *j, struct value container, struct value item);
/* The items of a value that can be iterated over; valid as long as the arena. A generator is used up by it. The caller
 * must not change the list. */
struct list evaluate_iterate(struct jinja *j, struct value v);
/* len(); fails for values without a length. */
int64_t evaluate_length(struct jinja *j, struct value v);

/* math.c */
struct value math_apply(struct jinja *j, enum node_op op, struct value x, struct value y);
struct value math_negate(struct jinja *j, struct value v);

/* execute.c */
enum flow { FLOW_ON, FLOW_BREAK, FLOW_CONTINUE };
enum flow execute(struct jinja *j, const struct node *node);
void execute_set(struct jinja *j, int name, struct value value);
/* The loop of a NODE_FOR over these items; `depth` of its recursion. */
enum flow execute_for(struct jinja *j, const struct node *node, struct list items, int depth);
/* Runs a body in a scope of its own and returns its output as a text. */
const struct str *execute_captured(struct jinja *j, const struct node *body, struct scope *scope);

/* call.c */
struct value call_value(struct jinja *j, struct value called, const struct args *args);
/* The function of this name, which every template sees; NULL: there is none. */
const struct function *call_function(struct span name);

#endif
