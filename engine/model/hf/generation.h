/* Sampling defaults and the tokens that end a reply, as a model's files give them: from GGUF keys,
 * generation_config.json, config.json and the files of the tokenizer.
 *
 * All of it is optional: a value that is damaged, of another type or out of range is left out, with a note. null means
 * that there is no value, top_k -1 or 0 means off. */
#ifndef TANDEM_MODEL_GENERATION_H
#define TANDEM_MODEL_GENERATION_H

#include "engine/model/config.h"
#include "engine/model/schema/unknown.h"

struct gguf;
struct json_object;

/* NAN or -1: not given. */
struct sampling {
    float temperature, top_p, min_p, repeat_penalty, presence_penalty, frequency_penalty;
    int32_t top_k;
};

/* Tokens that end a reply and are given by their text; the tokenizer finds their ids. */
enum { GENERATION_ENDS = 8, GENERATION_END_ROOM = 64 };

struct ends {
    char texts[GENERATION_ENDS][GENERATION_END_ROOM];
    size_t n;
};

/* `file` is for notes. */
void generation_sampling_from_json(struct sampling *out, struct json_object *json, const char *file,
                                   struct notes *notes);
void generation_sampling_from_gguf(struct sampling *out, const struct gguf *gguf, struct notes *notes);

/* Adds the ids of eos_token_id, one or a list, to the configuration, whose vocab must be set; texts go to ends. */
void generation_stops_from_json(struct config *c, struct ends *ends, struct json_object *json, const char *file,
                                struct notes *notes);
/* Adds the text of eos_token from tokenizer_config.json or special_tokens_map.json. */
void generation_ends_from_json(struct ends *ends, struct json_object *json);
/* The same from the keys of a GGUF file; the family's end markers are added too if the vocabulary has them, since files
 * name only one of them. */
tdm_status generation_stops_from_gguf(struct config *c, const struct gguf *gguf, struct notes *notes, tdm_error *err);

#endif
