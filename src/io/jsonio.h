/* Reading and writing JSON: json-c behind checks that untrusted files and a lack of memory need. Objects are json-c's
 * and freed with json_object_put.
 *
 * Building needs no checks: what could not be made for want of memory is NULL, every function here takes NULL, and an
 * object that lacks something knows it. Only its text says so: jsonio_line, jsonio_indented and jsonio_print. */
#ifndef TANDEM_SRC_JSONIO_H
#define TANDEM_SRC_JSONIO_H

#include <json-c/json_object.h>
#include <json-c/linkhash.h>
#include <stdbool.h>
#include <stdio.h>

#include "engine/base/buffer.h"

/* One whole JSON value, of UTF-8; anything else is TDM_E_FORMAT with the byte offset. `name` stands in the message. */
tdm_status jsonio_parse(json_object **out, const char *name, const char *text, size_t n, tdm_error *err);

/* The same of a server, which may be none too careful: what isn't UTF-8 in its strings becomes U+FFFD. In `pieces` of a
 * text it stays as it is, with halves of surrogate pairs (engine/json/tree.h), for the caller to join them. */
tdm_status jsonio_parse_mended(json_object **out, const char *name, const char *text, size_t n, tdm_error *err);
tdm_status jsonio_parse_pieces(json_object **out, const char *name, const char *text, size_t n, tdm_error *err);

/* Members of an object; NULL or the fallback when absent or of another type. */
json_object *jsonio_member(json_object *o, const char *key, json_type type);
const char *jsonio_text(json_object *o, const char *key, size_t *n); /* n may be NULL; lives as long as o */
int64_t jsonio_int(json_object *o, const char *key, int64_t fallback);
double jsonio_real(json_object *o, const char *key, double fallback);

json_object *jsonio_object(void);
json_object *jsonio_array(void);

/* Adding members, or elements where there is no key. What is added belongs to its object from then on, and NULL for an
 * object or array means that there was no memory for it; null is written by jsonio_add_null. Text may hold any bytes:
 * what isn't UTF-8 becomes U+FFFD, since JSON can't hold it. */
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

/* The value on one line, behind what the buffer has. TDM_E_NOMEM also where something that was to be in it could not
 * be made; the buffer is as before then. */
tdm_status jsonio_line(json_object *o, struct buffer *out, tdm_error *err);
/* The same over several lines, indented. */
tdm_status jsonio_indented(json_object *o, struct buffer *out, tdm_error *err);
/* Writes the line and a newline; false with errno. */
bool jsonio_write(json_object *o, FILE *out);
/* Writes the line to standard output (output.h) and frees the value. Without memory for it, standard output has failed,
 * which output_good() and output_end() tell. */
void jsonio_print(json_object *o);

#endif
