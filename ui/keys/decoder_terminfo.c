/* Which keys terminfo knows, and what the decoder makes of them. */
#include "ui/keys/decoder.h"

#include <string.h>

void decoder_add_terminfo(struct decoder *d, const char *(*lookup)(void *context, const char *capability),
                          void *context)
{
    static const struct {
        const char *name;
        enum key_code code;
        unsigned mods;
    } plain[] = {
        {"kcuu1", KEYCODE_UP, 0},        {"kcud1", KEYCODE_DOWN, 0},
        {"kcuf1", KEYCODE_RIGHT, 0},     {"kcub1", KEYCODE_LEFT, 0},
        {"khome", KEYCODE_HOME, 0},      {"kend", KEYCODE_END, 0},
        {"kich1", KEYCODE_INSERT, 0},    {"kdch1", KEYCODE_DELETE, 0},
        {"kpp", KEYCODE_PAGE_UP, 0},     {"knp", KEYCODE_PAGE_DOWN, 0},
        {"kb2", KEYCODE_BEGIN, 0},       {"kcbt", KEYCODE_TAB, KEYMOD_SHIFT},
        {"kri", KEYCODE_UP, KEYMOD_SHIFT},          {"kind", KEYCODE_DOWN, KEYMOD_SHIFT},
        {"kLFT", KEYCODE_LEFT, KEYMOD_SHIFT},       {"kRIT", KEYCODE_RIGHT, KEYMOD_SHIFT},
        {"kHOM", KEYCODE_HOME, KEYMOD_SHIFT},       {"kEND", KEYCODE_END, KEYMOD_SHIFT},
        {"kDC", KEYCODE_DELETE, KEYMOD_SHIFT},      {"kIC", KEYCODE_INSERT, KEYMOD_SHIFT},
        {"kPRV", KEYCODE_PAGE_UP, KEYMOD_SHIFT},    {"kNXT", KEYCODE_PAGE_DOWN, KEYMOD_SHIFT},
    };
    /* Extended names carry xterm's modifier parameter: kUP5 is Ctrl-Up. */
    static const struct {
        const char *name;
        enum key_code code;
    } extended[] = {{"kUP", KEYCODE_UP},     {"kDN", KEYCODE_DOWN},  {"kRIT", KEYCODE_RIGHT}, {"kLFT", KEYCODE_LEFT},
                    {"kHOM", KEYCODE_HOME},  {"kEND", KEYCODE_END},  {"kDC", KEYCODE_DELETE}, {"kIC", KEYCODE_INSERT},
                    {"kPRV", KEYCODE_PAGE_UP}, {"kNXT", KEYCODE_PAGE_DOWN}};
    char name[16];
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        const char *s = lookup(context, plain[i].name);
        if (s && s != (const char *)-1) decoder_add_sequence(d, s, plain[i].code, plain[i].mods);
    }
    for (int f = 1; f <= 12; f++) {
        memcpy(name, "kf", 2);
        name[2] = (char)(f < 10 ? '0' + f : '1');
        name[3] = (char)(f < 10 ? 0 : '0' + f - 10);
        name[4] = 0;
        const char *s = lookup(context, name);
        if (s && s != (const char *)-1) decoder_add_sequence(d, s, (enum key_code)(KEYCODE_F1 + f - 1), 0);
    }
    for (size_t i = 0; i < sizeof extended / sizeof *extended; i++)
        for (unsigned m = 3; m <= 8; m++) {
            size_t n = strlen(extended[i].name);
            memcpy(name, extended[i].name, n);
            name[n] = (char)('0' + m);
            name[n + 1] = 0;
            const char *s = lookup(context, name);
            if (s && s != (const char *)-1) decoder_add_sequence(d, s, extended[i].code, m - 1);
        }
}
