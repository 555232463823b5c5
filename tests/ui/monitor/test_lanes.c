/* Lanes from spans: which letter wins, the window, marks, holding; and how figures are written. */
#include "tests/check.h"
#include "tests/ui/dump.h"
#include "tests/ui/golden.h"

#include "ui/monitor/graph.h"
#include "ui/monitor/inspect.h"
#include "ui/monitor/lanes.h"
#include "ui/monitor/monitor.h"
#include "ui/text/format.h"

static const char *lane(const struct view_span *spans, size_t n, int cols)
{
    static struct lanes lanes;
    static char text[LANES_MAX + 1];
    struct view_monitor m = {.prefill = {.spans = spans, .n_spans = n}};
    lanes_compute(&lanes, &m, 0, cols * 100, cols);
    memcpy(text, lanes.prefill, (size_t)cols);
    text[cols] = 0;
    return text;
}

TEST(the_kind_with_most_time_wins)
{
    struct view_span spans[] = {
        {0, 40, VIEW_K_HISTORY, 0, 0}, {40, 100, VIEW_K_DRAFT, 0, 0}, {100, 200, VIEW_K_LENT, 0, 0}};
    CHECK_STR("d~.", lane(spans, 3, 3));
    spans[0].end_ns = spans[1].start_ns = 70;
    CHECK_STR("h~.", lane(spans, 3, 3));
}

TEST(short_work_shows_where_it_begins)
{
    struct view_span spans[] = {{0, 30, VIEW_K_SUFFIX, 0, 0},
                                {30, 100, VIEW_K_LENT, 0, 0},
                                {101, 103, VIEW_K_DRAFT, 0, 0},
                                {290, 320, VIEW_K_SUFFIX, 0, 0},
                                {330, 400, VIEW_K_LENT, 0, 0}};
    CHECK_STR("sds~.", lane(spans, 5, 5));
    spans[3] = (struct view_span){260, 340, VIEW_K_SUFFIX, 0, 0};
    CHECK_STR("sdss.", lane(spans, 5, 5));
}

TEST(a_hand_over_always_shows)
{
    struct view_span spans[] = {
        {0, 120, VIEW_K_PROMPT, 0, 0}, {120, 121, VIEW_K_HANDOVER, 0, 0}, {121, 300, VIEW_K_DECODE, 0, 0}};
    CHECK_STR("p>=", lane(spans, 3, 3));
}

TEST(what_crossed_is_told_with_its_speed_and_whether_a_turn_waited)
{
    const int64_t ms = 1000000;
    struct view_span spans[] = {{10 * ms, 12 * ms, VIEW_K_CARRY, 0, 20000000},
                                {60 * ms, 64 * ms, VIEW_K_CARRY, 0, 20000000},
                                {90 * ms, 92 * ms, VIEW_K_CARRY, 0, 20000000}};
    struct view_enter enter = {50 * ms, 20};
    struct view_monitor m = {.prefill = {.spans = spans, .n_spans = 3}, .enters = &enter, .n_enters = 1};
    static const char *const told[] = {"ahead of Enter", "after Enter", "ahead of Enter"};
    char text[INSPECT_SIZE];
    struct lanes lanes;
    lanes_compute(&lanes, &m, 0, 100 * ms, 10);
    for (int i = 0; i < 3; i++) {
        inspect_text(text, &m, 0, &lanes, i == 0 ? 1 : i == 1 ? 6 : 9, 120);
        CHECK(strstr(text, "> to DECODE's memory, ") && strstr(text, told[i]));
        CHECK(strstr(text, i == 1 ? "5.0 GB/s" : "10.0 GB/s"));
    }
}

TEST(the_loss_of_a_gpu_always_shows)
{
    struct lanes lanes;
    struct view_span span = {0, 300, VIEW_K_DECODE, 0, 0};
    struct view_monitor m = {.decode = {.spans = &span, .n_spans = 1, .gpu = {.device = "Some GPU", .lost_ns = 150}}};
    lanes_compute(&lanes, &m, 0, 300, 3);
    CHECK(!memcmp("=x=", lanes.decode, 3) && !memcmp("...", lanes.prefill, 3));
    CHECK(lanes_style(LANES_LOST) == STYLE_ERROR);
}

TEST(checkpoint_and_restore_are_drawn_as_what_follows)
{
    struct view_span spans[] = {{0, 90, VIEW_K_CHECKPOINT, 0, 0},
                                {90, 100, VIEW_K_LENT, 0, 0},
                                {100, 200, VIEW_K_RESTORE, 0, 0},
                                {200, 300, VIEW_K_DRAFT, 0, 0}};
    CHECK_STR("ddd", lane(spans, 4, 3));
}

TEST(the_live_window_moves_by_columns_and_stops)
{
    struct view_span span = {0, 1000000000, VIEW_K_DECODE, 1, 1};
    struct view_monitor m = {.decode = {.spans = &span, .n_spans = 1}, .live_s = 20};
    int64_t from, to, later;
    lanes_window(&m, 1000000001, 20, &from, &to);
    CHECK_INT(2000000000, to);
    CHECK_INT(20000000000, to - from);
    lanes_window(&m, 2000000000, 20, &from, &later);
    CHECK_INT(to, later); /* the same column */
    lanes_window(&m, 50000000000, 20, &from, &to);
    lanes_window(&m, 90000000000, 20, &from, &later);
    CHECK_INT(4000000000, to);
    CHECK_INT(to, later);
    m.turn_view = true;
    m.turn_start_ns = 5;
    m.turn_end_ns = 905;
    lanes_window(&m, 90000000000, 20, &from, &to);
    CHECK_INT(5, from);
    CHECK_INT(905, to);
}

TEST(holding_stands_still)
{
    struct sample s;
    sample_init(&s);
    struct monitor_state state = {0};
    s.view.monitor.hold = true;
    struct lanes held = *monitor_lanes(&state, &s.view, 56);
    for (int i = 0; i < 20; i++) {
        s.view.now_ns += 300000000;
        s.decode[0].kind = VIEW_K_PROMPT;
        CHECK(memcmp(held.decode, monitor_lanes(&state, &s.view, 56)->decode, 56) == 0);
    }
    s.view.monitor.hold = false;
    CHECK(memcmp(held.decode, monitor_lanes(&state, &s.view, 56)->decode, 56) != 0);
}

TEST(figures_are_renewed_twice_a_second)
{
    struct sample s;
    sample_init(&s);
    struct monitor_state state = {0};
    struct canvas *canvas = canvas_new(4, 80);
    int shown[6] = {0};
    for (int i = 0; i < 6; i++) {
        s.view.monitor.prefill.tok_s.value = 10 + i;
        canvas_clear(canvas);
        canvas->ascii = true;
        monitor_draw(&state, &s.view, VIEW_FORM_STRIP, canvas, (struct rect){0, 0, 4, 80});
        char *text = dump_canvas(canvas);
        sscanf(strstr(text, " tok/s") - 2, "%d", &shown[i]);
        free(text);
        s.view.now_ns += 110000000;
    }
    CHECK_INT(10, shown[0]);
    CHECK_INT(10, shown[4]);
    CHECK_INT(15, shown[5]);
    canvas_free(canvas);
}

/* A percentage is of the stretch whose name and lanes stand beside it. */
/* The full form is drawn anew at its pace, or when something but the figures changes; else it stands as it was. */
TEST(a_frame_between_shows_the_full_form_as_it_was)
{
    struct sample s;
    struct monitor_state state = {0};
    struct rect area = {0, 0, 24, 80};
    struct canvas *canvas = canvas_new(24, 80);
    sample_init(&s);
    monitor_draw(&state, &s.view, VIEW_FORM_FULL, canvas, area);
    char *first = dump_canvas(canvas);
    s.view.status.ctx_used += 100;
    s.view.now_ns += 20000000;
    canvas_clear(canvas);
    monitor_draw(&state, &s.view, VIEW_FORM_FULL, canvas, area);
    char *between = dump_canvas(canvas);
    CHECK_STR(first, between);
    s.view.monitor.hold = true; /* by a key: at once */
    canvas_clear(canvas);
    monitor_draw(&state, &s.view, VIEW_FORM_FULL, canvas, area);
    char *held = dump_canvas(canvas);
    CHECK(strcmp(first, held) && strstr(held, "1,630"));
    s.view.monitor.hold = false;
    s.view.status.ctx_used += 100;
    s.view.now_ns += 600000000;
    canvas_clear(canvas);
    monitor_draw(&state, &s.view, VIEW_FORM_FULL, canvas, area);
    char *later = dump_canvas(canvas);
    CHECK(strstr(later, "1,730"));
    free(first);
    free(between);
    free(held);
    free(later);
    canvas_free(canvas);
    monitor_free(&state);
}

TEST(percentages_are_of_what_the_lanes_show)
{
    struct sample s;
    sample_init(&s);
    struct monitor_state state = {0};
    const int64_t second = 1000000000, now = 100 * second;
    const struct view_span read = {.start_ns = now - second, .end_ns = now - second + second / 25},
                           wrote = {.start_ns = now - second * 2 / 5, .end_ns = now, .kind = VIEW_K_DECODE};
    struct view_monitor *m = &s.view.monitor;
    s.view.now_ns = now;
    m->prefill.spans = &read;
    m->decode.spans = &wrote;
    m->prefill.n_spans = m->decode.n_spans = 1;
    m->prefill.resting = true;
    m->turn_start_ns = now - second;
    m->turn_end_ns = now;
    static const struct {
        bool turn;
        double live_s;
        const char *name, *prefill, *decode;
    } views[] = {{false, 0, "last 20 s", "PREFILL  <1%", "DECODE    2%"},
                 {true, 0, "turn 1.0 s", "PREFILL   4%", "DECODE   40%"},
                 {false, 5, "last 5.0 s", "PREFILL   1%", "DECODE    8%"},
                 {false, 2, "last 2.0 s", "PREFILL   2%", "DECODE   20%"}};
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        struct canvas *canvas = canvas_new(4, 80);
        m->turn_view = views[i].turn;
        m->live_s = views[i].live_s;
        canvas->ascii = true;
        monitor_draw(&state, &s.view, VIEW_FORM_STRIP, canvas, (struct rect){0, 0, 4, 80});
        char *text = dump_canvas(canvas);
        if (!strstr(text, views[i].name) || !strstr(text, views[i].prefill) || !strstr(text, views[i].decode))
            CHECK_FAIL("%s, %s, %s: found\n%s", views[i].name, views[i].prefill, views[i].decode, text);
        CHECK(strstr(text, " last 302 tok/s\n") && strstr(text, "  31 tok/s\n"));
        free(text);
        canvas_free(canvas);
    }
}

TEST(one_unit_is_written_one_way)
{
    struct view_unit u = {.tok_s = {123456, true, NULL}};
    char text[32];
    CHECK_STR("123,456 tok/s", monitor_rate(text, &u, 0));
    CHECK_STR("paced 123,456 tok/s", monitor_rate(text, &u, 30));
    u.resting = true;
    CHECK_STR("last 123,456 tok/s", monitor_rate(text, &u, 30));
    u.tok_s.valid = false;
    CHECK_STR("-", monitor_rate(text, &u, 0));
}

TEST(numbers)
{
    char s[FORMAT_SIZE];
    CHECK_STR("0", format_count(s, 0));
    CHECK_STR("999", format_count(s, 999));
    CHECK_STR("-1,000", format_count(s, -1000));
    CHECK_STR("1,234,567", format_count(s, 1234567));
    CHECK_STR("8.6 ms", format_ms(s, 8.6));
    CHECK_STR("1,870 ms", format_ms(s, 1870));
    CHECK_STR("12.3 s", format_ms(s, 12345));
    CHECK_STR("0 ms", format_ms(s, NAN));
    CHECK_STR("7.1 s", format_seconds(s, 7.1));
    CHECK_STR("83 s", format_seconds(s, 83));
    CHECK_STR("116 MiB", format_bytes(s, 116u << 20));
    CHECK_STR("2.0 GiB", format_bytes(s, 2ull << 30));
    CHECK_STR("3.2 tok/s", format_rate(s, 3.2));
    CHECK_STR("302 tok/s", format_rate(s, 302));
    CHECK_STR("1,294 tok/s", format_rate(s, 1294.1));
    CHECK_STR("0%", format_percent(s, 0));
    CHECK_STR("<1%", format_percent(s, 0.2));
    CHECK_STR("1%", format_percent(s, 0.6));
    CHECK_STR("100%", format_percent(s, 100));
    CHECK_STR("0%", format_percent(s, NAN));
}

TEST(graphs)
{
    static const uint8_t values[4] = {0, 40, 60, 100};
    struct canvas *canvas = canvas_new(3, 4);
    graph_history(canvas, (struct rect){0, 0, 1, 4}, values, 4, 4, true, STYLE_TEXT);
    graph_history(canvas, (struct rect){1, 0, 1, 2}, values, 4, 4, false, STYLE_TEXT);
    graph_bar(canvas, 2, 0, 1, 3, true, STYLE_TEXT);
    char *text = dump_canvas(canvas);
    CHECK_STR("_--=\n\xe2\xa3\xa0\xe2\xa3\xbc\n#...\n", text);
    free(text);
    canvas_free(canvas);
    canvas = canvas_new(3, 6); /* in several rows: from the ground up */
    graph_history(canvas, (struct rect){0, 0, 3, 4}, values, 4, 4, true, STYLE_TEXT);
    graph_history(canvas, (struct rect){1, 4, 2, 2}, values, 4, 4, false, STYLE_TEXT);
    text = dump_canvas(canvas);
    CHECK_STR("   #\n -=# \xe2\xa3\xb8\n_###\xe2\xa3\xb0\xe2\xa3\xbf\n", text);
    free(text);
    canvas_free(canvas);
}

TEST_MAIN(T(the_kind_with_most_time_wins), T(short_work_shows_where_it_begins), T(a_hand_over_always_shows),
          T(what_crossed_is_told_with_its_speed_and_whether_a_turn_waited), T(the_loss_of_a_gpu_always_shows),
          T(checkpoint_and_restore_are_drawn_as_what_follows), T(the_live_window_moves_by_columns_and_stops),
          T(holding_stands_still), T(figures_are_renewed_twice_a_second),
          T(a_frame_between_shows_the_full_form_as_it_was), T(percentages_are_of_what_the_lanes_show),
          T(one_unit_is_written_one_way), T(numbers), T(graphs))
