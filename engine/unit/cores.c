#include "engine/unit/cores.h"

#include "engine/base/error.h"

#include <stdio.h>
#include <string.h>

bool cores_contain(const struct cores *cores, int cpu)
{
    for (int i = 0; i < cores->count; i++)
        if (cores->cpu[i] == cpu) return true;
    return false;
}

/* Reads decimal digits at *p; -1 where there are none or the number is no CPU. */
static int parse_cpu(const char **p)
{
    int value = 0;
    if (**p < '0' || **p > '9') return -1;
    for (; **p >= '0' && **p <= '9'; ++*p) {
        value = value * 10 + (**p - '0');
        if (value >= CORES_MAX) return -1;
    }
    return value;
}

static tdm_status parse(struct cores *out, const char *text, const char *p, const char *end, tdm_error *err)
{
    struct cores found = {0};
    for (;;) {
        const char *item = p;
        int first = parse_cpu(&p), last = first;
        if (first >= 0 && *p == '-') {
            p++;
            last = parse_cpu(&p);
        }
        if (first < 0 || last < 0)
            return error_set(err, TDM_E_ARG, "'%s', character %d: expected a CPU number from 0 to %d", text,
                             (int)(p - text) + 1, CORES_MAX - 1);
        if (last < first)
            return error_set(err, TDM_E_ARG, "'%s', character %d: the range %d-%d runs backwards", text,
                             (int)(item - text) + 1, first, last);
        for (int cpu = first; cpu <= last; cpu++) {
            if (cores_contain(&found, cpu))
                return error_set(err, TDM_E_ARG, "'%s', character %d: CPU %d is named twice", text,
                                 (int)(item - text) + 1, cpu);
            found.cpu[found.count++] = cpu;
        }
        if (p == end) break;
        if (*p != ',')
            return error_set(err, TDM_E_ARG, "'%s', character %d: expected ',' or the end", text,
                             (int)(p - text) + 1);
        p++;
    }
    *out = found;
    return TDM_OK;
}

tdm_status cores_parse(struct cores *out, const char *text, tdm_error *err)
{
    if (strncmp(text, "cpu:", 4))
        return error_set(err, TDM_E_ARG, "'%s': expected a list of CPUs like cpu:0-3,6, or gpu or gpu:N", text);
    return parse(out, text, text + 4, text + strlen(text), err);
}

tdm_status cores_parse_list(struct cores *out, const char *text, tdm_error *err)
{
    size_t n = strlen(text);
    if (n && text[n - 1] == '\n') n--;
    return parse(out, text, text, text + n, err);
}

char *cores_format(const struct cores *cores, char *text, size_t size)
{
    size_t at = (size_t)snprintf(text, size, "cpu:");
    for (int i = 0, j; i < cores->count && at < size; i = j) {
        for (j = i + 1; j < cores->count && cores->cpu[j] == cores->cpu[j - 1] + 1;) j++;
        int n = j - i > 1 ? snprintf(text + at, size - at, "%s%d-%d", i ? "," : "", cores->cpu[i], cores->cpu[j - 1])
                          : snprintf(text + at, size - at, "%s%d", i ? "," : "", cores->cpu[i]);
        at += (size_t)n;
    }
    return text;
}
