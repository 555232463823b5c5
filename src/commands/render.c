/* `tandem render`: the prompt that the chat template makes of messages. */
#include <stdlib.h>
#include <string.h>

#include "src/cli/subcommands.h"
#include "src/commands/render.h"
#include "src/files/files.h"
#include "src/io/messages.h"
#include "src/io/output.h"
#include "src/models/load.h"

void render_print_ids(const tdm_ids *ids)
{
    for (size_t i = 0; i < ids->n; i++) output_print("%s%d", i ? " " : "", ids->ids[i]);
    output_print("\n");
}

static tdm_status render(const options *o, const tdm_model *m, const tdm_message *messages, size_t n,
                         const render_pictures *pictures, tdm_error *err)
{
    bool as_ids = options_flag(o, OPTION_AS_IDS);
    tdm_ids ids = {0};
    char *text = NULL;
    const tdm_render_options how = {.think = (tdm_thinking)options_int(o, OPTION_THINK, TDM_THINK_OFF),
                                    .keep_thinking =
                                        (tdm_keep_thinking)options_int(o, OPTION_KEEP_THINKING, TDM_KEEP_AUTO),
                                    .generation_prompt = !options_flag(o, OPTION_NO_GENERATION)};
    tdm_status status =
        tdm_render(m, messages, n, &how, as_ids ? &ids : NULL, as_ids ? NULL : &text, err);
    if (!status && as_ids)
        status = render_pictures_place(pictures, m, (uint32_t)options_int(o, OPTION_IMAGE_TOKENS, 0), &ids, err);
    if (!status && as_ids) {
        render_print_ids(&ids);
    } else if (!status) {
        output_text(text, strlen(text));
    }
    free(text);
    tdm_ids_free(&ids);
    return status;
}

int render_main(options *o)
{
    if (o->n_arguments) return subcommands_usage(o, "'%s' is not expected", o->arguments[0]);
    const char *path = options_text(o, OPTION_MESSAGES), *model = options_text(o, OPTION_MODEL);
    if (!path) return subcommands_usage(o, "needs --messages FILE");
    if (options_flag(o, OPTION_AS_IDS) && !model) return subcommands_usage(o, "--ids needs a model's tokenizer (-m)");
    const char *template = options_text(o, OPTION_TEMPLATE);
    if (template && !strcmp(template, "chatml"))
        template = NULL; /* no file: the model's is replaced, if there is one */
    bool own = model && !options_given(o, OPTION_TEMPLATE), variables = false;
    static const option_id with_template[] = {OPTION_TOOLS, OPTION_SET, OPTION_BOS, OPTION_EOS, OPTION_NOW};
    for (size_t i = 0; i < sizeof with_template / sizeof *with_template; i++) {
        if (!options_given(o, with_template[i])) continue;
        variables = true;
        if (!template && !own)
            return subcommands_usage(o, "--%s needs a model (-m) or --template FILE",
                                     option_table[with_template[i]].name);
    }
    static const option_id of_model[] = {OPTION_THINK, OPTION_KEEP_THINKING};
    for (size_t i = 0; i < sizeof of_model / sizeof *of_model; i++)
        if ((template || variables) && o->values[of_model[i]].origin == FROM_COMMAND_LINE)
            return subcommands_usage(o, "--%s is not for a template with variables of its own: --set gives them",
                                     option_table[of_model[i]].name);
    tdm_error err = {0};
    tdm_model *m = NULL;
    tdm_message *messages = NULL;
    render_pictures pictures = {0};
    json_object *root = NULL;
    char *bytes = NULL;
    size_t length, n;
    tdm_status status = model ? load_model(&m, o, model, &(load_how){.text_only = true}, &err) : TDM_OK;
    if (!status && (template || variables)) {
        status = render_template(o, template, m, &err);
        tdm_model_close(m);
        return status ? load_failed(&err) : 0;
    }
    if (!status) status = files_read_text(path, SUBCOMMANDS_LONGEST_INPUT, &bytes, &length, &err);
    if (!status) status = json_parse(&root, path, bytes, length, JSON_UTF8, &err);
    if (!status) {
        json_object *inner = json_member(root, "messages", JSON_ARRAY), *list = inner ? inner : root;
        status = render_pictures_read(&pictures, list, true, path, &err);
        if (!status) status = messages_read(list, path, &messages, &n, &err);
        if (!status) render_pictures_show(&pictures, messages);
    }
    if (!status && m) load_notes(m);
    if (!status) status = render(o, m, messages, n, &pictures, &err);
    render_pictures_free(&pictures);
    tdm_model_close(m);
    free(messages);
    json_free(root);
    free(bytes);
    return status ? load_failed(&err) : 0;
}
