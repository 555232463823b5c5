#include "tests/engine/text/golden.h"

#include <utf8proc.h>

#include "engine/text/detokenizer.h"
#include "tests/check.h"

struct json_object *golden_open(const char *path)
{
    struct json_object *root = json_object_from_file(path);
    if (!root) CHECK_FAIL("%s: %s", path, json_util_get_last_err());
    return root;
}

const struct tokenizer *golden_small(void)
{
    static struct tokenizer *t;
    tdm_error err;
    if (!t && tokenizer_load_json(&t, check_data("goldens/tiny-a/tokenizer.json"), NULL, &err)) {
        printf("# %s\n", err.text);
        abort();
    }
    return t;
}

struct tokenizer *golden_large(void)
{
    const char *packed = check_shared("goldens/tokenizer-151k.json.xz");
    if (!packed) return NULL;
    char command[2400], path[128];
    snprintf(path, sizeof path, "%s/tokenizer-151k.json", check_tmp());
    snprintf(command, sizeof command, "xz -dc '%s' >'%s'", packed, path);
    if (system(command)) {
        check_skipped = "needs xz";
        return NULL;
    }
    struct tokenizer *t;
    tdm_error err;
    if (tokenizer_load_json(&t, path, NULL, &err)) CHECK_FAIL("%s", err.text);
    return t;
}

/* decoded: what the ids stand for; NULL: the text in form C. */
static void check_round_trip(const struct tokenizer *t, const char *text, const char *decoded, const struct ids *ids)
{
    struct detokenizer d;
    detokenizer_init(&d, t, false);
    char *expected = decoded ? strdup(decoded) : (char *)utf8proc_NFC((const utf8proc_uint8_t *)text);
    char *found = calloc(1, strlen(expected) * 3 + 8);
    size_t n = 0;
    struct span piece;
    for (size_t i = 0; i < ids->count; i++) {
        CHECK(detokenizer_push(&d, ids->id[i], &piece, NULL) == TDM_OK);
        if (n + piece.length <= strlen(expected)) memcpy(found + n, piece.bytes, piece.length);
        n += piece.length;
    }
    CHECK_INT(0, detokenizer_finish(&d).length);
    CHECK_INT(strlen(expected), n);
    CHECK_STR(expected, found);
    free(expected);
    free(found);
    detokenizer_free(&d);
}

int golden_compare(const struct tokenizer *t, const char *path)
{
    struct json_object *root = golden_open(path);
    if (!root) return 0;
    struct json_object *cases =
        json_object_is_type(root, json_type_object) ? json_object_object_get(root, "cases") : root;
    int texts = (int)json_object_array_length(cases);
    for (int i = 0; i < texts; i++) {
        struct json_object *entry = json_object_array_get_idx(cases, (size_t)i);
        struct json_object *text = json_object_object_get(entry, "text"),
                           *expected = json_object_object_get(entry, "ids"),
                           *decoded = json_object_object_get(entry, "decoded");
        const char *bytes = json_object_get_string(text);
        size_t n = (size_t)json_object_get_string_len(text);
        struct ids ids = {0};
        tdm_error err;
        if (tokenizer_encode(t, bytes, n, TOKENIZE_ADDED | TOKENIZE_BEGIN, 0, &ids, &err))
            CHECK_FAIL("text %d: %s", i, err.text);
        size_t count = json_object_array_length(expected);
        bool same = count == ids.count;
        for (size_t k = 0; same && k < count; k++)
            same = json_object_get_int(json_object_array_get_idx(expected, k)) == ids.id[k];
        if (!same) {
            CHECK_FAIL("text %d differs: %s", i, json_object_to_json_string(text));
            printf("# expected %s\n# found    [", json_object_to_json_string(expected));
            for (size_t k = 0; k < ids.count; k++) printf(" %d,", ids.id[k]);
            printf("]\n");
        }
        for (size_t k = 1; k < ids.count; k++) CHECK(ids.end[k - 1] <= ids.end[k]);
        if (ids.count) CHECK_INT(n, ids.end[ids.count - 1]);
        if (!memchr(bytes, 0, n)) check_round_trip(t, bytes, json_object_get_string(decoded), &ids);
        ids_free(&ids);
    }
    json_object_put(root);
    return texts;
}
