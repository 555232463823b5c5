/* `tandem config`: every option that may stand in the configuration file, its value and where it comes from. */
#include <stdlib.h>

#include "src/chat/load.h"
#include "src/cli/files.h"
#include "src/cli/subcommands.h"
#include "src/cli/output.h"

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

/* "theme.sand.draft   #ffd787   configuration file; contrast 15.1 on black, 1.4 on white": text needs 4.5. */
static void print_theme(const struct theme_own *t)
{
    for (int i = 0; i < STYLES; i++) {
        char name[80], contrast[60] = "";
        double dark = theme_own_contrast(t->colour[i], false), light = theme_own_contrast(t->colour[i], true);
        if (!t->text[i][0]) continue;
        snprintf(name, sizeof name, "theme.%s.%s", t->name, theme_style_name((enum style)i));
        if (dark > 0) snprintf(contrast, sizeof contrast, "; contrast %.1f on black, %.1f on white", dark, light);
        output_print("%-18s %-32s configuration file%s\n", name, t->text[i], contrast);
    }
}

static void print_server(const struct server_named *s)
{
    char name[80];
    const char *setting, *value;
    for (int i = 0; servers_line(s, i, &setting, &value); i++) {
        snprintf(name, sizeof name, "server.%s.%s", s->name, setting);
        output_print("%-18s %-32s configuration file\n", name, value);
    }
}

int config_main(options *o)
{
    static const char *const origins[] = {"default", "configuration file", "command line"};
    char *path = files_path(FILES_CONFIG, "config");
    tdm_model *m = NULL;
    tdm_model_info info;
    tdm_error err = {0};
    bool known = !load_model(&m, o, options_text(o, OPTION_MODEL), &(load_how){.text_only = true}, &err);
    if (known) tdm_model_describe(m, &info);
    output_print("file: %s\n\n", path ? path : "none: neither XDG_CONFIG_HOME nor HOME is set");
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
        output_print("%-18s %-32s %s\n", option_table[id].name, value, origin);
    }
    for (int i = 0; i < o->n_themes; i++) print_theme(&o->themes[i]);
    for (int i = 0; i < o->n_servers; i++) print_server(&o->servers[i]);
    tdm_model_close(m);
    /* What a model that can't be opened would say is all that is missing. */
    if (!known) fprintf(stderr, "tandem: %s\n", err.text);
    return known ? 0 : 1;
}
