/* Any bytes as a picture: they are pixels of bounded sides, each row of which can be turned, or one line. */
#include <stdlib.h>
#include <string.h>

#include "src/image/decode.h"
#include "src/image/exif.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Turned are those that take little time. */
enum { MAX_PIXELS = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    decoded d;
    char line[IMAGE_TEXT] = "";
    if (!decode(data, size, &d, line)) {
        if (!line[0] || d.rgb) abort();
        return 0;
    }
    if (d.orientation < 1 || d.orientation > 8 || (uint64_t)d.width * d.height > IMAGE_PIXELS) abort();
    uint32_t rows = exif_turns(d.orientation) ? d.width : d.height,
             row = exif_turns(d.orientation) ? d.height : d.width;
    uint8_t *out = malloc((size_t)3 * row);
    if ((uint64_t)d.width * d.height <= MAX_PIXELS)
        for (uint32_t y = 0; out && y < rows; y++) exif_row(d.rgb, d.width, d.height, d.orientation, y, out);
    free(out);
    free(d.rgb);
    return 0;
}
