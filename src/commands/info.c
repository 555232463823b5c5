/* `tandem info`: what a model holds; `--cpu`: what was found in the processor; `--gpu`: the GPUs. */
#include <stdlib.h>
#include <string.h>

#include "src/chat/ceilings.h"
#include "src/chat/load.h"
#include "src/cli/files.h"
#include "src/cli/jsonio.h"
#include "src/cli/output.h"
#include "src/cli/subcommands.h"
#include "src/commands/info_server.h"

static void line(const char *name, const char *text)
{
    if (text && text[0]) {
        output_print("%-18s ", name);
        output_text(text, strlen(text));
        output_print("\n");
    }
}

static void print_text(const tdm_model_info *i)
{
    const tdm_sampling *s = &i->sampling;
    line("model", i->name);
    line("file", i->path);
    line("format", i->format);
    line("architecture", i->architecture);
    output_print("%-18s %.1f million", "parameters", 1e-6 * (double)i->parameters);
    if (i->experts) output_print(", %.1f million of them active for a token", 1e-6 * (double)i->active_parameters);
    output_print("\n");
    if (i->full_layers)
        output_print("%-18s %d, every %d full attention (%d in all)\n", "layers", i->layers,
                     i->layers / i->full_layers, i->full_layers);
    else
        output_print("%-18s %d, none of them full attention\n", "layers", i->layers);
    output_print("%-18s hidden %d, feed-forward %d, vocabulary %d (%d tokens)%s\n", "shape", i->hidden,
                 i->experts ? i->expert_intermediate : i->intermediate, i->vocabulary, i->tokens,
                 i->tied ? ", tied embeddings" : "");
    if (i->experts)
        output_print("%-18s %d of width %d in each layer, %d used for a token, and one of %d that all share\n",
                     "experts", i->experts, i->expert_intermediate, i->experts_used, i->intermediate);
    if (i->mtp_parameters)
        output_print("%-18s a head of %.1f million parameters (%.1f MB) drafts tokens\n", "MTP",
                     1e-6 * (double)i->mtp_parameters, 1e-6 * (double)i->mtp_bytes);
    output_print("%-18s %d heads, %d key/value heads of %d\n", "attention", i->heads, i->kv_heads, i->head_dim);
    output_print("%-18s %d key heads of %d, %d value heads of %d, convolution over %d\n", "DeltaNet", i->lin_key_heads,
                 i->lin_key_dim, i->lin_value_heads, i->lin_value_dim, i->conv_kernel);
    output_print("%-18s trained on %d tokens\n", "context", i->trained_context);
    line("weights", i->weight_types);
    output_print("%-18s %.1f MB in the file, %.1f MB packed\n", "size", 1e-6 * (double)i->file_bytes,
                 1e-6 * (double)i->packed_bytes);
    output_print("%-18s %.1f MB read, %.2f GFLOP\n", "per token", 1e-6 * (double)i->bytes_per_token,
                 1e-9 * (double)i->flops_per_token);
    char disk[160];
    if (load_disk_note(i, disk, sizeof disk)) line("memory", disk);
    line("kernels", i->kernels);
    output_print("%-18s %s%s\n", "template", i->template_name,
                 i->template_replaced ? " (the file's own is not known)" : "");
    output_print("%-18s %s%s\n", "thinking",
                 i->has_efforts ? "yes (--think, --think=low|medium|xhigh)" : i->can_think ? "yes (--think)" : "no",
                 i->keeps_thinking       ? "; past turns keep it unless --keep-thinking=off"
                 : i->can_keep_thinking ? "; past turns lose it unless --keep-thinking=on"
                                         : "");
    output_print("%-18s temperature %g, top-k %d, top-p %g, min-p %g, penalties: presence %g, frequency %g, repeat %g "
                 "(%s)\n",
                 "sampling", (double)s->temperature, s->top_k, (double)s->top_p, (double)s->min_p,
                 (double)s->presence_penalty, (double)s->frequency_penalty, (double)s->repeat_penalty,
                 i->sampling_from_file ? "from the file" : "published for this size");
    if (i->load_seconds > 0)
        output_print("%-18s %.2f s, %s\n", "loaded in", i->load_seconds,
                     i->was_packed ? "from the weights kept as packed" : "packing the weights");
    line("skipped", i->skipped);
    if (i->layers < i->whole_layers) output_print("%-18s %d of %d layers\n", "part", i->layers, i->whole_layers);
    if (i->synthetic) line("note", "made-up weights: the text is noise, the times are real");
    output_print("%-18s %016llx\n", "fingerprint", (unsigned long long)i->fingerprint);
}

static void print_json(const tdm_model_info *i)
{
    json_object *o = jsonio_object(), *s = jsonio_object();
    jsonio_add_string(o, "name", i->name);
    jsonio_add_string(o, "path", i->path);
    jsonio_add_string(o, "format", i->format);
    jsonio_add_string(o, "architecture", i->architecture);
    jsonio_add_string(o, "kernels", i->kernels);
    jsonio_add_string(o, "weight_types", i->weight_types);
    jsonio_add_int(o, "parameters", (int64_t)i->parameters);
    jsonio_add_int(o, "file_bytes", (int64_t)i->file_bytes);
    jsonio_add_int(o, "packed_bytes", (int64_t)i->packed_bytes);
    jsonio_add_int(o, "bytes_per_token", (int64_t)i->bytes_per_token);
    jsonio_add_int(o, "flops_per_token", (int64_t)i->flops_per_token);
    jsonio_add_int(o, "layers", i->layers);
    jsonio_add_int(o, "whole_layers", i->whole_layers);
    jsonio_add_int(o, "full_layers", i->full_layers);
    jsonio_add_int(o, "hidden", i->hidden);
    jsonio_add_int(o, "intermediate", i->intermediate);
    jsonio_add_int(o, "experts", i->experts);
    jsonio_add_int(o, "experts_used", i->experts_used);
    jsonio_add_int(o, "expert_intermediate", i->expert_intermediate);
    jsonio_add_int(o, "active_parameters", (int64_t)i->active_parameters);
    jsonio_add_int(o, "mtp_parameters", (int64_t)i->mtp_parameters);
    jsonio_add_int(o, "mtp_bytes", (int64_t)i->mtp_bytes);
    jsonio_add_int(o, "expert_bytes", (int64_t)i->expert_bytes);
    jsonio_add_int(o, "expert_memory", (int64_t)i->expert_memory);
    jsonio_add_real(o, "from_disk_tps", i->from_disk_tps);
    jsonio_add_real(o, "load_seconds", i->load_seconds);
    jsonio_add_bool(o, "was_packed", i->was_packed);
    jsonio_add_int(o, "heads", i->heads);
    jsonio_add_int(o, "kv_heads", i->kv_heads);
    jsonio_add_int(o, "head_dim", i->head_dim);
    jsonio_add_int(o, "linear_key_heads", i->lin_key_heads);
    jsonio_add_int(o, "linear_key_dim", i->lin_key_dim);
    jsonio_add_int(o, "linear_value_heads", i->lin_value_heads);
    jsonio_add_int(o, "linear_value_dim", i->lin_value_dim);
    jsonio_add_int(o, "vocabulary", i->vocabulary);
    jsonio_add_int(o, "tokens", i->tokens);
    jsonio_add_int(o, "trained_context", i->trained_context);
    jsonio_add_bool(o, "tied", i->tied);
    jsonio_add_bool(o, "synthetic", i->synthetic);
    jsonio_add_bool(o, "can_think", i->can_think);
    jsonio_add_bool(o, "has_efforts", i->has_efforts);
    jsonio_add_bool(o, "can_keep_thinking", i->can_keep_thinking);
    jsonio_add_bool(o, "keeps_thinking", i->keeps_thinking);
    jsonio_add_string(o, "template", i->template_name);
    jsonio_add_bool(o, "template_replaced", i->template_replaced);
    jsonio_add_string(o, "skipped", i->skipped);
    jsonio_add_hash(o, "fingerprint", i->fingerprint);
    jsonio_add_real(s, "temperature", i->sampling.temperature);
    jsonio_add_int(s, "top_k", i->sampling.top_k);
    jsonio_add_real(s, "top_p", i->sampling.top_p);
    jsonio_add_real(s, "min_p", i->sampling.min_p);
    jsonio_add_real(s, "presence_penalty", i->sampling.presence_penalty);
    jsonio_add_real(s, "frequency_penalty", i->sampling.frequency_penalty);
    jsonio_add_real(s, "repeat_penalty", i->sampling.repeat_penalty);
    jsonio_add_bool(s, "from_file", i->sampling_from_file);
    jsonio_add(o, "sampling", s);
    jsonio_print(o);
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
    output_print("%s", text ? text : "");
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
    if (load_is_elsewhere(o, path)) return info_server(o, path);
    if (load_model(&m, o, path, &(load_how){0}, &err)) return load_failed(&err);
    tdm_model_info info;
    tdm_model_describe(m, &info);
    if (options_flag(o, OPTION_JSON))
        print_json(&info);
    else
        print_text(&info);
    tdm_model_close(m);
    return 0;
}
