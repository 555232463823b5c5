/* The folders and settings of Hugging Face's tools, from their environment variables, as huggingface_hub reads them
 * (its constants.py). Strings live until the next call of the same function by the same thread. */
#ifndef TANDEM_SRC_HUB_ENVIRONMENT_H
#define TANDEM_SRC_HUB_ENVIRONMENT_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes of memory for the system, the conversation and the engine's own buffers, beside a model's weights. */
#define HUB_SPARE ((uint64_t)3000000000)

/* The caches that may contain models, in order of precedence; NULL-terminated. New models go into the first. */
const char *const *hub_caches(void);
/* The file of the access token, or NULL; it need not exist. */
const char *hub_token_file(void);
/* The access token in the environment, unchanged; NULL: none. */
const char *hub_token(void);
/* The name of the variable that forbids fetching; NULL: fetching is allowed. */
const char *hub_offline(void);

/* Whether the variables of these folders refer to this variable ("NAME=value", as in the environment) as $NAME. */
bool hub_refers_to(const char *entry);

#endif
