/* Reading and writing JSON: json-c behind checks that untrusted files and a lack of memory need. Objects are json-c's
 * and freed with json_object_put.
 *
 * Building needs no checks: a value that could not be made for lack of memory is NULL, every function here accepts
 * NULL, and an object that lacks a member is marked as incomplete. Only writing it fails then: jsonio_line,
 * jsonio_indented and jsonio_print. */
#ifndef TANDEM_SRC_JSONIO_H
#define TANDEM_SRC_JSONIO_H

#include <json-c/json_object.h>
#include <json-c/linkhash.h>
#include <stdbool.h>
#include <stdio.h>

#include "engine/base/buffer.h"

/* Parses one whole JSON value in UTF-8; anything else is TDM_E_FORMAT with the byte offset. `name` stands in the
 * message. */
tdm_status jsonio_parse(json_object **out, const char *name, const char *text, size_t n, tdm_error *err);

/* The same for JSON from servers, whose strings may be faulty: bytes that are not UTF-8 become U+FFFD. The function for
 * pieces keeps them, and halves of surrogate pairs (engine/json/tree.h), for the caller to join the pieces. */
tdm_status jsonio_parse_mended(json_object **out, const char *name, const char *text, size_t n, tdm_error *err);
tdm_status jsonio_parse_pieces(json_object **out, const char *name, const char *text, size_t n, tdm_error *err);

/* Members of an object; NULL or the fallback when absent or of another type. */
json_object *jsonio_member(json_object *o, const char *key, json_type type);
const char *jsonio_text(json_object *o, const char *key, size_t *n); /* n may be NULL; lives as long as o */
int64_t jsonio_int(json_object *o, const char *key, int64_t fallback);
double jsonio_real(json_object *o, const char *key, double fallback);

json_object *jsonio_object(void);
json_object *jsonio_array(void);

/* Add members, or elements for functions without a key. The object owns added values from then on. NULL in place of an
 * object or array means that there was no memory for it; jsonio_add_null adds null. Text may contain any bytes: those
 * that are not UTF-8 become U+FFFD, since JSON can't express them. */
void jsonio_add(json_object *o, const char *key, json_object *member);
void jsonio_add_text(json_object *o, const char *key, const char *text, size_t n);
void jsonio_add_string(json_object *o, const char *key, const char *text); /* NULL: null */
void jsonio_add_bool(json_object *o, const char *key, bool value);
void jsonio_add_int(json_object *o, const char *key, int64_t value);
void jsonio_add_real(json_object *o, const char *key, double value);   /* 6 significant digits; not finite: null */
void jsonio_add_hash(json_object *o, const char *key, uint64_t value); /* 16 hexadecimal digits, as a string */
/* A number that is written as this text. */
void jsonio_add_digits(json_object *o, const char *key, const char *text);
void jsonio_add_null(json_object *o, const char *key);
void jsonio_append(json_object *array, json_object *element);
void jsonio_append_null(json_object *array);
void jsonio_append_string(json_object *array, const char *text);
void jsonio_append_int(json_object *array, int64_t value);
void jsonio_append_real(json_object *array, double value);
void jsonio_append_digits(json_object *array, const char *text);

/* Appends the value on one line. TDM_E_NOMEM also if a part of it could not be made; then the buffer is unchanged. */
tdm_status jsonio_line(json_object *o, struct buffer *out, tdm_error *err);
/* The same over several lines, indented. */
tdm_status jsonio_indented(json_object *o, struct buffer *out, tdm_error *err);
/* Writes the line and a newline; false with errno. */
bool jsonio_write(json_object *o, FILE *out);
/* Writes the line to standard output (output.h) and frees the value. A lack of memory counts as a failure of standard
 * output, which output_good() and output_end() report. */
void jsonio_print(json_object *o);

#endif
