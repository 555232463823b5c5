/* The commands of the program, one file each (src/commands/X.c has X_main; src/cli/program.h has those that are
 * programs of their own). They print on stdout, report failures in one line on stderr, and return the exit status: 0
 * ok, 1 failed, 2 wrong usage. Options are parsed and the configuration file is read before. */
#ifndef TANDEM_SRC_SUBCOMMANDS_H
#define TANDEM_SRC_SUBCOMMANDS_H

#include "src/cli/options.h"

int tokenize_main(options *o);
int render_main(options *o);
int info_main(options *o);
int eval_main(options *o);
int convert_main(options *o);
int models_main(options *o);
int config_main(options *o);
int run_main(options *o);
int chat_main(options *o);
int demo_main(options *o);
int monitor_main(options *o);

/* Names for completions, see program_parts (src/commands/completions.c). */
void completions_models(FILE *out);
void completions_sessions(FILE *out);
void completions_prompts(FILE *out);

/* For wrong usage: prints "tandem COMMAND: line" and returns 2. */
int subcommands_usage(const options *o, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Whether the command may write the file that its command line names (NULL: none); replacing an existing one needs
 * --overwrite. False: prints "tandem COMMAND: why". */
bool subcommands_may_write(const options *o, const char *path);
/* The arguments joined by blanks, malloc'ed; NULL when there is none (or no memory). */
char *subcommands_joined(const options *o);

enum { SUBCOMMANDS_LONGEST_INPUT = 64 << 20 }; /* of texts read from files and standard input */

#endif
