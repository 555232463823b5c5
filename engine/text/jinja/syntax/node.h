/* The syntax tree of a template. The comment of each kind says which members its nodes use. */
#ifndef TANDEM_TEXT_JINJA_NODE_H
#define TANDEM_TEXT_JINJA_NODE_H

#include "engine/text/jinja/jinja.h"
#include "engine/text/jinja/value/value.h"

enum node_kind {
    /* Expressions */
    NODE_CONST,   /* value */
    NODE_NAME,    /* name */
    NODE_LIST,    /* list */
    NODE_TUPLE,   /* list */
    NODE_DICT,    /* list: key, value, key, value ... */
    NODE_ATTR,    /* a.value, which is a text */
    NODE_ITEM,    /* a[b] */
    NODE_SLICE,   /* a[b:c:d], each of which but a may be NULL */
    NODE_CALL,    /* a(args) */
    NODE_FILTER,  /* a | filter(args); a NULL: of a filter block */
    NODE_TEST,    /* a is test(args) */
    NODE_NOT,     /* not a */
    NODE_NEGATE,  /* -a */
    NODE_PLUS,    /* +a */
    NODE_AND,     /* a and b */
    NODE_OR,      /* a or b */
    NODE_IF_ELSE, /* b if a else c, which may be NULL */
    NODE_COMPARE, /* a ops[0] list[0] ops[1] list[1] ...: a < b < c */
    NODE_MATH,    /* the same from the left: a + b - c */
    NODE_CONCAT,  /* list[0] ~ list[1] ... */
    /* Statements */
    NODE_BODY,       /* list */
    NODE_OUTPUT,     /* {{ a }}, or the text of the template itself */
    NODE_IF,         /* list: condition, body, condition, body ... and without a condition the last */
    NODE_FOR,        /* for a in b if c: d, else list[0] */
    NODE_SET,        /* set a = b; a: name, tuple or space */
    NODE_SET_BLOCK,  /* set a | b: d; b: filters or NULL */
    NODE_SPACE,      /* of set: name.value, a member of a namespace */
    NODE_MACRO,      /* name(list: parameter, default or NULL ...): d */
    NODE_CALL_BLOCK, /* call(macro b) a: d */
    NODE_FILTERED,   /* filter b: d */
    NODE_WITH,       /* with list: target, value ...: d */
    NODE_SCOPED,     /* generation: d */
    NODE_BREAK,
    NODE_CONTINUE,
};

enum node_op {
    OP_EQUAL,
    OP_NOT_EQUAL,
    OP_LESS,
    OP_LESS_EQUAL,
    OP_GREATER,
    OP_GREATER_EQUAL,
    OP_IN,
    OP_NOT_IN,
    OP_ADD,
    OP_SUBTRACT,
    OP_MULTIPLY,
    OP_DIVIDE,
    OP_FLOOR_DIVIDE,
    OP_MODULO,
    OP_POWER,
};

struct node {
    enum node_kind kind;
    int line;
    int name;  /* index into the template's names */
    int depth; /* of the tree below */
    struct value value;
    struct node *a, *b, *c, *d;
    struct node **list;
    size_t n;
    enum node_op *ops;
    const struct call_args *args;
    union {
        const struct filter_entry *filter; /* NULL: there is none of the name in value */
        const struct test_entry *test;
        bool recursive; /* a loop that `loop` can call */
    };
};

struct call_args {
    struct node **list; /* first those by position ... */
    size_t n, positional;
    const struct str **names; /* ... then those by name: of list[positional + i] */
};

struct jinja_template {
    struct arena arena;
    struct node_name {
        const struct str *text;
        bool read; /* some expression looks it up */
    } * names;     /* of variables, each once */
    int n_names;
    struct node *body;
};

enum { NODE_DEEPEST = 180 }; /* deepest tree, and deepest nesting while parsing */

/* Parses; fails by the arena's trap. */
void parse_template(struct jinja_template *t, struct span source);

#endif
