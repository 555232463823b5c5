#include "ui/keys/eight_bit.h"

#include <stdint.h>
#include <string.h>

#include "engine/base/utf8.h"
#include "ui/keys/paste_mark.h"

enum { SS3 = 0x8f, DCS = 0x90, CSI = 0x9b, OSC = 0x9d };

unsigned char eight_bit_introducer(const char *text, size_t n, size_t *length)
{
    int32_t code;
    *length = utf8_decode(text, n, &code);
    if (code < 0) code = (unsigned char)*text;
    else if (*length == 1) return 0;
    return code == SS3 || code == DCS || code == CSI || code == OSC ? (unsigned char)code : 0;
}

enum answer_form eight_bit_evidence(const char *text, size_t n)
{
    enum { LOOKED_AT = 64 };
    char usual[LOOKED_AT];
    size_t length, at;
    const unsigned char control = eight_bit_introducer(text, n, &length);
    const size_t rest = n - length < LOOKED_AT - 2 ? n - length : LOOKED_AT - 2, all = 2 + rest;
    usual[0] = '\033';
    usual[1] = (char)(control - 0x40);
    memcpy(usual + 2, text + length, rest);
    const size_t mark = all < PASTE_MARK_MAX ? all : PASTE_MARK_MAX;
    if (paste_mark_find(usual, mark, 0, &at, &length) == PASTE_MARK_BEGIN && !at) return ANSWER_FORM_WHOLE;
    if (paste_mark_partial(usual, mark) == all) return ANSWER_FORM_LOOSE;
    const enum answer_form form = answer_form(usual, all, &length);
    return form == ANSWER_FORM_LOOSE && all == LOOKED_AT ? ANSWER_FORM_NONE : form;
}

size_t eight_bit_text(const char *text, size_t n, bool over, int *owed)
{
    const size_t lacking = utf8_incomplete(text, n), whole = n - lacking;
    size_t i = 0, length;
    for (; *owed && i < n && utf8_continues(text[i]); i++) --*owed;
    if (i < n) *owed = 0;
    for (; i < whole && text[i] != '\033' && !eight_bit_introducer(text + i, n - i, &length); i += length) {}
    if (i != whole || !lacking || !over) return i;
    const unsigned char lead = (unsigned char)text[whole];
    *owed = (lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2) - (int)lacking;
    return n;
}
