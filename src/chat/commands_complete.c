/* What Tab offers for commands and their arguments. */
#include "src/chat/commands.h"

#include <stdio.h>
#include <string.h>

#include "src/chat/prompts.h"
#include "src/chat/settings.h"

static const char *completed_command(void *ctx, size_t i, const char **help)
{
    (void)ctx;
    if (i >= SLASH_COUNT) return NULL;
    *help = slash_table[i].help;
    return slash_table[i].name;
}

static void offer_choices(struct completion *out, const char *words)
{
    while (*words) {
        char word[40];
        size_t n = strcspn(words, "|");
        snprintf(word, sizeof word, "%.*s", (int)n, words);
        completion_add(out, word, NULL);
        words += n + (words[n] == '|');
    }
}

/* A name that is a number would be taken for the list's: its id stands for it. */
static void offer_sessions(struct completion *out, tdm_status (*list)(store_entry **, int *, tdm_error *))
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

static void offer_prompts(struct completion *out)
{
    prompts_entry *all;
    int n;
    if (prompts_list(&all, &n, NULL)) return;
    for (int i = 0; i < n; i++) completion_add(out, all[i].name, all[i].words);
    prompts_list_free(all, n);
}

static void offer_themes(struct completion *out)
{
    offer_choices(out, option_table[OPTION_THEME].argument);
    const struct theme_own *own;
    for (int i = 0; (own = theme_own_of((enum view_theme)(VIEW_THEME_OWN + 2 * i))); i++)
        completion_add(out, own->name, "of the configuration file");
}

/* The ends of a number's range. */
static void offer_range(struct completion *out, const option *o)
{
    char end[32];
    snprintf(end, sizeof end, "%.10g", o->low);
    completion_add(out, end, "the least");
    snprintf(end, sizeof end, "%.10g", o->high);
    completion_add(out, end, "the most");
}

/* NAME, or the value of the NAME that stands there. */
static void offer_settings(struct completion *out, size_t index, const char *arguments)
{
    char name[64];
    if (index == 0) {
        for (option_id id = 0; id < OPTION_COUNT; id++)
            if (option_table[id].flags & (LIVE | LOOK))
                completion_add(out, option_table[id].name, option_table[id].help);
        return;
    }
    snprintf(name, sizeof name, "%.*s", (int)strcspn(arguments, " \t"), arguments);
    option_id id = option_find(COMMAND_CHAT, name);
    if (index > 1 || id == OPTION_COUNT || !(option_table[id].flags & (LIVE | LOOK))) return;
    const option *o = &option_table[id];
    switch (o->kind) {
    case KIND_CHOICE:
    case KIND_SWITCH:
        offer_choices(out, o->argument);
        break;
    case KIND_THEME:
        offer_themes(out);
        break;
    case KIND_FLAG:
        offer_choices(out, "on|off");
        break;
    case KIND_AUTO:
    case KIND_FULL:
        completion_add(out, o->kind == KIND_AUTO ? "auto" : "full", o->help); /* fall through */
    case KIND_INT:
    case KIND_REAL:
        offer_range(out, o);
        break;
    default:
        break;
    }
}

static enum complete_kind completed_argument(void *ctx, const char *name, size_t index, const char *arguments,
                                             struct completion *out)
{
    (void)ctx;
    slash_id id = slashes_find(name, strlen(name));
    if (id == SLASH_COUNT) return COMPLETE_WORD;
    switch (slash_table[id].argument) {
    case ARG_CHOICE:
        if (index == 0) offer_choices(out, slash_table[id].arguments);
        return COMPLETE_WORD;
    case ARG_SETTING:
        offer_settings(out, index, arguments);
        return COMPLETE_WORD;
    case ARG_THEME:
        if (index == 0) offer_themes(out);
        return COMPLETE_WORD;
    case ARG_SESSION:
        offer_sessions(out, store_list);
        return COMPLETE_LINE;
    case ARG_TRASHED:
        offer_sessions(out, store_list_trash);
        return COMPLETE_LINE;
    case ARG_PROMPT:
        if (index == 0) offer_prompts(out);
        return COMPLETE_WORD;
    case ARG_FILES: return COMPLETE_PATHS;
    case ARG_FILE:
    case ARG_MODEL:
        return COMPLETE_FILE;
    default:
        if (id == SLASH_HELP && index == 0)
            for (slash_id other = 0; other < SLASH_COUNT; other++) completion_add(out, slash_table[other].name, NULL);
        if (id == SLASH_COPY && index == 0) completion_add(out, "view", NULL);
        if (id == SLASH_DETACH && index == 0) completion_add(out, "all", NULL);
        return COMPLETE_WORD;
    }
}

const struct completer commands_completer = {.command = completed_command, .argument = completed_argument};
