/* JSON files of model directories: reading within a size limit, and strict look-ups with one-line errors. The objects
 * are json-c's, to be freed with json_object_put. If a key is absent or null, a look-up is TDM_OK, leaves *out
 * unchanged and sets *found (may be NULL) to false. `file` is for error lines. */
#ifndef TANDEM_MODEL_JSON_H
#define TANDEM_MODEL_JSON_H

#include <json-c/json_object.h>

#include "engine/tandem.h"

/* Bytes of a text. json-c needs up to some 50 bytes of memory for each, so this also bounds memory. */
enum { JSON_LIMIT = 16 << 20 };

/* A file with one object. */
tdm_status json_read(struct json_object **out, const char *path, tdm_error *err);
/* The text is one object, or one array. */
tdm_status json_parse(struct json_object **out, const void *text, uint64_t length, const char *file, tdm_error *err);
tdm_status json_parse_array(struct json_object **out, const void *text, uint64_t length, const char *file,
                            tdm_error *err);

tdm_status json_get_u64(struct json_object *o, const char *key, uint64_t low, uint64_t high, uint64_t *out, bool *found,
                        const char *file, tdm_error *err);
tdm_status json_get_double(struct json_object *o, const char *key, double *out, bool *found, const char *file,
                           tdm_error *err);
tdm_status json_get_bool(struct json_object *o, const char *key, bool *out, bool *found, const char *file,
                         tdm_error *err);
/* The string or object lives as long as o. */
tdm_status json_get_string(struct json_object *o, const char *key, const char **out, size_t *length, bool *found,
                           const char *file, tdm_error *err);
tdm_status json_get_object(struct json_object *o, const char *key, struct json_object **out, bool *found,
                           const char *file, tdm_error *err);
tdm_status json_get_array(struct json_object *o, const char *key, struct json_object **out, bool *found,
                          const char *file, tdm_error *err);

#endif
