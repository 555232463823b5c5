#include "src/session/session.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/base/buffer.h"
#include "engine/base/error.h"
#include "engine/base/harmless.h"
#include "engine/base/span.h"
#include "engine/base/utf8.h"
#include "engine/json/write.h"
#include "engine/os/file.h"
#include "src/io/messages.h"
#include "ui/text/markdown.h"

#define FORMAT "tandem session"
enum { VERSION = 1, MAX_NODES = 1000000, NAME_BYTES = 60 };

static const char *const finish_names[] = {
    [TDM_FINISH_END] = "end",
    [TDM_FINISH_LENGTH] = "length",
    [TDM_FINISH_STOP_STRING] = "stop",
    [TDM_FINISH_CONTEXT] = "context",
    [TDM_FINISH_STOPPED] = "stopped",
    [TDM_FINISH_FAILED] = "failed",
    [TDM_FINISH_UNFINISHED] = "unfinished",
    [TDM_FINISH_REPEATS] = "repeats",
};

const char *session_finish_name(tdm_finish finish)
{
    return finish_names[finish];
}

static tdm_finish finish_find(const char *name)
{
    for (size_t i = 0; name && i < sizeof finish_names / sizeof *finish_names; i++)
        if (!strcmp(name, finish_names[i])) return (tdm_finish)i;
    return TDM_FINISH_UNFINISHED;
}

static void free_pending(session_pending *p)
{
    free(p->kind);
    free(p->path);
    free(p->name);
    free(p->text);
    free(p->files);
    free(p->pictures);
}

void session_free(session *s)
{
    for (int i = 0; i < s->n; i++) tdm_node_free(&s->nodes[i]);
    free(s->nodes);
    free(s->pictures);
    free(s->attached);
    for (int i = 0; i < OPTION_COUNT; i++) free(s->settings[i]);
    free(s->name);
    free(s->model_name);
    free(s->model_path);
    free(s->system);
    free(s->draft);
    for (int i = 0; i < s->n_pending; i++) free_pending(&s->pending[i]);
    free(s->pending);
    *s = (session){0};
}

/* ---- Reading --------------------------------------------------------------------------------------------------- */

/* A reply without a text or a thought. */
static bool is_wordless(const tdm_node *node)
{
    return node->role == TDM_ASSISTANT && !node->thinking && span_is_blank((struct span){node->text, node->length});
}

/* A copy of a text member with its length; NULL when it is absent. *failed is set when memory runs out. */
static char *copy_text(json_object *o, const char *key, size_t *n, bool *failed)
{
    size_t length;
    const char *text = json_text(o, key, &length);
    if (n) *n = length;
    if (!text) return NULL;
    char *copy = malloc(length + 1);
    if (!copy) {
        *failed = true;
        return NULL;
    }
    memcpy(copy, text, length);
    copy[length] = 0;
    return copy;
}

/* The message that a question with this parent follows: turns without a text are none, and are passed over. */
static int answered(const session *s, int node)
{
    while (node && (s->nodes[node - 1].role == TDM_USER || is_wordless(&s->nodes[node - 1])))
        node = s->nodes[node - 1].parent;
    return node;
}

static tdm_status read_node(tdm_node *node, json_object *o, int id, const session *s, const char *name, tdm_error *err)
{
    bool failed = false;
    const char *role = json_text(o, "role", NULL);
    int64_t parent = json_int(o, "parent", -1);
    node->node = id;
    if (json_int(o, "id", -1) != id)
        return error_set(err, TDM_E_FORMAT, "%s: message %d: expected id %d", name, id, id);
    if (parent < 0 || parent >= id)
        return error_set(err, TDM_E_FORMAT, "%s: message %d: parent %" PRId64 " is not before it", name, id, parent);
    node->parent = (int)parent;
    if (!role || !messages_role(role, &node->role) || node->role == TDM_SYSTEM)
        return error_set(err, TDM_E_FORMAT, "%s: message %d: expected role user or assistant", name, id);
    if (node->role == TDM_USER) node->parent = answered(s, node->parent);
    tdm_role above = node->parent ? s->nodes[node->parent - 1].role : TDM_ASSISTANT;
    if (above == node->role)
        return error_set(err, TDM_E_FORMAT, "%s: message %d: role %s follows the same role", name, id, role);
    node->text = copy_text(o, "text", &node->length, &failed);
    node->thinking = copy_text(o, "thinking", &node->thinking_length, &failed);
    node->finish = node->role == TDM_ASSISTANT ? finish_find(json_text(o, "finish", NULL)) : TDM_FINISH_END;
    node->time_s = json_int(o, "time", 0);
    if (failed) return error_set(err, TDM_E_NOMEM, "%s: out of memory", name);
    if (!node->text) return error_set(err, TDM_E_FORMAT, "%s: message %d: expected a text", name, id);
    return TDM_OK;
}

/* How much of a message was attached, which can't be more than all of it. */
static tdm_status read_attached(size_t *attached, const tdm_node *node, json_object *o, const char *name,
                                tdm_error *err)
{
    int64_t bytes = json_int(o, "attached", 0);
    size_t most = node->role == TDM_USER ? node->length : 0;
    if (bytes < 0 || (uint64_t)bytes > most)
        return error_set(err, TDM_E_FORMAT, "%s: message %d: attached: expected 0 to %zu, found %" PRId64, name,
                         node->node, most, bytes);
    *attached = (size_t)bytes;
    return TDM_OK;
}

/* A key and a type become a file's name, so only our own forms are taken. */
static tdm_status read_picture(session_picture *p, json_object *o, size_t length, const char *name, tdm_error *err)
{
    static const char *const types[] = {"png", "jpg", "webp"};
    const char *key = json_text(o, "key", NULL), *type = json_text(o, "type", NULL);
    const char *called = json_text(o, "name", NULL);
    int64_t at = json_int(o, "at", -1);
    for (size_t i = 0; type && i < sizeof types / sizeof *types; i++)
        if (!strcmp(type, types[i])) snprintf(p->type, sizeof p->type, "%s", type);
    bool good = key && strlen(key) == PICTURE_KEY - 1 && strspn(key, "0123456789abcdef") == PICTURE_KEY - 1;
    if (!good || !p->type[0] || at < 0 || (uint64_t)at > length)
        return error_set(err, TDM_E_FORMAT, "%s: message %d: a picture: expected at (0 to %zu), key and type", name,
                         p->node, length);
    snprintf(p->key, sizeof p->key, "%s", key);
    snprintf(p->name, sizeof p->name, "%s", called && *called ? called : "picture");
    harmless_line(p->name);
    p->at = (size_t)at;
    p->width = (uint32_t)json_int(o, "width", 0);
    p->height = (uint32_t)json_int(o, "height", 0);
    return TDM_OK;
}

/* Appends those of one text; places never fall. */
static tdm_status read_pictures(session_picture **all, int *n, json_object *o, int node, size_t length,
                                const char *name, tdm_error *err)
{
    json_object *list = json_member(o, "pictures", JSON_ARRAY);
    size_t more = json_length(list), at = 0;
    if (!more) return TDM_OK;
    if (more > (size_t)(SESSION_PICTURES - *n))
        return error_set(err, TDM_E_FORMAT, "%s: more than %d pictures", name, SESSION_PICTURES);
    session_picture *larger = realloc(*all, ((size_t)*n + more) * sizeof *larger);
    if (!larger) return error_set(err, TDM_E_NOMEM, "%s: out of memory", name);
    *all = larger;
    for (size_t i = 0; i < more; i++) {
        session_picture *p = &larger[*n];
        *p = (session_picture){.node = node};
        tdm_status status = read_picture(p, json_at(list, i), length, name, err);
        if (status) return status;
        if (p->at < at) return error_set(err, TDM_E_FORMAT, "%s: message %d: pictures out of order", name, node);
        at = p->at;
        ++*n;
    }
    return TDM_OK;
}

static tdm_status read_nodes(session *s, json_object *root, const char *name, tdm_error *err)
{
    json_object *messages = json_member(root, "messages", JSON_ARRAY);
    size_t n = json_length(messages);
    if (!messages) return error_set(err, TDM_E_FORMAT, "%s: expected an array \"messages\"", name);
    if (n > MAX_NODES) return error_set(err, TDM_E_FORMAT, "%s: %zu messages, expected at most %d", name, n, MAX_NODES);
    s->nodes = calloc(n + 1, sizeof *s->nodes);
    s->attached = calloc(n + 1, sizeof *s->attached);
    if (!s->nodes || !s->attached) return error_set(err, TDM_E_NOMEM, "%s: out of memory", name);
    for (size_t i = 0; i < n; i++) {
        json_object *o = json_at(messages, i);
        s->n = (int)i + 1; /* so that what was read of a bad one is freed */
        tdm_status status = read_node(&s->nodes[i], o, s->n, s, name, err);
        if (!status) status = read_attached(&s->attached[i], &s->nodes[i], o, name, err);
        if (!status && s->nodes[i].role == TDM_USER)
            status = read_pictures(&s->pictures, &s->n_pictures, o, s->n, s->nodes[i].length, name, err);
        if (status) return status;
    }
    int64_t leaf = json_int(root, "leaf", -1);
    if (leaf < 0 || leaf > s->n)
        return error_set(err, TDM_E_FORMAT, "%s: leaf: expected 0 to %d, found %" PRId64, name, s->n, leaf);
    s->leaf = (int)leaf;
    for (int node = s->leaf; node; node = s->nodes[node - 1].parent) s->nodes[node - 1].current = true;
    return TDM_OK;
}

static tdm_status read_settings(session *s, json_object *root, const char *name, tdm_error *err)
{
    json_object *settings = json_member(root, "settings", JSON_OBJECT);
    if (!settings) return TDM_OK;
    options checked = {0};
    tdm_status status = TDM_OK;
    for (struct json_walk m = json_walk(settings); json_next(&m);) {
        option_id id = option_find(COMMAND_CHAT, m.key);
        if (id == OPTION_COUNT || !(option_table[id].flags & LIVE)) continue; /* of a later version */
        const char *text = json_text_of(m.value);
        tdm_error why;
        if (!text || !option_set(&checked, id, text, FROM_FILE, &why)) {
            bool starved = text && why.code == TDM_E_NOMEM;
            status = error_set(err, starved ? TDM_E_NOMEM : TDM_E_FORMAT, "%s: settings: %s", name,
                               text ? why.text : "expected texts");
            break;
        }
        free(s->settings[id]);
        if (!(s->settings[id] = strdup(text))) {
            status = error_set(err, TDM_E_NOMEM, "%s: out of memory", name);
            break;
        }
    }
    options_free(&checked);
    return status;
}

static tdm_status read_pending(session *s, json_object *root, const char *name, tdm_error *err)
{
    json_object *all = json_member(root, "pending", JSON_ARRAY);
    size_t n = json_length(all);
    if (n > SESSION_PENDING)
        return error_set(err, TDM_E_FORMAT, "%s: %zu pending, expected at most %d", name, n, SESSION_PENDING);
    if (n && !(s->pending = calloc(n, sizeof *s->pending)))
        return error_set(err, TDM_E_NOMEM, "%s: out of memory", name);
    for (size_t i = 0; i < n; i++) {
        json_object *o = json_at(all, i);
        session_pending *p = &s->pending[i];
        bool failed = false;
        s->n_pending = (int)i + 1; /* so that what was read of a bad one is freed */
        p->kind = copy_text(o, "kind", NULL, &failed);
        p->path = copy_text(o, "path", NULL, &failed);
        p->name = copy_text(o, "name", NULL, &failed);
        p->text = copy_text(o, "text", &p->length, &failed);
        p->files = copy_text(o, "files", &p->files_length, &failed);
        const char *digits = json_text(o, "mark", NULL);
        if (digits) p->mark = strtoull(digits, NULL, 16);
        if (failed) return error_set(err, TDM_E_NOMEM, "%s: out of memory", name);
        if (!p->kind || !p->path || !p->name || !p->text)
            return error_set(err, TDM_E_FORMAT, "%s: pending %zu: expected kind, path, name and text", name, i + 1);
        tdm_status status = read_pictures(&p->pictures, &p->n_pictures, o, 0, p->length, name, err);
        if (status) return status;
    }
    return TDM_OK;
}

static tdm_status read_root(session *s, json_object *root, const char *name, tdm_error *err)
{
    const char *format = json_text(root, "format", NULL);
    if (!format || strcmp(format, FORMAT))
        return error_set(err, TDM_E_FORMAT, "%s: not a saved session (expected \"format\": \"" FORMAT "\")", name);
    int64_t version = json_int(root, "version", 0);
    if (version != VERSION)
        return error_set(err, TDM_E_UNSUPPORTED, "%s: version %" PRId64 ", expected %d", name, version, VERSION);
    bool failed = false;
    json_object *model = json_member(root, "model", JSON_OBJECT);
    s->name = copy_text(root, "name", NULL, &failed);
    s->system = copy_text(root, "system", &s->system_length, &failed);
    s->draft = copy_text(root, "draft", NULL, &failed);
    s->created_s = json_int(root, "created", 0);
    s->changed_s = json_int(root, "changed", 0);
    if (model) {
        s->model_name = copy_text(model, "name", NULL, &failed);
        s->model_path = copy_text(model, "path", NULL, &failed);
        const char *digits = json_text(model, "fingerprint", NULL);
        if (digits) s->fingerprint = strtoull(digits, NULL, 16);
    }
    if (failed) return error_set(err, TDM_E_NOMEM, "%s: out of memory", name);
    tdm_status status = read_settings(s, root, name, err);
    if (!status) status = read_pending(s, root, name, err);
    return status ? status : read_nodes(s, root, name, err);
}

tdm_status session_parse(session *out, const char *name, const char *bytes, size_t n, tdm_error *err)
{
    json_object *root;
    *out = (session){0};
    tdm_status status = json_parse(&root, name, bytes, n, JSON_UTF8, err);
    if (status) return status;
    status = read_root(out, root, name, err);
    if (status) session_free(out);
    json_free(root);
    return status;
}

/* ---- Writing --------------------------------------------------------------------------------------------------- */

/* Those of a list that begins with a node's. */
static void add_pictures(json_object *o, const session_picture *p, int n, int node)
{
    json_object *list = n && p->node == node ? json_new_array() : NULL;
    for (int i = 0; i < n && p[i].node == node; i++) {
        json_object *one = json_new_object();
        json_add_int(one, "at", (int64_t)p[i].at);
        json_add_string(one, "key", p[i].key);
        json_add_string(one, "type", p[i].type);
        json_add_string(one, "name", p[i].name);
        json_add_int(one, "width", p[i].width);
        json_add_int(one, "height", p[i].height);
        json_append(list, one);
    }
    if (list) json_add(o, "pictures", list);
}

static json_object *node_json(const tdm_node *node, size_t attached)
{
    json_object *o = json_new_object();
    json_add_int(o, "id", node->node);
    json_add_int(o, "parent", node->parent);
    json_add_string(o, "role", messages_role_name(node->role));
    json_add_text(o, "text", node->text, node->length);
    if (attached) json_add_int(o, "attached", (int64_t)attached);
    if (node->thinking) json_add_text(o, "thinking", node->thinking, node->thinking_length);
    if (node->role == TDM_ASSISTANT) json_add_string(o, "finish", session_finish_name(node->finish));
    json_add_int(o, "time", node->time_s);
    return o;
}

static json_object *pending_json(const session_pending *p)
{
    json_object *o = json_new_object();
    json_add_string(o, "kind", p->kind);
    json_add_string(o, "path", p->path);
    json_add_string(o, "name", p->name);
    json_add_text(o, "text", p->text, p->length);
    if (p->files && p->files_length) json_add_text(o, "files", p->files, p->files_length);
    if (p->files && p->files_length) json_add_hash(o, "mark", p->mark);
    add_pictures(o, p->pictures, p->n_pictures, 0);
    return o;
}

static char *take_text(json_object *root, size_t *n)
{
    struct buffer text = {0};
    bool whole = !json_write_indented(root, &text, NULL);
    json_free(root);
    if (!whole) buffer_free(&text);
    *n = text.n;
    return text.bytes;
}

char *session_format(const session *s, size_t *n)
{
    json_object *root = json_new_object(), *model = json_new_object();
    json_object *settings = json_new_object(), *messages = json_new_array();
    json_add_string(root, "format", FORMAT);
    json_add_int(root, "version", VERSION);
    if (s->name) json_add_string(root, "name", s->name);
    json_add_int(root, "created", s->created_s);
    json_add_int(root, "changed", s->changed_s);
    if (s->model_name) json_add_string(model, "name", s->model_name);
    if (s->model_path) json_add_string(model, "path", s->model_path);
    json_add_hash(model, "fingerprint", s->fingerprint);
    json_add(root, "model", model);
    if (s->system) json_add_text(root, "system", s->system, s->system_length);
    for (option_id id = 0; id < OPTION_COUNT; id++)
        if (s->settings[id]) json_add_string(settings, option_table[id].name, s->settings[id]);
    json_add(root, "settings", settings);
    if (s->draft) json_add_string(root, "draft", s->draft);
    if (s->n_pending) {
        json_object *pending = json_new_array();
        for (int i = 0; i < s->n_pending; i++) json_append(pending, pending_json(&s->pending[i]));
        json_add(root, "pending", pending);
    }
    json_add_int(root, "leaf", s->leaf);
    int seen = 0;
    for (int i = 0; i < s->n; i++) {
        json_object *o = node_json(&s->nodes[i], s->attached ? s->attached[i] : 0);
        while (seen < s->n_pictures && s->pictures[seen].node <= i) seen++;
        if (seen < s->n_pictures) add_pictures(o, s->pictures + seen, s->n_pictures - seen, i + 1);
        json_append(messages, o);
    }
    json_add(root, "messages", messages);
    return take_text(root, n);
}

/* ---- Pictures --------------------------------------------------------------------------------------------------- */

bool session_note(session_picture *out, const tdm_picture *seen, int node, size_t at)
{
    const picture *p = picture_find(seen);
    if (!p) return false;
    *out = (session_picture){.node = node, .at = at, .width = p->width, .height = p->height};
    memcpy(out->key, p->key, sizeof out->key);
    snprintf(out->type, sizeof out->type, "%s", p->suffix);
    memcpy(out->name, p->name, sizeof out->name);
    return true;
}

tdm_status session_note_pictures(session *s, int i, tdm_error *err)
{
    const tdm_node *node = &s->nodes[i];
    session_picture *larger = node->n_pictures
                                  ? realloc(s->pictures, ((size_t)s->n_pictures + node->n_pictures) * sizeof *larger)
                                  : s->pictures;
    if (node->n_pictures && !larger) return error_set(err, TDM_E_NOMEM, "out of memory");
    s->pictures = larger;
    for (size_t k = 0; k < node->n_pictures; k++)
        s->n_pictures += session_note(&larger[s->n_pictures], node->pictures[k].picture, i + 1, node->pictures[k].at);
    return TDM_OK;
}

int session_pictures(const session *s)
{
    int n = 0;
    for (int i = 0; i < s->n_pictures; i++) n += s->pictures[i].node && s->nodes[s->pictures[i].node - 1].current;
    return n;
}

/* ---- Names and exports ----------------------------------------------------------------------------------------- */

int session_turns(const session *s)
{
    int turns = 0;
    for (int i = 0; i < s->n; i++) turns += s->nodes[i].current && s->nodes[i].role == TDM_USER;
    return turns;
}

static char *name_of(const char *text, size_t length)
{
    char words[NAME_BYTES + 1];
    size_t n = 0, end = 0; /* end: after the last whole word that fits */
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        bool blank = c <= ' ' || c == 0x7f;
        if (blank && n && words[n - 1] != ' ') end = n;
        if (n == NAME_BYTES) break;
        if (!blank)
            words[n++] = (char)c;
        else if (n && words[n - 1] != ' ')
            words[n++] = ' ';
    }
    if (n < NAME_BYTES) end = n && words[n - 1] == ' ' ? n - 1 : n;
    if (!end) { /* one long word: cut at a character */
        end = n;
        while (end && utf8_continues(words[end - 1])) end--;
        if (end && (unsigned char)words[end - 1] >= 0xc0) end--;
    }
    return end ? strndup(words, end) : strdup("untitled");
}

const char *session_picture_name(const session *s, int i)
{
    const char *text = s->nodes[i].text;
    for (size_t k = 0; k < s->nodes[i].length; k++)
        if ((unsigned char)text[k] > ' ') return NULL;
    int n;
    const session_picture *first = session_pictures_of(s, i, &n);
    return first ? first->name : NULL;
}

char *session_first_words(const session *s)
{
    for (int i = 0; i < s->n; i++) {
        const tdm_node *node = &s->nodes[i];
        size_t attached = s->attached ? s->attached[i] : 0;
        if (!node->current || node->role != TDM_USER) continue;
        const char *shown = session_picture_name(s, i);
        return shown ? name_of(shown, strlen(shown)) : name_of(node->text + attached, node->length - attached);
    }
    const char *words = s->draft ? s->draft : s->n_pending ? s->pending[0].name : "empty session";
    return name_of(words, strlen(words));
}

const session_picture *session_pictures_of(const session *s, int i, int *n)
{
    int first = 0, end;
    while (first < s->n_pictures && s->pictures[first].node <= i) first++;
    for (end = first; end < s->n_pictures && s->pictures[end].node == i + 1;) end++;
    *n = end - first;
    return *n ? s->pictures + first : NULL;
}

void session_picture_file(char *out, size_t room, const char *stem, int number, const session_picture *p)
{
    snprintf(out, room, "%s-%d.%s", stem, number, p->type);
}

/* A name within a link of Markdown, where brackets have a meaning. */
static void put_escaped(FILE *f, const char *name)
{
    char out[2 * NAME_MAX + 3];
    size_t n = 0;
    for (; *name && n < sizeof out - 2; name++) {
        if (strchr("\\[]<>", *name)) out[n++] = '\\';
        out[n++] = *name;
    }
    out[n] = 0;
    harmless_print(f, "%s", out);
}

/* A text with its pictures in their places; *number: how many came before. */
static void put_with_pictures(FILE *f, const session *s, int i, const char *stem, int *number)
{
    const tdm_node *node = &s->nodes[i];
    const char *base = stem ? file_base(stem) : NULL;
    char file[NAME_MAX + 1];
    int n;
    const session_picture *p = session_pictures_of(s, i, &n);
    size_t at = 0;
    for (int k = 0; k < n; at = p[k++].at) {
        fwrite(node->text + at, 1, p[k].at - at, f);
        ++*number;
        if (base) session_picture_file(file, sizeof file, base, *number, &p[k]);
        if (base) {
            fputs("![", f);
            put_escaped(f, p[k].name);
            fputs("](<", f);
            put_escaped(f, file);
            fputs(">)\n\n", f);
        } else {
            harmless_print(f, "[%s, %ux%u]\n\n", p[k].name, p[k].width, p[k].height);
        }
    }
    fwrite(node->text + at, 1, node->length - at, f);
}

/* A code block that was cut off ends with its message, not with the page. */
static void put_closing_fence(FILE *f, const char *text, size_t length)
{
    char fence;
    int n = markdown_open_fence(text, length, &fence);
    if (n && text[length - 1] != '\n') fputc('\n', f);
    for (int i = 0; i < n; i++) fputc(fence, f);
}

char *session_markdown(const session *s, size_t *n, const char *stem)
{
    int number = 0;
    struct buffer_stream stream;
    FILE *f = buffer_stream_open(&stream);
    if (!f) return NULL;
    harmless_print(f, "# %s\n", s->name ? s->name : "A conversation");
    if (s->model_name) harmless_print(f, "\nModel: %s\n", s->model_name);
    if (s->system) {
        fputs("\n## System\n\n", f);
        fwrite(s->system, 1, s->system_length, f);
        put_closing_fence(f, s->system, s->system_length);
        fputc('\n', f);
    }
    for (int i = 0; i < s->n; i++) {
        const tdm_node *node = &s->nodes[i];
        if (!node->current || is_wordless(node)) continue;
        fprintf(f, "\n## %s\n\n", node->role == TDM_USER ? "You" : "Model");
        put_with_pictures(f, s, i, stem, &number);
        put_closing_fence(f, node->text, node->length);
        fputc('\n', f);
    }
    return buffer_stream_close(&stream, n);
}

static json_object *text_part(const char *text, size_t n)
{
    json_object *part = json_new_object();
    json_add_string(part, "type", "text");
    json_add_text(part, "text", text, n);
    return part;
}

/* A text with its pictures in their places. */
static void add_content(json_object *o, const session *s, int i)
{
    const tdm_node *node = &s->nodes[i];
    int n;
    const session_picture *p = session_pictures_of(s, i, &n);
    if (!n) {
        json_add_text(o, "content", node->text, node->length);
        return;
    }
    json_object *parts = json_new_array();
    size_t at = 0;
    for (int k = 0; k < n; at = p[k++].at) {
        char *address = picture_address(picture_find_key(p[k].key));
        if (p[k].at > at) json_append(parts, text_part(node->text + at, p[k].at - at));
        if (address) json_append(parts, messages_picture_part(address));
        free(address);
    }
    if (node->length > at) json_append(parts, text_part(node->text + at, node->length - at));
    json_add(o, "content", parts);
}

char *session_messages(const session *s, size_t *n)
{
    json_object *messages = json_new_array();
    if (s->system) {
        json_object *o = json_new_object();
        json_add_string(o, "role", messages_role_name(TDM_SYSTEM));
        json_add_text(o, "content", s->system, s->system_length);
        json_append(messages, o);
    }
    for (int i = 0; i < s->n; i++) {
        const tdm_node *node = &s->nodes[i];
        if (!node->current || is_wordless(node)) continue;
        json_object *o = json_new_object();
        json_add_string(o, "role", messages_role_name(node->role));
        add_content(o, s, i);
        if (node->thinking) json_add_text(o, "reasoning_content", node->thinking, node->thinking_length);
        json_append(messages, o);
    }
    return take_text(messages, n);
}
