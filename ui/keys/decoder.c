/* The state machine of decoder.h.
 *
 * Fed bytes are appended to `in` and consumed by decoder_next(), one event at a time; `in` holds only what has not been
 * turned into an event. Sequences are looked at whole, from their Esc on, each time more bytes have come: they are
 * short (the longest kind, a string answer, is cut at STRING_MAX), so nothing has to be remembered between feeds but a
 * few flags. A paste is moved out of `in` as it comes, and its marks are looked for in what is new: linear time.
 */
#include "ui/keys/decoder.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/buffer.h"
#include "engine/base/utf8.h"
#include "ui/keys/answer_form.h"
#include "ui/keys/eight_bit.h"
#include "ui/keys/key_form.h"
#include "ui/keys/paste_mark.h"
#include "ui/keys/torn.h"

static const char paste_begin[] = "\033[200~";

enum { SEQUENCE_MAX = 64, STRING_MAX = 4096, TABLE_MAX = 256 };

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
    PASTE_STALLED, /* silence: what has come is to be handed over */
    PASTE_LOST,    /* it was handed over: the next burst shows whether the paste goes on */
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
    size_t held;          /* CLOSING, LOST: bytes of `in` from `used` on that have been searched for marks */
    size_t tail;          /* STALLED, LOST: bytes of `in` from `used` on that came before the silence */
    bool lost;            /* a paste's end has not come: a mark without a beginning may still be it */
    bool eight_bit;       /* the terminal is in 8-bit mode: it has sent what only such a one sends */
    int owed;             /* bytes that the last character given out as text lacked */
    size_t stale;         /* bytes of `in` up to here came before a pause: they can't go on into what came after */
    int64_t now, last;    /* time of this feed and of the last one with bytes */
    int64_t expect_until; /* a string answer may come until then */
    bool swallow;         /* within a string answer that grew too long: drop up to its end */
    struct torn torn;     /* the sequence that broke off last */
    int64_t torn_ns;      /* what is in `in` may be its rest: so long it waits; 0: no */
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
 * readline and its bindings see what they always saw, and KEY where the spelling says more. */
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
        if (final == '~') return key_event(d, e, key_form_tilde(params[0]), mods, s, n) ? EVENT : DROP;
        if (final == '^') return key_event(d, e, key_form_tilde(params[0]), mods | KEYMOD_CTRL, s, n) ? EVENT : DROP;
        if (final == '@')
            return key_event(d, e, key_form_tilde(params[0]), mods | KEYMOD_CTRL | KEYMOD_SHIFT, s, n) ? EVENT : DROP;
        if (final == '$') return key_event(d, e, key_form_tilde(params[0]), mods | KEYMOD_SHIFT, s, n) ? EVENT : DROP;
        if (final == 'Z') return key_event(d, e, KEYCODE_TAB, mods | KEYMOD_SHIFT, s, n) ? EVENT : DROP;
        if (count == 0 && final >= 'a' && final <= 'd') /* rxvt: shifted arrows */
            return key_event(d, e, key_form_letter((char)(final - 32)), mods | KEYMOD_SHIFT, s, n) ? EVENT : DROP;
        if (count == 0 && (final == 'I' || final == 'O')) {
            begin_event(d, e, DECODER_ANSWER);
            e->answer = final == 'I' ? DECODER_FOCUS_IN : DECODER_FOCUS_OUT;
            return EVENT;
        }
        bool cursor = final == 'R' && count == 2 && params[0] != 1; /* else Shift-F3, which looks the same */
        if (!cursor && key_form_letter(final) != KEYCODE_NONE && (count == 0 || params[0] == 1))
            return key_event(d, e, key_form_letter(final), mods, s, n) ? EVENT : DROP;
        /* Some terminals leave the first parameter out: CSI 5 C is Ctrl-Right. */
        if (count == 1 && final >= 'A' && final <= 'D' && params[0] >= 2 && params[0] <= 16)
            return key_event(d, e, key_form_letter(final), alt | (unsigned)(params[0] - 1), s, n) ? EVENT : DROP;
        if (final == 'R' && count == 2) {
            begin_event(d, e, DECODER_ANSWER);
            e->answer = DECODER_CURSOR;
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
        if (c == 0x9c) return *text_end = i - (i > 2 && s[i - 1] == '\xc2'), i + 1; /* 8-bit mode's end */
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
            return key_event(d, e, key_form_letter((char)(c - 32)), mods | KEYMOD_CTRL, s, i + 1) ? EVENT : DROP;
        if (c == 'M') return bytes_event(d, e, "\r", 1) ? EVENT : DROP;
        enum key_code code = key_form_letter(c);
        if (code != KEYCODE_NONE) return key_event(d, e, code, mods, s, i + 1) ? EVENT : DROP;
        char byte = key_form_keypad(c);
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
    size_t length;
    *took = n;
    if (n == 2 && s[1] == '\033') *took = 1;
    enum answer_form form = n > 2 ? answer_form(s, n, &length) : ANSWER_FORM_NONE;
    if (n > 2 && form == ANSWER_FORM_NONE && length > 2) *took = length; /* what follows was typed */
    torn_keep(&d->torn, s, *took, d->now);
    if (*took == 1) return begin_event(d, e, DECODER_ESC), EVENT;
    if (n == 2) return bytes_event(d, e, s, 2) ? EVENT : DROP;
    if (!s[1] || !strchr("]P_^X", s[1])) return DROP;
    begin_event(d, e, DECODER_ANSWER);
    e->answer = DECODER_BROKEN;
    return EVENT;
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

/* Within a paste: text up to its end mark, or all that can be none. */
static void paste_inside(struct decoder *d)
{
    const char *s = d->in.bytes + d->used;
    size_t n = d->in.n - d->used, at = 0, length = 0, from = 0;
    enum paste_mark mark;
    while ((mark = paste_mark_find(s, n, from, &at, &length)) == PASTE_MARK_BEGIN) from = at + length;
    size_t text = mark ? at : n - paste_mark_partial(s, n);
    paste_append(d, s, text);
    d->used += text;
    d->held = 0;
    if (mark) {
        d->used += length;
        d->pasting = PASTE_CLOSING;
    } else if (d->now - d->last >= DECODER_PASTE_STALL_NS) {
        d->pasting = PASTE_STALLED;
        d->tail = d->in.n - d->used;
    }
}

/* The next mark in what has come behind an end mark or a silence; all before it was pasted too. */
static enum paste_mark paste_goes_on(struct decoder *d)
{
    enum { CONTEXT = PASTE_MARK_MAX + 3 }; /* a mark, and the character that its first byte may be part of */
    const char *s = d->in.bytes + d->used;
    size_t n = d->in.n - d->used, from = d->held > CONTEXT ? d->held - CONTEXT : 0, at, length;
    enum paste_mark mark = paste_mark_find(s, n, from, &at, &length);
    d->held = n;
    if (!mark) return mark;
    paste_append(d, s, at);
    d->used += at + length;
    d->held = 0;
    return mark;
}

/* What came in one burst after the silence: keys, or more of the paste? A key comes alone; of longer text only a single
 * line can have been typed, and no control character but the Enter at its end. */
static bool was_typed(const char *s, size_t n)
{
    enum { LIMIT = 256, LONGEST_KEY = 16 };
    if (n == 1) return true;
    if (*s == '\033') return n <= LONGEST_KEY && !memchr(s + 2, '\033', n - 2);
    if (s[n - 1] == '\r' || s[n - 1] == '\n') n--;
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)s[i] < 0x20 || s[i] == 0x7f) return false;
    return n <= LIMIT;
}

/* After the silence. A mark shows that the paste has only been slow. */
static void paste_lost(struct decoder *d)
{
    size_t n = d->in.n - d->used;
    if (n == d->tail) return;
    enum paste_mark mark = paste_goes_on(d);
    if (mark) {
        d->pasting = mark == PASTE_MARK_END ? PASTE_CLOSING : PASTE_INSIDE;
        return;
    }
    if (d->now - d->last < DECODER_PASTE_GAP_NS) return;
    bool typed = was_typed(d->in.bytes + d->used + d->tail, n - d->tail);
    d->pasting = typed ? PASTE_NONE : PASTE_INSIDE;
    d->lost = typed;
    if (typed) d->used += d->tail; /* it would have been the end mark */
}

/* Moves paste text out of `in`. True when it made an event, false with PASTE_NONE or when more has to come. */
static bool paste_step(struct decoder *d, struct decoder_event *e)
{
    enum paste_state before = PASTE_DONE;
    for (size_t used = 0; d->pasting != before || d->used != used;) { /* as long as there is something to do */
        before = d->pasting;
        used = d->used;
        if (d->pasting == PASTE_INSIDE) paste_inside(d);
        if (d->pasting == PASTE_STALLED) {
            d->pasting = PASTE_LOST;
            d->held = 0;
            return paste_event(d, e, true);
        }
        if (d->pasting == PASTE_LOST) paste_lost(d);
        if (d->pasting != PASTE_CLOSING) continue;
        for (enum paste_mark mark; (mark = paste_goes_on(d));)
            if (mark == PASTE_MARK_BEGIN) {
                d->pasting = PASTE_INSIDE;
                break;
            }
        if (d->pasting == PASTE_CLOSING && d->now - d->last >= DECODER_PASTE_GAP_NS) {
            d->pasting = PASTE_NONE;
            return paste_event(d, e, false);
        }
    }
    return false;
}

static void begin_paste(struct decoder *d)
{
    d->pasting = PASTE_INSIDE;
    d->paste.n = d->dropped = 0;
    d->lost = false;
}

/* -- 8-bit mode ---------------------------------------------------------------------------------------------------- */

/* Puts Esc and a letter, which all terminals but those in 8-bit mode send, in the place of such a character. */
static bool rewrite_introducer(struct decoder *d)
{
    size_t length;
    unsigned char control = eight_bit_introducer(d->in.bytes + d->used, d->in.n - d->used, &length);
    if (length == 1) {
        if (buffer_reserve(&d->in, 1, NULL)) return false;
        memmove(d->in.bytes + d->used + 1, d->in.bytes + d->used, d->in.n - d->used);
        d->in.n++;
        if (d->stale > d->used) d->stale++;
    }
    d->in.bytes[d->used] = '\033';
    d->in.bytes[d->used + 1] = (char)(control - 0x40);
    return true;
}

/* -- the loop ----------------------------------------------------------------------------------------------------- */

/* How long the unfinished sequence of n bytes at s may wait for its rest. */
static int64_t patience(const struct decoder *d, size_t n)
{
    if (d->torn_ns) return d->torn_ns;
    bool typed = n <= 2 && !d->swallow && d->last >= d->expect_until; /* it may be a key */
    return typed ? d->options.esc_ns : d->options.sequence_ns;
}

bool decoder_feed(struct decoder *d, const char *bytes, size_t n, int64_t now_ns)
{
    d->now = now_ns;
    if (!n) return true;
    int64_t silence = now_ns - d->last;
    if (d->used) {
        memmove(d->in.bytes, d->in.bytes + d->used, d->in.n - d->used);
        d->in.n -= d->used;
        d->used = 0;
        d->stale = 0;
    }
    /* The caller may come late: pauses count from byte to byte, not from call to call. */
    if (d->pasting == PASTE_CLOSING && silence >= DECODER_PASTE_GAP_NS) d->pasting = PASTE_DONE;
    if (d->pasting == PASTE_INSIDE && silence >= DECODER_PASTE_STALL_NS) {
        d->pasting = PASTE_STALLED;
        d->tail = d->in.n;
    }
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

/* Is s the rest of a sequence that broke off? If so, its bytes are used. False: more has to come before that is
 * known. */
static bool take_torn(struct decoder *d, const char *s, size_t n, bool stale)
{
    size_t took = 0;
    bool patient;
    enum torn_verdict what = torn_look(&d->torn, s, n, d->now, &took, &patient);
    d->torn_ns = what != TORN_WAIT ? 0 : patient ? d->options.sequence_ns : d->options.esc_ns;
    if (what == TORN_WAIT) {
        if (!stale && d->now - d->last < d->torn_ns) return false;
        d->torn_ns = 0;
        took = torn_settle(&d->torn, s, n, d->now);
    }
    d->used += took;
    if (what == TORN_PASTE) begin_paste(d);
    return true;
}

/* Where a key has ended a paste, and the paste's end mark follows in the same burst after all: that was no key. */
static void find_lost_end(struct decoder *d)
{
    size_t at, length;
    if (paste_mark_find(d->in.bytes + d->used, d->in.n - d->used, 0, &at, &length) != PASTE_MARK_END) return;
    begin_paste(d);
}

bool decoder_next(struct decoder *d, struct decoder_event *e)
{
    for (;;) {
        if (d->pasting == PASTE_DONE) {
            d->pasting = PASTE_NONE;
            return paste_event(d, e, false);
        }
        if (d->lost) find_lost_end(d);
        if (d->pasting != PASTE_NONE) {
            if (paste_step(d, e)) return true;
            if (d->pasting != PASTE_NONE) return false;
        }
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
        if (d->torn.n) {
            if (!take_torn(d, s, n, stale)) return false;
            if (d->used != (size_t)(s - d->in.bytes)) continue;
        }
        if (*s != '\033') {
            size_t length, text = eight_bit_text(s, n, over, &d->owed);
            bool control = !text && eight_bit_introducer(s, n, &length);
            enum answer_form form = control && !d->eight_bit ? eight_bit_evidence(s, n) : ANSWER_FORM_WHOLE;
            if (control && !over && (form == ANSWER_FORM_PART || form == ANSWER_FORM_LOOSE)) return false;
            if (control && (form == ANSWER_FORM_PART || form == ANSWER_FORM_WHOLE)) {
                d->eight_bit = true;
                if (!rewrite_introducer(d)) d->used += length;
                continue;
            }
            if (control) text = length; /* no UTF-8 */
            if (!text) return false; /* a character of which not all has come */
            begin_event(d, e, DECODER_BYTES);
            e->data = s;
            e->length = text;
            d->used += text;
            return true;
        }
        if (n >= sizeof paste_begin - 1 && !memcmp(s, paste_begin, sizeof paste_begin - 1)) {
            d->used += sizeof paste_begin - 1;
            begin_paste(d);
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
    case PASTE_DONE: case PASTE_STALLED: return d->now;
    case PASTE_CLOSING: return d->last + DECODER_PASTE_GAP_NS;
    case PASTE_INSIDE: return d->last + DECODER_PASTE_STALL_NS;
    case PASTE_LOST: return n > d->tail ? d->last + DECODER_PASTE_GAP_NS : INT64_MAX;
    case PASTE_NONE: break;
    }
    if (d->swallow) return d->last + d->options.sequence_ns;
    return n ? d->last + patience(d, n) : INT64_MAX;
}

size_t decoder_pasting(const struct decoder *d)
{
    return d->pasting == PASTE_NONE || d->pasting == PASTE_LOST ? 0 : d->paste.n + d->dropped + 1;
}
