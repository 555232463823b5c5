/* What is written out of the tables of options, commands and slash commands: --help, the man page, completions. */
#ifndef TANDEM_SRC_DOCS_H
#define TANDEM_SRC_DOCS_H

#include "src/cli/options.h"

void docs_help(FILE *out);                             /* tandem --help */
void docs_command_help(FILE *out, command_id command); /* tandem COMMAND --help */
void docs_version(FILE *out);                          /* --version: also the licences */
void docs_man(FILE *out);                              /* roff, man(7) macros */
void docs_bash(FILE *out);
void docs_zsh(FILE *out);

#endif
