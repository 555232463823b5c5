/* Reading JSON. Values are json-c's, whose functions are called in engine/json alone: all else knows a value by its
 * address. NULL is JSON's null, and what every look-up gives that finds nothing. Functions that look at a value take
 * any value, NULL too, so that look-ups need no checks between them: what is no object has no members, what is no array
 * no elements.
 *
 * Members are looked up in two ways. Strictly, by json_get_*, where a wrong value must not be taken for none: in a
 * model's files, and in what a repository says of them. Leniently, by json_text, json_int ..., in what other programs
 * and other versions write, and in what is checked as a whole: there a value of another kind counts as absent.
 *
 * write.h builds and writes values. scan.h reads files of many megabytes without a tree. */
#ifndef TANDEM_JSON_JSON_H
#define TANDEM_JSON_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/span.h"
#include "engine/tandem.h"

typedef struct json_object json_object;

/* ---- Parsing ----------------------------------------------------------------------------------------------------- */

/* The deepest nesting of objects and arrays. */
enum { JSON_DEEPEST = 31 };

typedef enum {
    JSON_ANY_BYTES, /* strings are taken as they are */
    JSON_UTF8,      /* strings that aren't UTF-8 are an error */
    JSON_MENDED,    /* in strings every byte that isn't UTF-8 becomes U+FFFD: servers send faulty strings */
    JSON_PIECES,    /* strings are taken as they are, and half of a surrogate pair as the three bytes that UTF-8 would
                       have for it: pieces of a text whose other part may follow */
} json_strings;

/* Parses one value, not null, with white space around it; anything else is TDM_E_FORMAT with `name` and the byte
 * offset. NaN and Infinity, which Python writes, are numbers, and control characters may stand in strings unescaped, as
 * some servers write them. A real number keeps its text too. Of a repeated key the last value counts. Free with
 * json_free. */
tdm_status json_parse(json_object **out, const char *name, const char *text, size_t n, json_strings strings,
                      tdm_error *err);

/* Bytes of a text. json-c needs up to some 50 bytes of memory for each, so this also bounds memory. */
enum { JSON_LIMIT = 16 << 20 };

/* The text, within the limit and in any bytes, is one object, or one array. engine/model/map.h reads files so. */
tdm_status json_parse_object(json_object **out, const char *name, const void *text, uint64_t n, tdm_error *err);
tdm_status json_parse_array(json_object **out, const char *name, const void *text, uint64_t n, tdm_error *err);

/* The value lives until it has been freed once more than it was shared. */
json_object *json_share(json_object *v);
void json_free(json_object *v);

/* ---- Values ------------------------------------------------------------------------------------------------------ */

typedef enum { JSON_NULL, JSON_BOOL, JSON_INT, JSON_REAL, JSON_STRING, JSON_ARRAY, JSON_OBJECT } json_kind;

json_kind json_kind_of(json_object *v);
bool json_is(json_object *v, json_kind kind);
bool json_is_number(json_object *v);
const char *json_kind_name(json_object *v); /* for error lines */
bool json_equal(json_object *a, json_object *b);

/* A string's text, which a zero ends, or NULL; its bytes, or none. They live as long as the value. */
const char *json_text_of(json_object *v);
struct span json_span_of(json_object *v);
/* Values of other kinds are converted: a string to the number in it, true to 1, what has no number to 0; whole numbers
 * are kept within the limits of the type. */
int64_t json_int_of(json_object *v);
double json_real_of(json_object *v);
/* true, a number that isn't 0, a string that isn't empty. */
bool json_truth_of(json_object *v);
/* For error lines: a string's text, of another value its JSON; "?" without memory. Lives until the value changes. */
const char *json_shown(json_object *v);

size_t json_length(json_object *array);
json_object *json_at(json_object *array, size_t i);

/* The members of an object in their order:
 *
 *     for (struct json_walk m = json_walk(o); json_next(&m);) use(m.key, m.value);
 */
struct json_walk {
    const char *key;
    json_object *value;
    const void *next;
};
size_t json_members(json_object *o);
struct json_walk json_walk(json_object *o);
bool json_next(struct json_walk *w);

/* ---- Lenient look-ups -------------------------------------------------------------------------------------------- */

bool json_has(json_object *o, const char *key); /* null counts */
json_object *json_get(json_object *o, const char *key);
/* NULL or the fallback when absent or of another kind; json_real takes every finite number. */
json_object *json_member(json_object *o, const char *key, json_kind kind);
const char *json_text(json_object *o, const char *key, size_t *n); /* n may be NULL; lives as long as o */
int64_t json_int(json_object *o, const char *key, int64_t fallback);
double json_real(json_object *o, const char *key, double fallback);
bool json_flag(json_object *o, const char *key, bool fallback);

/* ---- Strict look-ups --------------------------------------------------------------------------------------------- */

/* TDM_E_FORMAT: of another kind, or out of range; the line names `file` and the key. If a key is absent or null, a
 * look-up is TDM_OK, leaves *out unchanged and sets *found (may be NULL) to false. */
tdm_status json_get_u64(json_object *o, const char *key, uint64_t low, uint64_t high, uint64_t *out, bool *found,
                        const char *file, tdm_error *err);
tdm_status json_get_double(json_object *o, const char *key, double *out, bool *found, const char *file, tdm_error *err);
tdm_status json_get_bool(json_object *o, const char *key, bool *out, bool *found, const char *file, tdm_error *err);
/* The string or object lives as long as o. */
tdm_status json_get_string(json_object *o, const char *key, const char **out, size_t *length, bool *found,
                           const char *file, tdm_error *err);
tdm_status json_get_object(json_object *o, const char *key, json_object **out, bool *found, const char *file,
                           tdm_error *err);
tdm_status json_get_array(json_object *o, const char *key, json_object **out, bool *found, const char *file,
                          tdm_error *err);

#endif
