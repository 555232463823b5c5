/* The input of `tandem run`: the words of its command line, followed by standard input if that belongs to the command.
 *
 *   - among the words, or no words       standard input is read to its end, whatever it is
 *   words alone, and standard input is   it is read too, and a line says so:
 *     a file that is at its beginning, and stays there for other programs that have it open
 *     a pipe or a socket                   whose other end is closed within RUN_INPUT_WAIT_MS, or waits because the
 *                                          pipe is full, and which the program that started this one does not have
 *                                          open for reading as well
 *   a terminal, a device, an empty file  is not read
 *
 * A picture goes before the words. A program, a PDF and so on are refused, as for attachments; zero bytes in a text are
 * left out.
 *
 * So a shell's loop (`while read x; do tandem run "$x"; done`) keeps its list: if that is a file, the loop has read a
 * line, so it is not at its beginning; a pipe is open in the loop's shell. If text stays unread, a line says so. */
#ifndef TANDEM_SRC_RUN_INPUT_H
#define TANDEM_SRC_RUN_INPUT_H

#include "src/cli/options.h"

enum { RUN_INPUT_WAIT_MS = 200 };

typedef struct {
    char *text; /* malloc'ed, cleaned as pastes are, with a zero byte after its n bytes */
    size_t n;
    char *picture; /* the bytes of its file, malloc'ed; NULL: there is none */
    size_t picture_n;
} run_input;

tdm_status run_input_read(run_input *out, const options *o, tdm_error *err);

/* Is the other end of the pipe fd closed, now or within ms milliseconds? Nothing is read. The pipe is made larger, so
 * that its writer need not wait for a reader. */
bool run_input_ends_within(int fd, int ms);

#endif
