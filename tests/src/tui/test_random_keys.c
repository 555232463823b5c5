/* The full-screen front end with random keys: it neither crashes nor hangs. */
#include "tests/check.h"
#include "tests/src/tui/rig.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

/* Random keys, pastes, mouse reports and sizes: the program neither crashes nor hangs, and ends when it is told to. */
static void press_something(unsigned *seed)
{
    static const char *const keys[] = {
        "\r", "\t", "\x7f", "\x03", "\033", "\x18", "\x0c", "\x01", "\x05", "\x0b", "\x19", "\x12", "\x07", "\x15",
        "\033[A", "\033[B", "\033[C", "\033[D", "\033[5~", "\033[6~", "\033[1;5H", "\033OP", "\033OQ", "\033OR",
        "\033OS", "\033[15~", "\033[17~", "\033[<64;10;5M", "\033[<0;10;5M", "\033[200~pasted\ntext\033[201~",
        "/help\r", "/undo\r", "/regen\r", "/continue\r", "/edit\r", "/new\r", "/set follow top\r", "/monitor full\r",
        "/monitor auto\r", "/sessions\r", "/think on\r", "/branch\r", "/stats\r", "/mouse on\r", "/theme light\r",
        "/find the\r", "/system be brief\r", "/private on\r", "/attach /dev/null\r", "/speculation off\r",
        "\x18" "m", "\x18" "b", "\x18" "v", "\x18" "f", "\x18+", "\x18-", "\x18r", "\x18t", "\x18s", "\x18?",
        "\x18p", "\x18l", "/p\r", "/theme\r", "\033[<0;10;20M", "\033[<0;10;23M", "\033[<65;10;20M",
        "/copy view\r", "/copy\r", "/delete\r", "/resume\r", "/rename x\r", "/cold\r", "/ab on\r", "/pace 50\r",
        "/pipeline batch\r", "/pipeline tandem\r", "/speculation full\r", "/model\r", "/units\r", "/hold\r",
        "/zoom in\r", "/fold\r", "/raw\r", "/redo\r", "/branch 1\r", "/search the\r", "/send\r", "/keys\r",
        "\x18" "c", "\x18o", "\x18\r", "\x18/", "\x1a", "\033[200~\033[31m\r\n\xff\t\033[201~", "y", "c", "o", "e", "{",
        "}", "\x18\x05", "\x18y", "hello there", "\xe4\xb8\xad\xe6\x96\x87", "\xff\xfe", "j", "k", "n", "G", "[", "]",
        "d", "/answers 3 Why?\r", "/answers 2\r", "\x18" "1", "\x18" "2", "\x18k", "\x18g", "/visit\r", "/compact\r",
        "/compact a\r", "/compare\r", "/undelete\r", "/undelete 1\r", "/delete 1\r", "/resume 1\r", "/resume 2\r",
        "/detach 1\r", "/attach assets/measured.mk\r", "@assets/measured.mk ", "/export --force ~/a.md\r",
        "/export --force ~/a.html\r", "/export --force ~/a.svg\r", "/export --force ~/a.json\r", "/trace ~/a.trace\r",
        "/model builtin\r", "/set ctx 512\r", "/set max-tokens 3\r", "/set max-tokens x\r", "/set on-full drop\r",
        "/set temp 9e9\r", "/set width 1\r", "/set width 99999999999999999999\r", "/set draft-marks off\r", "/demo\r",
        "\033[200~unended", "/monitor strip\r", "/monitor off\r", "/stats turn card\r", "/edit 1\r", "/browse\r", "g",
        "/private off\r", "/save x\r", "\x18i", "/zoom out\r", "/view turn\r", "/compare 1 2\r", "/units measure\r",
    };
    enum { KEYS = sizeof keys / sizeof *keys };
    char one[2] = {(char)(' ' + rand_r(seed) % 95), 0};
    if (rand_r(seed) % 3 == 0) rig_type(one);
    else rig_type(keys[(unsigned)rand_r(seed) % KEYS]);
    /* From two columns on: into one libvterm can't put a wide character, such as those that the kernel echoes. */
    if (rand_r(seed) % 40 == 0) rig_resize(1 + rand_r(seed) % 100, 2 + rand_r(seed) % 300);
}

/* TANDEM_SEED: what to press, to play a finding again. Ten minutes of other keys each time with TANDEM_LONG; else some
 * keys that are the same each time, so that a change is judged by what it changed. */
TEST(random_keys)
{
    const char *longer = getenv("TANDEM_LONG"), *wanted = getenv("TANDEM_SEED");
    enum { SHORT_KEYS = 600 };
    bool explores = longer && longer[0];
    time_t until = time(NULL) + 600;
    unsigned seed = wanted ? (unsigned)strtoul(wanted, NULL, 10) : explores ? (unsigned)time(NULL) : 1;
    int pressed = 0, starts = 1;
    printf("# TANDEM_SEED=%u\n", seed);
    /* Until the screen is up, Ctrl-C is the terminal's and ends any program. */
    REQUIRE(rig_start(check_tmp(), 24, 80, "xterm-256color", rig_greedy) && rig_wait("IDLE"));
    for (; explores ? time(NULL) < until : pressed < SHORT_KEYS; pressed++) {
        press_something(&seed);
        if (rand_r(&seed) % 4 == 0) continue; /* the next one comes with it: no frame between */
        if (rig_take(5)) continue;
        int left = rig_end(); /* two Ctrl-C, or Ctrl-D by way of a paste */
        if (!WIFEXITED(left) || WEXITSTATUS(left)) {
            CHECK_FAIL("status %d after %d keys", left, pressed);
            rig_print();
            return;
        }
        CHECK(!rig_alternate());
        starts++;
        REQUIRE(rig_start(check_tmp(), 24, 80, "xterm-256color", rig_greedy) && rig_wait("ctx"));
    }
    rig_kill(SIGTERM);
    int ended = rig_end();
    if (!WIFEXITED(ended) || WEXITSTATUS(ended)) {
        CHECK_FAIL("status %d after SIGTERM", ended);
        rig_print();
    }
    CHECK(!rig_alternate());
    CHECK(rig_cooked());
    printf("# %d keys in %d programs\n", pressed, starts);
}

TEST_MAIN(T(random_keys))
