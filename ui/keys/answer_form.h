/* The forms of the answers that a terminal gives to this program's questions (ui/terminal/questions.h): device
 * attributes (Esc [ ? ... c, Esc [ > ... c), modes (Esc [ ? n ; n $ y), colours (Esc ] n ; rgb:h/h/h) and, as far as
 * their end tells, other strings. By these forms the decoder recognises the rest of an answer that comes long after its
 * beginning was given up, and the beginning of an answer after which the user has typed. Pure; any thread. */
#ifndef TANDEM_UI_ANSWER_FORM_H
#define TANDEM_UI_ANSWER_FORM_H

#include <stddef.h>

enum answer_form {
    ANSWER_FORM_NONE,  /* no answer looks like that */
    ANSWER_FORM_LOOSE, /* a string that could be anything, without its end */
    ANSWER_FORM_PART,  /* what has come can only be an answer, which goes on */
    ANSWER_FORM_WHOLE,
};

/* text[0..n) begins with Esc. *length: bytes of the whole answer; else of that beginning of the text which is the
 * beginning of an answer. */
enum answer_form answer_form(const char *text, size_t n, size_t *length);

#endif
