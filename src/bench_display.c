/* `tandem bench screen`: what a user of the full screen waits for besides the model: the first frame, a key until it is on
 * the terminal while both units work, and the time that drawing takes. Another Tandem runs in a pseudo-terminal. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "src/bench.h"
#include "src/bench_screen.h"

enum { KEYS = 40, KEY_GAP_MS = 60, PATIENCE_S = 60 };

/* Processor time of the program's first thread, which reads keys, takes what the units tell, and draws; < 0: unknown. */
static double front_end_seconds(pid_t pid)
{
    char path[64], line[1024];
    unsigned long long user, kernel;
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)pid, (int)pid);
    FILE *in = fopen(path, "r");
    if (!in) return -1;
    char *at = fgets(line, sizeof line, in) ? strrchr(line, ')') : NULL;
    fclose(in);
    if (!at || sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user, &kernel) != 2) return -1;
    return (double)(user + kernel) / (double)sysconf(_SC_CLK_TCK);
}

static tdm_status open_screen(bench *b, bench_screen *s, bench_table *t, tdm_error *err)
{
    const char *arguments[12] = {"tandem", "chat", "--private", "--temp", "0", "--ignore-eos", NULL};
    if (strcmp(b->model_name, "built-in")) {
        arguments[6] = "-m";
        arguments[7] = b->model_name;
    }
    int64_t start = clock_ns();
    tdm_status status = bench_screen_open(s, arguments, err);
    if (!status) status = bench_screen_wait(s, "Enter sends", err);
    if (!status) bench_table_add(t, bench_table_row(t, "first frame"), 0, 1e-6 * (double)(s->got_ns - start));
    if (!status) status = bench_screen_wait(s, "IDLE", err);
    return status;
}

/* Types one letter after the other into the draft while the reply is written. */
static tdm_status type(bench_screen *s, bench_table *t, const char *row_name, tdm_error *err)
{
    char draft[KEYS + 3] = "> ";
    tdm_status status = TDM_OK;
    for (int i = 0; i < KEYS && !status; i++) {
        const char letter = i % 6 == 5 ? ' ' : (char)('a' + i % 26);
        draft[2 + i] = letter;
        draft[3 + i] = 0;
        int64_t pressed = clock_ns(), until = pressed + PATIENCE_S * INT64_C(1000000000);
        status = bench_screen_keys(s, &letter, 1, err);
        if (letter == ' ') { /* a blank at the end can't be told from none */
            while (!status && clock_ns() < pressed + KEY_GAP_MS * INT64_C(1000000)) status = bench_screen_take(s, 5, err);
            continue;
        }
        while (!status && bench_screen_find(s, 0, draft) < 0) {
            if (clock_ns() > until) return error_set(err, TDM_E_IO, "bench: a key did not appear on the terminal");
            status = bench_screen_take(s, 200, err);
        }
        if (!status) bench_table_add(t, bench_table_row(t, "%s", row_name), 0, 1e-6 * (double)(s->got_ns - pressed));
        while (!status && clock_ns() < pressed + KEY_GAP_MS * INT64_C(1000000)) status = bench_screen_take(s, 5, err);
    }
    return status;
}

static tdm_status one(bench *b, bench_table *t, tdm_error *err)
{
    static const char message[] = "Tell me a long story.\r";
    bench_screen s;
    bench_step(b, "first frame");
    tdm_status status = open_screen(b, &s, t, err);
    bench_step(b, "keys and drawing");
    if (!status) status = bench_screen_keys(&s, message, sizeof message - 1, err);
    if (!status) status = bench_screen_wait(&s, "ANSWERING", err);
    double before = front_end_seconds(s.child);
    int64_t from = clock_ns();
    while (!status && clock_ns() < from + INT64_C(2500000000)) status = bench_screen_take(&s, 50, err);
    double seconds = 1e-9 * (double)(clock_ns() - from), after = front_end_seconds(s.child);
    bool writes = !status && bench_screen_find(&s, 0, "ANSWERING") >= 0; /* else the context was full before */
    if (writes && before >= 0 && after >= before)
        bench_table_add(t, bench_table_row(t, "front end while a reply streams"), 1, 100 * (after - before) / seconds);
    if (writes) status = type(&s, t, "key while a reply streams", err);
    bench_screen_close(&s);
    return status;
}

tdm_status bench_screen_suite(bench *b, tdm_error *err)
{
    bench_table *t = bench_new_table(b, "", "the full screen: first frame, a key until the terminal has it, and the "
                                            "processor time of the thread that draws, in percent of one core",
                                     "what", "time:ms|core:%", err);
    if (!t) return err->code;
    bench_table_note(t, "processor time is counted in steps of %ld ms", 1000 / sysconf(_SC_CLK_TCK));
    tdm_status status = TDM_OK;
    for (int round = 0; !status && bench_again(b, round); round++) status = one(b, t, err);
    return status;
}
