/* The program tandem-bench: the driver that the suites share. A suite is a function that measures one model. It makes
 * tables (src/bench/report/table.h) and lets a plan fill them (src/bench/report/plan.h). Suites and models share the
 * budget of time by weight: time that one does not use goes to the others, and time beyond its share is taken from
 * them. One thread. */
#ifndef TANDEM_SRC_BENCH_H
#define TANDEM_SRC_BENCH_H

#include <sys/types.h>

#include "src/bench/pairs.h"
#include "src/bench/prompt.h"
#include "src/bench/report/host.h"
#include "src/bench/report/table.h"
#include "src/cli/options.h"
#include "src/models/load.h"

enum { BENCH_TABLES = 96, BENCH_LIST = 16, BENCH_LEAST_RUNS = 3 };

typedef struct bench {
    options *o;
    int runs; /* at most, of each row */
    bool quick;
    bool full_counts; /* the suite was requested alone and without a budget: use full counts */
    double rest_s;    /* pause between measurements */
    const char *sensors_root; /* ""; the folder of a made-up tree in tests */
    bench_host host;
    bench_prompt prompt;
    FILE *json;     /* --json; NULL: none */
    FILE *markdown; /* --md: the pipe to the program that makes Markdown of the rows; NULL: none */
    pid_t writer;
    bench_table *tables[BENCH_TABLES];
    int n_tables, n_printed;
    bool failed; /* a suite could not run */
    bool has_rows; /* the running suite has begun a row */
    bool any_row_wanted; /* --rows asks for a row that a suite has, or a suite can't know its rows before it runs */
    int64_t began_ns;

    /* The suite that runs. */
    const char *suite, *model_option; /* the model as the options name it, or "built-in" */
    char model_name[96];              /* its name in tables: model_option, with --kernels "model@avx512" */
    load_pair models;               /* empty: the suite measures no model */
    tdm_model_info info;
    bench_pairs pairs;        /* with this model */
    const char *kernels;      /* the name of the set */
    int64_t suite_until_ns;         /* of this suite with this model; 0: no limit */
    int64_t start_ns, until_ns;     /* of its running part */
    int64_t all_until_ns;           /* of everything; 0: no budget */
    int round;
} bench;

/* `tandem bench`; returns the exit status, see src/cli/subcommands.h. */
int bench_main(options *o);

typedef tdm_status bench_suite_fn(bench *b, tdm_error *err);

/* The suites, one function each. */
bench_suite_fn bench_turns, bench_interference, bench_model_speed, bench_throughput, bench_ttft, bench_dispatch,
    bench_handover, bench_crossover, bench_power, bench_glyph, bench_screen, bench_pass, bench_streams, bench_mtp,
    bench_kernels, bench_images, bench_vision, bench_server, bench_template;

/* Adds notes to a finished table of the suite. */
void bench_turns_conclude(bench_table *t);
void bench_ttft_conclude(bench_table *t);
void bench_crossover_conclude(bench_table *t);
/* Calls the function of the table's suite above, once the table has all rows. */
void bench_conclude(bench_table *t);

/* A table of the running suite and model; NULL without memory (fills err). */
bench_table *bench_new_table(bench *b, const char *part, const char *title, const char *parameters,
                             const char *measures, tdm_error *err);

/* Concludes and prints the tables made so far: they get no more rows. */
void bench_tables_done(bench *b);

/* Is this row wanted? True without --rows, or if its part and values ("typed|100|single") contain one of the texts of
 * --rows. */
bool bench_wanted(const bench *b, const char *row, ...) __attribute__((format(printf, 2, 3)));

/* Gives the next part of the suite this share of the suite's remaining time. */
void bench_part(bench *b, double share);
/* Writes the present measurement and the remaining time to stderr; then pauses for --rest. */
void bench_step(bench *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A machine as the options say, lending on or off. Remembers its units for the report. */
tdm_status bench_machine(bench *b, tdm_machine **out, bool lending, tdm_error *err);
/* Options of a chat on it: bench_talk_defaults, types and models as the options say. */
void bench_chat_options(const bench *b, tdm_chat_options *o);
/* The round trip to the model's server. */
double bench_round_trip_ms(const bench *b);
/* A session on a unit with room for `context` tokens. */
tdm_status bench_session(bench *b, tdm_sequence **out, tdm_machine *machine, int unit, int context, int dispatch,
                         tdm_error *err);
/* The kernel set of the model, and the arithmetic of most of its weights. */
tdm_status bench_kernel_set(const bench *b, const struct kernels **out, enum panel_kind *kind, tdm_error *err);
/* Has the model's context room for a prompt and `more` tokens? If not, a note below the table names the prompt. */
bool bench_fits(const bench *b, bench_table *t, int tokens, int more);
/* A row's full count where the suite runs in full: at most --runs, where it is given. */
int bench_full_count(const bench *b, int count);

/* "32,74,128" into list; returns how many, or -1 with err (each from low to high, at most BENCH_LIST). */
int bench_list(const char *text, int low, int high, int list[BENCH_LIST], const char *option_name, tdm_error *err);

#endif
