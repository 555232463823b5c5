/* `tandem render`: the prompt that the chat template makes of messages. */
#include <stdlib.h>
#include <string.h>

#include "src/chat/load.h"
#include "src/cli/files.h"
#include "src/cli/subcommands.h"
#include "src/cli/messages.h"
#include "src/cli/output.h"

static tdm_status render(const options *o, const tdm_model *m, const tdm_message *messages, size_t n, tdm_error *err)
{
    bool as_ids = options_flag(o, OPTION_AS_IDS);
    tdm_ids ids = {0};
    char *text = NULL;
    const tdm_render_options how = {.think = (tdm_thinking)options_int(o, OPTION_THINK, TDM_THINK_OFF),
                                    .keep_thinking =
                                        (tdm_keep_thinking)options_int(o, OPTION_KEEP_THINKING, TDM_KEEP_AUTO),
                                    .generation_prompt = !options_flag(o, OPTION_NO_GENERATION_PROMPT)};
    tdm_status status =
        tdm_render(m, messages, n, &how, as_ids ? &ids : NULL, as_ids ? NULL : &text, err);
    if (!status && as_ids) {
        for (size_t i = 0; i < ids.n; i++) output_print("%s%d", i ? " " : "", ids.ids[i]);
        output_print("\n");
    } else if (!status) {
        output_text(text, strlen(text));
    }
    free(text);
    tdm_ids_free(&ids);
    return status;
}

int render_main(options *o)
{
    const char *path = options_text(o, OPTION_MESSAGES), *model = options_text(o, OPTION_MODEL);
    if (!path) return subcommands_usage(o, "needs --messages FILE");
    if (options_flag(o, OPTION_AS_IDS) && !model) return subcommands_usage(o, "--ids needs a model's tokenizer (-m)");
    tdm_error err = {0};
    tdm_model *m = NULL;
    tdm_message *messages = NULL;
    json_object *root = NULL;
    char *bytes = NULL;
    size_t length, n;
    tdm_status status = files_read(path, SUBCOMMANDS_LONGEST_INPUT, &bytes, &length, &err);
    if (!status) status = jsonio_parse(&root, path, bytes, length, &err);
    if (!status) {
        json_object *inner = jsonio_member(root, "messages", json_type_array);
        status = messages_read(inner ? inner : root, path, &messages, &n, &err);
    }
    if (!status && model) status = load_model(&m, o, model, &(load_how){.text_only = true}, &err);
    if (!status && m) load_notes(m);
    if (!status) status = render(o, m, messages, n, &err);
    tdm_model_close(m);
    free(messages);
    json_object_put(root);
    free(bytes);
    return status ? load_failed(&err) : 0;
}
