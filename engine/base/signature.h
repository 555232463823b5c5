/* What a file is that isn't what it was taken for: one table of the bytes that files begin with, of the names and words
 * of other kinds of models, and what to say of each. For lines such as "model.gguf: expected a GGUF file, found a
 * git-lfs pointer ...", so that they name the cause and not the first byte, key or tensor that surprised a reader. */
#ifndef TANDEM_BASE_SIGNATURE_H
#define TANDEM_BASE_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/span.h"

enum { SIGNATURE_ROOM = 240 };

/* Writes what a file of these bytes is, with an article and what to do: "an HTML page, as ...". False: nothing is known
 * of it; out is "" then. */
bool signature_of_bytes(char out[SIGNATURE_ROOM], const void *bytes, uint64_t size);
/* The same where a file of weights was expected, so that any text is strange: it is quoted. */
bool signature_of_weights(char out[SIGNATURE_ROOM], const void *bytes, uint64_t size);

/* The same of a GGUF file by the words of general.type and general.architecture, either of which may be empty; NULL:
 * nothing special. */
const char *signature_of_gguf(struct span type, struct span architecture);

/* Of a checkpoint by quant_method of config.json's quantization_config, in whatever case. Never NULL. */
const char *signature_of_method(const char *method);

/* Of a checkpoint by one of its tensors and its dtype as in safetensors; NULL: nothing special. */
const char *signature_of_tensor(const char *name, const char *dtype);

/* Of a folder by the name of a file in it, where that isn't a model which can be opened; NULL: nothing special. */
const char *signature_of_name(const char *file);
/* The same of the first such file of a folder, behind its name; false: there is none. */
bool signature_of_folder(char out[SIGNATURE_ROOM], const char *folder);

#endif
