#include "tests/check.h"

#include "tests/ui/edit/play.h"

#define B "\033[200~"
#define E "\033[201~"
#define UP "\033[A"
#define DOWN "\033[B"
#define LEFT "\033[D"
#define HOME "\033[H"
#define END "\033[F"
#define VI "set editing-mode vi\n"

static const char *const past[] = {"first", "second one", "third\nof two lines", NULL};

static const char *with_past(const char *script)
{
    return play(&(struct play){.history = past}, script);
}

TEST(typing_and_sending)
{
    CHECK_STR("hello|", keys("hello"));
    CHECK_STR("SUBMIT(hello) => |", keys("hello\r"));
    CHECK_STR("SUBMIT(a) SUBMIT(b) => c|", keys("a\rb\rc")); /* what is typed behind Enter is the next draft */
    CHECK_STR("SUBMIT() => |", keys("\r"));
    CHECK_STR("\303\244\346\274\242|", keys("\303\244\346\274\242"));
    CHECK_STR("\346\274\242|", keys("\346" READ "\274" READ "\242"));
    CHECK_STR("a\357\277\275b|", keys("a\233b")); /* no UTF-8 */
    CHECK_STR("ab|", keys("a\033\303\244b"));     /* Alt with a character, unbound */
    CHECK_STR("ab|", keys("a\033\342\202\254b"));
    CHECK_STR("|", keys("\0333x\025"));
    CHECK_STR("\357\277\275_\357\277\275|", keys("\350" READ "_\233"));
    CHECK_STR("\346\274\242|", keys("\026\346\274\242"));
}

TEST(new_lines)
{
    CHECK_STR("a$b|", keys("a\nb"));
    CHECK_STR("a$b|", keys("a\033\rb"));
    CHECK_STR("a$b|", keys("a\033[13;2ub"));
    CHECK_STR("a$b|", keys("a\033[27;2;13~b"));
    CHECK_STR("a$b|", keys("a\\\rb"));
    CHECK_STR("SUBMIT(a\\) => |", keys("a\\\\\r"));
    CHECK_STR("SUBMIT(a$b) => |", keys("a\\\rb\r"));
    CHECK_STR("a\\|", keys("a\\\r\037")); /* one undo step */
}

TEST(editing)
{
    CHECK_STR("one |", keys("one two\027"));
    CHECK_STR("one twotwo|", keys("one two\027\031\031"));
    CHECK_STR("two|", keys("one\025two\025\031"));
    CHECK_STR("one|", keys("one\025two\001\013\031\033y"));
    CHECK_STR("two|", keys("one\025two\001\013\031\033y\033y"));
    CHECK_STR("|one two", keys("one two" HOME));
    CHECK_STR("one two|", keys("one two" HOME END));
    CHECK_STR("one |two", keys("one two\033b"));
    CHECK_STR("one |two", keys("one two\033[1;5D"));
    CHECK_STR("one |two", keys("one two\033\033[D")); /* rxvt's Alt-Left, bound to nothing */
    CHECK_STR("xone|", keys("one" HOME "x" END));
    CHECK_STR("on|", keys("one\033[D\033[3~"));
    CHECK_STR("xxxx|", keys("\0334x"));
    CHECK_STR("^C|", keys("\026\003")); /* ^V quotes even Ctrl-C */
    CHECK_STR("INTERRUPT => a^Cb|", keys("a\026\003b\003"));
    CHECK_STR("abab|", keys("\030(ab\030)\030e"));
}

TEST(unknown_keys_insert_nothing)
{
    CHECK_STR("ab|", keys("a\033[25~b")); /* F13 */
    CHECK_STR("ab|", keys("a\033[1;7Pb"));
    CHECK_STR("ab|", keys("a\030" UP "b")); /* breaks off the prefix; nothing above */
}

TEST(aborts_that_readline_would_not_survive)
{
    CHECK_STR("|", keys("+\177\023\030\033" WAIT)); /* a prefix within a search, then Esc */
    CHECK_STR("a|", keys("\023\030q" WAIT "a"));
    CHECK_STR("xz|", keys_with("\"\\C-o\": \"x\\C-xqz\"\n", "\017")); /* an unbound sequence within a macro */
    CHECK_STR("xz|", keys_with("\"\\C-o\": \"x\\C-x\\C-gz\"\n", "\017"));
    CHECK_STR("xz|", keys_with("\"\\C-o\": \"x\\e4\\C-gz\"\n", "\017"));
    CHECK_STR("|ab", keys_with(VI, "ab\033h")); /* Esc and h in one read are Esc and h */
    CHECK_STR("|ab", keys_with(VI, "ab\033" WAIT "\033h"));
}

/* A mark that the line's changes have left within a character. */
TEST(the_cursor_stands_before_a_character)
{
    CHECK_STR("|\303\244b", keys("a\033 b\001\004\303\244\030\030"));
}

/* Backspace at the draft's beginning marks the last attachment, once more takes it back; any other key unmarks it. */
TEST(backspace_and_attachments)
{
#define CHIPS(script) play(&(struct play){.chips = true, .inputrc = ""}, script)
    CHECK_STR("RUB_CHIP => |", CHIPS("\177\177"));
    CHECK_STR("RUB_CHIP => |", CHIPS("\177" READ "\177"));
    CHECK_STR("RUB_CHIP RUB_CHIP => |", CHIPS("\177\177\177\177"));
    CHECK_STR("|", CHIPS("\177"));
    CHECK_STR("|", CHIPS("\177x\177"));
    CHECK_STR("|", CHIPS("\177\001\177\005"));
    CHECK_STR("RUB_CHIP => |", CHIPS("x\177\177\177"));
    CHECK_STR("RUB_CHIP => |text", CHIPS("text\001\177\177"));
    CHECK_STR("|", CHIPS("\177" B "x" E WAIT "\177"));
    CHECK_STR("RUB_CHIP => |", play(&(struct play){.chips = true, .inputrc = VI}, "\177\177"));
    CHECK_STR("|", keys("\177\177"));
#undef CHIPS
}

TEST(undo)
{
    CHECK_STR("ab|", keys("ab" B "pasted text\nmore" E WAIT "\037"));
    CHECK_STR("abpasted|", keys("ab" B "pasted" E WAIT "c\037"));
    CHECK_STR("|", keys(B "pasted" E WAIT "\030\025"));
}

TEST(paste_is_text)
{
    CHECK_STR("a$b|", keys(B "a\r\nb" E));
    CHECK_STR("^[[A^C|", keys(B "\033[A\003" E));
    CHECK_STR("x\357\277\275y|", keys(B "x\377y" E));
    CHECK_STR("SUBMIT[pasted](/quit) => |", keys(B "/quit" E WAIT "\r"));
    CHECK_STR("SUBMIT(/quit) => |", keys("/quit\r"));
    CHECK_STR("SUBMIT(/quit) => |", keys("/" B "quit" E WAIT "\r"));
    CHECK_STR("SUBMIT(/a) => |", keys(B "a" E WAIT "\001/\r"));
    CHECK_STR("SUBMIT(/b) => |", keys(B "/a" E WAIT "\025/b\r"));
    CHECK_STR("ab|", keys("a\030" B "b" E WAIT));
    CHECK_STR("ab|", keys("a\026" B "b" E WAIT));
    CHECK_STR("ab|", keys(B "a" E B "b" E)); /* one burst */
}

TEST(history)
{
    CHECK_STR("third$of two lines|", with_past(UP));
    CHECK_STR("third|$of two lines", with_past(UP UP)); /* by line first */
    CHECK_STR("second one|", with_past(UP UP UP));
    CHECK_STR("draft|", with_past("draft" UP UP UP DOWN DOWN DOWN));
    CHECK_STR("second one|", with_past("\020\020\020"));
    CHECK_STR("SUBMIT(new) => new|", with_past("new\r" UP));
    CHECK_STR("SUBMIT(second one!) => second one|",
              with_past(UP UP UP "!\r" UP UP UP UP)); /* the old entry is as it was */
    CHECK_STR("SUBMIT(second one) => third$of two lines|", with_past(UP UP UP "\r" UP UP));
}

#define PREFIX "\"\\C-o\": history-search-backward\n\"\\C-q\": history-substring-search-backward\n"
#define UNDO "\037"

static const char *const lines[] = {"first", "second one", "third", NULL};

static const char *past_with(const char *inputrc, const char *script)
{
    return play(&(struct play){.inputrc = inputrc, .history = lines}, script);
}

/* Each line keeps its own undo list, whatever is shown in between. */
TEST(lines_keep_their_undo)
{
    CHECK_STR("a|", past_with(NULL, "a" B "bc" E WAIT "\020\020\016\016" UNDO));
    CHECK_STR("|", past_with(NULL, "a" B "bc" E WAIT "\020\020\016\016" UNDO UNDO UNDO));
    CHECK_STR("second one|", past_with(NULL, "\020\020" B "!" E WAIT "\020\016" UNDO UNDO UNDO));
    CHECK_STR("second one!|", past_with(NULL, "\020\020!\020\016"));
    CHECK_STR("SUBMIT(first) => second one!|", past_with(NULL, "\020\020!\020\r\020\020\020"));
    CHECK_STR("SUBMIT(first) => second one|",
              past_with("set revert-all-at-newline on\n", "\020\020!\020\r\020\020\020"));
    CHECK_STR("SUBMIT(second one!) => second one|", past_with(NULL, "\020\020!\r\020\020\020"));
    CHECK_STR("SUBMIT(first!?) => first|", past_with(VI, "\033" WAIT "kkkA!\033" WAIT "A?\r\033" WAIT "kkkkA"));
    CHECK_STR("dr|",
              past_with(VI, "draft\033" WAIT "hhc$" UP "x" DOWN "\033" WAIT "uA")); /* a change that was left open */
}

TEST(searches_give_the_draft_back)
{
    CHECK_STR("draft|", past_with(NULL, "draft\033psec\007"));
    CHECK_STR("draft|", past_with(NULL, "draft\033p\r"));      /* no words, and none before */
    CHECK_STR("dr|aft", past_with(NULL, "draft\002\002\002\033pzz\r"));
    CHECK_STR("|second one", past_with(NULL, "draft\033psec\r"));
    CHECK_STR("draft|", past_with(NULL, "draft\033psec\r" UNDO));
    CHECK_STR("|", past_with(NULL, "draft\033psec\r" UNDO UNDO));
    CHECK_STR("first!|", past_with(NULL, "\020\020\020!\033psec\007"));
    CHECK_STR("first!|", past_with(NULL, "\020\020\020!\022sec\007"));
    CHECK_STR("first|", past_with(NULL, "\020\020\020!\022sec\007" UNDO));
    CHECK_STR("draft|", past_with(NULL, "draft\020\020\033psec\007\016\016"));
    CHECK_STR("draft|", past_with(NULL, "draft\022sec\033" WAIT "\016\016"));
    CHECK_STR("a|", past_with(NULL, "a" B "b" E WAIT "\022sec\007" UNDO));
    CHECK_STR("draft|", past_with(NULL, "draft\020\020\023dra\005")); /* the draft is found, too */
    CHECK_STR("second one|", past_with(NULL, "draft\022sec\037\005"));
    CHECK_STR("draft|", past_with(VI, "draft\033" WAIT "/sec\rjjA"));
    CHECK_STR("draft|", past_with(VI, "draft\033" WAIT "/zz\rA"));
    CHECK_STR("draft|", past_with(VI, "draft\033" WAIT "/sec\rnjjjA"));
}

/* What made readline free a list twice, or leave the cursor behind the end. */
TEST(searches_leave_order)
{
    CHECK_STR("SUBMIT() SUBMIT(first) SUBMIT() => third|",
              past_with(NULL, "\r\020\020\020x\010\r\017\025\020\020"));
    CHECK_STR("f|irst", past_with(PREFIX, "first one\001\006\017"));
    CHECK_STR("s|econd one", past_with(PREFIX, "s\017\017\017"));
    CHECK_STR("s|", past_with(PREFIX, "s\017" UNDO));
    CHECK_STR("second |one", past_with(PREFIX, "one\021"));
    CHECK_STR("draft|", past_with(PREFIX, "draft\001\017\017\016\016"));
    CHECK_STR("|", past_with(NULL, "\020\033p\022\022\022?A\007\025\024"));
}

TEST(history_by_number)
{
    CHECK_STR("first|", past_with(NULL, "draft\033<"));
    CHECK_STR("draft|", past_with(NULL, "draft\033<\033>"));
    CHECK_STR("draft|", past_with(NULL, "draft\020\0339\016"));
    CHECK_STR("first|", past_with(NULL, "\0339\020"));
    CHECK_STR("second one|", past_with(VI, "\033" WAIT "2GA"));
    CHECK_STR("first|", past_with(VI, "\033" WAIT "GA"));
    CHECK_STR("x|", past_with(VI, "x\033" WAIT "9GA"));
    CHECK_STR("SUBMIT(first) SUBMIT(second one) => third|", past_with(NULL, "\033<\017\017"));
    CHECK_STR("SUBMIT(#note) => |", keys("note\033#"));
}

static const char *shared_path(void)
{
    static char path[300];
    snprintf(path, sizeof path, "%s/history", check_tmp());
    return path;
}

/* Another program sends a message; then Up is pressed here. */
static void another_program(struct input *in, int64_t now, char *report, size_t size)
{
    struct input_view v;
    struct input_action a;
    struct history_file *other = history_file_open(shared_path(), 0, NULL);
    history_file_add(other, "theirs", true, NULL);
    history_file_close(other);
    input_feed_event(in,
                     &(struct decoder_event){.kind = DECODER_KEY, .code = KEYCODE_UP, .data = "\033[A", .length = 3});
    CHECK(!input_next_action(in, &a));
    input_view(in, now, &v);
    size_t n = strlen(report);
    snprintf(report + n, size - n, " then %s", v.text);
}

TEST(history_is_shared)
{
    const struct play how = {.history_path = shared_path(), .history = past, .then = another_program};
    CHECK_STR("SUBMIT(mine) => | then theirs", play(&how, "mine\r"));
    CHECK_STR("mine$|", play(&(struct play){.history_path = shared_path()}, UP UP "\n"));
}

TEST(multi_line_moves)
{
    CHECK_STR("abc|$d", keys("abc\nd" UP END));
    CHECK_STR("abcd$e$abc|d", keys("abcd\ne\nabcd" LEFT UP UP DOWN DOWN)); /* the column is kept */
    CHECK_STR("abc|d$e$abcd", keys("abcd\ne\nabcd" LEFT UP UP));
    CHECK_STR("\346\274\242|\346\274\242$abc", keys("\346\274\242\346\274\242\nabc" UP)); /* by width */
    CHECK_STR("ab$|cd", keys("ab\ncd" HOME));
    CHECK_STR("|ab$cd", keys("ab\ncd" HOME HOME));
    CHECK_STR("ab$cd|", keys("ab\ncd" DOWN));
}

/* A row of the screen is a line, too: four columns here. */
TEST(wrapped_moves)
{
    const struct play narrow = {.columns = 4, .history = past};
    CHECK_STR("abcdef|ghij", play(&narrow, "abcdefghij" UP));
    CHECK_STR("ab|cdefghij", play(&narrow, "abcdefghij" UP UP));
    CHECK_STR("third$of two lines|", play(&narrow, "abcd" HOME UP)); /* the first row: the history */
    CHECK_STR("abcdef|ghij", play(&narrow, "abcdefghij" UP UP DOWN));
    CHECK_STR("abcdefghij|", play(&narrow, "abcdefghij" UP UP DOWN DOWN));
    CHECK_STR("abcd|efgh", play(&narrow, "abcdefgh" UP DOWN)); /* the place behind a full row is the next row's */
    CHECK_STR("abcdef$a|b", play(&narrow, "abcdef\nab" LEFT UP UP DOWN DOWN));
    CHECK_STR("abcde|f$ab", play(&narrow, "abcdef\nab" LEFT UP));
    CHECK_STR("\346\274\242|\346\274\242\346\274\242", play(&narrow, "\346\274\242\346\274\242\346\274\242" UP));
    CHECK_STR("abcdefghij|", play(&(struct play){.columns = 0, .history = past}, "abcdefghij" UP DOWN));
}

/* Rows end at words: eight columns here. */
TEST(moves_between_rows_of_words)
{
    const struct play narrow = {.columns = 8, .history = past};
    CHECK_STR("the quick bro|wn fox", play(&narrow, "the quick brown fox" UP)); /* "the ", "quick ", "brown ", "fox" */
    CHECK_STR("the qui|ck brown fox", play(&narrow, "the quick brown fox" UP UP));
    CHECK_STR("the| quick brown fox", play(&narrow, "the quick brown fox" UP UP UP));
    CHECK_STR("the quick brown fox|", play(&narrow, "the quick brown fox" UP UP UP DOWN DOWN DOWN));
    CHECK_STR("a\346\274\242|\346\274\242\346\274\242\346\274\242\346\274\242", /* column 4 is within one */
              play(&narrow, "a\346\274\242\346\274\242\346\274\242\346\274\242\346\274\242" UP));
}

TEST(queued_message)
{
    const struct play queued = {.queued = true, .history = past};
    CHECK_STR("TAKE_BACK => |", play(&queued, UP));
    CHECK_STR("third$of two lines|", play(&queued, "x" UP));
    CHECK_STR("TAKE_BACK => |", play(&queued, "\020"));
}

TEST(search)
{
    CHECK_STR("(reverse-i-search)`sec': |second one", with_past("\022sec"));
    CHECK_STR("(failed reverse-i-search)`zz': |", with_past("\022zz"));
    CHECK_STR("|second one", with_past("\022sec\033" WAIT));
    CHECK_STR("second one|", with_past("\022sec\005"));
    CHECK_STR("draft|", with_past("draft\022sec\007"));
    CHECK_STR("draft|", with_past("draft\022sec\003")); /* Ctrl-C closes it, no more */
    CHECK_STR("second one|", with_past("\022sec" END));
    CHECK_STR("SUBMIT(second one) => |", with_past("\022sec\r"));
    CHECK_STR("(reverse-i-search)`second': |second one", with_past("\022" B "second\nrest" E WAIT));
}

TEST(control_keys)
{
    CHECK_STR("INTERRUPT => abc|", keys("abc\003"));
    CHECK_STR("LEAVE => |", keys("\004"));
    CHECK_STR("a|", keys("ab\002\004"));
    CHECK_STR("SUSPEND => a|", keys("a\032"));
    CHECK_STR("redraw => a|", keys("a\014"));
    CHECK_STR("a|", keys("a\030\003"));   /* closes the prefix */
    CHECK_STR("ab|", keys("a\030\007b"));
    CHECK_STR("STOP => |", play(&(struct play){.esc_stops = true}, "\033" WAIT));
    CHECK_STR("a|", play(&(struct play){.esc_stops = true}, "a\033" WAIT));
}

/* Esc is readline's Meta for as long as keyseq-timeout says, and then it has never been pressed. */
TEST(a_lone_esc_is_meta_for_a_while)
{
    CHECK_STR("one |two", keys("one two\033" PAUSE "b"));
    CHECK_STR("one twob|", keys("one two\033" WAIT "b"));
    CHECK_STR("SUBMIT(/help) => |", keys("\033" WAIT "/help\r"));
    CHECK_STR("INTERRUPT => a|", keys("a\033" WAIT "\003"));        /* nothing is open any more */
    CHECK_STR("INTERRUPT => a|", keys("a\033" PAUSE "\003")); /* nothing that shows is open */
    CHECK_STR("INTERRUPT => a|", keys("a\033\003"));
    CHECK_STR("a|", keys("a\033" PAUSE "[" PAUSE "\003")); /* a longer one is broken off */
    CHECK_STR("a|b", keys("ab\033" WAIT LEFT));
    CHECK_STR("one |two", keys_with("set keyseq-timeout 2000\n", "one two\033" WAIT "b"));
    CHECK_STR("one twob|", keys_with("set keyseq-timeout 100\n", "one two\033" PAUSE "b"));
    CHECK_STR("one |two", keys_with("set keyseq-timeout 0\n", "one two\033" WAIT WAIT "b")); /* for ever */
    CHECK_STR("ax|", keys("a\033" PAUSE "[" WAIT "x"));              /* a longer one, broken off */
    CHECK_STR("browse => |", keys("\030" WAIT "b"));                /* Ctrl-X has its menu, and waits */
    CHECK_STR("|ab", keys_with(VI, "ab\033" WAIT "h"));             /* vi's Esc acts at once */
    CHECK_STR("|b", keys_with(VI, "ab\033" PAUSE "0x"));
}

static void prefix_shown(struct input *in, int64_t now, char *report, size_t size)
{
    struct input_view v;
    size_t at = strlen(report);
    int64_t until = input_deadline(in, now), ms = 1000000;
    input_view(in, now, &v);
    at += (size_t)snprintf(report + at, size - at, " %s for %d ms", v.prefix ? v.prefix : "-",
                           until == INT64_MAX ? -1 : (int)((until - now) / ms));
    input_view(in, now + 500 * ms, &v);
    snprintf(report + at, size - at, ", then %s", v.prefix ? v.prefix : "-");
}

TEST(the_view_forgets_a_lone_esc)
{
    const struct play how = {.inputrc = "set keyseq-timeout 1000\n", .then = prefix_shown};
    CHECK_STR("a| ^[ for 400 ms, then -", play(&how, "a\033"));
    CHECK_STR("a| ^X for -1 ms, then ^X", play(&how, "a\030"));
    CHECK_STR("a| - for -1 ms, then -", play(&how, "a\033" WAIT WAIT));
}

TEST(own_keys)
{
    CHECK_STR(
        "browse find monitor view hold zoom-in zoom-out fold raw copy copy-view speculation sessions sensors keys "
        "send-now EDITOR => edited|",
        keys("\030b\030/\030m\030v\030f\030+\030-\030t\030r\030y\030c\030o\030s\030w\030?\030\r\030\005"));
    CHECK_STR("keys browse => |", keys("\033OP\033OQ"));
    CHECK_STR("page-up page-down top bottom => x|", keys("x\033[5~\033[6~\033[1;5H\033[1;5F"));
    CHECK_STR("EDITOR => draft|", keys("draft\030\005\037"));
}

TEST(inputrc_wins)
{
    CHECK_STR("text|", keys_with("\"\\C-xb\": \"text\"\n", "\030b"));
    CHECK_STR("browse => |", keys_with("\"\\C-xb\": \"text\"\n\"\\C-o\": tandem-browse\n", "\017"));
    CHECK_STR("one|", keys_with("\"\\e[5~\": \"one\"\n", "\033[5~"));
    CHECK_STR("one|", keys_with("\"\\eOQ\": \"one\"\n", "\033OQ"));
    CHECK_STR("yes|", keys_with("$if tandem\n\"\\C-o\": \"yes\"\n$endif\n", "\017"));
    CHECK_STR("abc|", keys_with(VI "set keymap vi-insert\n\"\\C-x\": \"abc\"\n", "\030"));
    CHECK_STR("f|irst",
              play(&(struct play){.inputrc = "\"\\e[A\": history-search-backward\n", .history = past}, "f" UP));
    CHECK_STR("|a$b", play(&(struct play){.inputrc = "\"\\e[A\": history-search-backward\n"}, "a\nb" HOME UP));
    CHECK_STR("SUBMIT(a) => |", keys_with("\"\\C-o\": operate-and-get-next\n", "a\017"));
    CHECK_STR("ab|", keys_with("\"\\C-m\": \"b\"\n", "a\r"));
}

TEST(vi_mode)
{
    CHECK_STR("SUBMIT(abc) => |", keys_with(VI, "abc\r"));
    CHECK_STR("ab|c", keys_with(VI, "abc\033" WAIT));
    CHECK_STR("|", keys_with(VI, "one two\033" WAIT "dd"));
    CHECK_STR("abab|ab", keys_with(VI, "ab\033" WAIT "dd3p\033" WAIT "h"));
    CHECK_STR("one| ", keys_with(VI, "one two\033" WAIT "bD"));
    CHECK_STR("ab|c", keys_with(VI, "abc\033" WAIT "\033" WAIT "\033" WAIT));
    CHECK_STR("a|b", keys_with(VI, "abc\033" WAIT "\033" WAIT "x"));
    CHECK_STR("browse => abc|", keys_with(VI, "abc\030b"));
    CHECK_STR("browse => ab|c", keys_with(VI, "abc\033" WAIT "\030b"));
    CHECK_STR("EDITOR => edite|d", keys_with(VI, "abc\033" WAIT "v"));
    CHECK_STR("a|b$cd", keys_with(VI, "ab\ncd\033" WAIT "k"));
    CHECK_STR("|third", play(&(struct play){.inputrc = VI, .history = lines}, "draft\033" WAIT "k"));
    CHECK_STR("keys => a|", keys_with(VI, "a\033OP"));
    CHECK_STR("a$b|", keys_with(VI, "a\033\rb"));
    CHECK_STR("ab|c", keys_with(VI, "abc\033" WAIT "ad" B "pasted" E WAIT "\033" WAIT "u"));
    CHECK_STR("ab|c", keys_with(VI, "abc\033" WAIT B "pasted" E WAIT "u"));
    CHECK_STR("INTERRUPT => ab|c", keys_with(VI, "abc\033" WAIT "d\003\003"));
    CHECK_STR("LEAVE => |", keys_with(VI, "\004"));
    CHECK_STR("a|b", keys_with(VI, "abc\033" WAIT "r\033" WAIT "x"));
    CHECK_STR("INTERRUPT => a|b", keys_with(VI, "abc\033" WAIT "r\003x"));
}

static void show_view(struct input *in, int64_t now, char *report, size_t size)
{
    struct input_view v, later;
    input_view(in, now, &v);
    input_view(in, now + 500000000, &later);
    size_t n = strlen(report);
    snprintf(report + n, size - n, " vi=%c prefix=%s menu=%d,%d draft=%d list=%zu ask=%zu message=%s bells=%d",
             v.vi_mode ? v.vi_mode : '-', v.prefix ? v.prefix : "-", v.menu, later.menu, v.is_draft,
             v.list ? v.list->count : 0, v.ask, v.message ? v.message : "-", (int)v.bells);
}

static const char *viewed(const char *inputrc, const char *script)
{
    return play(&(struct play){.inputrc = inputrc, .history = past, .then = show_view}, script);
}

TEST(the_view_tells_the_state)
{
    CHECK_STR("a| vi=- prefix=- menu=0,0 draft=1 list=0 ask=0 message=- bells=0", viewed("", "a"));
    CHECK_STR("a| vi=- prefix=^X menu=0,1 draft=1 list=0 ask=0 message=- bells=0", viewed("", "a" WAIT "\030" READ ""));
    CHECK_STR("|a vi=c prefix=- menu=0,0 draft=1 list=0 ask=0 message=- bells=0", viewed(VI, "a\033" WAIT));
    CHECK_STR("a| vi=i prefix=- menu=0,0 draft=1 list=0 ask=0 message=- bells=0", viewed(VI, "a"));
    CHECK_STR("(reverse-i-search)`fir': |first vi=- prefix=- menu=0,0 draft=0 list=0 ask=0 message=- bells=0",
              viewed("", "\022fir"));
    CHECK_STR("(arg: 3) a| vi=- prefix=- menu=0,0 draft=1 list=0 ask=0 message=- bells=0", viewed("", "a\0333"));
    CHECK(strstr(viewed("set nonsense on\n", ""), "inputrc: line 1: nonsense: unknown variable name"));
}

static const char *command(void *context, size_t i, const char **help)
{
    static const char *const names[] = {"attach", "help", "hold", "set", NULL};
    (void)context;
    if (!names[i]) return NULL;
    *help = "a help text";
    return names[i];
}

static enum complete_kind argument(void *context, const char *name, size_t index, const char *arguments,
                                   struct completion *out)
{
    (void)context, (void)arguments;
    if (!strcmp(name, "attach")) return COMPLETE_FILE;
    if (!strcmp(name, "set") && index == 0) {
        completion_add(out, "temperature", NULL);
        completion_add(out, "top-k", NULL);
    }
    return COMPLETE_WORD;
}

static const struct completer completer = {.command = command, .argument = argument};

static const char *completed(const char *inputrc, const char *script)
{
    return play(&(struct play){.inputrc = inputrc, .completer = &completer, .then = show_view}, script);
}

TEST(completion)
{
    CHECK_STR("/attach | vi=- prefix=- menu=0,0 draft=1 list=0 ask=0 message=- bells=0", completed("", "/a\t"));
    CHECK_STR("/h| vi=- prefix=- menu=0,0 draft=1 list=2 ask=0 message=- bells=0", completed("", "/h\t"));
    CHECK_STR("/h| vi=- prefix=- menu=0,0 draft=1 list=0 ask=0 message=- bells=0",
              completed("set show-all-if-ambiguous off\n", "/h\t"));
    CHECK_STR("/ho| vi=- prefix=- menu=0,0 draft=1 list=0 ask=0 message=- bells=0", completed("", "/h\t\to"));
    CHECK_STR("/h| vi=- prefix=- menu=0,0 draft=1 list=0 ask=0 message=- bells=0", completed("", "/h\t\t\033" WAIT));
    CHECK_STR("/set temperature | vi=- prefix=- menu=0,0 draft=1 list=0 ask=0 message=- bells=0",
              completed("", "/set te\t"));
    CHECK_STR("/set t| vi=- prefix=- menu=0,0 draft=1 list=2 ask=0 message=- bells=0", completed("", "/set t\t"));
    CHECK_STR("/h| vi=- prefix=- menu=0,0 draft=1 list=0 ask=2 message=- bells=0",
              completed("set completion-query-items 2\n", "/h\t"));
    CHECK_STR("/h| vi=- prefix=- menu=0,0 draft=1 list=2 ask=0 message=- bells=0",
              completed("set completion-query-items 2\n", "/h\ty"));
    CHECK_STR("/h| vi=- prefix=- menu=0,0 draft=1 list=0 ask=0 message=- bells=0",
              completed("set completion-query-items 2\n", "/h\tn"));
    CHECK_STR("word| vi=- prefix=- menu=0,0 draft=1 list=0 ask=0 message=- bells=1", completed("", "word\t"));
    CHECK_STR("/attach tests/ui/edit/test_input.c| vi=- prefix=- menu=0,0 draft=1 list=0 ask=0 message=- bells=0",
              completed("", "/attach tests/ui/ed\ttest_input.\t"));
    CHECK_STR("/hold | vi=- prefix=- menu=0,0 draft=1 list=0 ask=0 message=- bells=0",
              completed("\"\\C-i\": menu-complete\n", "/h\t\t"));
}

TEST(suggestions)
{
    static const char *const tries[] = {"one", "two", NULL};
    const struct play how = {.suggestions = tries};
    CHECK_STR("one|", play(&how, "\t"));
    CHECK_STR("one|", play(&how, "\t\t\t"));
    CHECK_STR("two|", play(&how, "\t\t"));
    CHECK_STR("onex|", play(&how, "\tx\t"));
}

static void take_and_set(struct input *in, int64_t now, char *report, size_t size)
{
    (void)now;
    struct input_view v;
    size_t length;
    char *taken = input_take(in, &length, false, false);
    input_set_text(in, "set\r\ntext");
    input_view(in, now, &v);
    size_t n = strlen(report);
    snprintf(report + n, size - n, " taken=%s,%zu now=%s", taken, length, v.text);
    free(taken);
    input_replace(in, "replaced");
    struct decoder_event undo = {.kind = DECODER_BYTES, .data = "\037", .length = 1};
    struct input_action a;
    input_feed_event(in, &undo);
    CHECK(!input_next_action(in, &a));
    input_view(in, now, &v);
    n = strlen(report);
    snprintf(report + n, size - n, " undone=%s", v.text);
}

TEST(the_program_changes_the_draft)
{
    CHECK_STR("(reverse-i-search)`sec': |second one taken=draft,5 now=set\ntext undone=set\ntext",
              play(&(struct play){.history = past, .then = take_and_set}, "draft\022sec"));
}

/* Whatever the place, the next key goes between two characters of the draft; a search keeps its own. */
static void put_cursor(struct input *in, int64_t now, char *report, size_t size)
{
    static const size_t places[] = {3, 2, 0, 99, SIZE_MAX};
    struct input_view v;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        size_t n = strlen(report);
        input_set_cursor(in, places[i]);
        input_view(in, now, &v);
        snprintf(report + n, size - n, " %zu", v.cursor);
    }
}

TEST(the_program_puts_the_cursor)
{
    CHECK_STR("a\303\244b| 3 1 0 4 4", play(&(struct play){.then = put_cursor}, "a\303\244b"));
    CHECK_STR("(reverse-i-search)`sec': |second one 0 0 0 0 0",
              play(&(struct play){.history = past, .then = put_cursor}, "draft\022sec"));
}

static void unread(struct input *in, int64_t now, char *report, size_t size)
{
    (void)now;
    struct decoder_event e = {.kind = DECODER_BYTES, .data = "a\030bjjq", .length = 6};
    struct input_action a;
    input_feed_event(in, &e);
    bool first = input_next_action(in, &a);
    bool rest = input_unread(in, &e);
    size_t n = strlen(report);
    snprintf(report + n, size - n, " %d %d %d %.*s %d", first, a.action == ACTION_BROWSE, rest, (int)e.length, e.data,
             input_unread(in, &e));
}

TEST(unread_keys_go_back)
{
    CHECK_STR("| 1 1 1 jjq 0", play(&(struct play){.then = unread}, ""));
}

TEST_MAIN(T(typing_and_sending), T(new_lines), T(editing), T(unknown_keys_insert_nothing),
          T(aborts_that_readline_would_not_survive), T(the_cursor_stands_before_a_character), T(undo),
          T(backspace_and_attachments),
          T(paste_is_text), T(history), T(lines_keep_their_undo), T(searches_give_the_draft_back),
          T(searches_leave_order), T(history_by_number), T(history_is_shared), T(multi_line_moves), T(wrapped_moves),
          T(moves_between_rows_of_words),
          T(queued_message), T(search), T(control_keys), T(a_lone_esc_is_meta_for_a_while),
          T(the_view_forgets_a_lone_esc), T(own_keys), T(inputrc_wins), T(vi_mode),
          T(the_view_tells_the_state), T(completion), T(suggestions), T(the_program_changes_the_draft),
          T(the_program_puts_the_cursor), T(unread_keys_go_back))
