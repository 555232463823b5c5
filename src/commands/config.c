/* `tandem config`: every option that may stand in the configuration file, or those that are named, with its value and
 * where it comes from. */
#include <stdlib.h>
#include <string.h>

#include "src/cli/subcommands.h"
#include "src/cli/words.h"
#include "src/files/files.h"
#include "src/io/output.h"
#include "src/models/load.h"

/* The value that the model's file gives to a sampling option. */
static void model_value(const tdm_sampling *s, option_id id, char *out, size_t room)
{
    switch (id) {
    case OPTION_TEMP: snprintf(out, room, "%g", (double)s->temperature); break;
    case OPTION_TOP_K: snprintf(out, room, "%d", s->top_k); break;
    case OPTION_TOP_P: snprintf(out, room, "%g", (double)s->top_p); break;
    case OPTION_MIN_P: snprintf(out, room, "%g", (double)s->min_p); break;
    case OPTION_PRESENCE_PENALTY: snprintf(out, room, "%g", (double)s->presence_penalty); break;
    case OPTION_FREQUENCY_PENALTY: snprintf(out, room, "%g", (double)s->frequency_penalty); break;
    default: snprintf(out, room, "%g", (double)s->repeat_penalty); break;
    }
}

static void print_row(const options *o, const char *name, const char *value, const char *origin)
{
    bool named = !o->n_arguments;
    for (int i = 0; i < o->n_arguments && !named; i++) named = !strcmp(o->arguments[i], name);
    if (named) output_print("%-18s %-32s %s\n", name, value, origin);
}

/* "theme.sand.draft   #ffd787   configuration file; contrast 15.1 on black, 1.4 on white": text needs 4.5. */
static void print_theme(const options *o, const struct theme_own *t)
{
    for (int i = 0; i < STYLES; i++) {
        char name[80], origin[80];
        double dark = theme_own_contrast(t->colour[i], false), light = theme_own_contrast(t->colour[i], true);
        if (!t->text[i][0]) continue;
        snprintf(name, sizeof name, "theme.%s.%s", t->name, theme_style_name((enum style)i));
        int n = snprintf(origin, sizeof origin, "configuration file");
        if (dark > 0)
            snprintf(origin + n, sizeof origin - (size_t)n, "; contrast %.1f on black, %.1f on white", dark, light);
        print_row(o, name, t->text[i], origin);
    }
}

static void print_server(const options *o, const struct server_named *s)
{
    char name[80];
    const char *setting, *value;
    for (int i = 0; servers_line(s, i, &setting, &value); i++) {
        snprintf(name, sizeof name, "server.%s.%s", s->name, setting);
        print_row(o, name, value, "configuration file");
    }
}

/* Is there a line of each name? Themes and servers have those that the file gives them. */
static bool check_names(const options *o)
{
    for (int i = 0; i < o->n_arguments; i++) {
        const char *name = o->arguments[i];
        nearest best = {0};
        if (option_find(COMMAND_CONFIG, name) != OPTION_COUNT || strchr(name, '.')) continue;
        for (option_id id = 0; id < OPTION_COUNT; id++)
            if (option_belongs(id, COMMAND_CONFIG)) nearest_offer(&best, name, option_table[id].name);
        if (best.name)
            subcommands_usage(o, "no option '%s'; did you mean '%s'?", name, best.name);
        else
            subcommands_usage(o, "no option '%s'; 'tandem config' lists them", name);
        return false;
    }
    return true;
}

int config_main(options *o)
{
    static const char *const origins[] = {"default", "configuration file", "command line"};
    if (!check_names(o)) return 2;
    char *path = files_path(FILES_CONFIG, "config");
    tdm_model *m = NULL;
    tdm_model_info info;
    tdm_error err = {0};
    bool known = !load_model(&m, o, options_text(o, OPTION_MODEL), &(load_how){.text_only = true}, &err);
    if (known) tdm_model_describe(m, &info);
    if (!o->n_arguments) output_print("file: %s\n\n", path ? path : "none: neither XDG_CONFIG_HOME nor HOME is set");
    free(path);
    for (option_id id = 0; id < OPTION_COUNT; id++) {
        const option_value *v = &o->values[id];
        if (!(option_table[id].flags & KEEP)) continue;
        char text[64];
        const char *value = v->text ? v->text : option_table[id].initial, *origin = origins[v->origin];
        if (known && !v->text && option_table[id].flags & FROM_MODEL) {
            model_value(&info.sampling, id, text, sizeof text);
            value = text;
            origin = info.sampling_from_file ? "model file" : "published for the model's size";
        }
        print_row(o, option_table[id].name, value, origin);
    }
    for (int i = 0; i < o->n_themes; i++) print_theme(o, &o->themes[i]);
    for (int i = 0; i < o->n_servers; i++) print_server(o, &o->servers[i]);
    tdm_model_close(m);
    /* If the model can't be opened, only its defaults are missing. */
    if (!known) output_note("tandem: %s", err.text);
    return known ? 0 : 1;
}
