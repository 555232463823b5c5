#include "src/commands/render.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/base/error.h"
#include "engine/json/json.h"
#include "engine/text/jinja/jinja.h"
#include "src/cli/subcommands.h"
#include "src/files/files.h"
#include "src/io/output.h"

static tdm_status read_json(struct jinja *j, const char *path, jinja_value **out, tdm_error *err)
{
    char *bytes = NULL;
    size_t n;
    tdm_status status = files_read_text(path, SUBCOMMANDS_LONGEST_INPUT, &bytes, &n, err);
    if (!status) status = jinja_json(j, path, bytes, n, out, err);
    free(bytes);
    return status;
}

static tdm_status read_pictures(render_pictures *out, const char *path, const char *bytes, size_t n, tdm_error *err)
{
    json_object *root;
    tdm_status status = json_parse(&root, path, bytes, n, JSON_UTF8, err);
    if (status) return status;
    json_object *inner = json_member(root, "messages", JSON_ARRAY);
    status = render_pictures_read(out, inner ? inner : root, false, path, err);
    json_free(root);
    return status;
}

/* pictures: those of the messages, too; NULL: they aren't looked for. */
static tdm_status set_messages(struct jinja *j, const char *path, render_pictures *pictures, tdm_error *err)
{
    jinja_value *root;
    char *bytes = NULL;
    size_t n;
    tdm_status status = files_read_text(path, SUBCOMMANDS_LONGEST_INPUT, &bytes, &n, err);
    if (!status) status = jinja_json(j, path, bytes, n, &root, err);
    if (!status && pictures) status = read_pictures(pictures, path, bytes, n, err);
    free(bytes);
    if (status) return status;
    jinja_value *inner = jinja_get(j, root, "messages"), *messages = inner ? inner : root;
    if (!jinja_is_list(messages)) return error_set(err, TDM_E_FORMAT, "%s: expected an array of messages", path);
    jinja_trust_roles(j, messages);
    jinja_set(j, "messages", messages);
    return TDM_OK;
}

static tdm_status set_variable(struct jinja *j, const char *setting, tdm_error *err)
{
    const char *equals = strchr(setting, '=');
    if (!equals || equals == setting)
        return error_set(err, TDM_E_ARG, "--set: expected NAME=VALUE, found '%s'", setting);
    char *name = strndup(setting, (size_t)(equals - setting));
    if (!name) return error_set(err, TDM_E_NOMEM, "no memory for a variable");
    jinja_value *value;
    tdm_status status = jinja_json(j, setting, equals + 1, strlen(equals + 1), &value, err);
    if (!status) jinja_set(j, name, value);
    free(name);
    return status;
}

/* The time of --now, else the one it is. */
static tdm_status set_now(struct jinja *j, const char *text, tdm_error *err)
{
    struct jinja_time now = {0};
    if (text) {
        int used = 0;
        bool read = sscanf(text, "%4d-%2d-%2dT%2d:%2d%n:%2d%n", &now.year, &now.month, &now.day, &now.hour, &now.minute,
                           &used, &now.second, &used) >= 5;
        bool fits = now.year >= 1 && now.month >= 1 && now.month <= 12 && now.day >= 1 && now.day <= 31 &&
                    now.hour >= 0 && now.hour < 24 && now.minute >= 0 && now.minute < 60 && now.second >= 0 &&
                    now.second < 61;
        if (!read || !fits || text[used])
            return error_set(err, TDM_E_ARG, "--now: expected a time as 2026-11-25T09:30, found '%s'", text);
    } else {
        struct tm local;
        time_t seconds = time(NULL);
        localtime_r(&seconds, &local);
        now = (struct jinja_time){local.tm_year + 1900, local.tm_mon + 1, local.tm_mday,
                                  local.tm_hour,        local.tm_min,     local.tm_sec};
    }
    jinja_set_now(j, now);
    return TDM_OK;
}

/* What transformers gives a template: no tools and no documents are none, not undefined. */
static tdm_status set_variables(struct jinja *j, options *o, const tdm_model *m, render_pictures *pictures,
                                tdm_error *err)
{
    const char *tools = options_text(o, OPTION_TOOLS);
    bool generation = !options_flag(o, OPTION_NO_GENERATION);
    jinja_value *value = jinja_none(j);
    jinja_set(j, "documents", value);
    tdm_status status = tools ? read_json(j, tools, &value, err) : TDM_OK;
    jinja_set(j, "tools", value);
    jinja_set(j, "add_generation_prompt", jinja_truth(j, generation));
    static const struct {
        option_id option;
        const char *name;
    } tokens[] = {{OPTION_BOS, "bos_token"}, {OPTION_EOS, "eos_token"}};
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) {
        const char *text = options_text(o, tokens[i].option);
        size_t length = text ? strlen(text) : 0;
        if (!text && m) text = tdm_model_text(m, tokens[i].name, &length);
        if (text) jinja_set(j, tokens[i].name, jinja_text(j, text, length, JINJA_TEMPLATE));
    }
    if (!status) status = set_now(j, options_text(o, OPTION_NOW), err);
    const option_value *settings = &o->values[OPTION_SET];
    for (int i = 0; i < settings->n && !status; i++) status = set_variable(j, settings->list[i], err);
    return status ? status : set_messages(j, options_text(o, OPTION_MESSAGES), pictures, err);
}

/* The ids: special tokens are made only of what the template wrote. */
static tdm_status print_ids(const options *o, const tdm_model *m, const struct jinja_output *out,
                            const render_pictures *pictures, tdm_error *err)
{
    tdm_ids ids = {0};
    tdm_text_part *parts = malloc((out->n_runs + 1) * sizeof *parts);
    if (!parts) return error_set(err, TDM_E_NOMEM, "no memory for a prompt of %zu bytes", out->length);
    for (size_t i = 0; i < out->n_runs; i++)
        parts[i] = (tdm_text_part){out->runs[i].end, out->runs[i].source != JINJA_DATA};
    tdm_status status = tdm_tokenize_parts(m, out->text, parts, out->n_runs, &ids, err);
    if (!status)
        status = render_pictures_place(pictures, m, (uint32_t)options_int(o, OPTION_IMAGE_TOKENS, 0), &ids, err);
    if (!status) render_print_ids(&ids);
    tdm_ids_free(&ids);
    free(parts);
    return status;
}

/* Of the file, or of the model. */
static tdm_status parse(struct jinja_template **out, const char *path, const tdm_model *m, tdm_error *err)
{
    char *bytes = NULL;
    size_t n;
    tdm_status status = path ? files_read_text(path, SUBCOMMANDS_LONGEST_INPUT, &bytes, &n, err) : TDM_OK;
    const char *text = path ? bytes : tdm_model_text(m, "chat_template", &n);
    if (!status && !text)
        status = error_set(err, TDM_E_NOT_FOUND, "the model has no chat template: expected --template FILE");
    if (status) return status;
    status = jinja_parse(out, text, n, err);
    if (status) { /* the line names the template's */
        tdm_error inner = *err;
        error_set(err, status, "%s: %s", path ? path : "the model's chat template", inner.text);
    }
    free(bytes);
    return status;
}

tdm_status render_template(options *o, const char *path, const tdm_model *m, tdm_error *err)
{
    struct jinja_template *t = NULL;
    struct jinja_output out = {0};
    render_pictures pictures = {0};
    tdm_vision vision = {.pad = -1};
    if (m) tdm_model_vision(m, &vision);
    bool sees = options_flag(o, OPTION_AS_IDS) && vision.there && vision.pad >= 0;
    tdm_status status = parse(&t, path, m, err);
    struct jinja *j = status ? NULL : jinja_new(NULL);
    if (!status && !j) status = error_set(err, TDM_E_NOMEM, "no memory for a prompt");
    if (!status) status = set_variables(j, o, m, sees ? &pictures : NULL, err);
    if (!status) status = jinja_render(j, t, &out, err);
    if (!status && options_flag(o, OPTION_AS_IDS))
        status = print_ids(o, m, &out, &pictures, err);
    else if (!status)
        output_text(out.text, out.length);
    render_pictures_free(&pictures);
    jinja_output_free(&out);
    jinja_free(j);
    jinja_template_free(t);
    return status;
}
