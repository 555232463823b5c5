/* The text that `tandem run` is given: the words of its command line, and standard input behind them where that belongs
 * to the command.
 *
 *   - among the words, or no words       standard input is read to its end, whatever it is
 *   words alone, and standard input is   it is read too, and a line says so:
 *     a file                               that is at its beginning; there it stays for others who have it open
 *     a pipe or a socket                   whose other end is done within RUN_INPUT_WAIT_MS, or waits because the
 *                                          pipe is full, and which the program that started this one hasn't open for
 *                                          reading as well
 *   a terminal, a device, what is empty  is not looked at
 *
 * A picture goes before the words. A program, a PDF ... is refused, as among attachments; zero bytes in a text are left
 * out.
 *
 * So a shell's loop (`while read x; do tandem run "$x"; done`) keeps its list: of a file it has read a line by then,
 * and a pipe it has open. Where there is text that stays unread, a line says so. */
#ifndef TANDEM_SRC_RUN_INPUT_H
#define TANDEM_SRC_RUN_INPUT_H

#include "src/cli/options.h"

enum { RUN_INPUT_WAIT_MS = 200 };

typedef struct {
    char *text; /* malloc'ed, cleaned as pastes are, with a zero byte behind its n bytes */
    size_t n;
    char *picture; /* the bytes of its file, malloc'ed; NULL: there is none */
    size_t picture_n;
} run_input;

tdm_status run_input_read(run_input *out, const options *o, tdm_error *err);

/* Has the other end of the pipe fd said all that it will, now or within ms milliseconds? Nothing is read. The pipe is
 * made larger, so that its writer need not wait for a reader. */
bool run_input_ends_within(int fd, int ms);

#endif
