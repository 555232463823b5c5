/* Whether the terminal's background is dark or light, by the terminal's own answer or else by the environment.
 *
 * The question is xterm's OSC 11, which most terminals and tmux answer; the others ignore it. The answer comes through
 * the decoder as an event, so that it never lands in the draft; decoder_expect_string() keeps a slow one together.
 */
#ifndef TANDEM_UI_GROUND_H
#define TANDEM_UI_GROUND_H

#include <stddef.h>

#include "ui/draw/view.h"
#include "ui/keys/decoder.h"

struct term;

#define GROUND_QUERY "\033]11;?\033\\"
#define GROUND_FIRST_NS 60000000    /* how long the first frame waits for the answer */
#define GROUND_EXPECT_NS 2000000000 /* how long an answer may take */

enum ground { GROUND_UNKNOWN, GROUND_DARK, GROUND_LIGHT };

/* Asks the terminal; its answer comes as an event of the decoder. theme: the option's text. Returns until when the
 * first frame waits for it; 0: it need not wait, as the colours don't depend on it. */
int64_t ground_ask(struct term *term, struct decoder *decoder, const char *theme, int64_t now_ns);

/* The background that an event reports; UNKNOWN: it reports none. */
enum ground ground_from_event(const struct decoder_event *e);

/* From the text of an OSC answer: "11;rgb:RRRR/GGGG/BBBB" with one to four hexadecimal digits each, or rgba: with four
 * such numbers. UNKNOWN: it is not such an answer. */
enum ground ground_from_answer(const char *text, size_t n);

/* From COLORFGBG: "15;0" or "15;default;0", whose last number is the background in the terminal's palette. NULL, or
 * anything else: UNKNOWN. */
enum ground ground_from_environment(const char *colorfgbg);

/* The theme of that name: "dark", "light", "mono" or one of the user's own; "auto" or NULL: the one for the background.
 * UNKNOWN counts as dark. */
enum view_theme ground_theme(const char *name, enum ground ground);

#endif
