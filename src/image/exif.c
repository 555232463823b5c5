#include "src/image/exif.h"

#include <string.h>

enum { ORIENTATION = 0x0112, SHORT = 3, ENTRY = 12, MAX_ENTRIES = 1000 };

static uint32_t number(const uint8_t *at, size_t n, bool little)
{
    uint32_t v = 0;
    for (size_t i = 0; i < n; i++) v = v << 8 | at[little ? n - 1 - i : i];
    return v;
}

int exif_orientation(const uint8_t *bytes, size_t n)
{
    if (n >= 6 && !memcmp(bytes, "Exif\0", 6)) bytes += 6, n -= 6;
    if (n < 8 || (memcmp(bytes, "II*\0", 4) != 0 && memcmp(bytes, "MM\0*", 4) != 0)) return 1;
    bool little = bytes[0] == 'I';
    size_t at = number(bytes + 4, 4, little);
    if (at > n - 2) return 1;
    uint32_t count = number(bytes + at, 2, little);
    for (uint32_t i = 0; i < count && i < MAX_ENTRIES && at + 2 + (i + 1) * (size_t)ENTRY <= n; i++) {
        const uint8_t *entry = bytes + at + 2 + i * (size_t)ENTRY;
        if (number(entry, 2, little) != ORIENTATION || number(entry + 2, 2, little) != SHORT) continue;
        uint32_t value = number(entry + 8, 2, little);
        return value >= 1 && value <= 8 ? (int)value : 1;
    }
    return 1;
}

void exif_row(const uint8_t *rgb, uint32_t width, uint32_t height, int orientation, uint32_t y, uint8_t *out)
{
    bool turned = exif_turns(orientation);
    bool right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;  /* columns backwards */
    bool bottom = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7; /* rows backwards */
    for (uint32_t x = 0, n = turned ? height : width; x < n; x++, out += 3) {
        uint32_t column = turned ? y : x, row = turned ? x : y;
        if (right) column = width - 1 - column;
        if (bottom) row = height - 1 - row;
        memcpy(out, rgb + 3 * ((size_t)row * width + column), 3);
    }
}
