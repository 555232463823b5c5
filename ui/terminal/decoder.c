/* The state machine of decoder.h.
 *
 * Fed bytes are appended to `in` and consumed by decoder_next(), one event at a time; `in` holds only what has not been
 * turned into an event. Sequences are looked at whole, from their Esc on, each time more bytes have come: they are
 * short (the longest kind, a string answer, is cut at STRING_MAX), so nothing has to be remembered between feeds but a
 * few flags. A paste is moved out of `in` as it comes, and its marks are found with memmem over what is new: linear
 * time.
 */
#include "ui/terminal/decoder.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/buffer.h"
#include "engine/base/utf8.h"

enum { SEQUENCE_MAX = 64, STRING_MAX = 4096, TABLE_MAX = 256 };

static const char paste_begin[] = "\033[200~", paste_end[] = "\033[201~";
enum { MARK = sizeof paste_end - 1 };

struct entry {
    char sequence[16];
    unsigned char length;
    enum key_code code;
    unsigned mods;
};

enum paste_state {
    PASTE_NONE,
    PASTE_INSIDE,
    PASTE_CLOSING, /* the end mark came; the burst goes on */
    PASTE_DONE,    /* the burst is over; `paste` is to be handed over before what is in `in` */
};

struct decoder {
    struct decoder_options options;
    struct buffer in;     /* bytes not yet used; the first `used` ones are */
    size_t used;
    struct buffer event;  /* the data of the last event, where it isn't in `in` */
    struct buffer paste;
    size_t dropped;
    enum paste_state pasting;
    size_t held;          /* PASTE_CLOSING: bytes of `in` from `used` on that have been searched for marks */
    size_t stale;         /* bytes of `in` up to here came before a pause: they can't go on into what came after */
    int64_t now, last;    /* time of this feed and of the last one with bytes */
    bool expect_cursor;
    int64_t expect_until; /* a string answer may come until then */
    bool swallow;         /* within a string answer that grew too long: drop up to its end */
    struct entry table[TABLE_MAX];
    size_t entries;
};

void decoder_expect_string(struct decoder *d, int64_t until_ns) { d->expect_until = until_ns; }

void decoder_set_esc(struct decoder *d, int64_t esc_ns)
{
    d->options.esc_ns = esc_ns ? esc_ns : DECODER_ESC_NS;
}

struct decoder *decoder_open(const struct decoder_options *options)
{
    struct decoder *d = calloc(1, sizeof *d);
    if (!d) return NULL;
    if (options) d->options = *options;
    decoder_set_esc(d, d->options.esc_ns);
    if (!d->options.sequence_ns) d->options.sequence_ns = DECODER_SEQUENCE_NS;
    if (!d->options.paste_limit) d->options.paste_limit = DECODER_PASTE_LIMIT;
    if (buffer_reserve(&d->in, 1, NULL) || buffer_reserve(&d->event, 1, NULL) || buffer_reserve(&d->paste, 1, NULL)) {
        decoder_close(d);
        return NULL;
    }
    return d;
}

void decoder_close(struct decoder *d)
{
    if (!d) return;
    buffer_free(&d->in);
    buffer_free(&d->event);
    buffer_free(&d->paste);
    free(d);
}

void decoder_expect_cursor(struct decoder *d)
{
    d->expect_cursor = true;
}

/* -- what sequences mean ------------------------------------------------------------------------------------------ */

bool decoder_add_sequence(struct decoder *d, const char *sequence, enum key_code code, unsigned mods)
{
    size_t n = sequence ? strnlen(sequence, sizeof d->table[0].sequence) : 0;
    if (n < 3 || n >= sizeof d->table[0].sequence || sequence[0] != '\033') return false;
    for (size_t i = 0; i < d->entries; i++)
        if (d->table[i].length == n && !memcmp(d->table[i].sequence, sequence, n)) return true;
    if (d->entries == TABLE_MAX) return false;
    struct entry *e = &d->table[d->entries++];
    memcpy(e->sequence, sequence, n);
    e->length = (unsigned char)n;
    e->code = code;
    e->mods = mods;
    return true;
}

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

/* CSI n ~ and its rxvt relatives. */
static enum key_code tilde_key(int n)
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

/* The last byte of CSI 1 ; m X and of SS3 X. */
static enum key_code letter_key(char c)
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

/* The keypad in application mode as text: digits and operators. 0 for none. */
static char keypad_byte(char c)
{
    static const char from[] = "jklmnopqrstuvwxyX", to[] = "*+,-./0123456789=";
    const char *at = c ? strchr(from, c) : NULL;
    return at ? to[at - from] : 0;
}

/* -- events ------------------------------------------------------------------------------------------------------- */

static void begin_event(const struct decoder *d, struct decoder_event *e, enum decoder_kind kind)
{
    *e = (struct decoder_event){.kind = kind, .time_ns = d->last};
    for (int i = 0; i < DECODER_PARAMS; i++) e->params[i] = -1;
}

/* Data of n bytes that lives in d->event; false when it has no memory, and the event is then dropped. */
static bool keep(struct decoder *d, struct decoder_event *e, const char *data, size_t n)
{
    d->event.n = 0;
    if (buffer_reserve(&d->event, n, NULL)) return false;
    memcpy(d->event.bytes, data, n);
    d->event.bytes[n] = 0;
    e->data = d->event.bytes;
    e->length = n;
    return true;
}

static bool key_event(struct decoder *d, struct decoder_event *e, enum key_code code, unsigned mods, const char *raw,
                      size_t n)
{
    if (code == KEYCODE_NONE) return false;
    begin_event(d, e, DECODER_KEY);
    e->code = code;
    e->mods = mods;
    return keep(d, e, raw, n);
}

static bool bytes_event(struct decoder *d, struct decoder_event *e, const char *bytes, size_t n)
{
    begin_event(d, e, DECODER_BYTES);
    return keep(d, e, bytes, n);
}

/* A key that the terminal spelled out (CSI c ; m u, CSI 27 ; m ; c ~): the legacy bytes where there are any, so that
 * readline and its bindings see what they always saw, and KEY where the spelling tells more. */
static bool spelled_key(struct decoder *d, struct decoder_event *e, int c, unsigned mods, const char *raw, size_t n)
{
    static const struct {
        int from;
        char byte;
        enum key_code code;
    } pad[] = {{57414, '\r', 0}, {57409, '.', 0}, {57410, '/', 0}, {57411, '*', 0}, {57412, '-', 0}, {57413, '+', 0},
               {57415, '=', 0}, {57417, 0, KEYCODE_LEFT}, {57418, 0, KEYCODE_RIGHT}, {57419, 0, KEYCODE_UP},
               {57420, 0, KEYCODE_DOWN}, {57421, 0, KEYCODE_PAGE_UP}, {57422, 0, KEYCODE_PAGE_DOWN},
               {57423, 0, KEYCODE_HOME}, {57424, 0, KEYCODE_END}, {57425, 0, KEYCODE_INSERT},
               {57426, 0, KEYCODE_DELETE}, {57427, 0, KEYCODE_BEGIN}};
    if (c >= 57399 && c <= 57408) c = '0' + c - 57399;
    for (size_t i = 0; i < sizeof pad / sizeof *pad; i++)
        if (c == pad[i].from) {
            if (pad[i].code) return key_event(d, e, pad[i].code, mods, raw, n);
            c = pad[i].byte;
        }
    if (c >= 57376 && c <= 57387) return key_event(d, e, (enum key_code)(KEYCODE_F1 + 12 + c - 57376), mods, raw, n);
    if (c <= 0 || c > 0x10ffff || (c >= 0xd800 && c < 0xf900)) return false; /* surrogates, private: lone modifiers */
    if (c == 27 && !(mods & ~(unsigned)KEYMOD_SHIFT)) {
        begin_event(d, e, DECODER_ESC);
        return true;
    }
    if (mods) {
        enum key_code named = c == 13 ? KEYCODE_ENTER : c == 9 ? KEYCODE_TAB : c == 127 || c == 8 ? KEYCODE_BACKSPACE
                              : c == ' ' && (mods & KEYMOD_SHIFT)                  ? KEYCODE_SPACE
                                                                                  : KEYCODE_NONE;
        if (named == KEYCODE_SPACE && mods == KEYMOD_SHIFT) return bytes_event(d, e, " ", 1);
        if (named != KEYCODE_NONE) return key_event(d, e, named, mods, raw, n);
    }
    char out[8];
    size_t at = 0;
    if (mods & (KEYMOD_ALT | KEYMOD_META)) out[at++] = '\033';
    if (mods & KEYMOD_CTRL) {
        if (c >= 'a' && c <= 'z') c -= 96;
        else if (c >= '@' && c <= '_') c -= 64;
        else if (c == ' ' || c == '2') c = 0;
        else if (c == '/' || c == '-' || c == '7') c = 31;
        else if (c >= '3' && c <= '6') c = c - '3' + 27;
        else if (c == '8' || c == '?') c = 127;
    } else if ((mods & KEYMOD_SHIFT) && c >= 'a' && c <= 'z') {
        c -= 32;
    }
    at += utf8_encode((uint32_t)c, out + at);
    return bytes_event(d, e, out, at);
}

static bool mouse_event(struct decoder *d, struct decoder_event *e, int b, int x, int y, bool release)
{
    if (b < 0 || x < 1 || y < 1) return false;
    begin_event(d, e, DECODER_MOUSE);
    e->mods = (b & 4 ? KEYMOD_SHIFT : 0) | (b & 8 ? KEYMOD_ALT : 0) | (b & 16 ? KEYMOD_CTRL : 0);
    e->column = x - 1;
    e->row = y - 1;
    static const int wheel[] = {-1, 1, -2, 2};
    if (b & 64) {
        e->mouse = DECODER_WHEEL;
        e->button = wheel[b & 3];
    } else {
        e->mouse = b & 32 ? DECODER_MOTION : release ? DECODER_RELEASE : DECODER_PRESS;
        e->button = (b & 3) == 3 ? 0 : (b & 3) + 1;
    }
    return true;
}

/* -- one sequence ------------------------------------------------------------------------------------------------- */

/* What came of looking at the bytes from an Esc on. */
enum outcome { WAIT, EVENT, DROP };

/* A complete CSI: s[0..n) begins with Esc [ (or Esc Esc [ with `alt`), body and final byte follow. */
static enum outcome csi(struct decoder *d, struct decoder_event *e, const char *s, size_t n, size_t body, unsigned alt)
{
    char final = s[n - 1], mark = 0, middle = 0;
    int params[DECODER_PARAMS], count = 0;
    int event_type = 1; /* kitty: 1 press, 2 repeat, 3 release */
    size_t i = body;
    for (int k = 0; k < DECODER_PARAMS; k++) params[k] = -1;
    if (i < n - 1 && s[i] >= '<' && s[i] <= '?') mark = s[i++];
    int sub = 0, value = -1; /* sub: which sub-parameter (after ':') is being read */
    for (; i < n && !middle; i++) {
        char c = s[i];
        if (c >= '0' && c <= '9') {
            value = value < 0 ? c - '0' : value > 9999999 ? value : value * 10 + c - '0';
            continue;
        }
        if (sub == 1 && count == 1) event_type = value;
        if (!sub && count < DECODER_PARAMS) params[count] = value;
        value = -1;
        sub = c == ':' ? sub + 1 : 0;
        if (sub) continue;
        if (count < DECODER_PARAMS) count++;
        if (c != ';' && i < n - 1) middle = c;
    }
    if (count == 1 && params[0] < 0) count = 0;
    unsigned mods = alt;
    if (count >= 2 && params[1] > 1 && params[1] <= 256) mods |= (unsigned)(params[1] - 1) & 15;
    if (event_type == 3) return DROP;

    if (mark == '<' && (final == 'M' || final == 'm'))
        return mouse_event(d, e, params[0], params[1], params[2], final == 'm') ? EVENT : DROP;
    if (!mark && !middle) {
        if (final == '~' && params[0] == 27 && count == 3)
            return spelled_key(d, e, params[2], mods, s, n) ? EVENT : DROP;
        if (final == 'u' && count >= 1) return spelled_key(d, e, params[0], mods, s, n) ? EVENT : DROP;
        if (final == '~') return key_event(d, e, tilde_key(params[0]), mods, s, n) ? EVENT : DROP;
        if (final == '^') return key_event(d, e, tilde_key(params[0]), mods | KEYMOD_CTRL, s, n) ? EVENT : DROP;
        if (final == '@')
            return key_event(d, e, tilde_key(params[0]), mods | KEYMOD_CTRL | KEYMOD_SHIFT, s, n) ? EVENT : DROP;
        if (final == '$') return key_event(d, e, tilde_key(params[0]), mods | KEYMOD_SHIFT, s, n) ? EVENT : DROP;
        if (final == 'Z') return key_event(d, e, KEYCODE_TAB, mods | KEYMOD_SHIFT, s, n) ? EVENT : DROP;
        if (count == 0 && final >= 'a' && final <= 'd') /* rxvt: shifted arrows */
            return key_event(d, e, letter_key((char)(final - 32)), mods | KEYMOD_SHIFT, s, n) ? EVENT : DROP;
        if (count == 0 && (final == 'I' || final == 'O')) {
            begin_event(d, e, DECODER_ANSWER);
            e->answer = final == 'I' ? DECODER_FOCUS_IN : DECODER_FOCUS_OUT;
            return EVENT;
        }
        bool cursor = final == 'R' && count == 2 && (d->expect_cursor || params[0] != 1);
        if (!cursor && letter_key(final) != KEYCODE_NONE && (count == 0 || params[0] == 1))
            return key_event(d, e, letter_key(final), mods, s, n) ? EVENT : DROP;
        /* Some terminals leave the first parameter out: CSI 5 C is Ctrl-Right. */
        if (count == 1 && final >= 'A' && final <= 'D' && params[0] >= 2 && params[0] <= 16)
            return key_event(d, e, letter_key(final), alt | (unsigned)(params[0] - 1), s, n) ? EVENT : DROP;
        if (final == 'R' && count == 2) {
            begin_event(d, e, DECODER_ANSWER);
            e->answer = DECODER_CURSOR;
            d->expect_cursor = false;
            memcpy(e->params, params, sizeof params);
            e->param_count = count;
            e->final = final;
            return EVENT;
        }
    }
    if (!strchr("cyunRtS", final)) return DROP;
    begin_event(d, e, DECODER_ANSWER);
    memcpy(e->params, params, sizeof params);
    e->param_count = count;
    e->final = final;
    e->answer = DECODER_STATUS;
    if (final == 'c' && mark == '?') e->answer = DECODER_DA1;
    if (final == 'c' && mark == '>') e->answer = DECODER_DA2;
    if (final == 'u' && mark == '?') e->answer = DECODER_KITTY;
    if (final == 'R' && mark == '?') e->answer = DECODER_CURSOR;
    if (final == 'y' && middle == '$') e->answer = DECODER_MODE;
    return EVENT;
}

/* Where the string that begins at s[2] ends: *text_end and the bytes it takes with its terminator, or 0 when it hasn't
 * come. Control characters other than BEL break it off: *text_end is then where, and nothing of it is answered. */
static size_t string_end(const char *s, size_t n, size_t *text_end, bool *broken)
{
    *broken = false;
    for (size_t i = 2; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c == 7) return *text_end = i, i + 1;
        if (c == 033) {
            if (i + 1 == n) return 0;
            *text_end = i;
            if (s[i + 1] == '\\') return i + 2;
            *broken = true;
            return i;
        }
        if (c == 030 || c == 032) return *text_end = i, *broken = true, i + 1;
    }
    return 0;
}

static enum outcome string_answer(struct decoder *d, struct decoder_event *e, const char *s, size_t n, size_t *took)
{
    size_t end;
    bool broken;
    size_t most = n < STRING_MAX ? n : STRING_MAX; /* so that the outcome doesn't depend on how the bytes were cut */
    size_t whole = string_end(s, most, &end, &broken);
    if (!whole) {
        if (n <= STRING_MAX) return WAIT;
        d->swallow = true; /* the rest up to the terminator is dropped as it comes */
        *took = most - (s[most - 1] == '\033');
        return DROP;
    }
    *took = whole;
    if (broken || s[1] == '_' || s[1] == '^' || s[1] == 'X') return DROP;
    begin_event(d, e, DECODER_ANSWER);
    e->answer = s[1] == ']' ? DECODER_OSC : end > 3 && s[2] == '>' && s[3] == '|' ? DECODER_XTVERSION : DECODER_DCS;
    size_t from = e->answer == DECODER_XTVERSION ? 4 : 2;
    d->expect_until = 0;
    return keep(d, e, s + from, end - from) ? EVENT : DROP;
}

/* A control sequence whose '[' stands at s[at], with at least one byte after it; `alt`: an Esc came before. */
static enum outcome csi_at(struct decoder *d, struct decoder_event *e, const char *s, size_t n, size_t at,
                              unsigned alt, size_t *took)
{
    if (s[at + 1] == '[') { /* the linux console's F1..F5 */
        if (n < at + 3) return WAIT;
        *took = at + 3;
        char c = s[at + 2];
        if (c < 'A' || c > 'E') return DROP;
        return key_event(d, e, (enum key_code)(KEYCODE_F1 + c - 'A'), alt, s, *took) ? EVENT : DROP;
    }
    if (s[at + 1] == 'M') { /* the mouse of terminals without mode 1006 */
        if (n < at + 5) return WAIT;
        *took = at + 5;
        int b = (unsigned char)s[at + 2] - 32, x = (unsigned char)s[at + 3] - 32, y = (unsigned char)s[at + 4] - 32;
        return mouse_event(d, e, (b & 3) == 3 && b < 32 ? 0 : b, x, y, (b & 3) == 3 && b < 32) ? EVENT : DROP;
    }
    for (size_t i = at + 1; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        bool shifted = c == '$' && i > at + 1 && s[at + 1] != '?'; /* rxvt: CSI 5 $ */
        if ((c >= 0x40 && c <= 0x7e) || shifted) {
            *took = i + 1;
            return csi(d, e, s, i + 1, at + 1, alt);
        }
        if (c < 0x20 || c > 0x7e) return *took = i, DROP; /* broken off: what broke it is looked at next */
        if (i >= SEQUENCE_MAX) return *took = i + 1, DROP;
    }
    return WAIT;
}

/* The same for SS3, whose 'O' stands at s[at]: keys of the keypad and, in some terminals, arrows and F1 to F4. */
static enum outcome ss3_at(struct decoder *d, struct decoder_event *e, const char *s, size_t n, size_t at, unsigned alt,
                           size_t *took)
{
    for (size_t i = at + 1; i < n && i < at + 4; i++) {
        char c = s[i];
        if (c >= '0' && c <= '9') continue; /* an old form of modifiers: SS3 5 P */
        *took = i + 1;
        unsigned mods = alt | (i > at + 1 && s[at + 1] > '1' ? (unsigned)(s[at + 1] - '1') & 15 : 0);
        if (c >= 'a' && c <= 'd')
            return key_event(d, e, letter_key((char)(c - 32)), mods | KEYMOD_CTRL, s, i + 1) ? EVENT : DROP;
        if (c == 'M') return bytes_event(d, e, "\r", 1) ? EVENT : DROP;
        if (letter_key(c) != KEYCODE_NONE) return key_event(d, e, letter_key(c), mods, s, i + 1) ? EVENT : DROP;
        char byte = keypad_byte(c);
        if (byte) return bytes_event(d, e, &byte, 1) ? EVENT : DROP;
        /* Not a key of any keypad: Alt-Shift-o and what was typed after it. */
        *took = at + 1;
        return bytes_event(d, e, s + at - 1, 2) ? EVENT : DROP;
    }
    return n < at + 4 ? WAIT : (*took = at + 4, DROP);
}

/* s[0..n) begins with Esc. *took gets the bytes used by EVENT and DROP. `over`: no more will come. */
static enum outcome sequence(struct decoder *d, struct decoder_event *e, const char *s, size_t n, bool over,
                             size_t *took)
{
    if (n < 2) return WAIT;
    bool prefix = false;
    const struct entry *exact = NULL;
    for (size_t i = 0; i < d->entries; i++) {
        const struct entry *t = &d->table[i];
        size_t common = n < t->length ? n : t->length;
        if (memcmp(t->sequence, s, common)) continue;
        if (n < t->length) prefix = true;
        else if (!exact || t->length > exact->length) exact = t;
    }
    if (exact) {
        *took = exact->length;
        return key_event(d, e, exact->code, exact->mods, s, exact->length) ? EVENT : DROP;
    }
    if (prefix && !over) return WAIT;

    size_t at = 1;
    unsigned alt = 0;
    if (s[1] == '\033') { /* Esc Esc [ ...: Alt with a key, in rxvt and others */
        if (n < 3) return WAIT;
        if (s[2] != '[' && s[2] != 'O') return *took = 1, begin_event(d, e, DECODER_ESC), EVENT;
        at = 2;
        alt = KEYMOD_ALT;
    }
    switch (s[at]) {
    case '[':
        if (n == at + 1) return WAIT;
        return csi_at(d, e, s, n, at, alt, took);
    case 'O':
        if (n == at + 1) return WAIT;
        return ss3_at(d, e, s, n, at, alt, took);
    case ']': case 'P': case '_': case '^': case 'X':
        if (n < 3) return WAIT;
        /* Only what can begin an answer; otherwise it is Alt with this character, and more was typed. */
        if ((s[1] == ']' && s[2] >= '0' && s[2] <= '9') ||
            (s[1] == 'P' && (s[2] == '>' || s[2] == '!' || s[2] == '0' || s[2] == '1' || s[2] == '{' || s[2] == '$')) ||
            (s[1] == '_' && s[2] == 'G'))
            return string_answer(d, e, s, n, took);
        break;
    case '\r': case '\n':
        *took = 2;
        return key_event(d, e, KEYCODE_ENTER, KEYMOD_ALT, s, 2) ? EVENT : DROP;
    }
    /* Alt with a character, which may take several bytes. */
    unsigned char c = (unsigned char)s[1];
    size_t length = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
    for (size_t i = 1; i < length && 1 + i < n; i++) /* a broken one ends before the next sequence */
        if (!utf8_continues(s[1 + i])) length = i;
    if (n < 1 + length) return WAIT;
    *took = 1 + length;
    return bytes_event(d, e, s, *took) ? EVENT : DROP;
}

/* A sequence broke off and its time is over: what was typed, if it can have been typed. */
static enum outcome give_up(struct decoder *d, struct decoder_event *e, const char *s, size_t n, size_t *took)
{
    *took = n;
    if (n == 1) return begin_event(d, e, DECODER_ESC), EVENT;
    if (n == 2 && s[1] == '\033') return *took = 1, begin_event(d, e, DECODER_ESC), EVENT;
    if (n == 2) return bytes_event(d, e, s, 2) ? EVENT : DROP;
    return DROP;
}

/* -- paste -------------------------------------------------------------------------------------------------------- */

static void paste_append(struct decoder *d, const char *data, size_t n)
{
    size_t room = d->options.paste_limit - d->paste.n;
    size_t take = n < room ? n : room;
    if (take && buffer_reserve(&d->paste, take, NULL)) take = 0;
    memcpy(d->paste.bytes + d->paste.n, data, take);
    d->paste.n += take;
    d->dropped += n - take;
}

static bool paste_event(struct decoder *d, struct decoder_event *e, bool more)
{
    begin_event(d, e, DECODER_PASTE);
    struct buffer b = d->event; /* swapped, not copied: a paste may be large */
    d->event = d->paste;
    d->paste = b;
    d->paste.n = 0;
    d->event.bytes[d->event.n] = 0;
    e->data = d->event.bytes;
    e->length = d->event.n;
    e->dropped = d->dropped;
    e->more = more;
    d->dropped = 0;
    return true;
}

/* How many bytes at the end of s could begin a mark. */
static size_t partial_mark(const char *s, size_t n)
{
    size_t most = n < MARK - 1 ? n : MARK - 1;
    for (size_t k = most; k; k--)
        if (!memcmp(s + n - k, paste_end, k) || !memcmp(s + n - k, paste_begin, k)) return k;
    return 0;
}

/* Moves paste text out of `in`. True when it made an event. */
static bool paste_step(struct decoder *d, struct decoder_event *e)
{
    if (d->pasting == PASTE_INSIDE) {
        const char *s = d->in.bytes + d->used;
        size_t n = d->in.n - d->used;
        const char *end = n ? memmem(s, n, paste_end, MARK) : NULL;
        size_t text = end ? (size_t)(end - s) : n - partial_mark(s, n);
        paste_append(d, s, text);
        d->used += text;
        if (end) {
            d->used += MARK;
            d->pasting = PASTE_CLOSING;
            d->held = 0;
        } else if (d->now - d->last >= DECODER_PASTE_STALL_NS && d->paste.n) {
            return paste_event(d, e, true);
        }
    }
    while (d->pasting == PASTE_CLOSING) {
        const char *s = d->in.bytes + d->used;
        size_t n = d->in.n - d->used;
        size_t from = d->held > MARK ? d->held - MARK : 0;
        const char *mark = NULL;
        for (const char *p = s + from; n > from && (p = memchr(p, '\033', (size_t)(s + n - p))); p++)
            if ((size_t)(s + n - p) >= MARK && (!memcmp(p, paste_end, MARK) || !memcmp(p, paste_begin, MARK))) {
                mark = p;
                break;
            }
        d->held = n;
        if (mark) { /* the burst goes on with another mark: all before it was pasted too */
            bool begins = !memcmp(mark, paste_begin, MARK);
            paste_append(d, s, (size_t)(mark - s));
            d->used += (size_t)(mark - s) + MARK;
            d->held = 0;
            if (begins) {
                d->pasting = PASTE_INSIDE;
                return paste_step(d, e);
            }
            continue;
        }
        if (d->now - d->last < DECODER_PASTE_GAP_NS) return false;
        d->pasting = PASTE_NONE;
        return paste_event(d, e, false);
    }
    return false;
}

/* -- the loop ----------------------------------------------------------------------------------------------------- */

/* How long the unfinished sequence of n bytes at s may wait for its rest. */
static int64_t patience(const struct decoder *d, size_t n)
{
    bool typed = n <= 2 && !d->swallow && d->last >= d->expect_until; /* it may be a key */
    return typed ? d->options.esc_ns : d->options.sequence_ns;
}

bool decoder_feed(struct decoder *d, const char *bytes, size_t n, int64_t now_ns)
{
    d->now = now_ns;
    if (!n) return true;
    int64_t silence = now_ns - d->last;
    if (d->pasting == PASTE_INSIDE && n == 1 && *bytes == 3 && silence >= DECODER_PASTE_STALL_NS) {
        d->pasting = PASTE_DONE; /* its end mark got lost, and the user wants out */
        d->used = d->in.n;
        return true;
    }
    if (d->used) {
        memmove(d->in.bytes, d->in.bytes + d->used, d->in.n - d->used);
        d->in.n -= d->used;
        d->used = 0;
        d->stale = 0;
    }
    /* The caller may come late: pauses count from byte to byte, not from call to call. */
    if (d->pasting == PASTE_CLOSING && silence >= DECODER_PASTE_GAP_NS) d->pasting = PASTE_DONE;
    if (d->pasting == PASTE_NONE && d->in.n && silence >= patience(d, d->in.n)) d->stale = d->in.n;
    if (buffer_reserve(&d->in, n, NULL)) return false;
    memcpy(d->in.bytes + d->in.n, bytes, n);
    d->in.n += n;
    d->last = now_ns;
    return true;
}

/* Within a string answer that grew too long: drops up to its terminator. */
static void swallow(struct decoder *d, const char *s, size_t n, bool over)
{
    for (size_t i = 0; i < n; i++) {
        if (s[i] != 7 && s[i] != '\033') continue;
        if (s[i] == '\033' && i + 1 == n && !over) {
            d->used += i;
            return;
        }
        d->used += s[i] == '\033' && (i + 1 == n || s[i + 1] != '\\') ? i : s[i] == '\033' ? i + 2 : i + 1;
        d->swallow = false;
        return;
    }
    d->used += n;
    if (over) d->swallow = false;
}

bool decoder_next(struct decoder *d, struct decoder_event *e)
{
    for (;;) {
        if (d->pasting == PASTE_DONE) {
            d->pasting = PASTE_NONE;
            return paste_event(d, e, false);
        }
        if (d->pasting != PASTE_NONE) return paste_step(d, e);
        bool stale = d->stale > d->used;
        const char *s = d->in.bytes + d->used;
        size_t n = (stale ? d->stale : d->in.n) - d->used;
        if (!n) return false;
        bool over = stale || d->now - d->last >= patience(d, n);
        if (d->swallow) {
            size_t before = d->used;
            swallow(d, s, n, over);
            if (d->used == before && d->swallow) return false;
            continue;
        }
        if (*s != '\033') {
            const char *esc = memchr(s, '\033', n);
            begin_event(d, e, DECODER_BYTES);
            e->data = s;
            e->length = esc ? (size_t)(esc - s) : n;
            d->used += e->length;
            return true;
        }
        if (n >= MARK && !memcmp(s, paste_begin, MARK)) {
            d->used += MARK;
            d->pasting = PASTE_INSIDE;
            d->paste.n = 0;
            d->dropped = 0;
            continue;
        }
        size_t took = 0;
        enum outcome what = sequence(d, e, s, n, over, &took);
        if (what == WAIT) {
            if (!over) return false;
            what = give_up(d, e, s, n, &took);
        }
        d->used += took;
        if (what == EVENT) return true;
    }
}

int64_t decoder_deadline(const struct decoder *d)
{
    size_t n = d->in.n - d->used;
    switch (d->pasting) {
    case PASTE_DONE: return d->now;
    case PASTE_CLOSING: return d->last + DECODER_PASTE_GAP_NS;
    case PASTE_INSIDE: return d->paste.n ? d->last + DECODER_PASTE_STALL_NS : INT64_MAX;
    case PASTE_NONE: break;
    }
    if (d->swallow) return d->last + d->options.sequence_ns;
    return n ? d->last + patience(d, n) : INT64_MAX;
}

size_t decoder_pasting(const struct decoder *d)
{
    return d->pasting == PASTE_NONE ? 0 : d->paste.n + d->dropped + 1;
}
