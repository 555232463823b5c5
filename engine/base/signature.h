/* Recognises files that are not of the expected kind, for errors such as "model.gguf: expected a GGUF file, found a
 * git-lfs pointer ...": so they name the cause, not the first byte, key or tensor that a reader could not use. One
 * table has the first bytes of files, the names and words of other kinds of models, and the text for each. */
#ifndef TANDEM_BASE_SIGNATURE_H
#define TANDEM_BASE_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/span.h"

enum { SIGNATURE_ROOM = 240 };

/* Describes the kind of a file with these first bytes, with an article and advice: "an HTML page, as ...". False: not
 * recognised; out is "" then. */
bool signature_of_bytes(char out[SIGNATURE_ROOM], const void *bytes, uint64_t size);
/* The same for a file that should have weights: any text is unexpected there, and is quoted. */
bool signature_of_weights(char out[SIGNATURE_ROOM], const void *bytes, uint64_t size);

/* Describes a GGUF file by the words of general.type and general.architecture, either of which may be empty; NULL: they
 * name no special kind. */
const char *signature_of_gguf(struct span type, struct span architecture);

/* Describes a checkpoint by quant_method of config.json's quantization_config, in any case. Never NULL. */
const char *signature_of_method(const char *method);

/* Describes a checkpoint by one of its tensors and the tensor's dtype as in safetensors; NULL: they name no special
 * kind. */
const char *signature_of_tensor(const char *name, const char *dtype);

/* Describes a folder by the name of a file in it, if that isn't a model that can be opened; NULL: the name means
 * nothing special. */
const char *signature_of_name(const char *file);
/* Writes the name of the first such file of a folder and its description; false: there is none. */
bool signature_of_folder(char out[SIGNATURE_ROOM], const char *folder);

#endif
