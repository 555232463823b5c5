/* The program in a pseudo-terminal (src/bench/pty.h), as tests use it: one at a time, its files below a folder of the
 * test, nothing of the user's. Everything waits on what is on the screen; nothing sleeps. */
#ifndef TANDEM_TESTS_TUI_RIG_H
#define TANDEM_TESTS_TUI_RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/wait.h>

/* Starts $TANDEM with the arguments (NULL-terminated, without the program's name) in a terminal of that size and kind,
 * its files below `home`. */
bool rig_start(const char *home, int rows, int cols, const char *term, const char *const *arguments);

/* LC_ALL of the programs started from here on (C.UTF-8), and whether the terminal shows UTF-8 (it does). */
void rig_locale(const char *lc_all, bool utf8);
/* One more variable of theirs ("NAME=VALUE"; NULL: none). */
void rig_environment(const char *variable);

void rig_type(const char *bytes);
void rig_type_n(const char *bytes, size_t n);
void rig_resize(int rows, int cols);
void rig_kill(int number);
pid_t rig_pid(void);

/* Takes what the program writes until the screen shows the text (within one row), or does not any more. False when
 * that did not happen in five minutes or the program ended: the screen is printed then. */
bool rig_wait(const char *text);
bool rig_wait_gone(const char *text);
/* Takes what comes until no thread of the program has had anything to do for a second: for what is done without a
 * word. False when that did not happen in five minutes or the program ended. */
bool rig_wait_rest(void);
/* Whether it shows it now; rig_row also where. */
bool rig_shows(const char *text);
int rig_row(const char *text); /* -1: nowhere */
/* A row as it is now, without the blanks at its end. */
enum { RIG_ROW = 2048 };
void rig_text(int row, char out[RIG_ROW]);
/* For programs that write line by line: takes what comes until the text was written after the one waited for last. */
bool rig_said(const char *text);
/* How often the program has written these bytes so far, what has been read of them. */
int rig_count(const char *bytes);
/* A child of the program: of a shell, what it has started. 0: it has none. */
pid_t rig_grandchild(void);
/* The line modes of the terminal now have ECHO and ICANON. */
bool rig_is_cooked(void);
/* The terminal takes nothing any more, as after Ctrl-S. */
bool rig_stall(void);
/* Whether a cell has a colour that isn't the terminal's own. */
bool rig_coloured(void);
/* The colour of the text's first character, in the terminal's palette; -1: the terminal's own, or it isn't there. Only
 * ASCII may stand before it in its row. */
int rig_colour(const char *text);
/* The screen, and what a sanitizer has written about the program, as comments of the test. */
void rig_print(void);
/* Takes what comes within some milliseconds (random keys only: nothing to wait for). False when the program ended. */
bool rig_take(int ms);

/* Waits for the program's end and closes the terminal; its wait status. The screen stays readable. */
int rig_end(void);
/* Whether a file of the program's, below that folder, has the word. */
bool rig_files_have(const char *home, const char *word);
/* Whether the alternate screen is on. */
bool rig_alternate(void);
/* Whether the terminal's line discipline is as it was before the program (canonical, with echo). */
bool rig_cooked(void);

/* The built-in model, 24 answer tokens, always the same; begins and ends as a user does. */
static const char *const rig_greedy[] = {"chat", "--temp", "0", "-c", "2048", "-n", "24", NULL};

#define START() REQUIRE(rig_start(check_tmp(), 24, 80, "xterm-256color", rig_greedy) && rig_wait("IDLE"))
#define LEAVE()                                                                                                        \
    do {                                                                                                               \
        rig_type("\x04");                                                                                              \
        int ended = rig_end();                                                                                         \
        CHECK(WIFEXITED(ended) && WEXITSTATUS(ended) == 0);                                                            \
        CHECK(!rig_alternate());                                                                                       \
        CHECK(rig_cooked());                                                                                           \
    } while (0)

#endif
