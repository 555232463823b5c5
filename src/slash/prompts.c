/* /p: puts a prompt of the library into the input, with its attachments and settings. */
#include "src/slash/command.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "src/chat/prompts.h"
#include "src/models/load.h"

enum { LONGEST_MESSAGE = 16 << 20 };

static tdm_status list_prompts(const slash_running *r, tdm_error *err)
{
    prompts_entry *all;
    int n;
    tdm_status status = prompts_list(&all, &n, err);
    if (status) return status;
    for (int i = 0; i < n; i++) command_say(r, "  %-16s %s\n", all[i].name, all[i].words);
    command_say(r,
                n ? "  /p NAME TEXT puts one into the draft; your own: prompts/NAME.md beside the configuration file\n"
                  : "there is no prompt; your own: prompts/NAME.md beside the configuration file\n");
    prompts_list_free(all, n);
    return TDM_OK;
}

/* The name at the argument's beginning; *rest: what follows it. */
static char *name_of(const char *argument, const char **rest)
{
    size_t n = strcspn(argument, " \t\n");
    *rest = argument + n + strspn(argument + n, " \t\n");
    return strndup(argument, n);
}

/* Whether --force stands before the name; what is behind it is the argument then. */
static bool is_forced(const char **argument)
{
    static const char word[] = "--force ";
    bool forced = !strncmp(*argument, word, sizeof word - 1);
    if (forced) *argument += sizeof word - 1 + strspn(*argument + sizeof word - 1, " ");
    return forced;
}

/* The model that the prompt asks for, if that isn't the one that is there. */
static const char *other_model(const app *a, const prompt_file *p)
{
    const char *wanted = options_text(&p->settings, OPTION_MODEL), *now = a->model_path;
    bool same = load_is_builtin(wanted) ? load_is_builtin(now) : now && !strcmp(wanted, now);
    return wanted && !same ? wanted : NULL;
}

char *commands_prompt_model(const app *a, const char *argument)
{
    prompt_file p;
    const char *rest;
    if (argument) is_forced(&argument);
    char *name = argument ? name_of(argument, &rest) : NULL;
    bool read = name && !prompts_read(&p, name, NULL);
    free(name);
    if (!read) return NULL;
    const char *wanted = other_model(a, &p);
    char *model = wanted ? strdup(wanted) : NULL;
    prompt_free(&p);
    return model;
}

/* ", temp 0.2" behind what the line says already. */
static void tell(char line[400], const char *name, const char *value)
{
    size_t n = strlen(line);
    snprintf(line + n, 400 - n, "%s%s%s%.80s", n ? ", " : "", name, *value ? " " : "", value);
}

/* As for `run -r`: prompts of the library are about texts to be worked on. */
static tdm_status check_large(const slash_running *r, const char *name, tdm_error *err)
{
    char what[80], remedy[160];
    snprintf(what, sizeof what, "/p %.64s", name);
    snprintf(remedy, sizeof remedy, "/model lists some; /p --force %.64s does it all the same", name);
    return load_check_large(&r->a->info, what, remedy, err);
}

/* Settings hold from now on, as /set and /system would have it; line gets what they are. */
static tdm_status take_settings(const slash_running *r, const prompt_file *p, char line[400], tdm_error *err)
{
    option_id ids[OPTION_COUNT];
    const char *texts[OPTION_COUNT], *system = options_text(&p->settings, OPTION_SYSTEM);
    char count[60];
    bool reads_again = false;
    int n = 0;
    for (option_id id = 0; id < OPTION_COUNT; id++) {
        if (!options_given(&p->settings, id) || !(option_table[id].flags & LIVE)) continue;
        const char *text = options_text(&p->settings, id);
        bool fits = prompts_sets(p, id, &r->a->info);
        tell(line, option_table[id].name, fits ? text : "not with this model");
        if (!fits) continue;
        reads_again |= id == OPTION_THINK || id == OPTION_KEEP_THINKING;
        ids[n] = id;
        texts[n++] = text;
    }
    tdm_status status = n ? command_change(r, ids, texts, n, err) : TDM_OK;
    uint32_t of = 0, again = !status && reads_again ? command_read_again(r, false, &of) : 0;
    if (!status && system) {
        tell(line, "the system prompt", "");
        status = app_set_system(r->a, system, strlen(system), err);
        if (!status) again = command_read_again(r, true, &of);
    }
    if (status || !again) return status;
    snprintf(count, sizeof count, "%u of %u tokens are read again", again, of);
    tell(line, count, "");
    return TDM_OK;
}

static tdm_status take_prompt(const slash_running *r, const char *name, const prompt_file *p,
                              const struct buffer *message, bool forced, tdm_error *err)
{
    char line[400] = "", files[40];
    const char *model = other_model(r->a, p);
    tdm_status status = model ? command_switch_model(r, model, err) : TDM_OK;
    if (!status && !forced) status = check_large(r, name, err);
    int attached = r->a->attach.files.n;
    if (!status) status = prompts_attach(p, &r->a->attach.files, r->a->models.model, app_room_now(r->a), err);
    attached = r->a->attach.files.n - attached;
    if (!status && attached) {
        snprintf(files, sizeof files, "%d attachment%s", attached, attached == 1 ? "" : "s");
        tell(line, files, "");
    }
    if (!status) status = take_settings(r, p, line, err);
    if (status) return status;
    /* Text of a prompt is never a command. */
    const char *blank = message->n && message->bytes[0] == '/' ? " " : "";
    if (asprintf(&r->result->draft, "%s%s", blank, message->bytes) < 0) {
        r->result->draft = NULL;
        return error_set(err, TDM_E_NOMEM, "out of memory");
    }
    r->result->message = true;
    if (line[0]) command_say(r, "%s: %s\n", name, line);
    return TDM_OK;
}

tdm_status command_p(slash_running *r, tdm_error *err)
{
    const char *text, *argument = r->call->argument;
    prompt_file p;
    struct buffer message = {0};
    r->result->attaches = true;
    if (!r->call->argument) return list_prompts(r, err);
    bool forced = is_forced(&argument);
    char *name = name_of(argument, &text);
    tdm_status status = name ? prompts_read(&p, name, err) : error_set(err, TDM_E_NOMEM, "out of memory");
    if (!status) {
        status = prompt_compose(&p, text, strlen(text), LONGEST_MESSAGE, &message, err);
        if (!status) status = take_prompt(r, name, &p, &message, forced, err);
        buffer_free(&message);
        prompt_free(&p);
    }
    free(name);
    return status;
}
