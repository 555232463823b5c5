#include "src/commands/run_input.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/buffer.h"
#include "engine/base/clean.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "src/attach/kind.h"
#include "src/cli/subcommands.h"
#include "src/files/files.h"
#include "src/image/picture.h"
#include "src/io/output.h"

/* ---- Whose input it is ----------------------------------------------------------------------------------------- */

/* Has the program that started this one the same file open for reading? One whose files can't be seen may have. */
static bool parent_reads(const struct stat *own)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/%d/fd", (int)getppid());
    DIR *d = opendir(path);
    if (!d) return errno != ENOENT; /* there is no parent here, as in a container */
    bool found = false;
    for (struct dirent *f; !found && (f = readdir(d));) {
        struct stat its, link; /* the link's mode tells what the descriptor is for: a pipe's writer has another */
        found = !fstatat(dirfd(d), f->d_name, &its, 0) && its.st_dev == own->st_dev && its.st_ino == own->st_ino &&
                !fstatat(dirfd(d), f->d_name, &link, AT_SYMLINK_NOFOLLOW) && link.st_mode & S_IRUSR;
    }
    closedir(d);
    return found;
}

/* A shell closes its own ends of a pipeline's pipes just after it has started the programs: it is asked again. */
static bool is_shared(const struct stat *own)
{
    enum { LOOKS = 5, BETWEEN_MS = 10 };
    for (int i = 0; i < LOOKS; i++) {
        if (i) poll(NULL, 0, BETWEEN_MS);
        if (!parent_reads(own)) return false;
    }
    return true;
}

bool run_input_ends_within(int fd, int ms)
{
    enum { LARGE_PIPE = 1 << 20 };
    /* More than a pipe holds would keep its writer waiting for us. One that can't be made larger stays as it is. */
    fcntl(fd, F_SETPIPE_SZ, LARGE_PIPE);
    struct pollfd end = {.fd = fd, .events = POLLRDHUP};
    int64_t until = clock_ns() + ms * INT64_C(1000000);
    int n;
    do {
        int64_t left = (until - clock_ns()) / 1000000;
        n = poll(&end, 1, left > 0 ? (int)left : 0);
    } while (n < 0 && errno == EINTR);
    return n > 0 && end.revents & (POLLHUP | POLLRDHUP);
}

/* Does the writer wait for us, whose pipe holds no more? Its pages may be filled by half only. */
static bool is_full(int fd)
{
    int waiting, room = fcntl(fd, F_GETPIPE_SZ);
    return room > 0 && !ioctl(fd, FIONREAD, &waiting) && waiting >= room / 2;
}

static bool is_done(int fd)
{
    return run_input_ends_within(fd, RUN_INPUT_WAIT_MS) || is_full(fd);
}

static void say_left(const char *why)
{
    output_note("tandem run: standard input, %s, is left alone; - reads it", why);
}

/* Whether standard input, which was not mentioned, belongs to the words. Nothing is read. */
static bool belongs(void)
{
    struct stat own;
    int waiting;
    if (fstat(STDIN_FILENO, &own)) return false;
    if (S_ISREG(own.st_mode)) {
        off_t at = lseek(STDIN_FILENO, 0, SEEK_CUR);
        if (at > 0 && at < own.st_size) say_left("whose beginning was read by another program");
        return !at && own.st_size;
    }
    if (!S_ISFIFO(own.st_mode) && !S_ISSOCK(own.st_mode)) return false;
    bool shared = is_shared(&own), done = !shared && is_done(STDIN_FILENO);
    if (ioctl(STDIN_FILENO, FIONREAD, &waiting)) return false;
    if (shared && waiting) say_left("which the program that started this one may read");
    if (!shared && !done) say_left("whose writer was not done in time");
    return done && waiting;
}

/* ---- The text -------------------------------------------------------------------------------------------------- */

/* Appends a text as pastes are cleaned, on a line of its own. */
static tdm_status add_clean(struct buffer *out, const char *text, size_t n, tdm_error *err)
{
    char *clean = clean_text(text, n, &n);
    if (!clean) return error_set(err, TDM_E_NOMEM, "out of memory");
    tdm_status status = buffer_reserve(out, n + 1, err);
    if (!status && out->n && n) status = buffer_append(out, "\n", 1, err);
    if (!status) status = buffer_append(out, clean, n, err);
    free(clean);
    return status;
}

/* Is standard input read? words: there are others than "-". A prompt of the library needs none: then the user is not
 * asked to type. */
static bool reads_standard(const options *o, bool words, bool dash)
{
    if (!words && !dash && options_given(o, OPTION_PROMPT)) return !isatty(STDIN_FILENO);
    if (!words || dash) {
        if (isatty(STDIN_FILENO)) output_note("tandem run: reads the prompt from the terminal; Ctrl-D ends it");
        return true;
    }
    if (!belongs()) return false;
    output_note("tandem run: standard input follows the prompt, as with -");
    return true;
}

tdm_status run_input_read(run_input *out, const options *o, tdm_error *err)
{
    *out = (run_input){0};
    options words = *o; /* borrowed but for the array */
    char **kept = calloc((size_t)o->n_arguments + 1, sizeof *kept);
    if (!kept) return error_set(err, TDM_E_NOMEM, "out of memory");
    words.arguments = kept;
    words.n_arguments = 0;
    bool dash = false;
    for (int i = 0; i < o->n_arguments; i++) {
        if (!strcmp(o->arguments[i], "-"))
            dash = true;
        else
            kept[words.n_arguments++] = o->arguments[i];
    }
    char *prompt = subcommands_joined(&words), *input = NULL;
    size_t length = 0;
    free(kept);
    if (words.n_arguments && !prompt) return error_set(err, TDM_E_NOMEM, "out of memory");
    tdm_status status = TDM_OK;
    if (reads_standard(o, words.n_arguments, dash))
        status = files_read("-", SUBCOMMANDS_LONGEST_INPUT, &input, &length, err);
    char why[KIND_ROOM];
    bool shows = length && picture_is(input, length);
    if (input && !shows && kind_of(input, length))
        status = error_set(err, TDM_E_FORMAT, "standard input: %s", kind_refused(input, length, why));
    /* A program that shares a file which was taken unasked finds it as it was. A pipe can't go back. */
    if (words.n_arguments && !dash && input) lseek(STDIN_FILENO, 0, SEEK_SET);
    struct buffer joined = {0};
    if (!status) status = add_clean(&joined, prompt ? prompt : "", prompt ? strlen(prompt) : 0, err);
    if (!status && !shows) status = add_clean(&joined, input ? input : "", length, err);
    free(prompt);
    if (status || !shows) free(input);
    if (status) {
        buffer_free(&joined);
        return status;
    }
    *out = (run_input){.text = joined.bytes, .n = joined.n};
    if (shows) out->picture = input, out->picture_n = length;
    return TDM_OK;
}
