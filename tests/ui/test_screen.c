/* Golden screens: the sketches of the design, every state, sizes, ASCII, colour classes, popups, the first run. */
#include "tests/check.h"
#include "tests/ui/dump.h"
#include "tests/ui/golden.h"

#include "ui/screen.h"

static char *draw(const struct view *view, int rows, int cols)
{
    struct screen *screen = screen_new();
    struct canvas *canvas = canvas_new(rows, cols);
    screen_draw(screen, view, canvas);
    char *text = golden_text(canvas);
    canvas_free(canvas);
    screen_free(screen);
    return text;
}

static void check_screen(const char *name, const struct view *view, int rows, int cols)
{
    char *text = draw(view, rows, cols);
    golden_check(name, text);
    free(text);
}

/* Rows [from, to) of a dump. */
static char *some_rows(char *text, int from, int to)
{
    char *at = text;
    for (int i = 0; i < from; i++) at = strchr(at, '\n') + 1;
    char *end = at;
    for (int i = from; i < to; i++) end = strchr(end, '\n') + 1;
    *end = 0;
    return at;
}

TEST(sketch_80x24)
{
    struct sample s;
    sample_init(&s);
    check_screen("sketch-80x24", &s.view, 24, 80);
}

TEST(sketch_paused)
{
    struct sample s;
    sample_init(&s);
    sample_lanes(&s, "~~h~~h~~h~~h~~h~~h....d..d.ds..d.d..d.d.ds.......",
                 "==================....~..~.~~..~.~..~.~.~~.......", -1, -1);
    static const char draft[] = "and how much memory does one take?";
    s.view.draft = (struct view_draft){.text = draft,
                                       .len = strlen(draft),
                                       .cursor = strlen(draft),
                                       .read_bytes = strlen(draft),
                                       .mark = VIEW_MARK_READY};
    s.turns[3].state = VIEW_TURN_DONE;
    s.view.status.state = VIEW_IDLE;
    s.view.status.ctx_used = 1644;
    s.view.monitor.decode.tok_s.valid = false;
    char *text = draw(&s.view, 24, 80);
    golden_check("sketch-paused", some_rows(text, 17, 24));
    free(text);
}

/* A draft that is longer than its window: its rows end at words, and the rule says which ones are shown. */
TEST(long_draft)
{
    struct sample s;
    char draft[4000] = "";
    sample_init(&s);
    for (int i = 1; i <= 40; i++)
        snprintf(draft + strlen(draft), sizeof draft - strlen(draft), "This is sentence %d of a long draft. ", i);
    strcat(draft, "\n\346\274\242\345\255\227 at the end");
    s.view.draft = (struct view_draft){.text = draft, .len = strlen(draft), .cursor = strlen(draft)};
    s.view.draft.mark = VIEW_MARK_FOLLOWING;
    check_screen("draft-long", &s.view, 24, 80);
    s.view.draft.cursor = 0;
    check_screen("draft-long-narrow", &s.view, 12, 40);
}

TEST(sketch_line)
{
    struct sample s;
    sample_init(&s);
    sample_lanes(&s, "~~h~~h~", ">======", -1, -1);
    s.view.monitor.form = VIEW_FORM_LINE;
    char *text = draw(&s.view, 24, 80);
    golden_check("sketch-line", some_rows(text, 20, 21));
    free(text);
}

TEST(sketch_panel)
{
    struct sample s;
    sample_init(&s);
    sample_lanes(&s, "ds~~~h~~h~~h~~hh.dds.ds.ds.~~~h~~h~~", "~~>============..~~~.~~.~~.>========", 1, 26);
    s.view.monitor.legend = true;
    struct screen *screen = screen_new();
    struct canvas *canvas = canvas_new(40, 120), *part = canvas_new(30, 47);
    screen_draw(screen, &s.view, canvas);
    for (int row = 0; row < 30; row++)
        memcpy(part->cells + row * 47, canvas->cells + row * 120 + 73, 47 * sizeof *part->cells);
    char *text = dump_canvas(part);
    golden_check("sketch-panel", text);
    free(text);
    text = golden_text(canvas);
    golden_check("panel-120x40", text);
    free(text);
    canvas_free(part);
    canvas_free(canvas);
    screen_free(screen);
}

TEST(sizes)
{
    static const int sizes[][2] = {{5, 20}, {4, 19}, {13, 60}, {14, 80}, {22, 80}, {30, 112}, {60, 200}};
    struct sample s;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char name[32];
        sample_init(&s);
        s.view.options.ascii = false;
        snprintf(name, sizeof name, "size-%dx%d", sizes[i][1], sizes[i][0]);
        check_screen(name, &s.view, sizes[i][0], sizes[i][1]);
    }
    sample_init(&s);
    s.view.monitor.form = VIEW_FORM_FULL;
    s.view.monitor.legend = true;
    static const int full[][2] = {{12, 40}, {24, 80}, {40, 120}, {60, 200}, {5, 20}};
    for (size_t i = 0; i < sizeof full / sizeof *full; i++) {
        char name[40];
        snprintf(name, sizeof name, "full-%dx%d", full[i][1], full[i][0]);
        check_screen(name, &s.view, full[i][0], full[i][1]);
    }
    s.view.monitor.inspect = true;
    s.view.monitor.inspect_back = 11;
    check_screen("full-inspect-120x40", &s.view, 40, 120);
    s.view.options.ascii = false;
    s.view.monitor.alone = true; /* without a chat it has all rows */
    check_screen("alone-inspect-80x24", &s.view, 24, 80);
    s.view.monitor.inspect = false;
    check_screen("alone-80x24", &s.view, 24, 80);
    check_screen("alone-120x40", &s.view, 40, 120);
    check_screen("alone-200x60", &s.view, 60, 200);
    check_screen("alone-300x100", &s.view, 100, 300);
    s.view.monitor.hidden = 2 | 16;
    check_screen("alone-hidden-80x24", &s.view, 24, 80);
    s.view.monitor.hidden = 0;
    check_screen("alone-100x9", &s.view, 9, 100);
    check_screen("alone-46x30", &s.view, 30, 46);
    check_screen("alone-40x12", &s.view, 12, 40);
    check_screen("alone-40x5", &s.view, 5, 40);
    check_screen("alone-20x12", &s.view, 12, 20);
    check_screen("alone-20x5", &s.view, 5, 20);
    s.view.monitor.silent_s = 12;
    check_screen("alone-silent", &s.view, 5, 20);
}

/* A unit that is a GPU: beside cores, two of them, one that both share, one that was lost, one without sensors. */
TEST(gpus)
{
    static const struct view_gpu one = {.device = "NVIDIA H200", .busy = {97, true, NULL}, .memory = {43.2, true, NULL},
                                        .total = {139.8, true, NULL}, .ghz = {1.98, true, NULL},
                                        .celsius = {71, true, NULL}, .watts = {512.3, true, NULL}};
    static const struct view_gpu software = {.device = "llvmpipe (LLVM 15.0.6, 256 bits)", .memory = {0.3, true, NULL},
                                             .total = {2.0, true, NULL}, .why = "it runs on the cores"};
    static const int sizes[][2] = {{24, 80}, {40, 120}, {60, 200}};
    struct sample s;
    char name[40];
    sample_init(&s);
    s.view.monitor.legend = true;
    struct view_unit *prefill = &s.view.monitor.prefill, *decode = &s.view.monitor.decode;
    decode->name = "gpu:0";
    decode->kind = "gpu";
    decode->gpu = one;
    check_screen("gpu-decode-120x40", &s.view, 40, 120);
    prefill->name = "gpu:1";
    prefill->kind = "gpu";
    prefill->gpu = software;
    check_screen("gpu-two-120x40", &s.view, 40, 120);
    s.view.monitor.alone = true;
    s.view.monitor.form = VIEW_FORM_FULL;
    check_screen("gpu-two-alone-120x40", &s.view, 40, 120);
    prefill->name = "gpu:0";
    decode->gpu.shared = true;
    prefill->gpu = decode->gpu;
    check_screen("gpu-shared-alone-80x24", &s.view, 24, 80);
    check_screen("gpu-shared-alone-200x60", &s.view, 60, 200);
    check_screen("gpu-shared-alone-39x20", &s.view, 20, 39);
    s.view.monitor.alone = false;
    s.view.monitor.form = VIEW_FORM_AUTO;
    check_screen("gpu-shared-120x40", &s.view, 40, 120);
    prefill->gpu.shared = decode->gpu.shared = false;
    decode->gpu.lost_ns = s.view.now_ns - 3000000000;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        snprintf(name, sizeof name, "gpu-lost-%dx%d", sizes[i][1], sizes[i][0]);
        check_screen(name, &s.view, sizes[i][0], sizes[i][1]);
    }
    s.view.monitor.form = VIEW_FORM_FULL;
    check_screen("gpu-lost-full-200x60", &s.view, 60, 200);
}

TEST(states)
{
    static const char *const names[VIEW_STATES] = {
        "no-model", "loading", "packing", "testing", "copying", "measuring", "compiling", "waiting", "failed", "idle",
        "reading", "thinking", "answering", "stopped", "unanswered", "length", "repeats", "queued", "context", "full"};
    for (int state = 0; state < VIEW_STATES; state++) {
        struct sample s;
        char name[40];
        sample_init(&s);
        struct view *v = &s.view;
        v->status.state = (enum view_state)state;
        v->status.done_bytes = 1180000000;
        v->status.total_bytes = 2700000000;
        v->status.done_tokens = 412;
        v->status.total_tokens = 1310;
        v->status.seconds_left = 2.6;
        v->draft.streaming = state == VIEW_THINKING || state == VIEW_ANSWERING || state == VIEW_QUEUED;
        v->draft.mark = VIEW_MARK_FOLLOWING;
        struct view_turn *last = &s.turns[3];
        last->state = VIEW_TURN_DONE;
        switch (state) {
        case VIEW_NO_MODEL:
        case VIEW_LOADING:
        case VIEW_PACKING:
        case VIEW_COPYING: v->n_turns = 0; break;
        case VIEW_TESTING:
        case VIEW_MEASURING:
        case VIEW_COMPILING:
            v->n_turns = 0;
            v->status.done_bytes = 3;
            v->status.total_bytes = 8;
            break;
        case VIEW_WAITING:
            v->n_turns = 0;
            v->status.done_bytes = 35;
            v->status.total_bytes = 600;
            break;
        case VIEW_FAILED: v->status.detail = "models/x.gguf: offset 24: expected version 3, found 9"; break;
        case VIEW_THINKING:
            last->state = VIEW_TURN_THINKING;
            last->text_len = 0;
            last->thinking = "One.\nTwo is a rather long line that has to be wrapped, since it goes on and on until "
                             "it is wider than the screen.\nThree.\nFour";
            last->thinking_len = strlen(last->thinking);
            last->thought_s = 4.2;
            last->thought_tokens = 61;
            break;
        case VIEW_ANSWERING:
            last->state = VIEW_TURN_ANSWERING;
            v->status.answered = true;
            v->status.ttft = (struct view_ttft){.kind = VIEW_TTFT_COLD, .ms = 1870};
            v->status.read_after_enter = 188;
            break;
        case VIEW_STOPPED: last->state = VIEW_TURN_STOPPED; break;
        case VIEW_UNANSWERED: v->n_turns--; break;
        case VIEW_LENGTH: last->state = VIEW_TURN_LENGTH; break;
        case VIEW_REPEATS: last->state = VIEW_TURN_REPEATS; break;
        case VIEW_QUEUED:
            last->state = VIEW_TURN_ANSWERING;
            v->draft.queued = "and how much memory does one take?";
            v->draft.len = v->draft.cursor = 0;
            v->draft.mark = VIEW_MARK_QUEUED;
            break;
        case VIEW_CONTEXT: v->status.ctx_used = 26870; break;
        case VIEW_FULL:
            v->status.ctx_used = 32768;
            v->draft.mark = VIEW_MARK_TOO_LONG;
            break;
        default: break;
        }
        snprintf(name, sizeof name, "state-%s", names[state]);
        check_screen(name, v, 24, 80);
        v->monitor.form = VIEW_FORM_OFF; /* the sentence is seen without a monitor where it matters */
        snprintf(name, sizeof name, "state-%s-small", names[state]);
        check_screen(name, v, 10, 60);
    }
}

TEST(warnings_and_notices)
{
    struct sample s;
    sample_init(&s);
    s.view.status.warnings = (1u << VIEW_WARNINGS) - 1;
    s.view.status.consequence = "a unit failed: prefill rests";
    s.view.status.unsaved = "no space left on device";
    check_screen("warnings", &s.view, 30, 80);
    sample_init(&s);
    s.notices[0] = (struct view_notice){VIEW_NOTICE_INFO, "214 bytes sent to the terminal (OSC 52)"};
    s.notices[1] = (struct view_notice){VIEW_NOTICE_ERROR, "/regn: no such command; did you mean /regen?"};
    s.view.notices = s.notices;
    s.view.n_notices = 2;
    s.view.monitor.legend = true;
    check_screen("notices", &s.view, 24, 80);
}

TEST(attachments)
{
    struct view_attachment attached[] = {{.name = "notes.md", .tokens = 1482, .read = true},
                                         {.name = "$ git diff", .tokens = 1204},
                                         {.name = "src/*.c (41)", .tokens = 9310},
                                         {.name = "a-name-that-is-longer-than-a-chip-may-be.c", .tokens = 310},
                                         {.name = "b.c", .tokens = -1}};
    struct sample s;
    sample_init(&s);
    s.view.draft.attached = attached;
    s.view.draft.attached_left = 18100;
    s.view.draft.n_attached = 1;
    check_screen("attached-one", &s.view, 24, 80);
    s.view.draft.n_attached = 3;
    check_screen("attached", &s.view, 24, 80);
    s.view.draft.n_attached = 5;
    check_screen("attached-more", &s.view, 24, 80);
    check_screen("attached-small", &s.view, 12, 40);
    check_screen("attached-least", &s.view, 5, 20);
    check_screen("attached-panel", &s.view, 40, 120);
    check_screen("attached-large", &s.view, 60, 200);
    attached[0].changed = attached[1].too_long = attached[4].marked = true;
    check_screen("attached-states", &s.view, 24, 80);
    check_screen("attached-states-small", &s.view, 12, 40);
    check_screen("attached-states-panel", &s.view, 40, 120);
    check_screen("attached-states-large", &s.view, 60, 200);
    static const struct view_picture photo = {.name = "photo.jpg", .width = 640, .height = 480};
    attached[1] = (struct view_attachment){.name = photo.name, .n_pictures = 1, .tokens = 302, .pictures = &photo};
    attached[1].failed = "no memory to encode a picture of 640 x 480: 310 MB";
    s.view.draft.n_attached = 2;
    check_screen("attached-failed", &s.view, 24, 80);
    check_screen("attached-failed-small", &s.view, 12, 40);
    check_screen("attached-failed-large", &s.view, 60, 200);
}

/* What the mark of the draft says of them, with and without a reply. */
TEST(marks_of_attachments)
{
    static const struct {
        const char *name;
        enum view_mark mark;
    } marks[] = {{"again", VIEW_MARK_AGAIN}, {"runs", VIEW_MARK_RUNS}, {"running", VIEW_MARK_RUNNING},
                 {"sends", VIEW_MARK_SENDS}};
    static const struct view_attachment attached[] = {{.name = "notes.md", .tokens = 1482, .read = true}};
    struct sample s;
    sample_init(&s);
    s.view.draft.attached = attached;
    s.view.draft.attached_left = 18100;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        char name[40];
        s.view.draft.mark = marks[i].mark;
        s.view.draft.n_attached = i < 1;
        s.view.draft.streaming = i > 1;
        static const int sizes[][2] = {{12, 40}, {24, 80}, {40, 120}, {60, 200}};
        for (int k = 0; k < 4; k++) {
            snprintf(name, sizeof name, "mark-%s-%dx%d", marks[i].name, sizes[k][1], sizes[k][0]);
            check_screen(name, &s.view, sizes[k][0], sizes[k][1]);
        }
    }
}

TEST(cards)
{
    static const char *const tips[] = {"Why is the sky blue?", "Tell me a story.", "/monitor full"};
    struct sample s;
    sample_init(&s);
    s.view.n_turns = 0;
    s.view.draft = (struct view_draft){.text = "", .mark = VIEW_MARK_NONE};
    s.view.status.state = VIEW_IDLE;
    s.view.card = (struct view_card){.show = true,
                                     .first_run = true,
                                     .model = "built-in 51M demo",
                                     .good_for = "for trying, not for facts",
                                     .tips = tips, .n_tips = 3, .tip = 2};
    check_screen("card-first-run", &s.view, 24, 80);
    s.sessions[0] = (struct view_session){"why-does-the-second", "today 14:02", "0.8b q8_0", 4};
    s.sessions[1] = (struct view_session){"a-plan-for-sunday", "2026-11-19", "2b q4_k", 12};
    s.view.card = (struct view_card){.show = true, .sessions = s.sessions, .n_sessions = 2};
    check_screen("card-sessions", &s.view, 24, 80);
}

TEST(popups)
{
    static const struct view_item menu[] = {
        {"b", "browse", NULL},      {"/", "search", NULL},        {"m", "form of the monitor", NULL},
        {"v", "live or turn", NULL}, {"f", "hold the picture", NULL}, {"+ -", "zoom", NULL},
        {"t", "thinking", NULL},    {"r", "raw", NULL},           {"y", "copy last reply", NULL},
        {"o", "speculation", NULL}, {"s", "sessions", NULL},      {"?", "all keys", NULL}};
    static const struct view_item list[] = {{NULL, "why-does-the-second", "today 14:02  4 turns"},
                                            {NULL, "a-plan-for-sunday", "2026-11-19  12 turns"},
                                            {NULL, "\xe6\xbc\xa2\xe5\xad\x97", "2026-11-18  2 turns"}};
    static const struct view_item answers[] = {{"y", "delete it", NULL}, {"n", "keep it", NULL}};
    struct sample s;
    sample_init(&s);
    s.view.options.ascii = false;
    s.view.popup = (struct view_popup){
        .kind = VIEW_POPUP_MENU, .title = "Ctrl-X", .items = menu, .n_items = 12, .selected = SIZE_MAX};
    check_screen("popup-menu", &s.view, 24, 80);
    s.view.popup = (struct view_popup){.kind = VIEW_POPUP_COMPLETION,
                                       .title = "sessions",
                                       .items = list,
                                       .n_items = 3,
                                       .selected = 1,
                                       .footer = "Enter resumes  Esc closes"};
    check_screen("popup-list", &s.view, 24, 80);
    check_screen("popup-list-tiny", &s.view, 5, 20);
    s.view.popup.kind = VIEW_POPUP_PAGER;
    check_screen("popup-pager", &s.view, 10, 60);
    s.view.popup.footer = "q closes  j k Space b move";
    check_screen("popup-pager-narrow", &s.view, 8, 24); /* of the hints, those that fit */
    s.view.popup = (struct view_popup){.kind = VIEW_POPUP_QUESTION,
                                       .title = "delete the session a-plan-for-sunday?",
                                       .items = answers,
                                       .n_items = 2,
                                       .selected = 1};
    check_screen("popup-question", &s.view, 24, 80);
    s.view.popup.footer = "y n";
    check_screen("popup-question-tiny", &s.view, 5, 20);
    s.view.popup = (struct view_popup){
        .kind = VIEW_POPUP_PROMPT, .title = "search", .input = "checkp", .input_len = 6, .input_cursor = 6};
    s.view.search = "checkp";
    check_screen("popup-prompt", &s.view, 24, 80);
    check_screen("popup-prompt-tiny", &s.view, 5, 20);
}

/* The looks, by colour class: what is told by colour must also be told without. */
TEST(colour_classes)
{
    static const int colours[] = {256, 8, 0};
    for (int i = 0; i < 3; i++) {
        struct sample s;
        char name[40];
        sample_init(&s);
        s.view.options.colours = colours[i];
        s.view.draft.read_bytes = s.view.draft.len;
        struct screen *screen = screen_new();
        struct canvas *canvas = canvas_new(24, 80);
        screen_draw(screen, &s.view, canvas);
        char *text = dump_looks(canvas, VIEW_THEME_DARK, colours[i]);
        snprintf(name, sizeof name, "looks-%d", colours[i]);
        golden_check(name, text);
        free(text);
        canvas_free(canvas);
        screen_free(screen);
    }
}

/* Everything that can be on the screen, in ASCII: not one byte of it is anything else. */
TEST(ascii_is_ascii)
{
    struct sample s;
    for (int form = VIEW_FORM_OFF; form <= VIEW_FORM_FULL; form++) {
        sample_init(&s);
        s.view.monitor.form = (enum view_form)form;
        s.turns[3].text =
            "\xe6\xbc\xa2 \xe2\x80\x94 caf\xc3\xa9 \x1b[31m\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> q\n\n---\n";
        s.turns[3].text_len = strlen(s.turns[3].text);
        char *text = draw(&s.view, 40, 120);
        for (char *c = text; *c; c++) CHECK((*c >= ' ' && *c < 0x7F) || *c == '\n');
        free(text);
    }
}

TEST(the_tint_grows_by_words_and_shrinks_by_edits)
{
    struct sample s;
    sample_init(&s);
    struct screen *screen = screen_new();
    struct canvas *canvas = canvas_new(24, 80);
    int tinted[4];
    struct canvas_cell *row = NULL;
    for (int step = 0; step < 4; step++) {
        /* 'and how much m|emory' is read; then less is claimed without an edit; then the text is cut at 'and how'. */
        s.view.now_ns += 200000000;
        s.view.draft.read_bytes = step == 0 ? 14 : step == 1 ? 3 : 20;
        if (step == 3)
            s.view.draft.text = "and hxx", s.view.draft.len = s.view.draft.cursor = 7, s.view.draft.read_bytes = 3;
        screen_draw(screen, &s.view, canvas);
        row = canvas->cells + 22 * 80;
        tinted[step] = 0;
        for (int c = 0; c < 80; c++) tinted[step] += style_name(row[c].style) == STYLE_READ;
    }
    CHECK_INT(13, tinted[0]); /* 'and how much ' */
    CHECK_INT(13, tinted[1]);
    CHECK_INT(20, tinted[2]); /* 'and how much memory ' */
    CHECK_INT(5, tinted[3]);
    canvas_free(canvas);
    screen_free(screen);
}

TEST(an_idle_screen_asks_for_no_frames)
{
    struct sample s;
    sample_init(&s);
    struct screen *screen = screen_new();
    struct canvas *canvas = canvas_new(24, 80);
    screen_draw(screen, &s.view, canvas);
    int wait = screen_timeout_ms(screen, &s.view);
    CHECK(wait > 0 && wait <= 100);
    s.view.now_ns += 10000000000;
    screen_draw(screen, &s.view, canvas);
    CHECK_INT(-1, screen_timeout_ms(screen, &s.view));
    canvas_free(canvas);
    screen_free(screen);
}

/* Any size, form, state and popup: nothing is drawn outside, the cursor is on the screen, and drawing twice at one
 * moment gives the same. */
TEST(random_screens)
{
    static const struct view_item items[] = {
        {"a", "first", "1"}, {NULL, "a second, longer one", NULL}, {"c", "\xe6\xbc\xa2", "3"}};
    uint64_t state = 7;
    static const char *const notes[] = {"a note that is long enough to be broken in most of the widths that are tried",
                                        "\xe6\xbc\xa2"};
    struct screen *screen = screen_new();
    struct canvas *canvas = canvas_new(24, 80);
    struct sample s;
    sample_init(&s);
    s.view.card = (struct view_card){.show = true, .first_run = true};
    for (int step = 0; step < 1500; step++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        unsigned r = (unsigned)(state >> 33), arg = (r >> 10) % 64;
        struct view *v = &s.view;
        switch (r % 12) {
        case 0:
        case 1: canvas_resize(canvas, 1 + (int)arg, 1 + (int)((r >> 4) % 250)); break;
        case 2:
            v->monitor.form = (enum view_form)(arg % 6);
            v->monitor.alone = arg % 7 == 0;
            break;
        case 3: v->status.state = (enum view_state)(arg % VIEW_STATES); break;
        case 4: v->status.warnings = arg; break;
        case 5:
            v->popup = (struct view_popup){.kind = (enum view_popup_kind)(arg % 8),
                                           .title = "title",
                                           .items = items,
                                           .n_items = arg % 4,
                                           .selected = arg % 5,
                                           .input = "words to find",
                                           .input_len = 13,
                                           .input_cursor = arg % 14,
                                           .footer = "keys",
                                           .aside = "aside",
                                           .header = arg % 2 ? "header" : NULL,
                                           .notes = notes,
                                           .n_notes = arg % 3,
                                           .ask = arg % 5 ? NULL : "ask:"};
            break;
        case 6:
            v->draft.len = arg % 32;
            v->draft.cursor = v->draft.len ? arg % v->draft.len : 0;
            v->draft.read_bytes = arg;
            v->draft.mark = (enum view_mark)(arg % 8);
            break;
        case 7: v->n_turns = arg % 5; break;
        case 8: v->monitor.turn_view = arg % 2, v->monitor.turn_start_ns = v->now_ns - arg * 100000000ll; break;
        case 9: v->monitor.hold = arg % 2, v->monitor.live_s = arg % 50; break;
        case 10: v->options.ascii = arg % 2, v->options.no_motion = arg % 3 == 0, v->browse = arg % 5 == 0; break;
        default: transcript_scroll(screen_transcript(screen), v, (int)arg - 32);
        }
        v->now_ns += 30000000;
        screen_draw(screen, v, canvas);
        char *once = dump_canvas(canvas);
        screen_draw(screen, v, canvas);
        char *twice = dump_canvas(canvas);
        if (strcmp(once, twice)) CHECK_FAIL("step %d:\n%s---\n%s", step, once, twice);
        CHECK(canvas->cursor_row < canvas->rows && canvas->cursor_col < canvas->cols);
        free(once);
        free(twice);
    }
    canvas_free(canvas);
    screen_free(screen);
}

TEST_MAIN(T(random_screens), T(sketch_80x24), T(sketch_paused), T(long_draft), T(sketch_line), T(sketch_panel),
          T(sizes), T(gpus), T(states), T(warnings_and_notices), T(attachments),
          T(marks_of_attachments), T(cards), T(popups), T(colour_classes),
          T(ascii_is_ascii), T(the_tint_grows_by_words_and_shrinks_by_edits), T(an_idle_screen_asks_for_no_frames))
