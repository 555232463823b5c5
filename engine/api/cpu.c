/* tdm_cpu_describe, tdm_kernels_name: the processor, the kernel sets that it can run, the cores, and how they are split
 * between the units. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/buffer.h"
#include "engine/base/error.h"
#include "engine/kernel/kernel.h"
#include "engine/unit/topology.h"

/* What /proc/cpuinfo says first under one of two names, printable, within line[room]; empty where there is none. */
static char *cpuinfo(const char *name, const char *other, char *line, int room)
{
    FILE *file = fopen("/proc/cpuinfo", "re");
    while (file && fgets(line, room, file)) {
        char *colon = strchr(line, ':');
        if (!colon || (strncmp(line, name, strlen(name)) && strncmp(line, other, strlen(other)))) continue;
        for (unsigned char *p = (unsigned char *)colon; *p; p++)
            if (*p < 0x20 || *p >= 0x7f) *p = 0;
        fclose(file);
        return colon + 1 + (colon[1] == ' ');
    }
    if (file) fclose(file);
    line[0] = 0;
    return line;
}

static void print_model(FILE *out)
{
    char line[256];
    const char *model = cpuinfo("model name", "Model", line, sizeof line);
    if (*model) fprintf(out, "processor      %s\n", model);
}

/* Those of the system's list that some kernel set is made of. */
static void print_features(FILE *out)
{
    static const char *const used[] = {"sse2",     "avx2",     "fma",     "f16c",        "avx_vnni",    "avx512f",
                                       "avx512bw", "avx512vl", "avx512dq", "avx512_vnni", "avx512_bf16", "amx_tile",
                                       "amx_int8", "amx_bf16", "asimd",   "asimddp",     "i8mm"};
    char line[8192], *rest, *flags = cpuinfo("flags", "Features", line, sizeof line);
    fprintf(out, "instructions  ");
    for (char *word = strtok_r(flags, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        for (size_t i = 0; i < sizeof used / sizeof *used; i++)
            if (!strcmp(word, used[i])) fprintf(out, " %s", word);
    fprintf(out, "\n");
}

static void print_kernels(FILE *out)
{
    const struct kernels *sets[16], *best = NULL;
    int n = kernels_available(sets, 16);
    fprintf(out, "kernel sets   ");
    for (int i = 0; i < n && i < 16; i++) fprintf(out, " %s", sets[i]->name);
    if (kernels_find(&best, NULL, NULL) == TDM_OK) fprintf(out, " (chosen: %s)", best->name);
    fprintf(out, "\n");
}

static void print_cores(FILE *out, const struct topology *t)
{
    char text[256];
    struct cores *split = calloc(2, sizeof *split);
    fprintf(out, "cores          %d processor%s allowed, %d physical core%s%s", t->count, t->count == 1 ? "" : "s",
            t->cores, t->cores == 1 ? "" : "s", t->hybrid ? ", performance and efficiency cores" : "");
    if (t->limit) fprintf(out, ", the control group grants %d", t->limit);
    fprintf(out, "\n");
    if (split) {
        topology_split(t, &split[0], &split[1]);
        fprintf(out, "prefill unit   %s\n", cores_format(&split[0], text, sizeof text));
        fprintf(out, "decode unit    %s\n", cores_format(&split[1], text, sizeof text));
    }
    free(split);
}

TDM_API tdm_status tdm_kernels_name(const char *kernels, const char **name, tdm_error *err)
{
    const struct kernels *k;
    tdm_status status = kernels_find(&k, kernels, err);
    if (!status) *name = k->name;
    return status;
}

TDM_API tdm_status tdm_cpu_describe(char **text, tdm_error *err)
{
    struct topology *topology = malloc(sizeof *topology);
    struct buffer_stream s;
    FILE *out = topology ? buffer_stream_open(&s) : NULL;
    if (!out) {
        free(topology);
        return error_set(err, TDM_E_NOMEM, "no memory for the description of the CPU");
    }
    print_model(out);
    print_features(out);
    print_kernels(out);
    tdm_status status = topology_read(topology, "", NULL, err);
    if (status == TDM_OK) print_cores(out, topology);
    free(topology);
    *text = buffer_stream_close(&s, NULL);
    if (!status && !*text) status = error_set(err, TDM_E_NOMEM, "no memory for the description of the CPU");
    if (status) free(*text);
    return status;
}
