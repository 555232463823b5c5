#include "src/slash/command.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/base/harmless.h"

void command_say(const slash_running *r, const char *format, ...)
{
    char room[HARMLESS_USUAL];
    va_list args;
    va_start(args, format);
    char *text = harmless_usual(room, format, args);
    va_end(args);
    if (text) command_say_text(r, text);
    if (text != room) free(text);
}

void command_say_text(const slash_running *r, const char *text)
{
    r->front->say(r->front->ctx, text, strlen(text));
}

bool command_means_on(const slash_running *r, bool now)
{
    return r->call->argument ? !strcmp(r->call->argument, "on") : now;
}

static slash_function *function_of(const commands_front *front, slash_id id)
{
    return front->own ? front->own[id] : slash_table[id].run;
}

/* Two columns; what is too long for the left one has a line of its own. */
static void say_command(const slash_running *r, slash_id id)
{
    enum { LEFT = 28, RIGHT = 48 };
    const slash *s = &slash_table[id];
    char left[120];
    int n = snprintf(left, sizeof left, "/%s %s", s->name, s->arguments);
    if (n > LEFT) command_say(r, "  %s\n", left);
    for (const char *help = s->help; *help;) {
        size_t length = strlen(help), end = length;
        if (!r->front->cols && length > RIGHT)
            for (end = RIGHT; end > 1 && help[end] != ' ';) end--;
        command_say(r, "  %-*s %.*s\n", LEFT, n > LEFT || help != s->help ? "" : left, (int)end, help);
        help += end + (help[end] == ' ');
    }
}

tdm_status command_help(slash_running *r, tdm_error *err)
{
    const char *wanted = r->call->argument;
    if (wanted) {
        if (*wanted == '/') wanted++;
        slash_id id = slashes_find(wanted, strlen(wanted));
        if (id == SLASH_COUNT)
            return error_set(err, TDM_E_NOT_FOUND, "there is no command /%s; /help lists them", wanted);
        const slash *s = &slash_table[id];
        command_say(r, "/%s %s\n", s->name, s->arguments);
        command_say(r, "%s%s%s%s\n", s->help, s->aliases[0] ? " (also: " : "", s->aliases, s->aliases[0] ? ")" : "");
        return TDM_OK;
    }
    for (slash_id id = 0; id < SLASH_COUNT; id++)
        if (function_of(r->front, id)) say_command(r, id);
    command_say(r, "  // at the beginning sends a message that begins with a slash\n");
    return TDM_OK;
}

tdm_status command_quit(slash_running *r, tdm_error *err)
{
    (void)err;
    r->result->quit = true;
    return TDM_OK;
}

tdm_status commands_run(app *a, const commands_front *front, const slash_call *call, commands_result *out,
                        tdm_error *err)
{
    slash_running r = {a, front, call, out};
    slash_function *run = function_of(front, call->id);
    unsigned visits = a->background.visits, refusals = a->background.refusals;
    *out = (commands_result){0};
    if (call->id != SLASH_DELETE) a->deleting.id[0] = 0;
    if (!run) return error_set(err, TDM_E_UNSUPPORTED, "/%s belongs to the full screen", slash_table[call->id].name);
    tdm_status status = run(&r, err);
    out->visits = a->background.visits != visits;
    out->early = a->background.refusals != refusals;
    return status;
}
