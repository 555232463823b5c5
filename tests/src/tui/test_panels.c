/* Panels by themselves: what they own, and which actions they return. */
#include "tests/check.h"

#include "src/tui/frame/monitor.h"
#include "src/tui/draft/transcript.h"
#include "src/tui/lists/palette.h"
#include "src/tui/lists/popup.h"
#include "src/tui/lists/saved.h"

enum { ROWS = 4 };

static struct decoder_event key(const char *byte)
{
    return (struct decoder_event){.kind = DECODER_BYTES, .data = byte, .length = 1};
}

/* The action of the last key; those before it must have none. */
static tui_action press(tui_popup *p, const char *keys)
{
    tui_action action = {0};
    for (; *keys; keys++) {
        struct decoder_event e = key(keys);
        CHECK_INT(TUI_ACTION_NONE, action.kind);
        action = tui_popup_event(p, ROWS, &e);
    }
    return action;
}

/* Two sessions, without files: the end of a filter chooses the rows. */
static void open_sessions(tui_popup *p, tui_saved *saved)
{
    tui_saved_close(saved);
    *saved = (tui_saved){.all = calloc(2, sizeof *saved->all), .n = 2, .open_id = "second"};
    saved->all[0] = (store_entry){.id = "first", .name = strdup("tea"), .turns = 1};
    saved->all[1] = (store_entry){.id = "second", .name = strdup("rain"), .turns = 2};
    tui_popup_list(p, &tui_saved_list, saved);
    press(p, "/\r");
    CHECK_INT(2, (int)saved->choice.n_shown);
}

TEST(sessions_are_resumed_by_their_ids)
{
    tui_popup p = {0};
    tui_saved saved = {0};
    open_sessions(&p, &saved);
    tui_action a = press(&p, "j\r");
    CHECK_INT(TUI_ACTION_COMMAND, a.kind);
    CHECK_INT(SLASH_RESUME, a.command);
    CHECK_STR("second", a.text);
    CHECK_INT(TUI_POPUP_NONE, p.kind);
    free(a.text);
    tui_saved_close(&saved);
}

TEST(sessions_are_deleted_after_a_question)
{
    tui_popup p = {0};
    tui_saved saved = {0};
    struct view_popup shown;
    const struct input_view in = {0};
    open_sessions(&p, &saved);
    tui_action a = press(&p, "d");
    CHECK_INT(TUI_ACTION_NONE, a.kind);
    tui_popup_fill(&p, &in, &shown);
    CHECK_INT(VIEW_POPUP_QUESTION, shown.kind);
    CHECK_STR("delete 'tea'?", shown.title);
    a = press(&p, "n"); /* back to the list */
    CHECK_INT(TUI_ACTION_NONE, a.kind);
    CHECK_INT(TUI_POPUP_LIST, p.kind);
    CHECK(!saved.choice.question);
    a = press(&p, "jdy"); /* the question was not shown yet */
    CHECK_INT(TUI_ACTION_NONE, a.kind);
    CHECK(saved.choice.question);
    p.seen = true;
    a = press(&p, "y");
    CHECK_INT(TUI_ACTION_DELETE, a.kind);
    CHECK_STR("second", a.text);
    CHECK_STR("second", saved.deleted);
    free(a.text);
    open_sessions(&p, &saved);
    a = press(&p, "d\r"); /* the answer that is offered keeps it */
    CHECK_INT(TUI_ACTION_NONE, a.kind);
    CHECK(!saved.choice.question);
    tui_popup_close(&p);
    tui_saved_close(&saved);
}

TEST(sessions_are_sorted_filtered_and_renamed)
{
    tui_popup p = {0};
    tui_saved saved = {0};
    open_sessions(&p, &saved);
    press(&p, "s"); /* by name: the selected one stays selected */
    CHECK_INT(1, (int)saved.choice.shown[0]);
    CHECK_INT(0, (int)tui_list_row(&saved.choice));
    press(&p, "s"); /* the longest first */
    CHECK_INT(1, (int)saved.choice.shown[0]);
    press(&p, "s");
    CHECK_INT(0, (int)saved.choice.shown[0]);
    press(&p, "/RAI\r");
    CHECK_INT(1, (int)saved.choice.n_shown);
    CHECK_INT(1, (int)tui_list_row(&saved.choice));
    tui_action a = press(&p, "r\x15wet\r"); /* the open one is the conversation's to rename */
    CHECK_INT(TUI_ACTION_COMMAND, a.kind);
    CHECK_INT(SLASH_RENAME, a.command);
    CHECK_STR("wet", a.text);
    free(a.text);
    free(saved.all[0].name);
    saved.all[0].name = strdup("TH\u00C9");
    press(&p, "/the\u0301\r"); /* in another case and form */
    CHECK_INT(1, (int)saved.choice.n_shown);
    CHECK_INT(0, (int)tui_list_row(&saved.choice));
    press(&p, "/none\r");
    CHECK_INT(0, (int)saved.choice.n_shown);
    a = press(&p, "rdsu\r"); /* nothing to do it to */
    CHECK_INT(TUI_ACTION_NONE, a.kind);
    press(&p, "q");
    CHECK_INT(TUI_POPUP_NONE, p.kind);
    tui_saved_close(&saved);
}

static enum complete_kind two_sessions(void *context, const char *name, size_t index, const char *arguments,
                                       struct completion *out)
{
    (void)context, (void)name, (void)index, (void)arguments;
    completion_add(out, "\u00DCbung", NULL);
    completion_add(out, "Ubung", NULL);
    return COMPLETE_LINE;
}

static size_t candidates(tui_palette *p, const char *line)
{
    const struct completer completer = {.argument = two_sessions};
    const struct input_view in = {.text = line, .length = strlen(line), .cursor = strlen(line), .is_draft = true};
    tui_palette_follow(p, &in, &completer, NULL);
    return p->choice.n_shown;
}

TEST(the_palette_finds_names_in_either_case_and_form)
{
    tui_palette p = {0};
    CHECK_INT(2, candidates(&p, "/resume "));
    CHECK_INT(1, candidates(&p, "/resume u\u0308B"));
    CHECK_STR("\u00DCbung", p.found.names[p.choice.shown[0]]);
    CHECK_INT(1, candidates(&p, "/resume uB"));
    CHECK_INT(0, candidates(&p, "/resume x"));
    tui_palette_close(&p);
}

TEST(search_returns_its_words)
{
    tui_popup p = {0};
    tui_popup_find(&p, -1);
    tui_action a = press(&p, "rainx\x7f\r");
    CHECK_INT(TUI_ACTION_FIND, a.kind);
    CHECK_STR("rain", a.text);
    CHECK_INT(-1, a.count);
    free(a.text);
    tui_popup_find(&p, 1);
    a = press(&p, "\r"); /* the words of before */
    CHECK_INT(TUI_ACTION_FIND, a.kind);
    CHECK(!a.text);
    CHECK_INT(1, a.count);
}

TEST(pages_keep_their_place_at_another_width)
{
    tui_popup p = {0};
    tui_popup_fit(&p, 40);
    tui_popup_page(&p, "page", "one two three four five six seven\nb\nc\nd\ne\nf");
    CHECK_INT(6, (int)p.n);
    press(&p, "G");
    CHECK_INT(2, (int)p.selected); /* the last four rows are seen */
    tui_popup_fit(&p, 12);
    CHECK(p.n > 6 && p.selected >= 2);
    press(&p, "q");
    CHECK_INT(TUI_POPUP_NONE, p.kind);
    CHECK_INT(12, p.cols);
}

TEST(browse_mode_counts)
{
    tui_browse b = {.on = true};
    tui_action a = {0};
    for (const char *k = "12j"; *k; k++) {
        struct decoder_event e = key(k);
        a = tui_browse_event(&b, &e);
    }
    CHECK_INT(TUI_ACTION_KEY, a.kind);
    CHECK_INT(ACTION_LINE_DOWN, a.key);
    CHECK_INT(12, a.count);
    CHECK_INT(0, b.count);
}

TEST(typing_is_never_the_monitors)
{
    tui_monitor m = {.form = VIEW_FORM_STRIP};
    struct decoder_event letter = key("2"), esc = {.kind = DECODER_ESC},
                         left = {.kind = DECODER_KEY, .code = KEYCODE_LEFT},
                         right = {.kind = DECODER_KEY, .code = KEYCODE_RIGHT};
    CHECK_INT(TUI_ACTION_NONE, tui_monitor_event(&m, &left).kind); /* there is no cursor */
    tui_monitor_drafted(&m, 3);
    CHECK(tui_monitor_act(&m, ACTION_INSPECT, 1, VIEW_FORM_STRIP, 80));
    CHECK(m.inspect && m.hold && m.form == VIEW_FORM_FULL);
    CHECK_INT(TUI_ACTION_NONE, tui_monitor_event(&m, &letter).kind);
    CHECK_INT(ACTION_INSPECT_LEFT, tui_monitor_event(&m, &left).key);
    CHECK_INT(ACTION_INSPECT_RIGHT, tui_monitor_event(&m, &right).key);
    CHECK_INT(ACTION_INSPECT, tui_monitor_event(&m, &esc).key);
    CHECK(tui_monitor_act(&m, ACTION_INSPECT_LEFT, 5, VIEW_FORM_FULL, 80) && m.inspect_back == 5);
    CHECK(tui_monitor_act(&m, ACTION_INSPECT_RIGHT, 9, VIEW_FORM_FULL, 80) && m.inspect_back == 0);
    CHECK(tui_monitor_act(&m, ACTION_INSPECT_LEFT, 500, VIEW_FORM_FULL, 80));
    CHECK_INT(71, m.inspect_back); /* the first column */
    tui_monitor_drafted(&m, 3);
    CHECK(m.inspect);
    tui_monitor_drafted(&m, 4); /* who types means the draft */
    CHECK(!m.inspect && !m.hold && m.form == VIEW_FORM_STRIP);
    CHECK(!tui_monitor_act(&m, ACTION_COPY, 1, VIEW_FORM_FULL, 80));
}

TEST_MAIN(T(sessions_are_resumed_by_their_ids), T(sessions_are_deleted_after_a_question),
          T(sessions_are_sorted_filtered_and_renamed), T(the_palette_finds_names_in_either_case_and_form),
          T(search_returns_its_words), T(pages_keep_their_place_at_another_width), T(browse_mode_counts),
          T(typing_is_never_the_monitors))
