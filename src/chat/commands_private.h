/* What the files of the slash commands share: commands.h says what they are for. Each command is a function of one
 * form; commands.c has the table of them. */
#ifndef TANDEM_SRC_COMMANDS_PRIVATE_H
#define TANDEM_SRC_COMMANDS_PRIVATE_H

#include "src/chat/commands.h"

/* One command that is being carried out. */
typedef struct {
    app *a;
    const commands_front *front;
    const slash_call *call;
    commands_result *result;
} command;

/* Formats and hands to the front end: whole lines. */
void command_say(const command *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Whether the argument says 'on'; without one: `now`. */
bool command_means_on(const command *r, bool now);

/* Sets live options, or one of the screen: all of them or, on failure, none. */
tdm_status command_change(const command *r, const option_id *ids, const char *const *texts, int n, tdm_error *err);
/* Tokens of the conversation that are read once more after a setting that stands in its prompt, or after another system
 * prompt, and in *of those of all of it; 0: none. */
uint32_t command_read_again(const command *r, bool system, uint32_t *of);
/* Goes on with another model, and says so. */
tdm_status command_switch_model(const command *r, const char *path, tdm_error *err);
/* Tokens that are free for all attachments together. */
int command_room(const app *a);

/* commands_sessions.c */
tdm_status command_new(command *r, tdm_error *err);
tdm_status command_sessions(command *r, tdm_error *err);
tdm_status command_resume(command *r, tdm_error *err);
tdm_status command_visit(command *r, tdm_error *err);
tdm_status command_rename(command *r, tdm_error *err);
tdm_status command_delete(command *r, tdm_error *err);
tdm_status command_undelete(command *r, tdm_error *err);
tdm_status command_search(command *r, tdm_error *err);
tdm_status command_find(command *r, tdm_error *err);
tdm_status command_private(command *r, tdm_error *err);
tdm_status command_save(command *r, tdm_error *err);
tdm_status command_export(command *r, tdm_error *err);

/* commands_settings.c */
tdm_status command_system(command *r, tdm_error *err);
tdm_status command_set(command *r, tdm_error *err);
tdm_status command_think(command *r, tdm_error *err);
tdm_status command_pipeline(command *r, tdm_error *err);
tdm_status command_speculation(command *r, tdm_error *err);
tdm_status command_pace(command *r, tdm_error *err);
tdm_status command_model(command *r, tdm_error *err);

/* commands_turns.c */
tdm_status command_regen(command *r, tdm_error *err);
tdm_status command_answers(command *r, tdm_error *err);
tdm_status command_continue(command *r, tdm_error *err);
tdm_status command_undo(command *r, tdm_error *err);
tdm_status command_redo(command *r, tdm_error *err);
tdm_status command_edit(command *r, tdm_error *err);
tdm_status command_copy(command *r, tdm_error *err);
tdm_status command_branch(command *r, tdm_error *err);
tdm_status command_compare(command *r, tdm_error *err);
tdm_status command_attach(command *r, tdm_error *err);
tdm_status command_detach(command *r, tdm_error *err);
tdm_status command_compact(command *r, tdm_error *err);

/* commands_prompts.c */
tdm_status command_p(command *r, tdm_error *err);

/* commands_figures.c */
tdm_status command_units(command *r, tdm_error *err);
tdm_status command_stats(command *r, tdm_error *err);
tdm_status command_trace(command *r, tdm_error *err);
tdm_status command_sensors(command *r, tdm_error *err);
tdm_status command_cold(command *r, tdm_error *err);
tdm_status command_ab(command *r, tdm_error *err);

#endif
