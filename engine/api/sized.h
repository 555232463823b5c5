/* Structs of options that may be shorter or longer than this library's, since the caller was compiled with another
 * version of the header (engine/tandem.h, 'options'). */
#ifndef TANDEM_API_SIZED_H
#define TANDEM_API_SIZED_H

#include "engine/tandem.h"

/* Copies the caller's struct (NULL: none) over this library's struct, which holds the defaults. TDM_E_UNSUPPORTED, with
 * nothing copied: a byte beyond this library's struct isn't zero. */
tdm_status sized_take(void *own, size_t own_size, const void *given, size_t size, tdm_error *err);
/* Copies as much of this library's struct as the caller's holds, and sets the rest of the caller's to zero. */
void sized_give(void *out, size_t size, const void *own, size_t own_size);

#endif
