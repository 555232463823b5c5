#include "tests/check.h"

#include "tests/ui/keys/decoder_log.h"

static const int64_t MS = 1000000;

struct rig {
    struct decoder *d;
    struct decoder_log log;
    int64_t now;
};

static struct rig open_rig(void)
{
    return (struct rig){.d = decoder_open(NULL), .now = 1000 * MS};
}

static void feed(struct rig *r, const char *bytes, size_t n)
{
    CHECK(decoder_feed(r->d, bytes, n, r->now));
    decoder_log_drain(&r->log, r->d);
}

static void wait_ms(struct rig *r, int ms)
{
    r->now += ms * MS;
    feed(r, NULL, 0);
}

static void expect(struct rig *r, const char *expected)
{
    if (r->log.in_bytes) {
        r->log.in_bytes = false;
        char *t = malloc(r->log.length + 2);
        memcpy(t, r->log.text, r->log.length);
        strcpy(t + r->log.length, ")");
        CHECK_STR(expected, t);
        free(t);
    } else {
        CHECK_STR(expected, r->log.text);
    }
    decoder_log_free(&r->log);
}

static void close_rig(struct rig *r)
{
    CHECK(decoder_deadline(r->d) == INT64_MAX);
    decoder_close(r->d);
    decoder_log_free(&r->log);
}

/* Bytes in, after enough time the events out. */
static void is(const char *bytes, const char *expected)
{
    for (int one = 0; one < 2; one++) { /* at once, and byte by byte */
        struct rig r = open_rig();
        size_t n = strlen(bytes);
        if (one)
            for (size_t i = 0; i < n; i++) feed(&r, bytes + i, 1);
        else
            feed(&r, bytes, n);
        wait_ms(&r, 600);
        expect(&r, expected);
        close_rig(&r);
    }
}

static void is_key(const char *bytes, enum key_code code, unsigned mods)
{
    char expected[64];
    snprintf(expected, sizeof expected, "key(%d,%u)", (int)code, mods);
    is(bytes, expected);
}

TEST(text_passes_through)
{
    is("abc\rd\003", "bytes(abc^Md^C)");
    is("\303\244\346\274\242\360\237\230\200", "bytes(\303\244\346\274\242\360\237\230\200)");
}

TEST(arrows_and_editing_keys)
{
    is_key("\033[A", KEYCODE_UP, 0);
    is_key("\033OB", KEYCODE_DOWN, 0);
    is_key("\033[1;5C", KEYCODE_RIGHT, KEYMOD_CTRL);
    is_key("\033[5D", KEYCODE_LEFT, KEYMOD_CTRL);
    is_key("\033\033[D", KEYCODE_LEFT, KEYMOD_ALT);
    is_key("\033Oc", KEYCODE_RIGHT, KEYMOD_CTRL);
    is_key("\033[a", KEYCODE_UP, KEYMOD_SHIFT);
    is_key("\033[H", KEYCODE_HOME, 0);
    is_key("\033OH", KEYCODE_HOME, 0);
    is_key("\033[1~", KEYCODE_HOME, 0);
    is_key("\033[7~", KEYCODE_HOME, 0);
    is_key("\033[1;5H", KEYCODE_HOME, KEYMOD_CTRL);
    is_key("\033[7^", KEYCODE_HOME, KEYMOD_CTRL);
    is_key("\033[8@", KEYCODE_END, KEYMOD_CTRL | KEYMOD_SHIFT);
    is_key("\033[4~", KEYCODE_END, 0);
    is_key("\033[5~", KEYCODE_PAGE_UP, 0);
    is_key("\033[6;2~", KEYCODE_PAGE_DOWN, KEYMOD_SHIFT);
    is_key("\033[5$", KEYCODE_PAGE_UP, KEYMOD_SHIFT);
    is_key("\033[3~", KEYCODE_DELETE, 0);
    is_key("\033[Z", KEYCODE_TAB, KEYMOD_SHIFT);
}

TEST(function_keys)
{
    is_key("\033OP", KEYCODE_F1, 0);
    is_key("\033[11~", KEYCODE_F1, 0);
    is_key("\033[[A", KEYCODE_F1, 0);
    is_key("\033[[E", KEYCODE_F1 + 4, 0);
    is_key("\033OQ", KEYCODE_F1 + 1, 0);
    is_key("\033[15~", KEYCODE_F1 + 4, 0);
    is_key("\033[24~", KEYCODE_F1 + 11, 0);
    is_key("\033[24;5~", KEYCODE_F1 + 11, KEYMOD_CTRL);
    is_key("\033[1;2P", KEYCODE_F1, KEYMOD_SHIFT);
    is_key("\033[1;2R", KEYCODE_F1 + 2, KEYMOD_SHIFT);
    is("\033[201~", ""); /* an end mark without a paste */
    is("\033[9999999999999999999~", "");
}

TEST(spelled_keys)
{
    is_key("\033[13;2u", KEYCODE_ENTER, KEYMOD_SHIFT);
    is_key("\033[27;2;13~", KEYCODE_ENTER, KEYMOD_SHIFT);
    is_key("\033\r", KEYCODE_ENTER, KEYMOD_ALT);
    is_key("\033[13;5u", KEYCODE_ENTER, KEYMOD_CTRL);
    is("\033[97;5u", "bytes(^A)");
    is("\033[99;5u", "bytes(^C)");
    is("\033[102;3u", "bytes(^[f)");
    is("\033[27u", "esc");
    is("\033[9u", "bytes(^I)");
    is("\033[57414u", "bytes(^M)");
    is("\033[57400u", "bytes(1)");
    is("\033[97;1:3u", ""); /* a release */
    is("\033[97;5:2u", "bytes(^A)");
    is("\033[97:65;2u", "bytes(A)");
    is("\033[57441;2u", ""); /* Shift by itself */
    is("\033[233u", "bytes(\303\251)");
    is_key("\033[57376u", KEYCODE_F1 + 12, 0);
    is_key("\033[127;5u", KEYCODE_BACKSPACE, KEYMOD_CTRL);
    is("\033[55296u\033[1114112u", ""); /* not characters */
}

TEST(keypad)
{
    is("\033Op\033Oy\033Ok\033OM", "bytes(09+^M)");
}

TEST(alt)
{
    is("\033f", "bytes(^[f)");
    is("\033\303\244", "bytes(^[\303\244)");
    is("\033\177", "bytes(^[^?)");
    is("\033]x", "bytes(^[]x)");
    is("\033PA", "bytes(^[PA)");
}

TEST(esc_waits_only_so_long)
{
    struct rig r = open_rig();
    feed(&r, "\033", 1);
    CHECK_INT(r.now + DECODER_ESC_NS, decoder_deadline(r.d));
    wait_ms(&r, 49);
    expect(&r, "");
    wait_ms(&r, 1);
    expect(&r, "esc");
    feed(&r, "\033", 1);
    r.now += 80 * MS; /* a late loop: the next bytes are there before the timeout was looked at */
    feed(&r, "[A", 2);
    expect(&r, "esc bytes([A)");
    feed(&r, "\033[", 2);
    wait_ms(&r, 50);
    expect(&r, "bytes(^[[)");
    feed(&r, "\033[1;", 4);
    wait_ms(&r, 60);
    feed(&r, "5C", 2); /* a slow line */
    expect(&r, "key(4,4)");
    feed(&r, "\033[1;", 4);
    wait_ms(&r, 600);
    feed(&r, "x", 1);
    expect(&r, "bytes(x)");
    feed(&r, "\033\033", 2);
    wait_ms(&r, 60);
    expect(&r, "esc esc");
    close_rig(&r);
}

TEST(another_delay)
{
    struct rig r = open_rig();
    decoder_set_esc(r.d, 200 * MS);
    feed(&r, "\033", 1);
    wait_ms(&r, 150);
    feed(&r, "[A", 2); /* on a slow line */
    expect(&r, "key(1,0)");
    feed(&r, "\033", 1);
    wait_ms(&r, 200);
    expect(&r, "esc");
    decoder_set_esc(r.d, 0); /* the default */
    feed(&r, "\033", 1);
    wait_ms(&r, 50);
    expect(&r, "esc");
    close_rig(&r);
}

/* Over a slow line the answer to a question comes byte by byte. */
TEST(a_slow_answer_types_nothing)
{
    static const char slow[] = "\033]11;rgb:ffff/ffff/ffff\033\\";
    struct rig r = open_rig();
    decoder_expect_string(r.d, r.now + 10000 * MS);
    for (size_t i = 0; i < sizeof slow - 1; i++) {
        feed(&r, slow + i, 1);
        wait_ms(&r, 200);
    }
    expect(&r, "answer(8:11;rgb:ffff/ffff/ffff)");
    feed(&r, "\033", 1); /* it has come: Esc is soon a key again */
    wait_ms(&r, 60);
    expect(&r, "esc");
    decoder_expect_string(r.d, r.now + 1000 * MS);
    feed(&r, "\033", 1); /* Esc, while an answer may come: later, but not lost */
    wait_ms(&r, 60);
    expect(&r, "");
    wait_ms(&r, 500);
    expect(&r, "esc");
    wait_ms(&r, 1000); /* no answer came */
    feed(&r, "\033", 1);
    wait_ms(&r, 60);
    expect(&r, "esc");
    decoder_close(r.d);
}

TEST(broken_sequences_do_not_eat_what_follows)
{
    is("\033[1;\033[A", "key(1,0)");
    is("\033[1;\003x", "bytes(^Cx)");
    is("\033]11;rgb\033[B", "key(2,0)");
}

TEST(mouse)
{
    is("\033[<0;10;5M\033[<0;10;5m\033[<64;1;1M\033[<65;1;1M\033[<35;2;3M\033[<18;1;1M",
       "mouse(0,1,4,9,0) mouse(1,1,4,9,0) mouse(3,-1,0,0,0) mouse(3,1,0,0,0) mouse(2,0,2,1,0) mouse(0,3,0,0,4)");
    is("\033[M !!", "mouse(0,1,0,0,0)");
    is("\033[<0;0;5M", "");
}

TEST(answers)
{
    is("\033[?62;22c", "answer(0,62,22)");
    is("\033[>41;354;0c", "answer(1,41,354,0)");
    is("\033[?2026;2$y", "answer(2,2026,2)");
    is("\033[12;40R", "answer(3,12,40)");
    is("\033P>|kitty(0.31)\033\\", "answer(4:kitty(0.31))");
    is("\033[?1u", "answer(5,1)");
    is("\033[I\033[O", "answer(6) answer(7)");
    is("\033]11;rgb:00/00/00\007", "answer(8:11;rgb:00/00/00)");
    is("a\033P1$r0m\033\\b", "bytes(a) answer(9:1$r0m) bytes(b)");
    is("\033[1;2R", "key(18,1)");
}

TEST(an_endless_answer_is_dropped)
{
    struct rig r = open_rig();
    feed(&r, "\033]11;", 5);
    for (int i = 0; i < 2000; i++) feed(&r, "abcdefgh", 8);
    feed(&r, "\033\\x", 3);
    expect(&r, "bytes(x)");
    close_rig(&r);
}

#define B "\033[200~"
#define E "\033[201~"

TEST(paste)
{
    is(B "hello\nworld" E, "paste(hello^Jworld)");
    is("a" B "b" E "c", "bytes(a) paste(b) bytes(c)");
    is(B E, "paste()");
    is(B "\033[A\003\004\032" E, "paste(^[[A^C^D^Z)");
    struct rig r = open_rig();
    feed(&r, B "x" E, 13);
    CHECK_INT(r.now + DECODER_PASTE_GAP_NS, decoder_deadline(r.d));
    CHECK(decoder_pasting(r.d) > 0);
    wait_ms(&r, 25);
    expect(&r, "paste(x)");
    CHECK_INT(0, decoder_pasting(r.d));
    close_rig(&r);
}

/* Marks within each other in one burst: what the silence behind them settles, one look settles. */
TEST(one_look_is_enough)
{
    static const char burst[] = B "a" E "b" B "c" E "d" B "e" E "f" B "g";
    struct decoder_event e;
    struct rig r = open_rig();
    decoder_feed(r.d, burst, sizeof burst - 1, r.now);
    CHECK(!decoder_next(r.d, &e));
    int64_t at = decoder_deadline(r.d);
    CHECK_INT(r.now + DECODER_PASTE_STALL_NS, at);
    decoder_feed(r.d, NULL, 0, at);
    CHECK(decoder_next(r.d, &e) && e.kind == DECODER_PASTE && e.more && e.length == 7 && !memcmp(e.data, "abcdefg", 7));
    close_rig(&r);
}

TEST(a_pasted_end_mark_types_nothing)
{
    is(B "nice" E "rm -rf\r" E, "paste(nicerm -rf^M)");
    is(B "nice" E "rm -rf\r" B "x" E, "paste(nicerm -rf^Mx)");
    is(B "a" E "b" E "c" E "\r", "paste(abc) bytes(^M)");
    is(B "a\033[201" E, "paste(a^[[201)");
    is(B "a\033[20\033[201~", "paste(a^[[20)");
    is(B B "a" E E, "paste(^[[200~a)");
}

TEST(a_broken_character_before_a_paste)
{
    is("\033\354" B "a\r" E, "bytes(^[\354) paste(a^M)");
    is("\033\360\237" B "a\r" E "b", "bytes(^[\360\237) paste(a^M) bytes(b)");
}

TEST(two_bursts_are_two)
{
    struct rig r = open_rig();
    feed(&r, B "a" E, 13);
    r.now += 30 * MS; /* no timeout was seen in between */
    feed(&r, "\r", 1);
    expect(&r, "paste(a) bytes(^M)");
    feed(&r, B "a" E, 13);
    r.now += 30 * MS;
    feed(&r, B "b" E, 13);
    wait_ms(&r, 30);
    expect(&r, "paste(a) paste(b)");
    close_rig(&r);
}

/* A paste whose end has not come, up to the hand-over of what has. */
static struct rig open_lost(const char *pasted)
{
    struct rig r = open_rig();
    char expected[64];
    feed(&r, B, 6);
    feed(&r, pasted, strlen(pasted));
    wait_ms(&r, 999);
    expect(&r, "");
    wait_ms(&r, 1);
    snprintf(expected, sizeof expected, "paste(%s more)", pasted);
    expect(&r, expected);
    CHECK_INT(0, decoder_pasting(r.d));
    CHECK(decoder_deadline(r.d) == INT64_MAX);
    return r;
}

TEST(typing_ends_a_paste_whose_end_is_lost)
{
    static const char *const typed[][2] = {
        {"x", "bytes(x)"},         {"\r", "bytes(^M)"},          {"\003", "bytes(^C)"}, {"\033[A", "key(1,0)"},
        {"more\r", "bytes(more^M)"}, {"\303\251t\303\251", "bytes(\303\251t\303\251)"}, {"\033", "esc"},
    };
    for (size_t i = 0; i < sizeof typed / sizeof *typed; i++) {
        struct rig r = open_lost("abc");
        wait_ms(&r, 3000);
        feed(&r, typed[i][0], strlen(typed[i][0]));
        wait_ms(&r, 25);
        wait_ms(&r, 50);
        expect(&r, typed[i][1]);
        feed(&r, "y\r", 2);
        expect(&r, "bytes(y^M)");
        close_rig(&r);
    }
}

TEST(a_paste_that_was_only_slow_goes_on)
{
    struct rig r = open_lost("abc");
    feed(&r, "def\rghi\r", 8); /* several lines are not typed at once */
    wait_ms(&r, 1000);
    expect(&r, "paste(def^Mghi^M more)");
    feed(&r, "x\003", 2);
    wait_ms(&r, 1000);
    expect(&r, "paste(x^C more)");
    feed(&r, "rm -rf\r" E, 13);
    wait_ms(&r, 25);
    expect(&r, "paste(rm -rf^M)");
    feed(&r, "\r", 1);
    expect(&r, "bytes(^M)");
    close_rig(&r);

    r = open_lost("abc"); /* the loop comes late, and sees no silence but between the bytes */
    r.now += 5000 * MS;
    for (const char *at = "d\re" E; *at; at++) feed(&r, at, 1);
    wait_ms(&r, 25);
    expect(&r, "paste(d^Me)");
    close_rig(&r);

    r = open_lost("abc"); /* what seemed to be typed was not: its mark comes in the same burst as the next */
    feed(&r, "def", 3);
    wait_ms(&r, 30);
    expect(&r, "bytes(def)");
    feed(&r, "!ls\r" E, 10);
    wait_ms(&r, 25);
    expect(&r, "paste(!ls^M)");
    close_rig(&r);
}

TEST(an_end_mark_in_two_pieces)
{
    struct rig r = open_rig();
    feed(&r, B "abc\033[20", 13);
    wait_ms(&r, 1500);
    expect(&r, "paste(abc more)");
    feed(&r, "1~\r", 3);
    wait_ms(&r, 25);
    expect(&r, "paste() bytes(^M)");
    close_rig(&r);
    r = open_rig();
    feed(&r, B "abc\033[20", 13); /* its rest never comes */
    wait_ms(&r, 1500);
    expect(&r, "paste(abc more)");
    feed(&r, "x", 1);
    wait_ms(&r, 25);
    expect(&r, "bytes(x)");
    close_rig(&r);
    r = open_rig();
    feed(&r, B, 6); /* nothing at all was pasted */
    wait_ms(&r, 1000);
    expect(&r, "paste( more)");
    feed(&r, "x", 1);
    wait_ms(&r, 25);
    expect(&r, "bytes(x)");
    close_rig(&r);
}

TEST(a_begin_mark_in_two_pieces)
{
    for (size_t cut = 1; cut < 6; cut++) {
        struct rig r = open_rig();
        feed(&r, B, cut);
        wait_ms(&r, 700);
        feed(&r, &(B "!ls\r" E)[cut], 16 - cut);
        wait_ms(&r, 600);
        if (cut == 1) expect(&r, "esc paste(!ls^M)");
        else if (cut == 2) expect(&r, "bytes(^[[) paste(!ls^M)");
        else expect(&r, "paste(!ls^M)");
        close_rig(&r);
    }
}

TEST(eight_bit_mode)
{
    is("\x9b?1c\x9b" "A", "answer(0,1) key(1,0)");
    is("\x9b?1c\xc2\x9b" "1;5C", "answer(0,1) key(4,4)");
    is("\x9b?1c\x8fP", "answer(0,1) key(16,0)");
    is("\x9b" "A\x8fP\x9b", "bytes(\x9b" "A\x8fP\x9b)"); /* no UTF-8, as long as nothing speaks for that mode */
    is("\x9b?62;22c\xc2\x9b>84;0;0c", "answer(0,62,22) answer(1,84,0,0)");
    is("\x9d" "11;rgb:00/00/00\x9c" "a", "answer(8:11;rgb:00/00/00) bytes(a)");
    is("\xc2\x9d" "11;rgb:00/00/00\xc2\x9c", "answer(8:11;rgb:00/00/00)");
    is("\x90>|kitty(0.31)\x9c", "answer(4:kitty(0.31))");
    is("\x9b" "200~a\rb\x9b" "201~\r", "paste(a^Mb) bytes(^M)");
    is("\xc2\x9b" "200~a\rb\xc2\x9b" "201~", "paste(a^Mb)");
    is(B "a\rb\x9b" "201~c", "paste(a^Mb) bytes(c)");
    /* in a character it is none */
    is("\xe8\x9b\x9b" "A\xc3\x9b", "bytes(\xe8\x9b\x9b" "A\xc3\x9b)");
    is(B "\xe8\x9b\x9b" "201~\xc3\x9b" "201~" E, "paste(\xe8\x9b\x9b" "201~\xc3\x9b" "201~)");
    struct rig r = open_rig();
    feed(&r, "\xe8\x9b", 2); /* nor where the line is slow */
    wait_ms(&r, 200);
    feed(&r, "\x9b" "A", 2);
    expect(&r, "bytes(\xe8\x9b\x9b" "A)");
    close_rig(&r);
}

/* Whatever has come of an answer, and whenever the rest comes: it is never typed. */
TEST(the_rest_of_an_answer_types_nothing)
{
    static const char *const answers[] = {"\033]11;rgb:1e1e/1e1e/1e1e\033\\", "\033]11;rgb:1e1e/1e1e/1e1e\007",
                                          "\033[?2026;2$y", "\033[>84;0;0c", "\033[?62;22c",
                                          "\033P>|XTerm(388)\033\\"};
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        const char *a = answers[i];
        for (size_t cut = 1, n = strlen(a); cut < n; cut++) {
            struct rig r = open_rig();
            feed(&r, a, cut);
            wait_ms(&r, 1200);
            feed(&r, a + cut, n - cut);
            feed(&r, "x", 1);
            wait_ms(&r, 1200);
            char *last = r.log.text + strlen(r.log.text) - 1; /* cut at 2, Alt with a character came before */
            CHECK(*last == 'x' && (last[-1] == '(' || cut == 2));
            *last = 0;
            bool rest = strstr(r.log.text, "1e") || strstr(r.log.text, "2") || strstr(r.log.text, "Term");
            if (rest) CHECK_FAIL("'%s' cut at %zu: %s", a + 1, cut, r.log.text);
            decoder_log_free(&r.log);
            close_rig(&r);
        }
    }
}

TEST(typing_behind_a_broken_answer_is_typing)
{
    struct rig r = open_rig();
    feed(&r, "\033]11;rgb:1e1e/1e1e/1e1ehi", 25); /* the end got lost, in the same read */
    wait_ms(&r, 600);
    expect(&r, "answer(11) bytes(hi)");
    feed(&r, "x", 1);
    expect(&r, "bytes(x)");
    feed(&r, "\033]11;rgb:1e1e/", 14);
    wait_ms(&r, 600);
    expect(&r, "answer(11)");
    feed(&r, "a", 1); /* a key, although the answer might go on like that */
    wait_ms(&r, 600);
    expect(&r, "bytes(a)");
    feed(&r, "\033]11;rgb:1e1e/", 14);
    wait_ms(&r, 600);
    expect(&r, "answer(11)");
    feed(&r, "1e1e/", 5); /* in three pieces */
    wait_ms(&r, 600);
    feed(&r, "1e1e\033\\b", 7);
    expect(&r, "bytes(b)");
    feed(&r, "\033]11;rgb:1e1e/", 14);
    wait_ms(&r, 600);
    expect(&r, "answer(11)");
    wait_ms(&r, 20000);
    feed(&r, "cafe", 4); /* long after it */
    expect(&r, "bytes(cafe)");
    close_rig(&r);
}

TEST(a_large_paste)
{
    size_t n = 3 << 20;
    char *text = malloc(n + 16);
    strcpy(text, B);
    memset(text + 6, 'x', n);
    for (size_t i = 6; i < n; i += 61) text[i] = '\033'; /* many false starts */
    memcpy(text + 6 + n, E, 6);
    struct decoder *d = decoder_open(NULL);
    struct decoder_event e;
    size_t events = 0;
    for (size_t i = 0; i < n + 12; i += 4096) {
        CHECK(decoder_feed(d, text + i, n + 12 - i < 4096 ? n + 12 - i : 4096, 1));
        while (decoder_next(d, &e)) events++;
    }
    CHECK_INT(0, events);
    decoder_feed(d, NULL, 0, decoder_deadline(d));
    REQUIRE(decoder_next(d, &e));
    CHECK_INT(DECODER_PASTE, e.kind);
    CHECK_INT(n, e.length);
    CHECK(!memcmp(e.data, text + 6, n));
    CHECK(!decoder_next(d, &e));
    decoder_close(d);
    struct decoder_options small = {.paste_limit = 100};
    d = decoder_open(&small);
    decoder_feed(d, text, n + 12, 1);
    decoder_next(d, &e);
    decoder_feed(d, NULL, 0, decoder_deadline(d));
    REQUIRE(decoder_next(d, &e));
    CHECK_INT(100, e.length);
    CHECK_INT(n - 100, e.dropped);
    decoder_close(d);
    free(text);
}

static const char *fake_terminfo(void *context, const char *name)
{
    (void)context;
    if (!strcmp(name, "kf1")) return "\033[V!";
    if (!strcmp(name, "kUP5")) return "\033[9;9z";
    if (!strcmp(name, "kcub1")) return "\010"; /* not an escape sequence: must not steal the byte */
    return strcmp(name, "kend") ? NULL : (const char *)-1;
}

TEST(terminfo)
{
    struct rig r = open_rig();
    decoder_add_terminfo(r.d, fake_terminfo, NULL);
    feed(&r, "\033[V!\033[9;9z\010", 11);
    char expected[64];
    snprintf(expected, sizeof expected, "key(%d,0) key(%d,4) bytes(^H)", KEYCODE_F1, KEYCODE_UP);
    expect(&r, expected);
    close_rig(&r);
}

TEST(cuts_make_no_difference)
{
    uint64_t seed = 1;
    static const char *const bits[] = {"\033",    "[",      "O", "200~", "201~", B,   E,     "<0;1;1M", "\033]1;",
                                       "\007",    "\033\\", "a", "\r",   ";",    "1", "5",   "~",       "u",
                                       "\033P>|", "?",      "$", "y",    "\303", "M", "\003",
                                       "\x9b",    "\xc2",   "\xe8\x9b", "\x9c", "\x9d", ">41;0c", "\x9b?1c"};
    for (int round = 0; round < 3000; round++) {
        char text[256];
        size_t n = 1;
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        text[0] = (char)(seed >> 40);
        while (n < 200) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            const char *bit = bits[(seed >> 33) % (sizeof bits / sizeof *bits)];
            size_t l = strlen(bit);
            memcpy(text + n, bit, l);
            n += l;
            if ((seed >> 60) == 0) break;
        }
        struct decoder_log logs[2] = {{0}, {0}};
        for (int k = 0; k < 2; k++) {
            struct decoder *d = decoder_open(NULL);
            size_t cut = k ? 1 + (size_t)(round % 7) : n;
            for (size_t i = 0; i < n; i += cut) {
                decoder_feed(d, text + i, n - i < cut ? n - i : cut, 1);
                decoder_log_drain(&logs[k], d);
            }
            for (int i = 0; i < 8 && decoder_deadline(d) != INT64_MAX; i++) {
                decoder_feed(d, NULL, 0, decoder_deadline(d));
                decoder_log_drain(&logs[k], d);
            }
            CHECK(decoder_deadline(d) == INT64_MAX);
            decoder_close(d);
        }
        CHECK_STR(logs[0].text, logs[1].text);
        decoder_log_free(&logs[0]);
        decoder_log_free(&logs[1]);
    }
}

TEST_MAIN(T(text_passes_through), T(arrows_and_editing_keys), T(function_keys), T(spelled_keys), T(keypad), T(alt),
          T(esc_waits_only_so_long), T(another_delay), T(a_slow_answer_types_nothing),
          T(broken_sequences_do_not_eat_what_follows), T(mouse),
          T(answers), T(an_endless_answer_is_dropped), T(paste), T(one_look_is_enough),
          T(a_pasted_end_mark_types_nothing),
          T(a_broken_character_before_a_paste), T(two_bursts_are_two), T(typing_ends_a_paste_whose_end_is_lost),
          T(a_paste_that_was_only_slow_goes_on), T(an_end_mark_in_two_pieces), T(a_begin_mark_in_two_pieces),
          T(eight_bit_mode), T(the_rest_of_an_answer_types_nothing), T(typing_behind_a_broken_answer_is_typing),
          T(a_large_paste),
          T(terminfo), T(cuts_make_no_difference))
