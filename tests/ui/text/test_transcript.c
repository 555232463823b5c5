/* The transcript: following, staying put, resizing, folding, searching, and random operations on it. */
#include "tests/check.h"
#include "tests/ui/dump.h"
#include "tests/ui/golden.h"

#include "ui/text/transcript.h"
#include "ui/text/turn.h"

enum { ROWS = 10, COLS = 40, TURNS = 8 };

struct fixture {
    struct view view;
    struct view_turn turns[TURNS];
    struct transcript *t;
    struct canvas *canvas;
};

/* "word0 word1 ..." of n words, each on a line of its own when lines is set. */
static char *words(int n, bool lines)
{
    char *text = malloc((size_t)n * 12 + 1), *at = text;
    for (int i = 0; i < n; i++) at += sprintf(at, "word%d%s", i, lines ? "\n\n" : " ");
    *at = 0;
    return text;
}

static void start(struct fixture *f, int n)
{
    memset(f, 0, sizeof *f);
    f->t = transcript_new();
    f->canvas = canvas_new(ROWS, COLS);
    f->view.turns = f->turns;
    f->view.options = (struct view_options){.ascii = true, .colours = 256};
    f->view.now_ns = 1000000000000;
    for (int i = 0; i < n; i++) {
        char *text = i % 2 ? words(60, false) : strdup("a question");
        f->turns[i] = (struct view_turn){
            .id = (uint64_t)i + 1, .role = i % 2 ? VIEW_ASSISTANT : VIEW_USER, .text = text, .text_len = strlen(text)};
    }
    f->view.n_turns = (size_t)n;
}

static void stop(struct fixture *f)
{
    for (int i = 0; i < TURNS; i++) free((char *)f->turns[i].text);
    transcript_free(f->t);
    canvas_free(f->canvas);
}

/* Draws and returns the row's text; it lives until the next call. */
static const char *row(struct fixture *f, int n)
{
    static char line[512];
    canvas_clear(f->canvas);
    transcript_draw(f->t, &f->view, f->canvas, (struct rect){0, 0, f->canvas->rows, f->canvas->cols});
    char *text = dump_canvas(f->canvas), *at = text;
    if (n < 0) n += f->canvas->rows;
    while (n--) at = strchr(at, '\n') + 1;
    snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
    free(text);
    return line;
}

static bool has(struct fixture *f, int n, const char *what) { return strstr(row(f, n), what) != NULL; }

static bool anywhere(struct fixture *f, const char *what)
{
    for (int i = 0; i < f->canvas->rows; i++)
        if (has(f, i, what)) return true;
    return false;
}

static void set_text(struct fixture *f, int turn, char *text)
{
    free((char *)f->turns[turn].text);
    f->turns[turn].text = text;
    f->turns[turn].text_len = strlen(text);
}

TEST(follows_the_end)
{
    struct fixture f;
    start(&f, 4);
    CHECK(has(&f, -1, "word59"));
    CHECK(transcript_at_end(f.t));
    set_text(&f, 3, words(90, false));
    CHECK(has(&f, -1, "word89"));
    stop(&f);
}

TEST(stays_put_when_scrolled_up)
{
    struct fixture f;
    start(&f, 4);
    row(&f, 0);
    transcript_scroll(f.t, &f.view, -5);
    char top[512];
    snprintf(top, sizeof top, "%s", row(&f, 0));
    CHECK(!transcript_at_end(f.t));
    f.turns[3].state = VIEW_TURN_ANSWERING;
    set_text(&f, 3, words(120, false));
    CHECK_STR(top, row(&f, 0));
    CHECK(has(&f, -1, "[new below]"));
    transcript_end(f.t, &f.view);
    CHECK(has(&f, -1, "word119"));
    transcript_home(f.t, &f.view);
    CHECK(has(&f, 0, "> a question"));
    CHECK(!has(&f, -1, "[new below]"));
    transcript_page(f.t, &f.view, 1);
    transcript_page(f.t, &f.view, 1);
    transcript_page(f.t, &f.view, -2);
    CHECK(has(&f, 0, "> a question"));
    transcript_sent(f.t);
    CHECK(has(&f, -1, "word119"));
    stop(&f);
}

TEST(a_fast_reply_stops_with_its_first_line_at_the_top)
{
    struct fixture f;
    start(&f, 4);
    f.turns[3].state = VIEW_TURN_ANSWERING;
    f.turns[3].start_ns = f.view.now_ns;
    f.view.now_ns += 1000000000;
    set_text(&f, 3, words(3, true));
    CHECK(has(&f, -1, "word2"));
    set_text(&f, 3, words(40, true)); /* 79 lines in a second */
    CHECK_STR("word0", row(&f, 0));
    CHECK(has(&f, -1, "[more below]"));
    f.turns[3].state = VIEW_TURN_DONE;
    CHECK_STR("word0", row(&f, 0)); /* and stays there */
    canvas_resize(f.canvas, 85, COLS);
    CHECK(has(&f, -1, "word39")); /* unless there is room for more: no row stays empty below it */
    canvas_resize(f.canvas, ROWS, COLS);
    transcript_sent(f.t);
    f.turns[3].state = VIEW_TURN_ANSWERING;
    CHECK_STR("word0", row(&f, 0));
    canvas_resize(f.canvas, 85, COLS);
    CHECK_STR("word0", row(&f, 0)); /* its next lines are about to fill them */
    canvas_resize(f.canvas, ROWS, COLS);
    transcript_end(f.t, &f.view);
    CHECK(has(&f, -1, "word39"));
    stop(&f);

    start(&f, 4); /* a slow one is followed */
    f.turns[3].state = VIEW_TURN_ANSWERING;
    f.turns[3].start_ns = f.view.now_ns - 60000000000;
    set_text(&f, 3, words(40, true));
    CHECK(has(&f, -1, "word39"));
    f.view.options.follow = VIEW_FOLLOW_TOP;
    CHECK_STR("word0", row(&f, 0));
    f.view.options.follow = VIEW_FOLLOW_STREAM;
    transcript_sent(f.t);
    f.turns[3].start_ns = f.view.now_ns;
    CHECK(has(&f, -1, "word39"));
    stop(&f);
}

TEST(resizing_keeps_the_place)
{
    struct fixture f;
    start(&f, 6);
    set_text(&f, 5, words(400, false));
    row(&f, 0);
    transcript_scroll(f.t, &f.view, -30);
    char top[64] = "";
    sscanf(row(&f, 0), "%63s", top);
    for (int cols = 21; cols < 90; cols += 17) {
        canvas_resize(f.canvas, 8 + cols % 5, cols);
        CHECK(has(&f, 0, top));
    }
    canvas_resize(f.canvas, ROWS, COLS);
    CHECK(has(&f, 0, top));
    stop(&f);
}

TEST(folding_moves_nothing)
{
    struct fixture f;
    start(&f, 4);
    char *thought = words(50, true);
    f.turns[1].thinking = thought;
    f.turns[1].thinking_len = strlen(thought);
    f.turns[1].thought_s = 12;
    f.turns[1].thought_tokens = 340;
    row(&f, 0);
    transcript_home(f.t, &f.view);
    CHECK(has(&f, 2, "thought 12 s, 340 tokens"));
    transcript_scroll(f.t, &f.view, 6);
    char top[512];
    snprintf(top, sizeof top, "%s", row(&f, 0));
    transcript_toggle_fold(f.t, &f.view, 2);
    CHECK_STR(top, row(&f, 0));
    transcript_scroll(f.t, &f.view, -5);
    CHECK(has(&f, 0, "| word49") || has(&f, 1, "| word49"));
    transcript_scroll(f.t, &f.view, 5);
    CHECK_STR(top, row(&f, 0));
    transcript_toggle_fold(f.t, &f.view, 2);
    CHECK_STR(top, row(&f, 0));
    /* While it runs, its last three lines. */
    f.turns[3].state = VIEW_TURN_THINKING;
    f.turns[3].thinking = thought;
    f.turns[3].thinking_len = strlen(thought);
    set_text(&f, 3, strdup(""));
    transcript_end(f.t, &f.view);
    CHECK(has(&f, -1, "| word49"));
    CHECK(has(&f, -4, "thinking 0 s"));
    f.turns[3].thinking = f.turns[1].thinking = NULL;
    free(thought);
    stop(&f);
}

/* A file of 100 lines with an empty one behind it, then a question of `lines` lines. */
static void attach(struct fixture *f, int lines, bool attached)
{
    char *text = malloc(8000), *at = text;
    for (int i = 0; i < 100; i++) at += sprintf(at, "line %d of a file\n", i);
    at += sprintf(at, "\n");
    f->turns[0].attached = attached ? (size_t)(at - text) : 0;
    for (int i = 0; i < lines; i++) at += sprintf(at, "my own line %d\n", i);
    set_text(f, 0, text);
}

TEST(a_long_file_is_folded_and_the_own_words_are_not)
{
    struct fixture f;
    start(&f, 2);
    set_text(&f, 1, strdup("a reply"));
    attach(&f, 30, true);
    CHECK(has(&f, -1, "a reply"));
    transcript_home(f.t, &f.view);
    CHECK(has(&f, 0, "> line 0 of a file"));
    CHECK(has(&f, 3, "  line 3 of a file"));
    CHECK(has(&f, 4, "  96 more lines: ^X b, then t unfolds"));
    CHECK(!strcmp(row(&f, 5), "")); /* between the file and the words */
    for (int i = 0; i < 30; i++) {
        char own[40];
        snprintf(own, sizeof own, "  my own line %d", i);
        if (i > 3) transcript_scroll(f.t, &f.view, 1);
        if (!has(&f, i > 3 ? 9 : 6 + i, own)) CHECK_FAIL("%s", row(&f, i > 3 ? 9 : 6 + i));
    }
    /* A search finds what stands behind the fold, and goes there. */
    transcript_home(f.t, &f.view);
    CHECK(transcript_find(f.t, &f.view, "own line 29", 1));
    CHECK(anywhere(&f, "  my own line 29"));
    transcript_end(f.t, &f.view);
    CHECK(transcript_find(f.t, &f.view, "line 70 of", -1)); /* or unfolds it */
    CHECK(anywhere(&f, "  line 70 of a file"));
    transcript_toggle_fold(f.t, &f.view, 1);
    /* What was pasted is the user's own too: nothing of it is folded. */
    attach(&f, 1, false);
    f.turns[0].revision++;
    transcript_home(f.t, &f.view);
    CHECK(has(&f, 9, "  line 9 of a file"));
    transcript_scroll(f.t, &f.view, 90);
    CHECK(has(&f, 9, "  line 99 of a file"));
    stop(&f);
}

TEST(a_fold_keeps_its_place)
{
    struct fixture f;
    start(&f, 2);
    set_text(&f, 1, strdup("a reply"));
    attach(&f, 8, true);
    CHECK(has(&f, -1, "a reply"));
    CHECK(has(&f, 7, "  my own line 7"));
    transcript_home(f.t, &f.view);
    CHECK(has(&f, 4, "  96 more lines: ^X b, then t unfolds"));
    transcript_scroll(f.t, &f.view, 1);
    transcript_toggle_fold(f.t, &f.view, 1);
    CHECK(has(&f, 0, "  line 1 of a file")); /* what was read stays */
    CHECK(has(&f, 9, "  line 10 of a file"));
    transcript_toggle_fold(f.t, &f.view, 1);
    CHECK(has(&f, 3, "96 more lines"));
    /* A search finds what the folded lines stand between. */
    CHECK(transcript_find(f.t, &f.view, "own line 2", 1));
    CHECK(anywhere(&f, "more lines") && anywhere(&f, "own line 2"));
    /* A search finds what is folded, and unfolds it. */
    CHECK(transcript_find(f.t, &f.view, "line 70", 1));
    CHECK(anywhere(&f, "  line 70 of a file") && !anywhere(&f, "more lines"));
    /* Up to sixteen lines are shown. */
    char *sixteen = words(16, true);
    for (char *c = sixteen; (c = strstr(c, "\n\n"));) memmove(c, c + 1, strlen(c));
    set_text(&f, 0, sixteen);
    f.turns[0].attached = strlen(sixteen);
    transcript_toggle_fold(f.t, &f.view, 1);
    transcript_end(f.t, &f.view);
    CHECK(!anywhere(&f, "more lines"));
    stop(&f);
}

/* Turns go (/undo, another branch), and keys come before the next frame: nothing of them is touched. */
TEST(turns_go_between_two_frames)
{
    static const char *const first[] = {"word6 word7 word8 word9 word10 word11", "",
                                        "word0 word1 word2 word3 word4 word5", "word6 word7 word8 word9 word10 word11"};
    struct fixture f;
    for (int key = 0; key < 4; key++) {
        start(&f, 6);
        row(&f, 0);
        if (key == 3) transcript_scroll(f.t, &f.view, -1); /* the turn that it holds on to goes */
        f.view.n_turns = 2;
        if (key == 0) transcript_toggle_fold(f.t, &f.view, 0);
        if (key == 1) transcript_turn(f.t, &f.view, -1);
        transcript_scroll(f.t, &f.view, key == 2 ? -2 : -1);
        CHECK_STR(first[key], row(&f, 0));
        stop(&f);
    }
}

TEST(search)
{
    struct fixture f;
    start(&f, 4);
    row(&f, 0);
    transcript_home(f.t, &f.view);
    row(&f, 0);
    f.view.search = "WORD57";
    CHECK(transcript_find(f.t, &f.view, "WORD57", 1));
    CHECK(anywhere(&f, "word57"));
    int highlighted = 0;
    for (int i = 0; i < ROWS * COLS; i++) highlighted += style_name(f.canvas->cells[i].style) == STYLE_MATCH;
    CHECK_INT(6, highlighted);
    CHECK(transcript_find(f.t, &f.view, "WORD57", 1)); /* round to itself */
    CHECK(transcript_find(f.t, &f.view, "question", -1));
    CHECK(!transcript_find(f.t, &f.view, "absent", 1));
    size_t at;
    CHECK_INT(0, transcript_hits(f.t, &f.view, "absent", &at));
    CHECK_INT(0, at);
    size_t all = transcript_hits(f.t, &f.view, "question", &at);
    CHECK(all > 1);
    CHECK_INT(0, at); /* none of them has been looked for */
    uint64_t first = f.view.turns[0].id;
    for (size_t i = 1; i <= all + 1; i++) { /* down from the first turn, and round */
        if (i == 1) transcript_find_from(f.t, first);
        CHECK(transcript_find(f.t, &f.view, "question", 1));
        CHECK_INT(all, transcript_hits(f.t, &f.view, "question", &at));
        CHECK_INT(i > all ? 1 : i, at);
        if (i == 1) CHECK(transcript_marked(f.t) == first);
    }
    stop(&f);
}

TEST(browsing_by_turns)
{
    struct fixture f;
    start(&f, 6);
    f.view.browse = true;
    row(&f, 0);
    transcript_turn(f.t, &f.view, -1);
    CHECK_INT(6, transcript_marked(f.t));
    transcript_turn(f.t, &f.view, -1);
    transcript_turn(f.t, &f.view, -1);
    CHECK_INT(4, transcript_marked(f.t));
    row(&f, 0);
    CHECK_INT(4, transcript_turn_at(f.t, 0));
    CHECK(f.canvas->cells[0].style & STYLE_REVERSE);
    for (int i = 0; i < 9; i++) transcript_turn(f.t, &f.view, 1);
    CHECK_INT(6, transcript_marked(f.t));
    stop(&f);
}

TEST(stats_line_is_one_line)
{
    struct fixture f;
    start(&f, 2);
    f.turns[1].stats = (struct view_turn_stats){.valid = true,
                                                .ttft = {.kind = VIEW_TTFT_COLD, .ms = 1870},
                                                .in = 1310,
                                                .read_before = 18,
                                                .out = 220,
                                                .tok_s = 3.2,
                                                .seconds = 71};
    f.turns[1].branch = 2;
    f.turns[1].branches = 3;
    for (int cols = 20; cols < 100; cols += 9) {
        canvas_resize(f.canvas, ROWS, cols);
        int lines = 0;
        for (int i = 0; i < ROWS; i++) lines += has(&f, i, "2/3") + has(&f, i, "cold") + has(&f, i, "220 out");
        CHECK(anywhere(&f, "2/3") && lines <= (cols > 40 ? 3 : 2));
        for (int i = 0; i < ROWS; i++) CHECK(!has(&f, i, "220 out") || has(&f, i, "2/3"));
    }
    f.view.options.stats = VIEW_STATS_CARD;
    CHECK(anywhere(&f, "first glyph  cold 1,870 ms"));
    f.view.options.stats = VIEW_STATS_OFF;
    CHECK(!anywhere(&f, "cold"));
    stop(&f);
}

/* A megabyte: what a frame does must not grow with it. Counted in lines drawn afresh, not in time: the rendering of a
 * turn that did not change keeps its lines. */
TEST(a_large_conversation)
{
    struct fixture f;
    start(&f, 2);
    size_t len = 1 << 20;
    char *text = malloc(len + 1);
    for (size_t i = 0; i < len; i++) text[i] = i % 97 == 96 ? '\n' : i % 7 == 6 ? ' ' : 'a' + (char)(i % 26);
    text[len] = 0;
    set_text(&f, 1, text);
    f.turns[1].state = VIEW_TURN_ANSWERING;
    f.view.options.follow = VIEW_FOLLOW_STREAM;
    f.turns[1].text_len = len / 2;
    row(&f, 0);
    for (size_t at = len / 2; at + 50 < len; at += 4099) { /* streaming its second half */
        f.turns[1].text_len = at;
        row(&f, 0);
    }
    for (int i = 0; i < 300; i++) {
        transcript_scroll(f.t, &f.view, i % 3 ? -7 : 5);
        row(&f, 0);
    }
    CHECK(!transcript_at_end(f.t));
    stop(&f);
}

/* Anything in any order: no crash, nothing outside, the drawn rows are full when there is enough text. */
TEST(random_operations)
{
    uint64_t state = 42;
    struct fixture f;
    start(&f, 6);
    char *long_text = words(400, false), *thought = words(30, true);
    f.turns[3].thinking = thought;
    for (int step = 0; step < 6000; step++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        unsigned r = (unsigned)(state >> 33), arg = (r >> 8) % 40;
        struct view_turn *t = &f.turns[(r >> 16) % 6];
        switch (r % 18) {
        case 0: canvas_resize(f.canvas, 1 + (int)arg, 1 + (int)((r >> 10) % 120)); break;
        case 1: transcript_scroll(f.t, &f.view, (int)arg - 20); break;
        case 2: transcript_page(f.t, &f.view, arg % 2 ? 1 : -1); break;
        case 3: transcript_home(f.t, &f.view); break;
        case 4: transcript_end(f.t, &f.view); break;
        case 5: transcript_turn(f.t, &f.view, arg % 2 ? 1 : -1); break;
        case 6: transcript_find(f.t, &f.view, arg % 3 ? "word1" : "q", arg % 2 ? 1 : -1); break;
        case 7: transcript_toggle_fold(f.t, &f.view, arg % 2 ? t->id : 0); break;
        case 8: transcript_toggle_raw(f.t, &f.view, arg % 2 ? t->id : 0); break;
        case 9: f.view.n_turns = arg % 7; break;
        case 10:
            free((char *)t->text);
            t->text = strdup(long_text);
            t->text_len = (r >> 5) % 2000;
            t->revision++;
            break;
        case 11: t->text_len = t->revision && t->text_len < 2000 ? t->text_len + arg : t->text_len; break;
        case 12: t->state = (enum view_turn_state)(arg % 7); break;
        case 13: f.turns[3].thinking_len = arg * 5 < strlen(thought) ? arg * 5 : 0; break;
        case 14: t->id = 100 + arg; break;
        case 15: transcript_sent(f.t); break;
        case 16: f.view.search = arg % 2 ? "word" : NULL; break;
        default:
            f.view.browse = arg % 2;
            f.view.options.follow = (enum view_follow)(arg % 3);
            f.view.options.no_motion = arg % 5 == 0;
        }
        f.view.now_ns += 10000000;
        canvas_clear(f.canvas);
        transcript_draw(f.t, &f.view, f.canvas, (struct rect){0, 0, f.canvas->rows, f.canvas->cols});
    }
    f.turns[3].thinking = NULL;
    free(long_text);
    free(thought);
    stop(&f);
}

TEST(pictures_beyond_those_shown_are_counted)
{
    struct view_picture pictures[TURN_PICTURES + 2];
    struct fixture f;
    start(&f, 1);
    for (int i = 0; i < TURN_PICTURES + 2; i++)
        pictures[i] = (struct view_picture){.id = (uint64_t)i + 1, .name = "a.png", .width = 8, .height = 8};
    f.turns[0].pictures = pictures;
    f.turns[0].n_pictures = TURN_PICTURES;
    CHECK_STR("  a.png 8x8", row(&f, 1));
    CHECK_STR("> a question", row(&f, 2));
    f.turns[0].n_pictures += 2;
    f.turns[0].revision++;
    CHECK_STR("  and 2 more", row(&f, 0)); /* the question keeps its place */
    CHECK_STR("> a question", row(&f, 1));
    stop(&f);
}

TEST_MAIN(T(follows_the_end), T(stays_put_when_scrolled_up), T(a_fast_reply_stops_with_its_first_line_at_the_top),
          T(resizing_keeps_the_place), T(folding_moves_nothing), T(a_long_file_is_folded_and_the_own_words_are_not),
          T(a_fold_keeps_its_place), T(pictures_beyond_those_shown_are_counted), T(turns_go_between_two_frames),
          T(search), T(browsing_by_turns), T(stats_line_is_one_line), T(a_large_conversation), T(random_operations))
