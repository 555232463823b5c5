/* The questions that the program asks the terminal, and whether it has answered. An answer that came after the program
 * had ended would be typed into the shell.
 *
 * The last question is one that nearly all terminals answer (device attributes), and terminals answer in order: no
 * other answer comes after it. A terminal that is silent for QUESTIONS_EXPECT_NS is assumed to know none of the
 * questions.
 *
 * While the program waits for answers, it puts the terminal into raw mode if necessary. One terminal and one thread;
 * handlers of fatal signals may call questions_wait() and questions_end() too.
 */
#ifndef TANDEM_UI_QUESTIONS_H
#define TANDEM_UI_QUESTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Does it support kitty's pictures? Asked before the others. Terminals that would show this kind of string are not
 * asked (questions_may_ask_kitty). */
#define QUESTIONS_KITTY "\033_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\033\\"
/* After all other questions: does it support synchronised updates, which terminal is it, and the last one. */
#define QUESTIONS_SCREEN "\033[?2026$p" QUESTIONS_IDENTITY
#define QUESTIONS_IDENTITY "\033[>c\033[c"

#define QUESTIONS_EXPECT_NS INT64_C(2000000000)
#define QUESTIONS_END_NS INT64_C(1000000000) /* how long leaving waits at most */

/* Call it when questions are written to the terminal whose answers come from `in`. */
void questions_asked(int in, int64_t now_ns);
/* Takes all bytes that were read from there since. */
void questions_heard(const char *bytes, size_t n);
bool questions_open(void);

/* Which terminal it says it is: the first figure of its secondary device attributes (84 tmux, 83 GNU screen, 41 xterm);
 * -1: it has not said. */
int questions_identity(void);

/* Whether QUESTIONS_KITTY may be sent to the terminal of this $TERM (within: $TMUX or $STY is set): not to the console,
 * nor to GNU screen and tmux, which treat such a string as a message or a title. */
bool questions_may_ask_kitty(const char *term, bool within);
/* How it shows pictures, by its answers so far. */
enum questions_pictures { QUESTIONS_NO_PICTURES, QUESTIONS_SIXEL, QUESTIONS_KITTYS };
enum questions_pictures questions_pictures(void);

/* Reads until the last answer is there, no answer is expected any more, patience_ns has passed or `room` is full.
 * Returns how many bytes it read; those that aren't answers were typed. */
size_t questions_wait(char *out, size_t room, int64_t patience_ns);
/* Before the terminal is given back for good: waits for outstanding answers, at most QUESTIONS_END_NS. Input typed
 * meanwhile is lost. */
void questions_end(void);

#endif
