/* What is typed, pasted, queued, attached and taken back, end to end (see test_tui.c): no word of it is lost. */
#include "tests/check.h"
#include "tests/src/tui/rig.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* How a text comes into the draft makes no difference to the draft, nor to the tokens that are read for it. */
TEST(typed_slowly_quickly_and_pasted)
{
    static const char *const lines[] = {"Zwei Stra\303\237en: for (i = 0; i < 10; i++) x\303\244\346\274\242;",
                                        "  and  then?", "\360\237\221\215 end"};
    char text[200], paste[240], target[3][32] = {"", "", ""};
    snprintf(text, sizeof text, "%s\n%s\n%s", lines[0], lines[1], lines[2]);
    snprintf(paste, sizeof paste, "\033[200~%s\033[201~", text);
    REQUIRE(rig_start(check_tmp(), 40, 120, "xterm-256color", rig_greedy) && rig_wait("IDLE"));
    for (int how = 0; how < 3; how++) {
        size_t whole = 0;
        for (const char *at = text; how == 0 && *at; at += whole) {
            char draft[200];
            for (whole = 1; (at[whole] & 0xc0) == 0x80; whole++) {}
            rig_type_n(at, whole);
            const char *line = at;
            while (line > text && line[-1] != '\n') line--;
            snprintf(draft, sizeof draft, "%.*s", (int)(at + whole - line), line);
            if (*at != '\n') CHECK(rig_wait(draft));
        }
        if (how) rig_type(how == 1 ? text : paste);
        for (size_t i = 0; i < 3; i++) CHECK(rig_wait(lines[i]));
        CHECK(rig_wait("[ready]"));
        CHECK(rig_wait("   0 behind"));
        char row[RIG_ROW];
        rig_text(rig_row("target "), row);
        REQUIRE(sscanf(strstr(row, "target "), "target %31s", target[how]) == 1);
        CHECK_STR(target[0], target[how]);
        rig_type("\003");
        CHECK(rig_wait_gone("Zwei"));
    }
    LEAVE();
}

TEST(typed_while_loading_and_sent)
{
    REQUIRE(rig_start(check_tmp(), 24, 80, "xterm-256color", rig_greedy));
    CHECK(rig_wait("Enter sends")); /* from here on Enter is told from a newline */
    rig_type("Why is the sky blue?\r");
    CHECK(rig_wait("The sky is blue"));
    CHECK(rig_wait("read before Enter"));
    LEAVE();
}

TEST(what_is_taken_back_goes_before_what_was_typed)
{
    static const char *const slow[] = {"chat", "-m", "synthetic:4b", "-c", "256", NULL}; /* loads for many seconds */
    REQUIRE(rig_start(check_tmp(), 24, 80, "xterm-256color", slow) && rig_wait("Enter sends"));
    rig_type("the queued words\r");
    CHECK(rig_wait("queued: the queued words"));
    rig_type("words of the draft");
    CHECK(rig_wait("> words of the draft"));
    rig_type("\x03"); /* stops loading, so nobody would send what is queued */
    CHECK(rig_wait_gone("queued:"));
    CHECK(rig_wait("> the queued words") && rig_wait("  words of the draft"));
    rig_type("\x03");
    CHECK(rig_wait_gone("words of the draft"));
    LEAVE();
}

TEST(queue_take_back_and_cut)
{
    static const char *const slow[] = {"chat", "--temp", "0", "-c", "2048", "--ignore-eos", "--pace", "20", NULL};
    REQUIRE(rig_start(check_tmp(), 24, 80, "xterm-256color", slow) && rig_wait("IDLE"));
    rig_type("Tell me a story.\r");
    CHECK(rig_wait("ANSWERING"));
    rig_type("first line\r");
    CHECK(rig_wait("queued: first line"));
    rig_type("second line\r");
    CHECK(rig_wait("queued: first line second line"));
    rig_type("\033[A"); /* Up on the empty draft takes it back */
    CHECK(rig_wait_gone("queued:"));
    CHECK(rig_wait("> first line") && rig_wait("  second line"));
    rig_type("\x15");
    CHECK(rig_wait_gone("second line"));
    rig_type("\x15now this\r");
    CHECK(rig_wait("queued:"));
    rig_type("\x18\r"); /* Ctrl-X Enter */
    CHECK(rig_wait_gone("queued:"));
    CHECK(rig_wait("> "));
    CHECK(rig_wait(", cut"));
    rig_type("\x03");
    CHECK(rig_wait("STOPPED"));
    CHECK(rig_wait("/continue goes on"));
    LEAVE();
}

TEST(paste_of_200_kb)
{
    enum { SIZE = 200 << 10 };
    char *text = malloc(SIZE + 32);
    REQUIRE(text);
    START();
    strcpy(text, "\033[200~");
    size_t n = strlen(text);
    while (n < SIZE) n += (size_t)sprintf(text + n, "line %zu of it\n", n);
    strcpy(text + n, "\033[201~");
    rig_type_n(text, strlen(text));
    free(text);
    CHECK(rig_wait("[too long]"));
    rig_type("\r");
    CHECK(rig_wait("there is room for 2047"));
    CHECK(rig_shows("[too long]")); /* refused: the draft is kept */
    rig_type("\x03");
    CHECK(rig_wait_gone("[too long]"));
    LEAVE();
}

TEST(files_in_and_out)
{
    char path[300], command[400], text[4096] = "";
    snprintf(path, sizeof path, "%s/colours.txt", check_tmp());
    FILE *file = fopen(path, "w");
    REQUIRE(file);
    fputs("red, \033[31mgreen and blue\n", file);
    fclose(file);
    START();
    snprintf(command, sizeof command, "/attach %s\r", path);
    rig_type(command);
    CHECK(rig_wait("goes before your next message"));
    CHECK(rig_shows("1 colours.txt "));
    rig_type("/attach tests/goldens/tiny-a/generation_config.json\r");
    CHECK(rig_wait("  2 generation_config.json ") && rig_wait("2 attachments, "));
    rig_type("/detach 1\r");
    CHECK(rig_wait("1 generation_config.json ") && rig_wait("colours.txt is taken back; 1 attachment, "));
    rig_type(command);
    CHECK(rig_wait("1 generation_config.json ") && rig_wait("  2 colours.txt "));
    rig_type("/detach 1\r");
    CHECK(rig_wait("1 colours.txt "));
    rig_type("Name these colours.\r");
    CHECK(rig_wait("> colours.txt:"));
    CHECK(!rig_shows("^X a attachments"));
    CHECK(rig_wait("green and blue")); /* shown harmlessly */
    CHECK(rig_wait("read before Enter"));
    snprintf(path, sizeof path, "%s/talk.md", check_tmp());
    snprintf(command, sizeof command, "/export %s\r", path);
    rig_type(command);
    CHECK(rig_wait("1 turn,"));
    LEAVE();
    file = fopen(path, "r");
    REQUIRE(file);
    CHECK(fread(text, 1, sizeof text - 1, file) > 50);
    fclose(file);
    CHECK(strstr(text, "Name these colours."));
}

TEST(the_question_after_a_file_stays_visible)
{
    char row[RIG_ROW], now[RIG_ROW];
    START();
    rig_type("/attach tests/goldens/tiny-a/config.json\r");
    CHECK(rig_wait("1 config.json ") && rig_wait("[ready]")); /* read before anything is typed */
    rig_text(rig_row("1 config.json "), row);
    rig_type("What is the");
    CHECK(rig_wait("> What is the") && rig_wait("[ready]"));
    rig_text(rig_row("1 config.json "), now);
    CHECK_STR(row, now); /* what is left doesn't count it twice */
    rig_type("\x15What is the size of its vocabulary?\r");
    CHECK(rig_wait("> tests/goldens/tiny-a/config.json:") && rig_wait(" more lines: ^X b, then t unfolds"));
    CHECK(rig_wait("  What is the size of its vocabulary?"));
    LEAVE();
}

/* Nothing of a question is folded, however long it is, also once it is read from the session's file. */
TEST(a_long_question_after_a_file_is_shown_whole)
{
    static const char *const again[] = {"chat", "--temp", "0", "-c", "2048", "--resume", NULL};
    char home[300], line[40], question[1000] = "\033[200~";
    snprintf(home, sizeof home, "%s/whole", check_tmp());
    mkdir(home, 0700);
    for (int i = 1; i <= 12; i++)
        sprintf(question + strlen(question), "part %d of it%s", i, i < 12 ? "\n" : "\033[201~");
    REQUIRE(rig_start(home, 40, 80, "xterm-256color", rig_greedy) && rig_wait("IDLE"));
    rig_type("/attach tests/goldens/tiny-a/config.json\r");
    CHECK(rig_wait("1 config.json "));
    rig_type(question);
    CHECK(rig_wait("> part 1 of it"));
    rig_type("\r");
    for (int run = 0; run < 2; run++) {
        if (!run) CHECK(rig_wait("read before Enter"));
        CHECK(rig_wait("> tests/goldens/tiny-a/config.json:") && rig_wait(" more lines: ^X b, then t unfolds"));
        for (int i = 1; i <= 12; i++) {
            snprintf(line, sizeof line, "  part %d of it", i);
            CHECK(rig_wait(line));
        }
        LEAVE();
        if (!run) REQUIRE(rig_start(home, 40, 80, "xterm-256color", again));
        if (!run) CHECK(rig_wait("resumed 'part 1 of it"));
    }
}

TEST(a_message_that_is_taken_back_brings_its_files)
{
    static const char *const slow[] = {"chat", "--temp", "0", "-c", "2048", "--ignore-eos", "--pace", "20", NULL};
    REQUIRE(rig_start(check_tmp(), 24, 80, "xterm-256color", slow) && rig_wait("IDLE"));
    rig_type("Tell me a story.\r");
    CHECK(rig_wait("Here comes")); /* the message itself is read, so that it can be left */
    rig_type("/attach tests/goldens/tiny-a/generation_config.json\r");
    CHECK(rig_wait("1 generation_config.json "));
    rig_type("What does it say?\r");
    CHECK(rig_wait("queued: What does it say?") && rig_wait_gone("^X a attachments"));
    rig_type("\033[A");
    CHECK(rig_wait("> What does it say?") && rig_wait_gone("queued:"));
    CHECK(rig_wait("1 generation_config.json "));
    rig_type("\r");
    CHECK(rig_wait("queued: What does it say?") && rig_wait_gone("^X a attachments"));
    rig_type("/new\r"); /* nobody answers it there: it comes back as well */
    CHECK(rig_wait("> What does it say?"));
    CHECK(rig_wait("1 generation_config.json "));
    rig_type("\x15/detach\r");
    CHECK(rig_wait_gone("^X a attachments"));
    rig_type("/quit\r"); /* the story goes on elsewhere */
    CHECK(rig_wait("once more leaves"));
    LEAVE();
}

/* A terminal that is closed: what stood in the input is there when the session is resumed; not under --private. */
TEST(a_closed_terminal_keeps_the_draft)
{
    static const char *const again[] = {"chat", "--temp", "0", "-c", "2048", "-n", "24", "--resume", NULL};
    static const char *const hidden[] = {"chat", "--temp", "0", "-c", "2048", "-n", "24",
                                         "--private", "--resume", NULL};
    static const int signals[] = {SIGHUP, SIGTERM};
    char home[300];
    snprintf(home, sizeof home, "%s/draft", check_tmp());
    REQUIRE(rig_start(home, 24, 80, "xterm-256color", rig_greedy) && rig_wait("IDLE"));
    rig_type("Why is the sky blue?\r");
    CHECK(rig_wait("read before Enter"));
    rig_type("half a thought");
    for (int i = 0; i < 2; i++) {
        CHECK(rig_wait("> half a thought"));
        rig_kill(signals[i]);
        rig_end();
        REQUIRE(rig_start(home, 24, 80, "xterm-256color", again));
        CHECK(rig_wait("The sky is blue"));
    }
    CHECK(rig_wait("> half a thought"));
    rig_type("\x03"); /* the user clears it: it does not come again */
    CHECK(rig_wait_gone("half a thought"));
    LEAVE();
    REQUIRE(rig_start(home, 24, 80, "xterm-256color", hidden));
    CHECK(rig_wait("The sky is blue"));
    CHECK(!rig_shows("half a thought"));
    rig_type("nobody's business");
    CHECK(rig_wait("> nobody's business"));
    rig_kill(SIGHUP);
    rig_end();
    REQUIRE(rig_start(home, 24, 80, "xterm-256color", again));
    CHECK(rig_wait("The sky is blue"));
    CHECK(rig_wait("IDLE"));
    CHECK(!rig_shows("nobody's business"));
    LEAVE();
}

/* What waits for its turn, in the queue or while another message is edited, stood in the input as well. */
TEST(a_closed_terminal_keeps_what_waits)
{
    static const char *const slow[] = {"chat", "--temp", "0", "-c", "2048", "--ignore-eos", "--pace", "20", NULL};
    static const char *const again[] = {"chat", "--temp", "0", "-c", "2048", "-n", "24", "--resume", NULL};
    char home[300];
    snprintf(home, sizeof home, "%s/waits", check_tmp());
    REQUIRE(rig_start(home, 24, 80, "xterm-256color", slow) && rig_wait("IDLE"));
    rig_type("Why is the sky blue?\r");
    CHECK(rig_wait("The sky is blue"));
    rig_type("the queued words\r");
    CHECK(rig_wait("queued: the queued words"));
    rig_type("half a thought");
    CHECK(rig_wait("> half a thought"));
    rig_kill(SIGHUP);
    rig_end();
    REQUIRE(rig_start(home, 24, 80, "xterm-256color", again));
    CHECK(rig_wait("> the queued words") && rig_wait("  half a thought") && rig_wait("IDLE"));
    rig_type("\x18"
             "b[[e");
    CHECK(rig_wait("> Why is the sky blue?") && rig_wait("editing turn 1"));
    rig_kill(SIGHUP);
    rig_end();
    REQUIRE(rig_start(home, 24, 80, "xterm-256color", again));
    CHECK(rig_wait("> the queued words") && rig_wait("  half a thought") && rig_wait("  Why is the sky blue?"));
    rig_type("\x03");
    CHECK(rig_wait_gone("half a thought"));
    LEAVE();
}

/* However the words leave the input: sent, run, cleared, as text that looks like a command, with the terminal. */
TEST(what_is_written_in_private_is_in_no_file)
{
    char home[300];
    snprintf(home, sizeof home, "%s/nowhere", check_tmp());
    REQUIRE(rig_start(home, 24, 80, "xterm-256color", rig_greedy) && rig_wait("IDLE"));
    rig_type("What is an aardvark?\r");
    CHECK(rig_wait("read before Enter"));
    rig_type("/private on\r");
    CHECK(rig_wait(" | private | "));
    rig_type("/new\r");
    CHECK(rig_wait_gone("aardvark"));
    rig_type("What is a wombat?\r");
    CHECK(rig_wait("read before Enter"));
    rig_type("/system Be a wombat.\r");
    CHECK(rig_wait("the system prompt is changed"));
    rig_type("!echo wombat\r");
    CHECK(rig_wait("Enter once more runs it"));
    rig_type("\r");
    CHECK(rig_wait("1 $ echo wombat "));
    rig_type("\033[200~!is a wombat\033[201~");
    CHECK(rig_wait("> !is a wombat"));
    rig_type("\r");
    CHECK(rig_wait("> $ echo wombat") && rig_wait("  !is a wombat") && rig_wait("IDLE"));
    rig_type("a wombat less");
    CHECK(rig_wait("> a wombat less"));
    rig_type("\x03");
    CHECK(rig_wait_gone("a wombat less"));
    rig_type("half a wombat");
    CHECK(rig_wait("> half a wombat"));
    rig_kill(SIGHUP);
    rig_end();
    CHECK(rig_files_have(home, "aardvark")); /* in the history: it was no secret then */
    CHECK(!rig_files_have(home, "wombat"));
}

/* The editor's file is in memory only, or isn't made: XDG_RUNTIME_DIR is a folder of the user's that is closed to all
 * others, and never made here. */
TEST(an_editor_leaves_nothing_of_what_is_private)
{
    static const char *const private[] = {"chat", "--temp", "0", "-c", "2048", "-n", "24", "--private", NULL};
    static const struct {
        int mode; /* -1: it isn't there */
        const char *says;
    } folders[] = {{0700, NULL},
                   {0755, "private: the editor's file needs XDG_RUNTIME_DIR, which isn't yours alone"},
                   {0701, "private: the editor's file needs XDG_RUNTIME_DIR, which isn't yours alone"},
                   {-1, "private: the editor's file needs XDG_RUNTIME_DIR, which isn't there"},
                   {-2, "private: the editor's file needs XDG_RUNTIME_DIR, which isn't set"}};
    for (int i = 0; i < 5; i++) {
        char home[300], runtime[340], variable[400];
        snprintf(home, sizeof home, "%s/editor-%d", check_tmp(), i);
        snprintf(runtime, sizeof runtime, "%s/runtime", home);
        snprintf(variable, sizeof variable, "XDG_RUNTIME_DIR=%s", folders[i].mode > -2 ? runtime : "");
        rig_environment(variable);
        CHECK_INT(0, mkdir(home, 0700));
        if (folders[i].mode >= 0) CHECK(!mkdir(runtime, 0700) && !chmod(runtime, (mode_t)folders[i].mode));
        REQUIRE(rig_start(home, 24, 80, "xterm-256color", private) && rig_wait("IDLE"));
        rig_type("a secret\x18\x05");
        if (folders[i].says) CHECK(rig_wait(folders[i].says));
        CHECK(rig_wait("> a secret"));
        rig_type("\x03\x03\x03"); /* the draft goes, then the program */
        int ended = rig_end();
        CHECK(WIFEXITED(ended) && WEXITSTATUS(ended) == 0);
        CHECK((access(runtime, F_OK) != 0) == (folders[i].mode < 0));
    }
    rig_environment(NULL);
}

/* A zombie holds nothing any more. */
static bool runs(pid_t pid)
{
    char path[40], state = 'Z';
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "r");
    if (f && fscanf(f, "%*d (%*[^)]) %c", &state) != 1) state = 'Z';
    if (f) fclose(f);
    return state != 'Z';
}

/* Where the program is killed, the draft stays as long as the editor runs, and goes with the next start. */
TEST(a_kill_leaves_no_draft_of_an_editor)
{
    char home[300];
    snprintf(home, sizeof home, "%s/killed", check_tmp());
    REQUIRE(!mkdir(home, 0700));
    rig_environment("VISUAL=put() { trap '' HUP; cp \"$1\" \"$1~\"; echo still''here; exec sleep 1000; }; put");
    REQUIRE(rig_start(home, 24, 80, "xterm-256color", rig_greedy) && rig_wait("IDLE"));
    rig_type("half a wombat\x18\x05");
    REQUIRE(rig_said("stillhere"));
    pid_t editor = rig_grandchild();
    rig_kill(SIGKILL);
    rig_end();
    rig_environment(NULL);
    CHECK(rig_files_have(home, "wombat"));
    REQUIRE(rig_start(home, 24, 80, "xterm-256color", rig_greedy) && rig_wait("IDLE"));
    LEAVE();
    CHECK(rig_files_have(home, "wombat"));
    CHECK(editor > 0 && !kill(editor, SIGKILL));
    while (runs(editor)) usleep(1000); /* it is not our child */
    REQUIRE(rig_start(home, 24, 80, "xterm-256color", rig_greedy) && rig_wait("IDLE"));
    LEAVE();
    CHECK(!rig_files_have(home, "wombat"));
}

TEST(what_is_erased_is_in_no_file)
{
    char home[300];
    snprintf(home, sizeof home, "%s/erased", check_tmp());
    REQUIRE(rig_start(home, 24, 80, "xterm-256color", rig_greedy) && rig_wait("IDLE"));
    rig_type("What is a wombat?\r");
    CHECK(rig_wait("read before Enter"));
    rig_type("/export ~/wombat.md\r");
    CHECK(rig_wait("wombat.md: 1 turn"));
    rig_type("/delete --now\r");
    CHECK(rig_wait("for good? The same command once more does it"));
    CHECK(rig_files_have(home, "a wombat"));
    rig_type("/delete --now\r");
    CHECK(rig_wait("it is erased"));
    LEAVE();
    char command[500];
    snprintf(command, sizeof command, "rm '%s/wombat.md'", home); /* that is the user's own */
    CHECK_INT(0, system(command));
    CHECK(!rig_files_have(home, "a wombat"));
}

TEST_MAIN(T(typed_slowly_quickly_and_pasted), T(typed_while_loading_and_sent),
          T(what_is_taken_back_goes_before_what_was_typed), T(queue_take_back_and_cut), T(paste_of_200_kb),
          T(files_in_and_out), T(the_question_after_a_file_stays_visible),
          T(a_long_question_after_a_file_is_shown_whole), T(a_message_that_is_taken_back_brings_its_files),
          T(a_closed_terminal_keeps_the_draft), T(a_closed_terminal_keeps_what_waits),
          T(what_is_written_in_private_is_in_no_file), T(an_editor_leaves_nothing_of_what_is_private),
          T(a_kill_leaves_no_draft_of_an_editor), T(what_is_erased_is_in_no_file))
