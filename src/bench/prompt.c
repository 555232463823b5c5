#include "src/bench/prompt.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "src/files/files.h"
#include "src/models/load.h"

enum { LONGEST_TEXT = 1 << 20, MAX_TOKENS = 1 << 17 };

tdm_status bench_prompt_open(bench_prompt *p, tdm_error *err)
{
    const char *model = load_builtin();
    char path[PATH_MAX];
    size_t n;
    *p = (bench_prompt){0};
    const char *slash = model ? strrchr(model, '/') : NULL;
    snprintf(path, sizeof path, "%.*s/bench.txt", slash ? (int)(slash - model) : 6, slash ? model : "assets");
    tdm_status status = files_read(path, LONGEST_TEXT, &p->text, &n, err);
    if (status) return status;
    if (!(p->words = malloc(sizeof *p->words * (n / 2 + 1)))) {
        bench_prompt_close(p);
        return error_set(err, TDM_E_NOMEM, "out of memory");
    }
    for (char *save, *w = strtok_r(p->text, " \n", &save); w; w = strtok_r(NULL, " \n", &save)) p->words[p->n++] = w;
    if (p->n >= 100) return TDM_OK;
    bench_prompt_close(p);
    return error_set(err, TDM_E_FORMAT, "%s: expected a text of at least 100 words", path);
}

void bench_prompt_close(bench_prompt *p)
{
    free(p->text);
    free(p->words);
    *p = (bench_prompt){0};
}

/* n words from `from` on; malloc'ed. */
static char *words(const bench_prompt *p, int from, int n)
{
    size_t room = 1;
    for (int i = 0; i < n; i++) room += strlen(p->words[(from + i) % p->n]) + 1;
    char *text = malloc(room), *end = text;
    if (!text) return NULL;
    *end = 0;
    for (int i = 0; i < n; i++) {
        if (i) *end++ = ' ';
        end = stpcpy(end, p->words[(from + i) % p->n]);
    }
    return text;
}

tdm_status bench_prompt_ids(const bench_prompt *p, const tdm_model *m, int from, size_t n, tdm_ids *out, tdm_error *err)
{
    if (n > MAX_TOKENS) return error_set(err, TDM_E_ARG, "bench: a prompt of %zu tokens; at most %d", n, MAX_TOKENS);
    char *text = words(p, from % p->n, (int)n); /* every word is a token at least */
    if (!text) return error_set(err, TDM_E_NOMEM, "out of memory");
    tdm_ids ids = {0};
    tdm_message message = {.role = TDM_USER, .text = text, .length = strlen(text)};
    tdm_status status = tdm_render(m, &message, 1, &(tdm_render_options){.generation_prompt = true}, &ids, NULL, err);
    free(text);
    if (!status && !(out->ids = realloc(out->ids, sizeof *out->ids * (out->n + n))))
        status = error_set(err, TDM_E_NOMEM, "out of memory");
    if (!status) {
        memcpy(out->ids + out->n, ids.ids, sizeof *out->ids * n);
        out->n += n;
        out->capacity = out->n;
    }
    tdm_ids_free(&ids);
    return status;
}

static tdm_status count(const tdm_model *m, const char *text, size_t length, size_t *tokens, tdm_error *err)
{
    tdm_ids ids = {0};
    tdm_status status = tdm_tokenize(m, text, length, false, &ids, err);
    *tokens = ids.n;
    tdm_ids_free(&ids);
    return status;
}

tdm_status bench_prompt_message(const bench_prompt *p, const tdm_model *m, int from, size_t tokens, char **out,
                                tdm_error *err)
{
    enum { STARTS = 20 };
    for (int start = from; start < from + STARTS; start++) {
        char *text = words(p, start % p->n, (int)tokens); /* every word is a token at least */
        if (!text) return error_set(err, TDM_E_NOMEM, "out of memory");
        size_t found = 0, low = 0, high = strlen(text);
        tdm_status status = TDM_OK;
        /* Find the shortest beginning that has `tokens` tokens or more, then go back and forth from there, since a word
         * that is cut may have another number of tokens. */
        while (!status && low < high) {
            size_t middle = (low + high) / 2;
            status = count(m, text, middle, &found, err);
            if (found >= tokens)
                high = middle;
            else
                low = middle + 1;
        }
        for (size_t end = low; !status && end < low + 16 && end <= strlen(text); end++) {
            if (end && text[end - 1] == ' ') continue; /* the template would trim it */
            status = count(m, text, end, &found, err);
            if (status || found != tokens) continue;
            text[end] = 0;
            *out = text;
            return TDM_OK;
        }
        free(text);
        if (status) return status;
    }
    return error_set(err, TDM_E_UNSUPPORTED, "bench: this tokenizer makes no text of exactly %zu tokens", tokens);
}

tdm_status bench_prompt_frame(const tdm_model *m, size_t *tokens, tdm_error *err)
{
    tdm_ids ids = {0};
    tdm_message message = {.role = TDM_USER, .text = "a", .length = 1};
    size_t own;
    tdm_status status = tdm_render(m, &message, 1, &(tdm_render_options){.generation_prompt = true}, &ids, NULL, err);
    if (!status) status = count(m, "a", 1, &own, err);
    if (!status) *tokens = ids.n - own;
    tdm_ids_free(&ids);
    return status;
}
