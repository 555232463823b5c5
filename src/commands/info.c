/* `tandem info`: what a model holds; `--cpu`: what was found in the processor; `--gpu`: the GPUs. */
#include <stdlib.h>
#include <string.h>

#include "engine/json/write.h"
#include "src/cli/subcommands.h"
#include "src/commands/info.h"
#include "src/files/files.h"
#include "src/io/frames.h"
#include "src/io/output.h"
#include "src/models/ceilings.h"
#include "src/models/load.h"

static void line(const char *name, const char *text)
{
    if (text && text[0]) output_print("%-18s %s\n", name, text);
}

/* Files may have a key twice, for all of the model and for its text. */
static bool stands_before(const tdm_model_info *i, int k)
{
    const tdm_left_out *l = &i->left_out[k];
    for (int b = 0; b < k; b++) {
        const tdm_left_out *other = &i->left_out[b];
        if (other->why == l->why && !strcmp(other->name, l->name) && !strcmp(other->value, l->value)) return true;
    }
    return false;
}

/* The keys that are left out for one reason; why NULL: those that were accepted, with their values. */
static void print_left_out(const tdm_model_info *i, const char *why)
{
    bool some = false;
    for (int k = 0; k < i->n_left_out; k++) {
        const tdm_left_out *l = &i->left_out[k];
        if (l->why != why || stands_before(i, k)) continue;
        output_print(some ? ", " : "%-18s ", why ? "left out" : "accepted");
        output_text(l->name, strlen(l->name));
        if (!why && l->value[0]) {
            output_print(" = ");
            output_text(l->value, strlen(l->value));
        }
        some = true;
    }
    if (some) output_print(why ? ": %s\n" : ": not known, and may change replies\n", why);
}

/* Each reason once, in the order in which they come. */
static void print_all_left_out(const tdm_model_info *i)
{
    print_left_out(i, NULL);
    for (int k = 0; k < i->n_left_out; k++) {
        bool before = false;
        for (int b = 0; b < k; b++) before |= i->left_out[b].why == i->left_out[k].why;
        if (i->left_out[k].why && !before) print_left_out(i, i->left_out[k].why);
    }
}

static json_object *left_out_json(const tdm_model_info *i)
{
    json_object *list = json_new_array();
    for (int k = 0; k < i->n_left_out; k++) {
        json_object *o = json_new_object();
        json_add_string(o, "name", i->left_out[k].name);
        json_add_string(o, "value", i->left_out[k].value);
        json_add_string(o, "why", i->left_out[k].why ? i->left_out[k].why : "accepted");
        json_append(list, o);
    }
    return list;
}

static void print_thinking(const tdm_model_info *i)
{
    char efforts[80] = "";
    bool can = i->thinkings >> TDM_THINK_ON & 1;
    for (int k = TDM_THINK_LOW; k < TDM_THINKINGS; k++) {
        size_t n = strlen(efforts);
        if (i->thinkings >> k & 1)
            snprintf(efforts + n, sizeof efforts - n, "%s%s", n ? "|" : "--think=", tdm_thinking_name((tdm_thinking)k));
    }
    output_print("%-18s %s%s%s%s\n", "thinking",
                 !can                ? "no"
                 : !i->always_thinks ? (efforts[0] ? "yes (--think, " : "yes (--think")
                 : efforts[0]        ? "always ("
                                     : "always",
                 efforts, efforts[0] || (can && !i->always_thinks) ? ")" : "",
                 i->keeps_thinking && i->can_drop_thinking ? "; past turns keep it unless --keep-thinking=off"
                 : i->keeps_thinking                       ? "; past turns keep it"
                 : i->can_keep_thinking                    ? "; past turns lose it unless --keep-thinking=on"
                                                           : "");
}

static const char *s_of(int n)
{
    return n == 1 ? "" : "s";
}

static void print_text(const options *o, const tdm_model *m, const tdm_model_info *i, const struct tower *t)
{
    const tdm_sampling *s = &i->sampling;
    line("model", i->name);
    line("file", i->path);
    line("format", i->format);
    line("architecture", i->architecture);
    output_print("%-18s %.1f million", "parameters", 1e-6 * (double)i->parameters);
    if (i->experts) output_print(", %.1f million of them active for a token", 1e-6 * (double)i->active_parameters);
    output_print("\n");
    if (i->full_layers == i->layers)
        output_print("%-18s %d, all of them attention\n", "layers", i->layers);
    else if (i->full_layers && i->full_interval)
        output_print("%-18s %d, every %d full attention (%d in all)\n", "layers", i->layers, i->full_interval,
                     i->full_layers);
    else if (i->full_layers)
        output_print("%-18s %d, %d of them full attention, at no regular interval\n", "layers", i->layers,
                     i->full_layers);
    else
        output_print("%-18s %d, none of them full attention\n", "layers", i->layers);
    output_print("%-18s hidden %d, feed-forward %d, vocabulary %d (%d tokens)%s\n", "shape", i->hidden,
                 i->experts ? i->expert_intermediate : i->intermediate, i->vocabulary, i->tokens,
                 i->tied ? ", tied embeddings" : "");
    if (i->experts)
        output_print("%-18s %d of width %d in each layer, %d used for a token", "experts", i->experts,
                     i->expert_intermediate, i->experts_used);
    if (i->experts && i->intermediate)
        output_print(i->dense_beside ? ", beside a dense feed-forward network of %d" : ", and one of %d that all share",
                     i->intermediate);
    if (i->experts) output_print("\n");
    if (i->mtp_parameters)
        output_print("%-18s a head of %.1f million parameters (%.1f MB) drafts tokens\n", "MTP",
                     1e-6 * (double)i->mtp_parameters, 1e-6 * (double)i->mtp_bytes);
    output_print("%-18s %d head%s, %d key/value head%s of %d", "attention", i->heads, s_of(i->heads), i->kv_heads,
                 s_of(i->kv_heads), i->head_dim);
    if (i->window_head_dim) output_print(", in windows %d of %d", i->window_kv_heads, i->window_head_dim);
    output_print("\n");
    if (i->lin_key_heads)
        output_print("%-18s %d key head%s of %d, %d value head%s of %d, convolution over %d\n", "DeltaNet",
                     i->lin_key_heads, s_of(i->lin_key_heads), i->lin_key_dim, i->lin_value_heads,
                     s_of(i->lin_value_heads), i->lin_value_dim, i->conv_kernel);
    line("positions", i->positions);
    line("features", i->features);
    output_print("%-18s trained on %d tokens\n", "context", i->trained_context);
    line("weights", i->weight_types);
    output_print("%-18s %.1f MB in the file, %.1f MB packed", "size", 1e-6 * (double)i->file_bytes,
                 1e-6 * (double)i->packed_bytes);
    if (i->table_bytes) output_print("; %.1f MB are read row by row", 1e-6 * (double)i->table_bytes);
    output_print("\n");
    output_print("%-18s %.1f MB read, %.2f GFLOP\n", "per token", 1e-6 * (double)i->bytes_per_token,
                 1e-9 * (double)i->flops_per_token);
    if (i->kv_bytes_per_token)
        output_print("%-18s %.1f kB a token, %.1f MB at %d tokens (float16)\n", "keys and values",
                     1e-3 * (double)i->kv_bytes_per_token, 1e-6 * (double)i->kv_bytes_at_context, i->trained_context);
    char disk[160];
    if (load_disk_note(i, disk, sizeof disk)) line("memory", disk);
    line("kernels", i->kernels);
    output_print("%-18s %s%s%s\n", "template", i->template_name, i->template_note ? ": " : "",
                 i->template_note ? i->template_note : "");
    if (i->begins_with[0]) output_print("%-18s begin with %s\n", "prompts", i->begins_with);
    print_thinking(i);
    if (i->no_system) line("system prompt", "before the first message: the template has no place for it");
    output_print("%-18s temperature %g, top-k %d, top-p %g, min-p %g, penalties: presence %g, frequency %g, repeat %g "
                 "(%s)\n",
                 "sampling", (double)s->temperature, s->top_k, (double)s->top_p, (double)s->min_p,
                 (double)s->presence_penalty, (double)s->frequency_penalty, (double)s->repeat_penalty,
                 i->sampling_from_file     ? "from the file"
                 : s->presence_penalty > 0 ? "published for this size"
                                           : "usual values");
    if (i->load_seconds > 0)
        output_print("%-18s %.2f s, %s\n", "loaded in", i->load_seconds,
                     i->was_packed ? "from the weights kept as packed" : "packing the weights");
    info_vision_lines(o, m, t);
    line("skipped", i->skipped);
    for (const char *const *at = i->notices; *at; at++) line("notice", *at);
    print_all_left_out(i);
    if (i->layers < i->whole_layers) output_print("%-18s %d of %d layers\n", "part", i->layers, i->whole_layers);
    if (i->synthetic) line("note", "made-up weights: the text is noise, the times are real");
    output_print("%-18s %016llx\n", "fingerprint", (unsigned long long)i->fingerprint);
}

static void print_json(const options *given, const tdm_model *m, const tdm_model_info *i, const struct tower *t)
{
    json_object *o = json_new_object(), *s = json_new_object();
    json_add_string(o, "name", i->name);
    json_add_string(o, "path", i->path);
    json_add_string(o, "format", i->format);
    json_add_string(o, "architecture", i->architecture);
    json_add_string(o, "kernels", i->kernels);
    json_add_string(o, "weight_types", i->weight_types);
    json_add_int(o, "parameters", (int64_t)i->parameters);
    json_add_int(o, "file_bytes", (int64_t)i->file_bytes);
    json_add_int(o, "packed_bytes", (int64_t)i->packed_bytes);
    json_add_int(o, "bytes_per_token", (int64_t)i->bytes_per_token);
    json_add_int(o, "flops_per_token", (int64_t)i->flops_per_token);
    if (i->table_bytes) json_add_int(o, "table_bytes", (int64_t)i->table_bytes);
    json_add_int(o, "kv_bytes_per_token", (int64_t)i->kv_bytes_per_token);
    json_add_int(o, "kv_bytes_at_context", (int64_t)i->kv_bytes_at_context);
    json_add_int(o, "layers", i->layers);
    json_add_int(o, "whole_layers", i->whole_layers);
    json_add_int(o, "full_layers", i->full_layers);
    json_add_int(o, "hidden", i->hidden);
    json_add_int(o, "intermediate", i->intermediate);
    json_add_int(o, "experts", i->experts);
    json_add_int(o, "experts_used", i->experts_used);
    json_add_int(o, "expert_intermediate", i->expert_intermediate);
    json_add_int(o, "active_parameters", (int64_t)i->active_parameters);
    json_add_int(o, "mtp_parameters", (int64_t)i->mtp_parameters);
    json_add_int(o, "mtp_bytes", (int64_t)i->mtp_bytes);
    json_add_int(o, "expert_bytes", (int64_t)i->expert_bytes);
    json_add_int(o, "expert_memory", (int64_t)i->expert_memory);
    json_add_real(o, "from_disk_tps", i->from_disk_tps);
    json_add_real(o, "load_seconds", i->load_seconds);
    json_add_bool(o, "was_packed", i->was_packed);
    json_add_int(o, "heads", i->heads);
    json_add_int(o, "kv_heads", i->kv_heads);
    if (i->window_head_dim) {
        json_add_int(o, "window_kv_heads", i->window_kv_heads);
        json_add_int(o, "window_head_dim", i->window_head_dim);
    }
    json_add_int(o, "head_dim", i->head_dim);
    json_add_string(o, "positions", i->positions);
    json_add_string(o, "features", i->features);
    json_add_int(o, "linear_key_heads", i->lin_key_heads);
    json_add_int(o, "linear_key_dim", i->lin_key_dim);
    json_add_int(o, "linear_value_heads", i->lin_value_heads);
    json_add_int(o, "linear_value_dim", i->lin_value_dim);
    json_add_int(o, "vocabulary", i->vocabulary);
    json_add_int(o, "tokens", i->tokens);
    json_add_int(o, "trained_context", i->trained_context);
    json_add_bool(o, "tied", i->tied);
    json_add_bool(o, "synthetic", i->synthetic);
    json_object *thinkings = json_new_array();
    for (int k = 0; k < TDM_THINKINGS; k++)
        if (i->thinkings >> k & 1) json_append_string(thinkings, tdm_thinking_name((tdm_thinking)k));
    json_add(o, "thinkings", thinkings);
    json_add_bool(o, "always_thinks", i->always_thinks);
    json_add_bool(o, "can_keep_thinking", i->can_keep_thinking);
    json_add_bool(o, "keeps_thinking", i->keeps_thinking);
    json_add_string(o, "template", i->template_name);
    json_add_bool(o, "no_system", i->no_system);
    json_add_string(o, "begins_with", i->begins_with);
    info_vision_member(given, m, t, o);
    json_add_string(o, "skipped", i->skipped);
    json_object *notices = json_new_array();
    for (const char *const *at = i->notices; *at; at++) json_append_string(notices, *at);
    json_add(o, "notices", notices);
    json_add(o, "left_out", left_out_json(i));
    json_add_hash(o, "fingerprint", i->fingerprint);
    json_add_real(s, "temperature", i->sampling.temperature);
    json_add_int(s, "top_k", i->sampling.top_k);
    json_add_real(s, "top_p", i->sampling.top_p);
    json_add_real(s, "min_p", i->sampling.min_p);
    json_add_real(s, "presence_penalty", i->sampling.presence_penalty);
    json_add_real(s, "frequency_penalty", i->sampling.frequency_penalty);
    json_add_real(s, "repeat_penalty", i->sampling.repeat_penalty);
    json_add_bool(s, "from_file", i->sampling_from_file);
    json_add(o, "sampling", s);
    frames_print(o);
}

/* text: freed here. */
static int print_described(tdm_status status, char *text, const tdm_error *err)
{
    if (status) return load_failed(err);
    output_text(text, strlen(text));
    free(text);
    return 0;
}

static int describe_cpu(void)
{
    tdm_error err = {0};
    char *text;
    tdm_status status = tdm_cpu_describe(&text, &err);
    return print_described(status, text, &err);
}

static int describe_gpus(void)
{
    tdm_error err = {0};
    char *text, *folder = files_path(FILES_CACHE, "gpu");
    tdm_status status = tdm_gpu_describe(folder, &text, &err);
    free(folder);
    return print_described(status, text, &err);
}

/* The same as /units measure, without a conversation. */
static int measure(const options *o)
{
    tdm_error err = {0}, unkept = {0};
    tdm_machine *m;
    ceilings c;
    if (load_machine(&m, o, NULL, &(load_how){0}, &err)) return load_failed(&err);
    load_machine_notes(o, m);
    tdm_status status = ceilings_measure(&c, m, options_text(o, OPTION_KERNELS), NULL, NULL, &unkept, &err);
    char *text = status ? NULL : ceilings_text(&c, m);
    tdm_machine_close(m);
    if (status) return load_failed(&err);
    if (text) output_text(text, strlen(text));
    free(text);
    return unkept.code ? load_failed(&unkept) : 0;
}

int info_main(options *o)
{
    tdm_error err = {0};
    if (options_flag(o, OPTION_MEASURE) && !options_flag(o, OPTION_CPU))
        return subcommands_usage(o, "--measure needs --cpu");
    if (options_flag(o, OPTION_GPU)) return describe_gpus();
    if (options_flag(o, OPTION_CPU)) {
        int status = describe_cpu();
        return status || !options_flag(o, OPTION_MEASURE) ? status : measure(o);
    }
    tdm_model *m;
    const char *path = o->n_arguments ? o->arguments[0] : options_text(o, OPTION_MODEL);
    if (o->n_arguments > 1) return subcommands_usage(o, "expected one model, found %d", o->n_arguments);
    if (load_is_remote(o, path)) return info_server(o, path);
    tdm_status status = load_model(&m, o, path, &(load_how){0}, &err);
    if (status && info_vision_is(path)) return info_vision(o, path); /* a projector alone */
    if (status) return load_failed(&err);
    struct tower *t;
    status = info_vision_open(&t, m, &err);
    tdm_model_info info;
    tdm_model_describe(m, &info);
    if (!status && options_flag(o, OPTION_JSON))
        print_json(o, m, &info, t);
    else if (!status)
        print_text(o, m, &info, t);
    tower_close(t);
    tdm_model_close(m);
    return status ? load_failed(&err) : 0;
}
