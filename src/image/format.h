/* The format of a picture's file, by its first bytes, and advice about formats that can't be read. Pure functions on
 * untrusted bytes; any thread. */
#ifndef TANDEM_SRC_IMAGE_FORMAT_H
#define TANDEM_SRC_IMAGE_FORMAT_H

#include <stddef.h>
#include <stdint.h>

typedef enum { FORMAT_PNG, FORMAT_JPEG, FORMAT_WEBP, FORMAT_OTHER } image_format;

/* The format of a picture or document that can't be read, and how to convert it; NULL: not a known one. */
const char *format_other(const uint8_t *bytes, size_t n);
/* OTHER: *line is that of format_other, or names the expected formats. */
image_format format_of(const uint8_t *bytes, size_t n, const char **line);

#endif
