/* The questions that the program asks the terminal, and whether it has answered. An answer that came after the program
 * had ended would be typed into the shell.
 *
 * The last question is one that nearly all terminals answer (device attributes), and terminals answer in order: once
 * that answer has come, no other will. A terminal that has kept silent for QUESTIONS_EXPECT_NS is taken to know none of
 * the questions.
 *
 * A terminal that is not in raw mode is put into it while its answers are waited for. One terminal and one thread;
 * handlers of fatal signals may call questions_wait() and questions_end() too.
 */
#ifndef TANDEM_UI_QUESTIONS_H
#define TANDEM_UI_QUESTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Does it know kitty's pictures? Asked before the others. Terminals that know none of its kind of string, or show it,
 * are not asked (questions_may_ask_kitty). */
#define QUESTIONS_KITTY "\033_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\033\\"
/* Behind all other questions: does it know synchronised updates, who is it, and the last one. */
#define QUESTIONS_SCREEN "\033[?2026$p" QUESTIONS_IDENTITY
#define QUESTIONS_IDENTITY "\033[>c\033[c"

#define QUESTIONS_EXPECT_NS INT64_C(2000000000)
#define QUESTIONS_END_NS INT64_C(1000000000) /* so long leaving waits at most */

/* They are being written to the terminal whose answers come from `in`. */
void questions_asked(int in, int64_t now_ns);
/* Everything that was read from there since. */
void questions_heard(const char *bytes, size_t n);
bool questions_open(void);

/* Which terminal it says it is: the first figure of its secondary device attributes (84 tmux, 83 GNU screen, 41 xterm);
 * -1: it has not said. */
int questions_identity(void);

/* Whether the terminal of this $TERM (and within $TMUX, $STY) may be asked by QUESTIONS_KITTY: not the console, nor GNU
 * screen and tmux, which take such a string for a message or a title. */
bool questions_may_ask_kitty(const char *term, bool within);
/* How it shows pictures, as far as it has answered. */
enum questions_pictures { QUESTIONS_NO_PICTURES, QUESTIONS_SIXEL, QUESTIONS_KITTYS };
enum questions_pictures questions_pictures(void);

/* Reads until the last answer is there, it is taken to come no more, that time has passed or `room` is full. Returns
 * how many bytes that took; what isn't an answer was typed. */
size_t questions_wait(char *out, size_t room, int64_t patience_ns);
/* Before the terminal is given back for good: waits for what is on its way, QUESTIONS_END_NS at most. What was typed
 * meanwhile is lost. */
void questions_end(void);

#endif
