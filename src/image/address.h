/* Addresses of pictures in texts from outside. Pure except address_picture; any thread. */
#ifndef TANDEM_SRC_IMAGE_ADDRESS_H
#define TANDEM_SRC_IMAGE_ADDRESS_H

#include "engine/tandem.h"

/* The path of a file:// address of this computer, malloc'ed; NULL: it is none. */
char *address_path(const char *text, size_t n);
/* Reads the picture at a path or a file:// address, or in a data address (RFC 2397) with base64. Others are refused:
 * nothing is fetched. */
tdm_status address_picture(tdm_picture **out, const char *address, tdm_error *err);

#endif
