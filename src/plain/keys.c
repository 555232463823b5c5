#include "src/plain/keys.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <readline/readline.h>

#include "engine/base/buffer.h"
#include "engine/base/clean.h"
#include "engine/base/clock.h"
#include "engine/os/file.h"
#include "engine/os/inout.h"
#include "src/io/output.h"
#include "src/plain/tty.h"
#include "src/process/interrupt.h"
#include "ui/keys/decoder.h"
#include "ui/readline/clusters.h"
#include "ui/readline/stand_in.h"
#include "ui/terminal/questions.h"
#include "ui/terminal/restore.h"

#define ASK_NS INT64_C(300000000)

static struct {
    plain_keys_front front;
    struct decoder *decoder;
    struct inlet in;
    struct buffer keys, pastes; /* for readline; what was pasted and is not inserted yet */
    size_t used;                /* of keys */
    bool pasted, lost;          /* there is a paste, if an empty one; its end has not come */
    bool ended;                 /* the input */
    bool asked;
} line;

static bool has_keys(void)
{
    return line.used < line.keys.n;
}

/* Takes events until there are keys. */
static void take_events(void)
{
    struct decoder_event e;
    while (!has_keys() && !line.pasted && decoder_next(line.decoder, &e)) {
        buffer_clear(&line.keys);
        line.used = 0;
        if (e.kind == DECODER_BYTES || e.kind == DECODER_KEY) buffer_append(&line.keys, e.data, e.length, NULL);
        if (e.kind == DECODER_ESC) buffer_append(&line.keys, "\033", 1, NULL);
        if (e.kind != DECODER_PASTE) continue;
        line.pasted = true;
        line.lost = e.more;
        if (e.length && buffer_append(&line.pastes, e.data, e.length, NULL))
            line.front.hint("no memory for this paste");
        if (e.dropped) line.front.hint("the paste was too long: its end is left out");
    }
}

int plain_keys_wait_ms(int most)
{
    const int64_t at = decoder_deadline(line.decoder);
    if (has_keys() || line.pasted) return 0;
    if (at == INT64_MAX) return most;
    const int64_t left = (at - clock_ns()) / 1000000 + 1;
    return left < 0 ? 0 : left < most ? (int)left : most;
}

void plain_keys_read(bool ready)
{
    static char bytes[1 << 16];
    size_t most = decoder_pasting(line.decoder) ? sizeof bytes : 1;
    ssize_t n = ready ? inlet_read(&line.in, bytes, most) : 0;
    if (n > 0) plain_tty_typed(bytes, (size_t)n);
    if (n > 0) questions_heard(bytes, (size_t)n);
    if (ready && n <= 0 && !file_again(n)) line.ended = true;
    decoder_feed(line.decoder, bytes, n > 0 ? (size_t)n : 0, clock_ns());
    take_events();
}

/* A command of readline's waits for one more key than has come. If the program is to leave, this is the end of the
 * input. */
static void wait_for_keys(void)
{
    while (!has_keys() && !line.ended && !interrupt_seen()) {
        struct pollfd fds[2] = {{STDIN_FILENO, POLLIN, 0}, {interrupt_fd(), POLLIN, 0}};
        const int ms = plain_keys_wait_ms(1000);
        plain_keys_read(poll(fds, 2, ms) > 0 && fds[0].revents);
        if (line.pasted) break; /* it is no answer to what readline asks */
    }
}

static int next_key(FILE *stream)
{
    (void)stream;
    if (!has_keys()) wait_for_keys();
    return has_keys() ? (unsigned char)line.keys.bytes[line.used++] : EOF;
}

/* readline is to take one key after the other, and to wait for none. */
static int keys_waiting(void)
{
    return 0;
}

static void insert_paste(void)
{
    enum { PENDING = RL_STATE_ISEARCH | RL_STATE_NSEARCH | RL_STATE_MULTIKEY | RL_STATE_NUMERICARG |
                     RL_STATE_VIMOTION | RL_STATE_CHARSEARCH };
    if (RL_ISSTATE(PENDING)) rl_callback_sigcleanup();
    char *text = clean_text(line.pastes.bytes ? line.pastes.bytes : "", line.pastes.n, NULL);
    const bool lost = line.lost;
    line.pasted = line.lost = false;
    buffer_clear(&line.pastes);
    if (text && *text) {
        line.front.pasting();
        rl_insert_text(text);
    } else if (!text) {
        line.front.hint("no memory for this paste");
    }
    free(text);
    if (lost) line.front.hint("paste: its end didn't come; what came of it is kept");
    rl_redisplay_function();
}

bool plain_keys_step(void)
{
    take_events();
    if (line.pasted) insert_paste();
    else if (has_keys() || line.ended)
        stand_in_read(has_keys() ? (unsigned char)line.keys.bytes[line.used] : -1, clusters_own);
    else return false;
    return true;
}

bool plain_keys_open(const plain_keys_front *front)
{
    line.front = *front;
    line.decoder = decoder_open(NULL);
    inlet_open(&line.in, STDIN_FILENO);
    rl_getc_function = next_key;
    rl_input_available_hook = keys_waiting;
    return line.decoder;
}

void plain_keys_close(void)
{
    if (questions_open() && restore_in_front(STDIN_FILENO)) {
        plain_tty_echo(false); /* the terminal's answers must not be echoed */
        questions_end();
        plain_tty_echo(true);
    }
    decoder_close(line.decoder);
    inlet_close(&line.in);
    buffer_free(&line.keys);
    buffer_free(&line.pastes);
    line.decoder = NULL;
}

void plain_keys_ask(void)
{
    static const char question[] = QUESTIONS_IDENTITY;
    char bytes[1024];
    if (line.asked) return;
    line.asked = true;
    questions_asked(STDIN_FILENO, clock_ns());
    output_escape(question);
    output_flush();
    const size_t n = questions_wait(bytes, sizeof bytes, ASK_NS);
    plain_tty_typed(bytes, n);
    decoder_feed(line.decoder, bytes, n, clock_ns());
}
