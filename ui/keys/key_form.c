#include "ui/keys/key_form.h"

#include <string.h>

enum key_code key_form_tilde(int n)
{
    static const unsigned char f[] = {/* 11.. */ 1, 2, 3, 4, 5, 0, 6, 7, 8, 9, 10, 0, 11, 12, 13, 14, 0, 15, 16, 0,
                                      /* 31.. */ 17, 18, 19, 20};
    switch (n) {
    case 1: case 7: return KEYCODE_HOME;
    case 2: return KEYCODE_INSERT;
    case 3: return KEYCODE_DELETE;
    case 4: case 8: return KEYCODE_END;
    case 5: return KEYCODE_PAGE_UP;
    case 6: return KEYCODE_PAGE_DOWN;
    }
    if (n < 11 || n > 34 || !f[n - 11]) return KEYCODE_NONE;
    return (enum key_code)(KEYCODE_F1 + f[n - 11] - 1);
}

enum key_code key_form_letter(char c)
{
    switch (c) {
    case 'A': return KEYCODE_UP;
    case 'B': return KEYCODE_DOWN;
    case 'C': return KEYCODE_RIGHT;
    case 'D': return KEYCODE_LEFT;
    case 'E': return KEYCODE_BEGIN;
    case 'F': return KEYCODE_END;
    case 'H': return KEYCODE_HOME;
    case 'P': case 'Q': case 'R': case 'S': return (enum key_code)(KEYCODE_F1 + c - 'P');
    }
    return KEYCODE_NONE;
}

char key_form_keypad(char c)
{
    static const char from[] = "jklmnopqrstuvwxyX", to[] = "*+,-./0123456789=";
    const char *at = c ? strchr(from, c) : NULL;
    return at ? to[at - from] : 0;
}
