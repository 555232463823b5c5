/* The forms of the answers that a terminal gives to this program's questions (ui/terminal/questions.h): device
 * attributes (Esc [ ? ... c, Esc [ > ... c), modes (Esc [ ? n ; n $ y), colours (Esc ] n ; rgb:h/h/h) and other
 * strings, recognised by their end. By these forms the decoder recognises the rest of an answer that comes long after
 * it gave up waiting, and the beginning of an answer that the user's typing interrupted. Pure; any thread. */
#ifndef TANDEM_UI_ANSWER_FORM_H
#define TANDEM_UI_ANSWER_FORM_H

#include <stddef.h>

enum answer_form {
    ANSWER_FORM_NONE,  /* no answer has this form */
    ANSWER_FORM_LOOSE, /* a string that could be anything, without its end */
    ANSWER_FORM_PART,  /* it can only be the beginning of an answer */
    ANSWER_FORM_WHOLE,
};

/* text[0..n) begins with Esc. *length: bytes of the whole answer, or of its beginning. */
enum answer_form answer_form(const char *text, size_t n, size_t *length);

#endif
