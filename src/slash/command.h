/* Functions that the files of the slash commands share (commands.h). Each command is a slash_function, named in its row
 * of src/slash/slashes.h. */
#ifndef TANDEM_SRC_COMMAND_H
#define TANDEM_SRC_COMMAND_H

#include "src/slash/commands.h"

/* Formats a line, by harmless_format(), and hands it to the front end with its newline. */
void command_say(const slash_running *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Hands over whole lines unchanged. */
void command_say_text(const slash_running *r, const char *text);

/* Whether the argument is 'on'; `current` without an argument. */
bool command_means_on(const slash_running *r, bool current);

/* Sets live options, or one of the screen: all of them or, on failure, none. */
tdm_status command_change(const slash_running *r, const option_id *ids, const char *const *texts, int n,
                          tdm_error *err);
/* How many tokens of the conversation must be read again after a change of the system prompt (`system`), or of another
 * setting that is part of the prompt; *of: all its tokens. 0: none. */
uint32_t command_read_again(const slash_running *r, bool system, uint32_t *of);
/* Continues with another model, and prints a line about it. */
tdm_status command_switch_model(const slash_running *r, const char *path, tdm_error *err);

/* commands.c */
slash_function command_help, command_quit;

/* sessions.c */
slash_function command_new, command_sessions, command_resume, command_visit, command_rename, command_delete,
    command_undelete, command_search, command_find, command_private, command_save, command_export;

/* settings.c */
slash_function command_system, command_set, command_setting, command_model;

/* turns.c */
slash_function command_regen, command_answers, command_continue, command_undo, command_redo, command_edit, command_copy,
    command_branch, command_compare, command_attach, command_paste, command_detach, command_compact;

/* prompts.c */
slash_function command_p;

/* figures.c */
slash_function command_units, command_stats, command_trace, command_sensors, command_cold, command_ab;

#endif
