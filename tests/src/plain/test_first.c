/* The README's first conversation, by the built-in model in line mode, typed as a person does. */
#include "engine/os/atomic_file.h"
#include "tests/check.h"
#include "tests/src/tui/rig.h"

#include <string.h>
#include <sys/wait.h>

#include "engine/base/clock.h"
#include "src/files/files.h"

static void wait_ms(int ms)
{
    int64_t until = clock_ns() + ms * INT64_C(1000000);
    while (clock_ns() < until && rig_take((int)((until - clock_ns()) / 1000000) + 1)) {
    }
}

/* As a person does: some keys a second, and a rest before Enter. */
static bool type_at_ease(const char *line, const char *answer)
{
    for (const char *at = line; *at; at++) {
        rig_type_n(at, 1);
        wait_ms(30);
    }
    wait_ms(400);
    rig_type("\n");
    return rig_said(answer) && rig_said("\n> ");
}

/* Puts the screen from its first prompt on, indented, between the marks of the file. */
static bool fill(const char *path)
{
    static const char opens[] = "<!-- conversation -->\n", closes[] = "<!-- end -->";
    char *text = NULL, row[RIG_ROW], *new = NULL;
    size_t n, length;
    int first = rig_row("> Hello"), rows = rig_row("same first token") + 1;
    if (files_read(path, 1 << 20, &text, &n, NULL)) return false;
    char *from = strstr(text, opens), *to = from ? strstr(from, closes) : NULL;
    FILE *out = to && first >= 0 && rows ? open_memstream(&new, &length) : NULL;
    if (out) {
        fprintf(out, "%.*s\n", (int)(from - text + (long)strlen(opens)), text);
        for (int i = first; i < rows; i++) {
            rig_text(i, row);
            fprintf(out, "%s%s\n", row[0] ? "    " : "", row);
        }
        fprintf(out, "\n%s", to);
        fclose(out);
    }
    bool done = new && !atomic_file_put(path, new, length, NULL);
    free(text);
    free(new);
    return done;
}

/* With $TANDEM_CONVERSATION set the conversation is written into that file (`make figures`). */
TEST(the_first_conversation)
{
    static const char *const talk[] = {"chat", "--plain", "--temp", "0", NULL};
    const char *kept = getenv("TANDEM_CONVERSATION");
    REQUIRE(rig_start(check_tmp(), 30, 110, "dumb", talk));
    REQUIRE(rig_said("Ctrl-D leaves") && rig_said("\n> "));
    CHECK(type_at_ease("Hello, I'm Tomek. My dog is called Bruno.", "first "));
    CHECK(type_at_ease("What is the capital of Peru?", "warm "));
    CHECK(type_at_ease("What's my dog's name?", "Your dog's name is Bruno."));
    CHECK(type_at_ease("/cold", "same first token: yes"));
    if (kept && kept[0]) CHECK(fill(kept));
    rig_type("\x04");
    int status = rig_end();
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST_MAIN(T(the_first_conversation))
