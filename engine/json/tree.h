/* A whole JSON text as json-c's objects. scan.h reads the text: json-c's own parser crashes or loses a part of the text
 * when it gets no memory. Each allocation that json-c makes here is checked. */
#ifndef TANDEM_BASE_JSON_TREE_H
#define TANDEM_BASE_JSON_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/tandem.h"

struct json_object;

/* The deepest nesting of objects and arrays. */
enum { JSON_TREE_DEEPEST = 31 };

typedef enum {
    JSON_TREE_ANY_BYTES, /* strings are taken as they are */
    JSON_TREE_UTF8,      /* strings that aren't UTF-8 are an error */
    JSON_TREE_MENDED,    /* in strings every byte that isn't UTF-8 becomes U+FFFD */
    JSON_TREE_PIECES,    /* strings are taken as they are, and half of a surrogate pair as the three bytes that UTF-8
                            would have for it: pieces of a text whose other part may follow */
} json_tree_strings;

/* Parses one value, not null, with white space around it; anything else is TDM_E_FORMAT with `name` and the byte
 * offset. NaN and Infinity, which Python writes, are numbers, and control characters may stand in strings unescaped, as
 * some servers write them. A real number keeps its text too. Of a repeated key the last value counts. Free with
 * json_object_put. */
tdm_status json_tree_parse(struct json_object **out, const char *name, const char *text, size_t n,
                           json_tree_strings strings, tdm_error *err);

#endif
