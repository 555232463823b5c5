/* What a file of a picture is, by how it begins, and what is to be done about those that can't be read. Pure functions
 * on untrusted bytes; any thread. */
#ifndef TANDEM_SRC_IMAGE_FORMAT_H
#define TANDEM_SRC_IMAGE_FORMAT_H

#include <stddef.h>
#include <stdint.h>

typedef enum { FORMAT_PNG, FORMAT_JPEG, FORMAT_WEBP, FORMAT_OTHER } image_format;

/* What it is and how to convert it, of a picture or document that can't be read; NULL: it is none that is known. */
const char *format_other(const uint8_t *bytes, size_t n);
/* OTHER: *line is that of format_other, or says what is expected. */
image_format format_of(const uint8_t *bytes, size_t n, const char **line);

#endif
