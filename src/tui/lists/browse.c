#include "src/tui/lists/browse.h"

tui_action tui_browse_event(tui_browse *b, const struct decoder_event *e)
{
    const struct key_row *row = NULL;
    unsigned char byte = e->kind == DECODER_ESC ? 0x1b : e->length == 1 ? (unsigned char)e->data[0] : 0;
    if (e->kind == DECODER_KEY) {
        row = keys_find_code(KEYS_BROWSE, e->code, e->mods);
        if (e->code == KEYCODE_F1 + 1) row = keys_find_action(KEYS_BROWSE, ACTION_BACK);
        if (!row) row = keys_find_code(KEYS_CHAT, e->code, e->mods);
    } else if (byte) {
        if (byte >= '0' && byte <= '9') { /* a count, as in less */
            if (b->count < 1000) b->count = 10 * b->count + (byte - '0');
            return (tui_action){0};
        }
        row = keys_find_byte(KEYS_BROWSE, byte);
    }
    int count = b->count;
    b->count = 0;
    return row ? tui_action_key(row->action, count) : (tui_action){0};
}
