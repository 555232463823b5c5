#include "src/chat/commands_private.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"

void command_say(const command *r, const char *format, ...)
{
    char *text;
    va_list args;
    va_start(args, format);
    int n = vasprintf(&text, format, args);
    va_end(args);
    if (n < 0) return;
    r->front->say(r->front->ctx, text, (size_t)n);
    free(text);
}

bool command_means_on(const command *r, bool now)
{
    return r->call->argument ? !strcmp(r->call->argument, "on") : now;
}
/* Two columns; what is too long for the left one has a line of its own. A page of the screen breaks lines itself, at
 * its own width. */
static void say_command(const command *r, slash_id id)
{
    enum { LEFT = 28, RIGHT = 48 };
    const slash *s = &slash_table[id];
    char left[120];
    int n = snprintf(left, sizeof left, "/%s %s", s->name, s->arguments);
    if (n > LEFT) command_say(r, "  %s\n", left);
    for (const char *help = s->help; *help;) {
        size_t length = strlen(help), end = length;
        if (!r->front->screen && length > RIGHT)
            for (end = RIGHT; end > 1 && help[end] != ' ';) end--;
        command_say(r, "  %-*s %.*s\n", LEFT, n > LEFT || help != s->help ? "" : left, (int)end, help);
        help += end + (help[end] == ' ');
    }
}

static tdm_status command_help(command *r, tdm_error *err)
{
    const char *wanted = r->call->argument;
    if (wanted) {
        if (*wanted == '/') wanted++;
        slash_id id = slashes_find(wanted, strlen(wanted));
        if (id == SLASH_COUNT)
            return error_set(err, TDM_E_NOT_FOUND, "there is no command /%s; /help lists them", wanted);
        const slash *s = &slash_table[id];
        command_say(r, "/%s %s\n%s%s%s%s\n", s->name, s->arguments, s->help, s->aliases[0] ? " (also: " : "",
                    s->aliases, s->aliases[0] ? ")" : "");
        return TDM_OK;
    }
    for (slash_id id = 0; id < SLASH_COUNT; id++)
        if (slash_table[id].owner == BY_CONVERSATION || r->front->screen) say_command(r, id);
    command_say(r, "  // at the beginning sends a message that begins with a slash\n");
    return TDM_OK;
}

static tdm_status command_quit(command *r, tdm_error *err)
{
    (void)err;
    r->result->quit = true;
    return TDM_OK;
}

/* clang-format off */
static tdm_status (*const handlers[SLASH_COUNT])(command *r, tdm_error *err) = {
    [SLASH_HELP] = command_help,         [SLASH_NEW] = command_new,           [SLASH_SESSIONS] = command_sessions,
    [SLASH_RESUME] = command_resume,     [SLASH_RENAME] = command_rename,     [SLASH_DELETE] = command_delete,
    [SLASH_SEARCH] = command_search,     [SLASH_FIND] = command_find,         [SLASH_PRIVATE] = command_private,
    [SLASH_SAVE] = command_save,         [SLASH_EXPORT] = command_export,     [SLASH_SYSTEM] = command_system,
    [SLASH_SET] = command_set,           [SLASH_THINK] = command_think,       [SLASH_REGEN] = command_regen,
    [SLASH_CONTINUE] = command_continue, [SLASH_EDIT] = command_edit,         [SLASH_UNDO] = command_undo,
    [SLASH_REDO] = command_redo,         [SLASH_BRANCH] = command_branch,     [SLASH_ATTACH] = command_attach,
    [SLASH_MODEL] = command_model,       [SLASH_PIPELINE] = command_pipeline, [SLASH_SPECULATION] = command_speculation,
    [SLASH_UNITS] = command_units,       [SLASH_STATS] = command_stats,       [SLASH_TRACE] = command_trace,
    [SLASH_SENSORS] = command_sensors,   [SLASH_PACE] = command_pace,         [SLASH_COLD] = command_cold,
    [SLASH_AB] = command_ab,             [SLASH_COPY] = command_copy,         [SLASH_QUIT] = command_quit,
    [SLASH_UNDELETE] = command_undelete,
    [SLASH_DETACH] = command_detach,     [SLASH_P] = command_p,
    [SLASH_COMPACT] = command_compact,   [SLASH_ANSWERS] = command_answers,
    [SLASH_COMPARE] = command_compare,   [SLASH_VISIT] = command_visit,
};
/* clang-format on */

tdm_status commands_run(app *a, const commands_front *front, const slash_call *call, commands_result *out,
                        tdm_error *err)
{
    command r = {a, front, call, out};
    *out = (commands_result){0};
    if (call->id != SLASH_DELETE) a->deleting[0] = 0;
    if (handlers[call->id]) {
        unsigned visits = a->elsewhere.visits, refusals = a->elsewhere.refusals;
        tdm_status status = handlers[call->id](&r, err);
        out->visits = a->elsewhere.visits != visits;
        out->early = a->elsewhere.refusals != refusals;
        return status;
    }
    if (front->screen) return front->screen(front->ctx, call, err);
    return error_set(err, TDM_E_UNSUPPORTED, "/%s belongs to the full screen", slash_table[call->id].name);
}
