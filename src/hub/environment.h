/* Where the tools of Hugging Face keep things, and what they may do, as their environment variables say: read as
 * huggingface_hub reads them (its constants.py). Strings live until the next call of the same function by the same
 * thread. */
#ifndef TANDEM_SRC_HUB_ENVIRONMENT_H
#define TANDEM_SRC_HUB_ENVIRONMENT_H

#include <stdbool.h>
#include <stdint.h>

/* What the system, the conversation and the engine's own buffers need beside a model's weights. */
#define HUB_SPARE ((uint64_t)3000000000)

/* The caches that models may lie in, the first that applies first; NULL-terminated. New models go into the first. */
const char *const *hub_caches(void);
/* The file of the access token, or NULL; it need not exist. */
const char *hub_token_file(void);
/* The access token of the environment as it stands there; NULL: none. */
const char *hub_token(void);
/* The variable that says that nothing may be fetched; NULL: none does. */
const char *hub_offline(void);

/* Whether one of the folders above is named by way of this variable ("NAME=value", as in the environment): $NAME. */
bool hub_refers_to(const char *entry);

#endif
