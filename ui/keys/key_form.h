/* The keys of the usual sequences of terminals. Pure; any thread. */
#ifndef TANDEM_UI_KEY_FORM_H
#define TANDEM_UI_KEY_FORM_H

#include "ui/keys/keys.h"

/* CSI n ~ and its rxvt relatives. */
enum key_code key_form_tilde(int n);
/* The last byte of CSI 1 ; m X and of SS3 X. */
enum key_code key_form_letter(char c);
/* The keypad in application mode as text: digits and operators. 0 for none. */
char key_form_keypad(char c);

#endif
