/* Where the tools of Hugging Face keep things, as their environment variables say. Strings live until the next call of
 * the same function by the same thread. */
#ifndef TANDEM_SRC_HUB_H
#define TANDEM_SRC_HUB_H

#include <stdint.h>

/* What the system, the conversation and the engine's own buffers need beside a model's weights. */
#define HUB_SPARE ((uint64_t)3000000000)

/* The caches that models may lie in, the first that applies first; NULL-terminated. New models go into the first. */
const char *const *hub_caches(void);
/* The file of the access token, or NULL; it need not exist. */
const char *hub_token_file(void);

#endif
