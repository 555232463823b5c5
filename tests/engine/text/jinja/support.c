#include "tests/engine/text/jinja/support.h"

#include <dirent.h>

#include "tests/check.h"

char *support_read(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    char *bytes = NULL;
    size_t n = 0, room = 0;
    while (file && !feof(file)) {
        if (n == room) bytes = realloc(bytes, room = room ? 2 * room : 4096);
        n += fread(bytes + n, 1, room - n, file);
    }
    if (!file) CHECK_FAIL("%s can't be read", path);
    if (file) fclose(file);
    *length = n;
    return bytes;
}

static int is_template(const struct dirent *entry)
{
    size_t n = strlen(entry->d_name);
    return n > 6 && !strcmp(entry->d_name + n - 6, ".jinja");
}

int support_each_golden(void (*use)(const char *name, struct span text, json_object *cases, void *context),
                        void *context)
{
    const char *shared = check_shared("goldens/templates");
    if (!shared) return 0;
    char folder[1024], path[2048], name[256];
    snprintf(folder, sizeof folder, "%s", shared);
    struct dirent **entries;
    int n = scandir(folder, &entries, is_template, alphasort);
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "%.*s", (int)strlen(entries[i]->d_name) - 6, entries[i]->d_name);
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        size_t length;
        char *text = support_read(path, &length);
        snprintf(path, sizeof path, "%s/%s.json", folder, name);
        json_object *cases = json_object_from_file(path);
        if (!cases) CHECK_FAIL("%s can't be read", path);
        if (text && cases) use(name, (struct span){text, length}, cases, context);
        json_object_put(cases);
        free(text);
        free(entries[i]);
    }
    if (n > 0) free(entries);
    return n > 0 ? n : 0;
}

static jinja_value *value_of(struct jinja *j, json_object *o)
{
    const char *text = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN);
    jinja_value *value = NULL;
    tdm_error err;
    if (jinja_json(j, "case", text, strlen(text), &value, &err)) CHECK_FAIL("%s", err.text);
    return value;
}

tdm_status support_render(const struct jinja_template *t, json_object *golden, struct jinja_output *out, tdm_error *err)
{
    struct jinja *j = jinja_new(NULL);
    jinja_set(j, "tools", jinja_none(j));
    jinja_set(j, "documents", jinja_none(j));
    jinja_set(j, "bos_token", jinja_text(j, "<s>", 3, JINJA_TEMPLATE));
    jinja_set(j, "eos_token", jinja_text(j, "</s>", 4, JINJA_TEMPLATE));
    jinja_set_now(j, (struct jinja_time){2026, 11, 25, 9, 30, 0});
    json_object_object_foreach(golden, key, item)
    {
        if (!strcmp(key, "text")) continue;
        jinja_value *value = value_of(j, item);
        if (!strcmp(key, "messages")) jinja_trust_roles(j, value);
        jinja_set(j, key, value);
    }
    tdm_status status = jinja_render(j, t, out, err);
    jinja_free(j);
    return status;
}

static const char *render(const char *source, const char *x, bool brackets)
{
    static char texts[4][4096];
    static int next;
    char *to = texts[next++ % 4], *end = to + sizeof texts[0] - 8;
    struct jinja_template *t;
    struct jinja_output out = {0};
    tdm_error err = {0};
    tdm_status status = jinja_parse(&t, source, strlen(source), &err);
    struct jinja *j = jinja_new(NULL);
    if (!status && x) {
        jinja_value *value;
        status = jinja_json(j, "x", x, strlen(x), &value, &err);
        jinja_set(j, "x", value);
    }
    jinja_set_now(j, (struct jinja_time){2026, 11, 5, 9, 3, 7});
    if (!status) status = jinja_render(j, t, &out, &err);
    jinja_free(j);
    jinja_template_free(t);
    const char *text = to;
    if (status) {
        snprintf(to, sizeof texts[0], "ERROR: %s", err.text);
        return text;
    }
    size_t at = 0;
    for (size_t i = 0; i < out.n_runs; i++) {
        bool data = brackets && out.runs[i].source == JINJA_DATA;
        if (data) *to++ = '<';
        for (; at < out.runs[i].end && to < end; at++) *to++ = out.text[at];
        if (data) *to++ = '>';
    }
    *to = 0;
    jinja_output_free(&out);
    return text;
}

const char *support_text(const char *source, const char *x)
{
    return render(source, x, false);
}

const char *support_runs(const char *source, const char *x)
{
    return render(source, x, true);
}

void support_compare(const struct test_case *cases, size_t n, const char *(*as)(const char *source, const char *x))
{
    for (size_t i = 0; i < n; i++) {
        const char *found = as(cases[i].source, cases[i].x);
        if (strcmp(found, cases[i].expected))
            CHECK_FAIL("%s: expected \"%s\", found \"%s\"", cases[i].source, cases[i].expected, found);
    }
}
