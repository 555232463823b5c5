/* Pictures on the full screen, end to end, with the model that sees (tests/seeing.h): sent alone, edited, looked at,
 * exported, and what is said where one can't be shown to the model. */
#include "tests/check.h"

#include <glob.h>
#include <unistd.h>

#include "tests/seeing.h"
#include "tests/src/image/drawn.h"
#include "tests/src/tui/rig.h"

/* The name that a picture of the decoder's corpus has on chips. */
#define PICTURE "alpha.png"

static void typed(const char *format, const char *argument)
{
    char text[700];
    snprintf(text, sizeof text, format, argument);
    rig_type(text);
}

/* A chat with this model, 8 tokens a reply; more: further arguments, or NULL. */
static bool begin(const char *model, const char *more, const char *argument)
{
    const char *arguments[] = {"chat", "-m", model, "--temp", "0", "-c", "2048", "-n", "8", more, argument, NULL};
    return rig_start(check_tmp(), 24, 80, "xterm-256color", arguments) && rig_wait("IDLE");
}

static void attach(void)
{
    typed("/attach %s\r", check_data("src/image/corpus/decode/" PICTURE));
    CHECK(rig_wait("1 " PICTURE " 16x24"));
}

TEST(a_picture_alone_is_a_message)
{
    const char *model = seeing_model();
    if (!model) return;
    REQUIRE(begin(model, NULL, NULL));
    attach();
    CHECK(rig_wait("[ready]"));
    rig_type("\r");
    CHECK(rig_wait("length limit") && rig_wait_gone("^X a attachments") && rig_wait(PICTURE " 16x24"));
    rig_type("/sessions\r");
    CHECK(rig_wait("  1 " PICTURE) && rig_wait("you: " PICTURE));
    rig_type("q/edit 1\r");
    CHECK(rig_wait("editing turn 1") && rig_wait("1 " PICTURE " 16x24"));
    rig_type("Why?\r");
    CHECK(rig_wait("2/2"));
    rig_type("/branch\r");
    CHECK(rig_wait("  " PICTURE) && rig_wait("* Why?"));
    rig_type("q");
    LEAVE();
}

TEST(it_can_be_looked_at)
{
    const char *model = seeing_model();
    if (!model) return;
    REQUIRE(begin(model, NULL, NULL));
    attach();
    rig_type("\x18"
             "a\r");
    CHECK(rig_wait(PICTURE ": image/png, 16 x 24 pixels, "));
    rig_type("q");
    CHECK(rig_wait_gone("image/png"));
    rig_type("\x7f\x7f");
    CHECK(rig_wait_gone("1 " PICTURE));
    LEAVE();
}

static int count(const char *text, const char *piece)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, piece)); at++) n++;
    return n;
}

/* As many colours as the half blocks have, and no half blocks in those of the text. */
TEST(the_screen_is_exported_with_its_colours)
{
    const char *model = seeing_model();
    char path[300], *picture = calloc(1, 1 << 20);
    if (!model || !picture) return;
    snprintf(path, sizeof path, "%s/screen.svg", check_tmp());
    REQUIRE(begin(model, NULL, NULL));
    attach();
    typed("/export %s\r", path);
    CHECK(rig_wait("bytes"));
    rig_type("\x7f\x7f");
    CHECK(rig_wait_gone("1 " PICTURE));
    LEAVE();
    FILE *in = fopen(path, "r");
    REQUIRE(in && fread(picture, 1, (1 << 20) - 1, in) > 1000);
    fclose(in);
    CHECK(count(picture, "height=\"9.5\" fill=\"#") > 40 && !strstr(picture, "\xe2\x96\x80"));
    free(picture);
}

TEST(what_no_enter_could_send_is_not_attached)
{
    static const struct {
        uint32_t width, height;
        const char *line;
    } cases[] = {{1000, 2, "a.png: a picture of 1000 x 2: expected sides of at most 200 to 1"},
                 {70000, 1, "a.png: a picture of 70000 x 1 pixels"}};
    const char *model = seeing_model();
    char path[300];
    if (!model) return;
    snprintf(path, sizeof path, "%s/a.png", check_tmp());
    REQUIRE(begin(model, NULL, NULL));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct drawn d = drawn_black(cases[i].width, cases[i].height);
        FILE *f = fopen(path, "wb");
        REQUIRE(f && fwrite(d.bytes, 1, d.n, f) == d.n && !fclose(f));
        free(d.bytes);
        typed("/attach %s\r", path);
        CHECK(rig_wait(cases[i].line) && !rig_shows("^X a attachments"));
        typed("See @%s there", path);
        CHECK(rig_wait("[ready]") && rig_wait_gone("^X a attachments"));
        rig_type("\x15");
        CHECK(rig_wait_gone("[ready]"));
    }
    LEAVE();
    REQUIRE(begin(model, "--template", "chatml"));
    typed("/attach %s\r", check_data("src/image/corpus/decode/" PICTURE));
    CHECK(rig_wait(PICTURE ": the model's chat template has no place for a picture"));
    CHECK(!rig_shows("^X a attachments"));
    LEAVE();
}

/* A conversation with pictures goes on with a model that sees, and with another one it says so. */
TEST(a_model_without_eyes_takes_a_conversation_over)
{
    const char *model = seeing_model();
    if (!model) return;
    REQUIRE(begin(model, NULL, NULL));
    attach();
    rig_type("Which one?\r");
    CHECK(rig_wait("length limit"));
    LEAVE();
    REQUIRE(begin("builtin", NULL, NULL));
    rig_type("/resume Which one?\r");
    CHECK(rig_wait("Tandem Demo 51M doesn't see its picture") && rig_wait(PICTURE " 16x24"));
    CHECK(rig_wait("[not read]"));
    rig_type("And now?");
    CHECK(rig_wait("> And now?") && rig_wait("[not read]") && !rig_shows("[reading]"));
    rig_type("\r");
    CHECK(rig_wait("Tandem Demo 51M doesn't see pictures: ") && rig_wait("> And now?"));
    rig_type("\x15");
    typed("/model %s\r", model);
    CHECK(rig_wait("going on with"));
    CHECK(rig_wait_gone("[not read]"));
    rig_type("And now?\r");
    CHECK(rig_wait("> And now?") && rig_wait("length limit | "));
    LEAVE();
}

/* A picture of the draft, once the model is another one: neither the chip nor the mark wait for it. */
TEST(a_model_without_eyes_takes_a_draft_over)
{
    const char *model = seeing_model();
    if (!model) return;
    REQUIRE(begin(model, NULL, NULL));
    attach();
    CHECK(rig_wait("[ready]"));
    rig_type("/model builtin\r");
    CHECK(rig_wait("going on with") && rig_wait("the model doesn't see it") && rig_wait("[not read]"));
    rig_type("Why?");
    CHECK(rig_wait("> Why?") && rig_wait("[not read]") && !rig_shows("[reading]"));
    rig_type("\x15\x7f\x7f");
    CHECK(rig_wait_gone("1 " PICTURE) && rig_wait_gone("[not read]"));
    LEAVE();
}

/* Its file in the session's folder is gone: the conversation goes on without it. */
TEST(a_picture_that_is_gone_is_told)
{
    const char *model = seeing_model();
    char pattern[600];
    glob_t found = {0};
    if (!model) return;
    REQUIRE(begin(model, NULL, NULL));
    attach();
    rig_type("This one is gone\r");
    CHECK(rig_wait("length limit"));
    LEAVE();
    snprintf(pattern, sizeof pattern, "%s/tandem/sessions/*.pictures/*.png", check_tmp());
    REQUIRE(!glob(pattern, 0, NULL, &found) && found.gl_pathc);
    for (size_t i = 0; i < found.gl_pathc; i++) CHECK(!unlink(found.gl_pathv[i]));
    globfree(&found);
    REQUIRE(begin(model, NULL, NULL));
    rig_type("/resume This one is gone\r");
    CHECK(rig_wait("without a picture: "));
    rig_type("qWhy?");
    CHECK(rig_wait("[ready]"));
    rig_type("\r");
    CHECK(rig_wait("> Why?") && rig_wait("length limit | "));
    LEAVE();
}

TEST_MAIN(T(a_picture_alone_is_a_message), T(it_can_be_looked_at), T(the_screen_is_exported_with_its_colours),
          T(what_no_enter_could_send_is_not_attached), T(a_model_without_eyes_takes_a_conversation_over),
          T(a_model_without_eyes_takes_a_draft_over), T(a_picture_that_is_gone_is_told))
