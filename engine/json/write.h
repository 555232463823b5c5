/* Building values and writing them as text.
 *
 * Building needs no checks: a value that could not be made for lack of memory is NULL, every function here accepts
 * NULL, and an object that lacks a member is marked as incomplete. Only writing it fails then. What is built can be
 * looked at (json.h), and is freed with json_free. */
#ifndef TANDEM_JSON_WRITE_H
#define TANDEM_JSON_WRITE_H

#include <stdio.h>

#include "engine/base/buffer.h"
#include "engine/json/json.h"

json_object *json_new_object(void);
json_object *json_new_array(void);

/* Add members, or elements for functions without a key. The object owns added values from then on. NULL in place of an
 * object or array means that there was no memory for it; json_add_null adds null. Text may contain any bytes: those
 * that are not UTF-8 become U+FFFD, since JSON can't express them. */
void json_add(json_object *o, const char *key, json_object *member);
void json_add_text(json_object *o, const char *key, const char *text, size_t n);
void json_add_string(json_object *o, const char *key, const char *text); /* NULL: null */
void json_add_bool(json_object *o, const char *key, bool value);
void json_add_int(json_object *o, const char *key, int64_t value);
void json_add_real(json_object *o, const char *key, double value);   /* 6 significant digits; not finite: null */
void json_add_hash(json_object *o, const char *key, uint64_t value); /* 16 hexadecimal digits, as a string */
/* A number that is written as this text. */
void json_add_digits(json_object *o, const char *key, const char *text);
void json_add_null(json_object *o, const char *key);
void json_append(json_object *array, json_object *element);
void json_append_string(json_object *array, const char *text);
void json_append_int(json_object *array, int64_t value);
void json_append_real(json_object *array, double value);
void json_append_digits(json_object *array, const char *text);
/* The same of a value that is there already, and has one owner more then; NULL adds null. */
void json_add_shared(json_object *o, const char *key, json_object *value);
void json_append_shared(json_object *array, json_object *value);

/* Appends the value, without a newline. TDM_E_NOMEM also if a part of it could not be made; then the buffer is
 * unchanged. */
tdm_status json_write_text(json_object *o, struct buffer *out, tdm_error *err);
/* The same with a newline at its end. */
tdm_status json_write_line(json_object *o, struct buffer *out, tdm_error *err);
/* As json_write_line, but over several lines, indented. */
tdm_status json_write_indented(json_object *o, struct buffer *out, tdm_error *err);
/* Writes the line and a newline; false with errno. */
bool json_write(json_object *o, FILE *out);

#endif
