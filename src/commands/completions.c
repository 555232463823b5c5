/* Names for the shells' completions, a line each: of models, of saved sessions, of prompts. Nothing is written, and a
 * name that can't be a line, or that would steer the terminal which shows it, is left out. */
#include <stdlib.h>
#include <string.h>

#include "src/chat/prompts.h"
#include "src/cli/subcommands.h"
#include "src/files/files.h"
#include "src/io/output.h"
#include "src/models/models.h"
#include "src/session/store.h"

/* May it stand on the command line, as the value of an option? */
static bool is_plain(const char *name)
{
    output_held held = {0};
    size_t n = strlen(name);
    char *safe = malloc(3 * n + 3);
    bool same = safe && n && output_harmless(&held, name, n, safe) == n && !memcmp(safe, name, n);
    free(safe);
    return same && name[0] != '-' && !strpbrk(name, "\n\t");
}

static bool print_name(FILE *out, const char *name)
{
    return is_plain(name) && fprintf(out, "%s\n", name) > 0;
}

void completions_models(FILE *out)
{
    char *argv[] = {(char *)"tandem", NULL}, *path = files_path(FILES_CONFIG, "config");
    models_list l = {0};
    options o;
    tdm_error err;
    bool known = options_parse(&o, 1, argv, &err);
    if (known && path) options_read_file(&o, path, &err); /* what is wrong with it, the command will say */
    bool found = known && !models_find(&l, &o, &err);
    for (size_t i = 0; found && i < l.n; i++)
        if (!l.rows[i].reason) print_name(out, l.rows[i].name);
    for (int i = 0; i < o.n_servers; i++) print_name(out, o.servers[i].name);
    models_free(&l);
    options_free(&o);
    free(path);
}

/* A name means the latest session that has it: the others go by their ids. */
void completions_sessions(FILE *out)
{
    store_entry *all;
    int n;
    tdm_error err;
    if (store_list(&all, &n, &err)) return;
    for (int i = 0; i < n; i++) {
        tdm_error none;
        bool named = !all[i].damage[0] && store_pick(all, n, NULL, all[i].name, &none) == i;
        if (!all[i].damage[0] && (!named || !print_name(out, all[i].name))) print_name(out, all[i].id);
    }
    store_list_free(all, n);
}

void completions_prompts(FILE *out)
{
    prompts_entry *all;
    int n;
    tdm_error err;
    if (prompts_list(&all, &n, &err)) return;
    for (int i = 0; i < n; i++) print_name(out, all[i].name);
    prompts_list_free(all, n);
}
