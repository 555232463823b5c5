/* Token ids as text: integers separated by commas, white space or brackets. */
#ifndef TANDEM_SRC_IDS_H
#define TANDEM_SRC_IDS_H

#include "engine/tandem.h"

/* Appends to *out; `name` stands in the message with the byte offset. */
tdm_status ids_parse(const char *name, const char *text, size_t n, tdm_ids *out, tdm_error *err);

#endif
