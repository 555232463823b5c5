/* The programs of Tandem: `tandem`, and tandem-COMMAND for each command that it hands to another program, so that a
 * conversation does not load the libraries of that command. All of them read their command line by the same tables. */
#ifndef TANDEM_SRC_PROGRAM_H
#define TANDEM_SRC_PROGRAM_H

#include <limits.h>

#include "src/cli/docs.h"
#include "src/cli/options.h"

typedef int program_command(options *o); /* returns the exit status, see src/cli/subcommands.h */

/* Functions of other directories that write parts of the pages. */
typedef struct {
    docs_part *slashes; /* as for docs_man */
    /* Names for completions, one a line, without names that can't be a line; they leave no trace on disk. */
    docs_part *models, *sessions, *prompts;
} program_parts;

/* All of main(): --help, --version and other pages, options, configuration file, the command, and flushing standard
 * output; returns the exit status. argv[1] names the command. For one without a function it runs the program
 * tandem-COMMAND (program_find) with the same arguments. */
int program_main(int argc, char **argv, program_command *const commands[COMMAND_COUNT], const program_parts *parts);
/* The same for the program of one command, which has no pages; argv[1] is the command's first argument. */
int program_main_of(command_id command, program_command *run, int argc, char **argv);

/* The path of the program of this name in this one's folder, whether it exists or not; false if it doesn't fit. */
bool program_beside(const char *name, char out[PATH_MAX]);
/* The path of the program of this name in this one's folder, else on PATH (file_find_program). */
bool program_find(const char *name, char out[PATH_MAX]);

#endif
