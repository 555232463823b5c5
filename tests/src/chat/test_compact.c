/* How the drafting of a summary ends: with a draft or a line that says why there is none, also without memory. */
#include "tests/starved.h"

#include <string.h>

#include "src/chat/compact.h"
#include "tests/src/chat/app_rig.h"

static const char model[] = "tandem chat -m tests/goldens/tiny-a --ignore-eos -n 5 --private "
                            "--template tests/engine/text/template/templates/qwen35.jinja";

static bool begin(app *a, options *o, const char *folders)
{
    use_empty_folders(folders);
    if (!start(a, o, model)) return false;
    say(a, "And then?");
    return true;
}

static void end(app *a, options *o)
{
    app_close(a);
    options_free(o);
}

/* Asks for a summary; false: its end, *out, has not come. */
static bool draft(app *a, tdm_event *out)
{
    if (compact_ask(a, &err)) return false;
    if (!tdm_chat_wait_idle(a->chat, CHECK_PATIENCE_MS)) return false;
    while (tdm_chat_next_event(a->chat, out))
        if (out->kind == TDM_EV_END) return true;
    return false;
}

TEST(a_summary_that_was_cut_off_is_said_to_be)
{
    options o;
    app a;
    tdm_event e;
    REQUIRE(begin(&a, &o, "cut") && draft(&a, &e));
    compact_end(&a, &e);
    CHECK(a.compact.ended && a.draft && !strncmp(a.draft, "/compact ", 9));
    CHECK_STR("the summary was cut off", a.compact.said);
    CHECK_INT(2, tdm_chat_nodes(a.chat, TDM_FRONT));
    end(&a, &o);
}

static app *starving;
static tdm_event ended;
static void end_summary(void)
{
    compact_end(starving, &ended);
}

/* Either it is a draft, or it is said why not; a turn that stays is said to. */
TEST(without_memory_it_says_so)
{
    options o;
    app a;
    int dropped = 0, stayed = 0, lost = 0;
    if (!starved_can()) return;
    REQUIRE(begin(&a, &o, "starved"));
    starving = &a;
    for (int always = 0; always < 2; always++) {
        starved_always = always;
        bool goes_on = true;
        for (long n = 0; goes_on; n++) {
            REQUIRE(draft(&a, &ended));
            goes_on = starved_by(n, end_summary);
            const char *said = a.compact.said ? a.compact.said : "";
            bool drafted = a.draft && !strncmp(a.draft, "/compact ", 9);
            CHECK(!a.compact.running && (drafted || strstr(said, "out of memory")));
            if (a.compact.ended) {
                dropped++;
                lost += !drafted;
                CHECK_INT(2, tdm_chat_nodes(a.chat, TDM_FRONT));
            } else {
                stayed++;
                CHECK(strstr(said, "out of memory: the turn that asks for the summary stays"));
                end(&a, &o);
                REQUIRE(begin(&a, &o, "starved"));
            }
            free(a.draft);
            a.draft = NULL;
        }
    }
    CHECK(dropped && stayed && lost);
    end(&a, &o);
}

TEST_MAIN(T(a_summary_that_was_cut_off_is_said_to_be), T(without_memory_it_says_so))
