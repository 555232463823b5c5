/* A command that leaves once the reply begins: when it is done, and what becomes of it otherwise. */
#include "tests/check.h"

#include "src/tui/leave.h"

static tui_notices notices;
static tui_leave leaving;

static size_t shown(const struct view_notice **out)
{
    return tui_notices_fill(&notices, 1, NULL, out);
}

static void begin(slash_id command, char *argument)
{
    tui_leave_begin(&leaving, &(slash_call){.id = command, .argument = argument}, &notices);
}

TEST(it_is_done_once_the_message_is_read)
{
    static const tdm_phase ends[] = {TDM_PHASE_THINKING, TDM_PHASE_ANSWERING,
                                     TDM_PHASE_IDLE}; /* the last: stopped, or failed */
    const struct view_notice *out;
    char name[] = "bakery";
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        begin(SLASH_NEW, name);
        CHECK_INT(1, shown(&out));
        CHECK(tui_leave_take(&leaving, TDM_PHASE_READING, &notices).kind == TUI_ACTION_NONE && leaving.waits);
        tui_action a = tui_leave_take(&leaving, ends[i], &notices);
        CHECK(a.kind == TUI_ACTION_COMMAND && a.command == SLASH_NEW);
        CHECK_STR("bakery", a.text);
        free(a.text);
        CHECK_INT(0, shown(&out));
        CHECK(tui_leave_take(&leaving, ends[i], &notices).kind == TUI_ACTION_NONE);
    }
}

TEST(it_is_taken_back_and_replaced)
{
    const struct view_notice *out;
    char id[] = "20260101-000000";
    CHECK(!tui_leave_end(&leaving, &notices));
    begin(SLASH_VISIT, NULL);
    begin(SLASH_RESUME, id);
    CHECK_INT(1, shown(&out));
    tui_action a = tui_leave_take(&leaving, TDM_PHASE_ANSWERING, &notices);
    CHECK(a.command == SLASH_RESUME);
    CHECK_STR(id, a.text);
    free(a.text);
    begin(SLASH_VISIT, NULL);
    CHECK(tui_leave_end(&leaving, &notices) && !leaving.waits);
    CHECK_INT(0, shown(&out));
    CHECK(tui_leave_take(&leaving, TDM_PHASE_IDLE, &notices).kind == TUI_ACTION_NONE);
}

TEST_MAIN(T(it_is_done_once_the_message_is_read), T(it_is_taken_back_and_replaced))
