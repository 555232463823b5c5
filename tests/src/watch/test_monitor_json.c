/* What a conversation tells through its socket: the schema that scripts rely on, the way back into a view, and whatever
 * else may come through it. */
#include "tests/check.h"
#include "tests/json_line.h"
#include "tests/ui/dump.h"
#include "tests/ui/golden.h"

#include "engine/json/write.h"
#include "src/figures/figures.h"
#include "src/watch/monitor_json.h"
#include "ui/monitor/inspect.h"
#include "ui/screen.h"
#include "ui/text/format.h"

static const char units_members[] = "name:s kind:s failed:n busy_percent:r lent_percent:r idle_percent:r resting:b tok_s:r gb_s:? "
                                    "gflop_s:? gb_limit_percent:? gflop_peak_percent:? speed_kept_percent:? gpu:?";
static const struct {
    const char *object, *members; /* name:type, as documented for scripts: s text, i whole, r number, b, o, a, n null, ? any */
} schema[] = {
    {"", "schema:i pid:i state:s model:s pipeline:s speculation:s tok_s:r pace:r ttft_kind:s ttft_mark:n ttft_ms:r window_s:r read_after_enter:i "
         "just_answered:b done_tokens:i total_tokens:i seconds_left:r done_bytes:i total_bytes:i draft:o context_used:i "
         "context_size:i prefill:o decode:o server:o follower:o turns:a warm_median:o cold_median:o weights_gib:r states_gib:r "
         "free_gib:r total_gib:r given_back_bytes:i checkpointed:i host_took_percent:r battery_percent:n memory_gb_s:r measured_s:i power_w:n "
         "temperature_c:n energy_j_per_token:n power_reason:s gpu:o"},
    {"draft", "mark:s bytes:i tokens:i to_read:i"},
    {"prefill", units_members},
    {"decode", units_members},
    {"follower", "target:i read:i behind:i ahead:i adopted:i wasted:i phase_read:i phase_total:i handover_ms:r "
                 "checkpoints:i checkpoint_bytes:i checkpoint_budget:i replica_bytes:i"},
    {"server", "host:s cached:i evaluated:i round_trip_ms:r tok_s:r rereads:b"},
    {"warm_median", "ms:r n:i"},
    {"gpu", "device:s reason:n busy_percent:r memory_gib:r memory_total_gib:r clock_ghz:r temperature_c:r power_w:n shared:b "
            "lost_ns:i"},
};

/* One of which something isn't known. */
static const struct view_gpu a_gpu = {.device = "Some GPU", .shared = true, .lost_ns = 5, .busy = {97, true, NULL}, .memory = {43.2, true, NULL},
                                      .total = {139.8, true, NULL}, .ghz = {1.98, true, NULL}, .celsius = {71, true, NULL}};

static bool is_of_type(json_object *o, char type)
{
    switch (type) {
    case 's': return json_is(o, JSON_STRING);
    case 'i': return json_is(o, JSON_INT);
    case 'r': return json_is(o, JSON_REAL) || json_is(o, JSON_INT);
    case 'b': return json_is(o, JSON_BOOL);
    case 'o': return json_is(o, JSON_OBJECT);
    case 'a': return json_is(o, JSON_ARRAY);
    case 'n': return o == NULL;
    default: return true;
    }
}

static void secret(void *ctx, int unit, const struct view_span *span, char *out, size_t room)
{
    (void)ctx, (void)unit, (void)span;
    snprintf(out, room, "SECRET");
}

/* What a span was about is told in the conversation's own program alone, and what comes from elsewhere tells none. */
TEST(no_words_leave)
{
    static monitor_json_room room;
    struct sample s;
    struct view back = {0};
    sample_init(&s);
    s.view.monitor.words = secret;
    s.view.monitor.inspect = true;
    json_object *o = monitor_json_write(&s.view, true);
    CHECK(!strstr(json_shown(o), "SECRET"));
    monitor_json_read(&back, &room, o);
    CHECK(back.monitor.words == NULL);
    const struct view_unit *u = &s.view.monitor.prefill;
    REQUIRE(u->n_spans > 0);
    /* The same span, told where the words are and where they are not. */
    struct lanes lanes;
    char with[INSPECT_SIZE], without[INSPECT_SIZE];
    lanes_compute(&lanes, &s.view.monitor, u->spans[0].start_ns, u->spans[u->n_spans - 1].end_ns, 40);
    inspect_text(with, &s.view.monitor, 0, &lanes, 0, 120);
    CHECK(strstr(with, "'SECRET'"));
    s.view.monitor.words = NULL;
    inspect_text(without, &s.view.monitor, 0, &lanes, 0, 120);
    CHECK(!strchr(without, '\''));
    json_free(o);
}

TEST(the_schema)
{
    struct sample s;
    sample_init(&s);
    s.view.monitor.decode.gpu = a_gpu;
    s.view.monitor.server = (struct view_server){.host = "h", .cached = 7, .evaluated = 2, .round_trip_ms = 100};
    json_object *o = monitor_json_write(&s.view, false);
    json_object *decode = json_member(o, "decode", JSON_OBJECT);
    json_add_shared(o, "gpu", json_member(decode, "gpu", JSON_OBJECT));
    CHECK(!json_member(json_member(o, "prefill", JSON_OBJECT), "gpu", JSON_OBJECT)); /* cores: null */
    for (size_t i = 0; i < sizeof schema / sizeof *schema; i++) {
        json_object *at = schema[i].object[0] ? json_member(o, schema[i].object, JSON_OBJECT) : o;
        char members[1000], *rest = members;
        int n = 0;
        snprintf(members, sizeof members, "%s", schema[i].members);
        for (char *each; (each = strsep(&rest, " ")); n++) {
            char *type = strchr(each, ':');
            *type++ = 0;
            if (!json_has(at, each)) CHECK_FAIL("%s.%s is absent", schema[i].object, each);
            else if (!is_of_type(json_get(at, each), *type)) CHECK_FAIL("%s.%s is of another type", schema[i].object, each);
        }
        CHECK_INT(n, json_members(at)); /* and nothing that is not told here */
    }
    CHECK(!strchr(json_line(o), '\n'));
    CHECK(!strstr(json_line(o), "and how much memory")); /* the draft itself stays here */
    json_free(o);
    s.view.status.session = "a name"; /* made from the first question: words */
    o = monitor_json_write(&s.view, true);
    CHECK(!strstr(json_line(o), "a name") && !strstr(json_line(o), "session"));
    CHECK_INT(MONITOR_SCHEMA, json_int(o, "schema", 0));
    CHECK(monitor_json_time(o) == s.view.now_ns && monitor_json_check(o, NULL) == TDM_OK);
    json_free(o);
}

TEST(what_is_read_draws_the_same_picture)
{
    static struct sample s;
    static monitor_json_room room;
    sample_init(&s);
    struct view other = {.options = s.view.options, .now_ns = s.view.now_ns};
    s.view.monitor.turn_start_ns = s.view.now_ns - 5000000000;
    s.view.monitor.turn_end_ns = s.view.now_ns;
    s.view.monitor.power_remedy = NULL;
    s.view.monitor.prefill.gpu = s.view.monitor.decode.gpu = a_gpu;
    s.view.monitor.prefill.gpu.lost_ns = 0;
    s.view.monitor.decode.gpu.shared = false;
    s.view.monitor.decode.gpu.lost_ns = s.view.now_ns - 2000000000;
    json_object *o = monitor_json_write(&s.view, true);
    monitor_json_read(&other, &room, o);
    other.monitor.form = s.view.monitor.form = VIEW_FORM_FULL;
    other.monitor.alone = s.view.monitor.alone = true;
    other.monitor.inspect = s.view.monitor.inspect = true; /* tokens and bytes of the spans, too */
    for (int turn = 0; turn < 2; turn++) {
        struct screen *a = screen_new(), *b = screen_new();
        struct canvas *mine = canvas_new(60, 200), *its = canvas_new(60, 200);
        other.monitor.turn_view = s.view.monitor.turn_view = turn;
        screen_draw(a, &s.view, mine);
        screen_draw(b, &other, its);
        char *expected = dump_canvas(mine), *found = dump_canvas(its);
        CHECK_STR(expected, found);
        free(expected);
        free(found);
        canvas_free(mine);
        canvas_free(its);
        screen_free(a);
        screen_free(b);
    }
    json_free(o);
}

static const char *or_nothing(const char *text)
{
    return text ? text : "";
}

/* Screen, API and JSON have one name for each kind and mark. */
TEST(turns_are_named_alike_everywhere)
{
    static const char *const kinds[] = {"first", "resumed", "warm", "cold"}, *const marks[] = {"", "queued", "cut", "head start"};
    static monitor_json_room room;
    for (int k = 0; k < 4; k++)
        for (int m = 0; m < 4; m++) {
            const tdm_turn_stats stats = {.kind = (tdm_turn_kind)k, .mark = (tdm_turn_mark)m, .prompt_tokens = 9,
                                          .earlier = 2, .before_enter = 3, .after_enter = 4};
            const struct view_ttft ttft = {(enum view_ttft_kind)(k + 1), (enum view_ttft_mark)m, 9};
            struct view_monitor_turn turn = {.number = 1, .ttft = ttft};
            struct view v = {.status.ttft = ttft, .monitor = {.turns = &turn, .n_turns = 1}}, other = {0};
            json_object *of_turn = json_new_object(), *of_view = monitor_json_write(&v, true);
            figures_turn_json(of_turn, &stats);
            json_object *row = json_at(json_member(of_view, "turns", JSON_ARRAY), 0);
            char text[FORMAT_SIZE], line[300], expected[60];
            snprintf(expected, sizeof expected, "%s 9 ms%s%s", kinds[k], m ? ", " : "", marks[m]);
            CHECK_STR(kinds[k], tdm_turn_kind_name(stats.kind));
            CHECK_STR(marks[m], tdm_turn_mark_name(stats.mark));
            CHECK_STR(expected, format_ttft(text, &ttft));
            figures_turn_line(&stats, 9000000, line, sizeof line);
            CHECK(!strncmp(line, expected, strlen(expected)));
            CHECK_STR(kinds[k], json_text(of_turn, "kind", NULL));
            CHECK_STR(kinds[k], json_text(row, "kind", NULL));
            CHECK_STR(kinds[k], json_text(of_view, "ttft_kind", NULL));
            CHECK_STR(marks[m], or_nothing(json_text(of_turn, "mark", NULL)));
            CHECK_STR(marks[m], or_nothing(json_text(row, "mark", NULL)));
            CHECK_STR(marks[m], or_nothing(json_text(of_view, "ttft_mark", NULL)));
            CHECK_INT(9, json_int(of_turn, "earlier_tokens", 0) + json_int(of_turn, "evaluated_before_enter", 0) +
                             json_int(of_turn, "evaluated_after_enter", 0));
            monitor_json_read(&other, &room, of_view);
            CHECK(other.status.ttft.kind == ttft.kind && other.status.ttft.mark == ttft.mark && other.status.ttft.ms == 9);
            CHECK(other.monitor.turns[0].ttft.kind == ttft.kind && other.monitor.turns[0].ttft.mark == ttft.mark);
            json_free(of_turn);
            json_free(of_view);
        }
}

TEST(nonsense_is_left_out)
{
    static monitor_json_room room;
    static const char *const lines[] = {
        "{}",
        "{\"prefill\":[],\"decode\":7,\"follower\":\"x\",\"turns\":{},\"enters\":[1,[2],[3,\"x\"]],\"draft\":[]}",
        "{\"prefill\":{\"spans\":[[0,5,1,0,0],[99,1,2,0,0],[-1,1,2,0,0],[0,-5,9,0,0],[0,1,9223372036854775807,0,0],[0,1,2],1,[]],\"busy_60s\":[-1,300,\"x\"],"
        "\"busy_percent\":1e300},\"context_used\":-4,\"context_size\":99999999999,\"ttft_ms\":1e999,\"turn_start_ns\":-9,"
        "\"decode\":{\"gpu\":{\"device\":7,\"lost_ns\":-3,\"busy_percent\":\"x\",\"memory_gib\":1e300,\"shared\":[]}},"
        "\"cores\":[[1],[0,9,5,5],[-1,0,0,0],[0,0,0,-5],7],\"schema\":2,\"now_ns\":-4,\"total_gib\":-1e11,\"measured_s\":-1,"
        "\"turns\":[1,{\"number\":-1,\"kind\":\"lukewarm\"}],\"state\":\"dancing\"}",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct view v = {0};
        json_object *o;
        REQUIRE(json_parse(&o, "line", lines[i], strlen(lines[i]), JSON_UTF8, NULL) == TDM_OK);
        monitor_json_read(&v, &room, o);
        CHECK_INT(0, v.monitor.prefill.n_spans);
        CHECK_INT(0, v.monitor.n_cores);
        CHECK(v.monitor.decode.gpu.lost_ns == 0 && v.monitor.decode.gpu.memory.value == 0);
        CHECK(!v.monitor.decode.gpu.shared && !v.monitor.prefill.gpu.device);
        CHECK(monitor_json_check(o, NULL) == TDM_E_FORMAT && monitor_json_time(o) == -1);
        CHECK_INT(VIEW_IDLE, v.status.state);
        CHECK(v.status.ctx_used == 0 && v.monitor.turn_start_ns == 0);
        json_free(o);
    }
}

TEST(a_bare_number)
{
    static const struct {
        const char *text, *said; /* NULL: valid */
    } cases[] = {{"7", NULL},
                 {"-12.5e3", NULL},
                 {" 12 \n", NULL},
                 {"12 x", "line: byte 3: not valid JSON: expected the end, found"},
                 {"[1", "line: byte 2: not valid JSON"},
                 {"", "line: byte 0: not valid JSON"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_object *o = NULL;
        tdm_error err = {0};
        tdm_status status = json_parse(&o, "line", cases[i].text, strlen(cases[i].text), JSON_UTF8, &err);
        if (cases[i].said ? !status || strncmp(err.text, cases[i].said, strlen(cases[i].said)) : status)
            CHECK_FAIL("'%s': %s", cases[i].text, err.text);
        json_free(o);
    }
}

TEST_MAIN(T(no_words_leave), T(the_schema), T(what_is_read_draws_the_same_picture), T(turns_are_named_alike_everywhere), T(nonsense_is_left_out), T(a_bare_number))
