#include "src/bench/bench_screen.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "src/cli/interrupt.h"
#include "src/cli/output.h"
#include "src/cli/program.h"

enum { PATIENCE_S = 300, ARGUMENTS = 48 };

tdm_status bench_screen_open(bench *b, pty *s, int cols, const char *command, const char *const *arguments,
                             tdm_error *err)
{
    static const option_id passed[] = {OPTION_KV,           OPTION_KERNELS,     OPTION_QUANT,        OPTION_LM_HEAD,
                                       OPTION_PREFILL_UNIT, OPTION_DECODE_UNIT, OPTION_PREFILL_KIND, OPTION_DECODE_KIND,
                                       OPTION_EXPERT_MEMORY};
    static const char *const environment[] = {"LC_ALL=C.UTF-8", "INPUTRC=/dev/null", "XDG_CONFIG_HOME=/dev/null",
                                              "NO_COLOR", NULL};
    enum { PASSED = sizeof passed / sizeof *passed };
    const pty_options o = {.rows = BENCH_SCREEN_ROWS, .cols = cols, .term = "xterm-256color",
                           .environment = environment};
    char program[PATH_MAX];
    if (!program_beside("tandem", program) || access(program, X_OK))
        return error_set(err, TDM_E_NOT_FOUND, "bench: the program tandem, which is measured, is not beside this one");
    const char *all[ARGUMENTS] = {"tandem", command, "--temp", "0", "--seed", "1", "--ignore-eos"};
    char given[PASSED][64];
    int n = 7;
    if (strcmp(b->given, "built-in")) {
        all[n++] = "-m";
        all[n++] = b->given;
    }
    if (options_flag(b->o, OPTION_NO_LENDING)) all[n++] = "--no-lending";
    for (int i = 0; i < PASSED; i++) {
        if (!options_given(b->o, passed[i])) continue;
        snprintf(given[i], sizeof given[i], "--%s", option_table[passed[i]].name);
        all[n++] = given[i];
        all[n++] = options_text(b->o, passed[i]);
    }
    while (*arguments && n < ARGUMENTS - 1) all[n++] = *arguments++;
    return pty_open(s, program, all, &o, err);
}

tdm_status bench_screen_keys(pty *s, const char *text, tdm_error *err)
{
    return pty_keys(s, text, strlen(text), err);
}

tdm_status bench_screen_take(pty *s, int wait_ms, tdm_error *err)
{
    tdm_status status = pty_take(s, wait_ms, err);
    if (interrupt_seen() || !output_read()) return error_set(err, TDM_E_CANCELLED, "interrupted");
    if (!status) return TDM_OK;
    char last[PTY_ROW];
    pty_row(s, 0, last);
    return error_set(err, TDM_E_IO, "bench: the program in the pseudo-terminal ended: %s", last);
}

static tdm_status wait_until(pty *s, const char *text, bool there, tdm_error *err)
{
    int64_t until = clock_ns() + PATIENCE_S * INT64_C(1000000000);
    tdm_status status = TDM_OK;
    while (!status && (pty_find(s, 0, text) >= 0) != there) {
        if (clock_ns() > until)
            return error_set(err, TDM_E_IO, "bench: '%s' did not %s the terminal", text, there ? "appear on" : "leave");
        status = bench_screen_take(s, 200, err);
    }
    return status;
}

tdm_status bench_screen_wait(pty *s, const char *text, tdm_error *err)
{
    return wait_until(s, text, true, err);
}

tdm_status bench_screen_wait_gone(pty *s, const char *text, tdm_error *err)
{
    return wait_until(s, text, false, err);
}

tdm_status bench_screen_rest(pty *s, double seconds, tdm_error *err)
{
    int64_t until = clock_ns() + (int64_t)(1e9 * seconds), left;
    tdm_status status = TDM_OK;
    while (!status && (left = until - clock_ns()) > 0)
        status = bench_screen_take(s, left < 1000000 ? 1 : (int)(left / 1000000), err);
    return status;
}
