/* The values of a template, as Python has them: their kinds, truth, equality, order and printed forms. Values never
 * change but for namespaces, loops and generators that have been read. */
#ifndef TANDEM_TEXT_JINJA_VALUE_H
#define TANDEM_TEXT_JINJA_VALUE_H

#include "engine/text/jinja/value/str.h"

struct jinja;
struct node;
struct args;
struct scope;

enum value_kind {
    VALUE_UNDEFINED,
    VALUE_NONE,
    VALUE_BOOL,
    VALUE_INT,
    VALUE_FLOAT,
    VALUE_STR,
    VALUE_LIST,
    VALUE_DICT,
    VALUE_SPACE, /* a namespace: a dict that can be written to */
    VALUE_LOOP,
    VALUE_MACRO,
    VALUE_METHOD,
    VALUE_FUNCTION,
};

struct value {
    enum value_kind kind;
    bool data; /* a scalar's text is the data's; texts and containers have their own marks */
    union {
        const struct undefined *undefined;
        bool truth;
        int64_t integer;
        double real;
        const struct str *str;
        struct list *list;
        struct dict *dict; /* a namespace's too */
        struct loop *loop;
        const struct macro *macro;
        const struct method *method;
        const struct function *function;
    };
};

/* Why a value is undefined: the name of a variable, or of an attribute of an object. */
struct undefined {
    const char *object; /* "dict object", or NULL for a variable */
    const char *words;  /* instead of both */
    struct span name;
    bool unsafe; /* a method that would change a value: even reading it is an error */
};

enum list_form { LIST_LIST, LIST_TUPLE, LIST_RANGE, LIST_KEYS, LIST_VALUES, LIST_ITEMS, LIST_GENERATOR };

struct list {
    enum list_form form;
    bool data; /* its brackets and commas are the data's when it is printed */
    size_t n, room;
    struct value *items;
};

struct dict {
    bool data;
    size_t n, room;
    struct dict_entry {
        struct value key, value;
    } * entries;     /* in the order in which keys came */
    uint32_t *slots; /* 1 + an entry's index, by hash; NULL while there are few */
    size_t n_slots;
};

struct loop {
    size_t index, n; /* index from 0 */
    const struct value *items;
    int depth;                    /* of recursion, from 0 */
    const struct node *recursive; /* the `for` that a call runs again, or NULL */
    struct scope *scope;          /* in which that `for` stands */
    struct list *changed; /* the arguments of the last loop.changed() */
};

struct macro {
    const struct node *node;
    struct scope *scope; /* where it was defined: its body sees those variables */
};

struct method {
    struct value self;
    const struct method_entry *entry;
};

struct function {
    const char *name;
    struct value (*call)(struct jinja *, const struct args *);
};

static inline struct value value_none(void)
{
    return (struct value){.kind = VALUE_NONE};
}
static inline struct value value_bool(bool truth)
{
    return (struct value){.kind = VALUE_BOOL, .truth = truth};
}
static inline struct value value_int(int64_t integer)
{
    return (struct value){.kind = VALUE_INT, .integer = integer};
}
static inline struct value value_float(double real)
{
    return (struct value){.kind = VALUE_FLOAT, .real = real};
}
static inline struct value value_str(const struct str *str)
{
    return (struct value){.kind = VALUE_STR, .str = str};
}
static inline struct value value_list(struct list *list)
{
    return (struct value){.kind = VALUE_LIST, .list = list};
}
static inline struct value value_dict(struct dict *dict)
{
    return (struct value){.kind = VALUE_DICT, .dict = dict};
}
/* An undefined value whose use fails with these words: "No first item, sequence was empty.". */
struct value value_nothing(struct arena *a, const char *words);

struct list *list_new(struct arena *a, enum list_form form, bool data);
void list_add(struct arena *a, struct list *list, struct value item);

struct dict *dict_new(struct arena *a, bool data);
/* The value of a key, or NULL. Fails for a key that can't be hashed. */
struct value *dict_find(struct arena *a, const struct dict *dict, struct value key);
struct value *dict_find_text(struct arena *a, const struct dict *dict, struct span key);
void dict_put(struct arena *a, struct dict *dict, struct value key, struct value item);

/* Fails with the reason for which v is undefined. */
_Noreturn void value_fail_undefined(struct arena *a, struct value v);
/* Python's name of its type: "str". */
const char *value_type(struct value v);

bool value_true(struct arena *a, struct value v);
/* Fails past DEEPEST levels of nested containers. */
bool value_equal(struct arena *a, struct value x, struct value y);
/* Below 0, 0 or above; fails for values that have no order. `what` is the operator that the failure names. */
int value_compare(struct arena *a, struct value x, struct value y, const char *what);
static inline bool value_is_number(struct value v)
{
    return v.kind == VALUE_BOOL || v.kind == VALUE_INT || v.kind == VALUE_FLOAT;
}
/* A bool's or an integer's. */
static inline int64_t value_integer(struct value v)
{
    return v.kind == VALUE_BOOL ? v.truth : v.integer;
}
static inline double value_real(struct value v)
{
    return v.kind == VALUE_FLOAT ? v.real : (double)value_integer(v);
}
/* The number as an integer, where it is one. */
bool value_whole(struct value v, int64_t *out);

/* Python's str() and repr(). */
void value_print(struct arena *a, struct builder *b, struct value v);
void value_repr(struct arena *a, struct builder *b, struct value v);
const struct str *value_to_str(struct arena *a, struct value v);

enum { VALUE_FLOAT_ROOM = 40 };
/* Python's repr of a float: the shortest digits that give it back. Returns the length. */
size_t value_write_float(double real, char out[VALUE_FLOAT_ROOM]);

/* Whether its text would have bytes of the data's. */
bool value_has_data(struct value v);

#endif
