/* Typed keys and pastes at the prompt, on their way from the terminal to readline.
 *
 * Standard input goes through the decoder (ui/keys/decoder.h): readline gets keys alone, one byte after the other. A
 * paste is inserted whole, so that nothing in it is taken for a key, even if its end mark gets lost; answers of the
 * terminal go no further. Outside a paste one byte is read at a time, so that what was typed ahead stays in the
 * terminal for the next program. One thread, as readline. */
#ifndef TANDEM_SRC_PLAIN_KEYS_H
#define TANDEM_SRC_PLAIN_KEYS_H

#include <stdbool.h>

typedef struct {
    void (*pasting)(void);             /* before a paste is inserted */
    void (*hint)(const char *text);    /* a line for the user */
} plain_keys_front;

/* From now on readline's bytes come from here. False without memory. */
bool plain_keys_open(const plain_keys_front *front);
void plain_keys_close(void);

/* How long the next plain_keys_read() can wait for the terminal, at most `most` ms. */
int plain_keys_wait_ms(int most);
/* Reads available bytes (`ready`), or handles timeouts. */
void plain_keys_read(bool ready);
/* Hands readline one byte, or inserts one paste. False: there is nothing to do. */
bool plain_keys_step(void);

/* Asks the terminal for its identity, once, and waits a moment for its answer (ui/terminal/questions.h). Not while
 * readline has the terminal; while its echo is off. */
void plain_keys_ask(void);

#endif
