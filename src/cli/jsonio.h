/* Reading and writing JSON through json-c, with the checks that untrusted files need. */
#ifndef TANDEM_SRC_JSONIO_H
#define TANDEM_SRC_JSONIO_H

#include <json-c/json.h>

#include "engine/tandem.h"

/* One whole JSON value; anything else is TDM_E_FORMAT with the byte offset. `name` stands in the message. Free with
 * json_object_put. */
tdm_status jsonio_parse(json_object **out, const char *name, const char *text, size_t n, tdm_error *err);

/* Members of an object; NULL or the fallback when absent or of another type. */
json_object *jsonio_member(json_object *o, const char *key, json_type type);
const char *jsonio_text(json_object *o, const char *key, size_t *n); /* n may be NULL; lives as long as o */
int64_t jsonio_int(json_object *o, const char *key, int64_t fallback);
double jsonio_real(json_object *o, const char *key, double fallback);

/* Adding members. Text may hold any bytes: what isn't UTF-8 becomes U+FFFD, since JSON can't hold it. */
void jsonio_add_text(json_object *o, const char *key, const char *text, size_t n);
void jsonio_add_string(json_object *o, const char *key, const char *text); /* NULL: null */
void jsonio_add_int(json_object *o, const char *key, int64_t value);
void jsonio_add_real(json_object *o, const char *key, double value);   /* 4 significant digits are kept or more */
void jsonio_add_hash(json_object *o, const char *key, uint64_t value); /* 16 hexadecimal digits, as a string */

/* The object on one line; lives until o changes. */
const char *jsonio_line(json_object *o);

#endif
