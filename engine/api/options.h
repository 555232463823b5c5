/* Structs of options as the caller gives them. They may be shorter or longer than this library's, since the caller was
 * compiled with another version of the header (engine/tandem.h, 'options'), and zeros in them stand for defaults. */
#ifndef TANDEM_API_OPTIONS_H
#define TANDEM_API_OPTIONS_H

#include "engine/object/model.h"
#include "engine/tandem.h"

/* Copies the caller's struct (NULL: none) over this library's struct, which holds the defaults. TDM_E_UNSUPPORTED, with
 * nothing copied: a byte beyond this library's struct isn't zero. */
tdm_status options_take(void *own, size_t own_size, const void *given, size_t size, tdm_error *err);
/* Copies as much of this library's struct as the caller's holds, and sets the rest of the caller's to zero. */
void options_give(void *out, size_t size, const void *own, size_t own_size);

/* Replaces zeros by their defaults in those members whose values the rest of the engine needs: the level of
 * speculation, the types of keys and values, and the sampling. */
void options_fill(tdm_chat_options *o, const struct tdm_model *m);

#endif
