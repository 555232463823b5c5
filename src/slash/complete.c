/* What Tab offers for commands and their arguments. */
#include "src/slash/commands.h"

#include <stdio.h>
#include <string.h>

#include "src/chat/prompts.h"
#include "src/models/settings.h"

static const char *completed_command(void *ctx, size_t i, const char **help)
{
    (void)ctx;
    if (i >= SLASH_COUNT) return NULL;
    *help = slash_table[i].help;
    return slash_table[i].name;
}

static void add_words(struct completion *out, const char *words)
{
    while (*words) {
        char word[40];
        size_t n = strcspn(words, "|");
        snprintf(word, sizeof word, "%.*s", (int)n, words);
        completion_add(out, word, NULL);
        words += n + (words[n] == '|');
    }
}

void complete_choices(const slash_arguments *a)
{
    if (a->index == 0) add_words(a->out, a->command->arguments);
}

void complete_commands(const slash_arguments *a)
{
    for (slash_id id = 0; a->index == 0 && id < SLASH_COUNT; id++) completion_add(a->out, slash_table[id].name, NULL);
}

void complete_view(const slash_arguments *a)
{
    if (a->index == 0) completion_add(a->out, "view", NULL);
}

void complete_all(const slash_arguments *a)
{
    if (a->index == 0) completion_add(a->out, "all", NULL);
}

/* A session whose name is a number would be taken for a number of the list, so its id is offered instead. */
static void add_sessions(struct completion *out, tdm_status (*list)(store_entry **, int *, tdm_error *))
{
    store_entry *entries;
    int n;
    if (list(&entries, &n, NULL)) return;
    for (int i = 0; i < n; i++) {
        const char *name = entries[i].name;
        bool number = strspn(name, "0123456789") == strlen(name);
        completion_add(out, number ? entries[i].id : name, number ? name : NULL);
    }
    store_list_free(entries, n);
}

void complete_sessions(const slash_arguments *a)
{
    add_sessions(a->out, store_list);
}

void complete_trashed(const slash_arguments *a)
{
    add_sessions(a->out, store_list_trash);
}

void complete_prompts(const slash_arguments *a)
{
    prompts_entry *all;
    int n;
    if (a->index || prompts_list(&all, &n, NULL)) return;
    for (int i = 0; i < n; i++) completion_add(a->out, all[i].name, all[i].words);
    prompts_list_free(all, n);
}

static void add_themes(struct completion *out)
{
    add_words(out, option_table[OPTION_THEME].argument);
    const struct theme_own *own;
    for (int i = 0; (own = theme_own_of((enum view_theme)(VIEW_THEME_OWN + 2 * i))); i++)
        completion_add(out, own->name, "of the configuration file");
}

void complete_themes(const slash_arguments *a)
{
    if (a->index == 0) add_themes(a->out);
}

/* The ends of a number's range. */
static void add_range(struct completion *out, const option *o)
{
    char end[32];
    snprintf(end, sizeof end, "%.10g", o->low);
    completion_add(out, end, "the least");
    snprintf(end, sizeof end, "%.10g", o->high);
    completion_add(out, end, "the most");
}

static void add_values(struct completion *out, const option *o)
{
    switch (o->kind) {
    case KIND_CHOICE:
    case KIND_SWITCH:
        add_words(out, o->argument);
        break;
    case KIND_THEME:
        add_themes(out);
        break;
    case KIND_FLAG:
        add_words(out, "on|off");
        break;
    case KIND_AUTO:
    case KIND_FULL:
        completion_add(out, o->kind == KIND_AUTO ? "auto" : "full", o->help); /* fall through */
    case KIND_INT:
    case KIND_REAL:
        add_range(out, o);
        break;
    default:
        break;
    }
}

static bool is_setting(option_id id)
{
    return id < OPTION_COUNT && option_table[id].flags & (LIVE | LOOK);
}

/* NAME, or the value of the NAME that stands there. */
void complete_settings(const slash_arguments *a)
{
    char name[64];
    for (option_id id = 0; a->index == 0 && id < OPTION_COUNT; id++)
        if (is_setting(id)) completion_add(a->out, option_table[id].name, option_table[id].help);
    if (a->index != 1) return;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(a->arguments, " \t"), a->arguments);
    option_id id = option_find(COMMAND_CHAT, name);
    if (is_setting(id)) add_values(a->out, &option_table[id]);
}

static enum complete_kind completed_argument(void *ctx, const char *name, size_t index, const char *arguments,
                                             struct completion *out)
{
    (void)ctx;
    slash_id id = slashes_find(name, strlen(name));
    if (id == SLASH_COUNT) return COMPLETE_WORD;
    const slash *s = &slash_table[id];
    if (s->offer) s->offer(&(slash_arguments){s, index, arguments, out});
    return s->completion;
}

const struct completer commands_completer = {.command = completed_command, .argument = completed_argument};
