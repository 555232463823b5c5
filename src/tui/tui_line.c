#include "src/tui/tui_line.h"

#include <string.h>

#include "engine/base/utf8.h"

bool tui_line_edit(char *text, size_t room, const struct decoder_event *e)
{
    size_t n = strlen(text);
    for (size_t i = 0; i < e->length && (e->kind == DECODER_BYTES || e->kind == DECODER_PASTE); i++) {
        unsigned char c = (unsigned char)e->data[i];
        if (c == '\r' && e->kind == DECODER_BYTES) return true;
        if (c == 0x7f || c == 8) {
            while (n && utf8_continues(text[--n])) {
            }
        } else if (c == 0x15) {
            n = 0;
        } else if (c >= 0x20 && n + 1 < room) {
            text[n++] = (char)c;
        }
        text[n] = 0;
    }
    return false;
}
