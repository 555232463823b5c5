#include "tests/engine/text/template/forms.h"

#include "engine/model/source.h"
#include "tests/check.h"
#include "tests/engine/text/golden.h"
#include "tests/engine/text/jinja/support.h"

static char *builtin_text(void)
{
    struct source *s = NULL;
    tdm_error err;
    char *text = NULL;
    if (source_open(&s, "assets/tandem-demo-51m-q6_k.gguf", &(struct source_options){0}, &err)) {
        CHECK_FAIL("%s", err.text);
        return NULL;
    }
    struct span own = source_text(s)->chat_template;
    text = strndup(own.bytes, own.length);
    source_close(s);
    return text;
}

const char *forms_text(const char *name)
{
    static struct {
        char name[32], *text;
    } kept[16];
    size_t i = 0, n;
    while (kept[i].text && strcmp(kept[i].name, name)) i++;
    if (kept[i].text) return kept[i].text;
    char path[200];
    snprintf(path, sizeof path, "engine/text/template/templates/%s.jinja", name);
    snprintf(kept[i].name, sizeof kept[i].name, "%s", name);
    if (!strcmp(name, "builtin")) return kept[i].text = builtin_text();
    char *bytes = support_read(check_data(path), &n);
    kept[i].text = bytes ? strndup(bytes, n) : NULL;
    free(bytes);
    return kept[i].text;
}

const struct template *forms_template(const char *name)
{
    static struct {
        char name[32];
        struct template *template;
    } kept[16];
    size_t i = 0;
    while (kept[i].template && strcmp(kept[i].name, name)) i++;
    if (kept[i].template) return kept[i].template;
    const char *text = forms_text(name);
    tdm_error err;
    struct template_source source = {.tokenizer = golden_small()};
    if (text) source.text = (struct span){text, strlen(text)};
    if (!text || template_new(&kept[i].template, &source, &err)) CHECK_FAIL("%s can't be read", name);
    snprintf(kept[i].name, sizeof kept[i].name, "%s", name);
    return kept[i].template;
}

tdm_status forms_encode(const struct template *t, const struct tokenizer *tokenizer,
                        const struct template_options *options, const tdm_message *messages, size_t n, struct ids *out,
                        struct template_place *places, tdm_error *err)
{
    struct written w = {0};
    tdm_status status = template_render(t, options, messages, n, &w, err);
    if (!status) status = tokenizer_encode_written(tokenizer, w.text, w.ends, w.n_ends, out, err);
    if (!status && places) template_places(t, &w, messages, n, places);
    written_free(&w);
    return status;
}
