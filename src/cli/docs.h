/* The documents that are made from the tables of options and commands: --help, the man page, completions. */
#ifndef TANDEM_SRC_DOCS_H
#define TANDEM_SRC_DOCS_H

#include "src/cli/options.h"

void docs_help(FILE *out); /* tandem --help */
/* tandem COMMAND --help. all: with a conversation's rare options. */
void docs_command_help(FILE *out, command_id command, bool all);
void docs_version(FILE *out); /* --version: also the licences */
/* Completions for shells. They run the program for the names of models, sessions and prompts (PAGE_MODELS and so
 * on). */
void docs_bash(FILE *out);
void docs_zsh(FILE *out);
void docs_fish(FILE *out);

typedef void docs_part(FILE *out);

/* The man page: roff, man(7) macros. slashes: writes the commands of a conversation (slashes_man). */
void docs_man(FILE *out, docs_part *slashes);
/* Text in roff: backslashes and hyphens escaped, and no line begins with a control character. */
void docs_roff(FILE *out, const char *text);

#endif
