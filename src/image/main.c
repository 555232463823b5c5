/* The program `tandem-image`, which `tandem` runs for each picture: a file on standard input, its pixels or one line on
 * standard output (image.h). Called by hand it only prints its purpose. Pictures are untrusted, and decoders have had
 * exploitable faults: so this program can read its input and write its output, and nothing else (confine_to_pipes). */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/os/file.h"
#include "engine/os/start.h"
#include "src/image/decode.h"
#include "src/image/exif.h"
#include "src/net/confine.h"

enum { MAX_SECONDS = IMAGE_SECONDS }; /* of the processor's time */

/* Pixels, those of a progressive JPEG before they are that, and the file. */
static const uint64_t most_memory = (uint64_t)1 << 30;

/* The head is written without json-c: the less there is in this program, the better. */
static bool say_pixels(uint32_t width, uint32_t height)
{
    char head[100];
    int n = snprintf(head, sizeof head, "{\"width\":%u,\"height\":%u,\"payload\":%zu}\n", width, height,
                     (size_t)3 * width * height);
    return file_write_all(STDOUT_FILENO, head, (size_t)n);
}

static int say_line(const char *line)
{
    char head[40];
    int n = snprintf(head, sizeof head, "{\"payload\":%zu}\n", strlen(line));
    return file_write_all(STDOUT_FILENO, head, (size_t)n) && file_write_all(STDOUT_FILENO, line, strlen(line)) ? 1 : 2;
}

/* All of standard input; NULL with a line. */
static uint8_t *read_input(size_t *n, const char **line)
{
    uint8_t *bytes = malloc(IMAGE_BYTES + 1);
    *line = bytes ? "can't be read" : "no memory for the file";
    for (*n = 0; bytes && *n <= IMAGE_BYTES;) {
        ssize_t some = file_read(STDIN_FILENO, bytes + *n, IMAGE_BYTES + 1 - *n);
        if (!some) return bytes;
        if (some < 0) break;
        *n += (size_t)some;
    }
    if (*n > IMAGE_BYTES) *line = "more bytes than a picture may have";
    free(bytes);
    return NULL;
}

/* Rows as they are to be seen. */
static bool write_rows(const decoded *d, uint8_t *row)
{
    bool turned = exif_turns(d->orientation);
    uint32_t width = turned ? d->height : d->width, height = turned ? d->width : d->height;
    bool written = say_pixels(width, height);
    if (d->orientation == 1) return written && file_write_all(STDOUT_FILENO, d->rgb, (size_t)3 * width * height);
    for (uint32_t y = 0; y < height && written; y++) {
        exif_row(d->rgb, d->width, d->height, d->orientation, y, row);
        written = file_write_all(STDOUT_FILENO, row, (size_t)3 * width);
    }
    return written;
}

/* What it says to a user who calls it: with --help on standard output, as programs do. */
static int tell(bool asked)
{
    static const char told[] =
        "tandem-image: turns a PNG, JPEG or WebP on its standard input into pixels. tandem runs it for each\n"
        "picture that is attached (/attach FILE, @FILE): it may open no file, start no program and use no network.\n";
    bool written = file_write_all(asked ? STDOUT_FILENO : STDERR_FILENO, told, sizeof told - 1);
    return !asked ? 2 : written ? 0 : 1;
}

int main(int argc, char **argv)
{
    bool asked = argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"));
    char line[IMAGE_TEXT];
    const char *unread;
    decoded d;
    size_t n;
    start_standard();
    signal(SIGPIPE, SIG_IGN);
    signal(SIGINT, SIG_IGN); /* the terminal's Ctrl-C is the chat's */
    if (argc > 1 || isatty(STDIN_FILENO) || isatty(STDOUT_FILENO)) return tell(asked);
    confine_to_pipes(most_memory, MAX_SECONDS);
    uint8_t *bytes = read_input(&n, &unread);
    if (!bytes) return say_line(unread);
    bool read = decode(bytes, n, &d, line);
    free(bytes);
    if (!read) return say_line(line);
    uint8_t *row = malloc(3 * (size_t)IMAGE_SIDE);
    bool written = row && write_rows(&d, row);
    free(row);
    free(d.rgb);
    if (!row) return say_line("no memory for a row of pixels");
    return written ? 0 : 2;
}
