/* A careless caller of sequences and texts: lengths of nothing and beyond the context, ids and options out of range,
 * bytes of states that were cut off and altered. Everything is refused or works; what a sequence holds stays true. Most
 * worth under the sanitizers. */
#include "tests/check.h"

#include <limits.h>

#include "engine/tandem/measure.h"
#include "tests/engine/chat/talk.h"
#include "tests/seeing.h"

enum { ROOM = 80, SEQUENCES = 3 };

static tdm_error err;
static uint64_t seed;

static uint32_t draw(uint32_t n)
{
    return talk_draw(&seed, n);
}

static int odd(int usual)
{
    static const int numbers[] = {-1, INT_MIN, INT_MAX, 0, 1 << 16};
    return draw(12) ? (int)draw((uint32_t)usual) : numbers[draw(5)];
}

/* ---- Sequences --------------------------------------------------------------------------------------------------- */

static struct held {
    tdm_sequence *s;
    int context;
    size_t length;
} held[SEQUENCES];

static struct {
    void *bytes;
    size_t n, length; /* tokens */
} saved;

static void open_one(struct held *h, const tdm_model *m)
{
    static const int contexts[] = {1, 2, 17, 64, ROOM};
    tdm_sequence_options o = {.unit = (int)draw(2), .kv = (tdm_kv)draw(TDM_KV_TYPES), .dispatch = (int)draw(40)};
    h->context = o.context = contexts[draw(5)];
    if (draw(10) == 0) {
        tdm_sequence *none;
        tdm_sequence_options bad = {odd(2), (tdm_kv)odd(TDM_KV_TYPES), odd(ROOM), odd(40)};
        tdm_status status = tdm_sequence_open(&none, m, talk_machine(0), &bad, &err);
        CHECK((status == TDM_OK) == (none != NULL));
        tdm_sequence_close(none);
    }
    tdm_sequence_close(h->s);
    h->length = 0;
    if (tdm_sequence_open(&h->s, m, talk_machine(0), &o, &err)) CHECK_FAIL("%s", err.text);
}

static void evaluate(struct held *h, int vocabulary, tdm_id pad)
{
    tdm_id ids[ROOM + 2];
    size_t n = draw(6) ? draw(9) : draw(ROOM + 3);
    bool last = draw(2), bad = false;
    float *all = draw(4) ? NULL : malloc((n * (size_t)vocabulary + 1) * sizeof *all);
    for (size_t i = 0; i < n; i++) {
        ids[i] = draw(300) ? (tdm_id)draw((uint32_t)vocabulary) : draw(2) ? odd(vocabulary) : vocabulary;
        if (pad >= 0 && draw(20) == 0) ids[i] = pad;
        bad = bad || ids[i] < 0 || ids[i] >= vocabulary;
    }
    tdm_status status = tdm_sequence_eval(h->s, n ? ids : NULL, n, last, all, &err);
    size_t length = tdm_sequence_length(h->s);
    if (status == TDM_OK) CHECK(!bad && length == h->length + n);
    if (h->length + n > (size_t)h->context)
        CHECK(status == TDM_E_CONTEXT && length == h->length);
    else if (bad)
        CHECK_INT(TDM_E_ARG, status);
    else if (pad < 0)
        CHECK_INT(TDM_OK, status);
    if (status == TDM_OK && last && n) CHECK(tdm_sequence_logits(h->s));
    if (status) CHECK(length == h->length);
    h->length = length;
    free(all);
}

static void sample(struct held *h, int vocabulary)
{
    tdm_sampling p = {.temperature = (float)odd(3),
                      .top_k = odd(40),
                      .top_p = (float)draw(12) / 10,
                      .min_p = (float)draw(12) / 10,
                      .presence_penalty = (float)odd(3),
                      .frequency_penalty = (float)odd(3),
                      .repeat_penalty = (float)odd(3),
                      .seed = draw(9)};
    if (draw(20) == 0) p.temperature = NAN;
    tdm_id id = -7;
    tdm_status status =
        tdm_sequence_sample(h->s, draw(3) ? &p : NULL, (uint32_t)odd(9), (uint32_t)odd(9), (uint32_t)odd(3), &id, &err);
    if (status == TDM_OK) CHECK(id >= 0 && id < vocabulary);
    if (!tdm_sequence_logits(h->s)) CHECK_INT(TDM_E_ARG, status);
}

static void save(struct held *h)
{
    void *bytes = NULL;
    size_t n;
    if (tdm_sequence_save(h->s, &bytes, &n, &err)) {
        CHECK_FAIL("%s", err.text);
        return;
    }
    free(saved.bytes);
    saved.bytes = bytes;
    saved.n = n;
    saved.length = h->length;
}

static void load(struct held *h)
{
    size_t n = draw(3) ? saved.n : draw((uint32_t)saved.n + 1);
    unsigned char *bytes = malloc(n + 1);
    bool altered = draw(3) == 0;
    if (n) memcpy(bytes, saved.bytes, n);
    for (uint32_t i = altered ? 1 + draw(4) : 0; n && i--;)
        bytes[draw(draw(2) ? (uint32_t)n : 64) % n] ^= (unsigned char)draw(256);
    tdm_status status = tdm_sequence_load(h->s, n ? bytes : NULL, n, &err);
    h->length = tdm_sequence_length(h->s);
    if (n < saved.n) CHECK(status != TDM_OK);
    if (status == TDM_OK && !altered) CHECK(h->length == saved.length);
    CHECK(h->length <= (size_t)h->context);
    free(bytes);
}

static void show(struct held *h, tdm_picture *picture)
{
    tdm_picture *two[] = {picture, picture};
    tdm_sequence_pictures(h->s, two, draw(3), draw(2) ? 0 : draw(20), &err);
}

static void careless(const tdm_model *m, tdm_picture *picture, int actions)
{
    tdm_model_info info;
    tdm_vision vision;
    tdm_model_describe(m, &info);
    tdm_model_vision(m, &vision);
    for (int i = 0; i < SEQUENCES; i++) open_one(&held[i], m);
    save(&held[0]);
    for (int i = 0; i < actions && !check_failures; i++) {
        struct held *h = &held[draw(SEQUENCES)], *other = &held[draw(SEQUENCES)];
        size_t bytes;
        switch (draw(16)) {
        case 0: if (draw(4) == 0) open_one(h, m); break;
        case 1: tdm_sequence_clear(h->s); h->length = 0; break;
        case 2: case 3: sample(h, info.vocabulary); break;
        case 4: save(h); break;
        case 5: case 6: load(h); break;
        case 7: if (picture) show(h, picture); break;
        case 8:
            if (h != other && !tdm_sequence_cross(other->s, h->s, &bytes, &err)) other->length = h->length;
            CHECK(tdm_sequence_length(other->s) == other->length);
            break;
        case 9:
            if (tdm_sequence_fill(h->s, draw(ROOM + 2), draw(9), &err) == TDM_OK) h->length = tdm_sequence_length(h->s);
            break;
        default: evaluate(h, info.vocabulary, picture ? vision.pad : -1); break;
        }
        CHECK(tdm_sequence_length(h->s) == h->length);
    }
    for (int i = 0; i < SEQUENCES; i++) tdm_sequence_close(held[i].s), held[i].s = NULL;
    free(saved.bytes);
    saved.bytes = NULL;
}

static void rounds(const tdm_model *m, tdm_picture *picture)
{
    uint64_t first = getenv("TANDEM_SEED") ? strtoull(getenv("TANDEM_SEED"), NULL, 10) : 1;
    for (uint64_t i = 0; m && i < (getenv("TANDEM_LONG") ? 100 : 4) && !check_failures; i++) {
        seed = (first + i) * 0x9e3779b97f4a7c15;
        careless(m, picture, 300);
        if (check_failures) printf("# seed %llu\n", (unsigned long long)(first + i));
    }
}

TEST(sequences_stay_true)
{
    rounds(talk_model(NULL), NULL);
    const char *before = talk_path;
    static const char *const families[] = {"gemma3", "gpt-oss", "mistral-window"};
    for (int i = 0; i < 3; i++)
        if (talk_family(families[i])) rounds(talk_model(NULL), NULL);
    talk_path = before;
}

TEST(sequences_with_pictures_stay_true)
{
    const char *folder = seeing_model(), *before = talk_path;
    if (!folder) return;
    tdm_picture *picture = seeing_picture(64, 96, 1);
    talk_path = folder;
    rounds(talk_model(NULL), picture);
    talk_path = before;
    tdm_picture_drop(picture);
}

/* ---- Texts ------------------------------------------------------------------------------------------------------- */

static size_t bytes_of(char *text, size_t room)
{
    static const char *const words[] = {"a",  " ",  "\xff",    "\xc3", "é", "<|im_end|>", "<|im_start|>",
                                        "\n", "{{", "\xf0\x9f"};
    size_t n = 0;
    for (uint32_t left = draw(30); left--;) {
        const char *word = words[draw(10)];
        if (n + strlen(word) + 1 > room) break;
        memcpy(text + n, word, strlen(word));
        n += strlen(word);
        if (draw(30) == 0) text[n++] = 0;
    }
    return n;
}

static void texts(const tdm_model *m)
{
    char text[300], *back;
    size_t n = bytes_of(text, sizeof text), length;
    tdm_ids ids = {0};
    tdm_id odd_ids[5];
    tdm_text_part parts[4];
    size_t n_parts = draw(5), at = 0;
    CHECK(tdm_tokenize(m, n ? text : NULL, n, draw(2), &ids, &err) == TDM_OK);
    CHECK(tdm_detokenize(m, ids.ids, ids.n, &back, &length, &err) == TDM_OK);
    CHECK(strlen(back) <= length);
    free(back);
    for (size_t i = 0; i < n_parts; i++) {
        at += draw((uint32_t)(n - at + 1));
        parts[i] = (tdm_text_part){i + 1 == n_parts ? n : at, draw(2)};
    }
    CHECK(tdm_tokenize_parts(m, n_parts ? text : NULL, n_parts ? parts : NULL, n_parts, &ids, &err) == TDM_OK);
    tdm_ids_free(&ids);
    for (int i = 0; i < 5; i++) odd_ids[i] = odd(600), tdm_model_is_end(m, odd_ids[i]);
    if (tdm_detokenize(m, odd_ids, draw(6), &back, &length, &err) == TDM_OK) free(back);
}

static void prompts(const tdm_model *m)
{
    tdm_message messages[4];
    char spoken[4][100];
    size_t n = draw(5);
    struct {
        tdm_render_options known;
        unsigned char later[16];
    } o;
    memset(&o, 0, sizeof o);
    o.known = (tdm_render_options){(tdm_thinking)odd(TDM_THINKINGS), (tdm_keep_thinking)odd(TDM_KEEPS), draw(2)};
    o.later[3] = draw(4) == 0;
    size_t size = draw(3) ? sizeof o.known : draw(sizeof o + 1);
    for (size_t i = 0; i < n; i++) {
        size_t length = bytes_of(spoken[i], sizeof spoken[i]);
        messages[i] = (tdm_message){.role = (tdm_role)odd(3), .text = length ? spoken[i] : NULL, .length = length};
        if (draw(3) == 0) messages[i].thinking = spoken[i], messages[i].thinking_length = length;
    }
    tdm_ids ids = {0};
    char *text = NULL;
    bool served = draw(2) || !m, only = draw(2);
    tdm_status status = tdm_render_sized(served ? NULL : m, n ? messages : NULL, n, draw(4) ? &o.known : NULL, size,
                                         served || only ? NULL : &ids, &text, &err);
    CHECK((status == TDM_OK) == (text != NULL));
    free(text);
    tdm_ids_free(&ids);
}

TEST(texts_are_refused_or_taken)
{
    const tdm_model *m = talk_model(NULL);
    size_t length;
    REQUIRE(m);
    seed = 5;
    for (int i = 0; i < (getenv("TANDEM_LONG") ? 40000 : 2000); i++) {
        texts(m);
        prompts(m);
    }
    CHECK(!tdm_model_text(m, "no such text", &length));
    tdm_sequence_close(NULL);
    tdm_chat_close(NULL);
    tdm_machine_close(NULL);
    tdm_model_close(NULL);
    tdm_picture_drop(NULL);
    tdm_preload_close(NULL);
}

TEST_MAIN(T(sequences_stay_true), T(sequences_with_pictures_stay_true), T(texts_are_refused_or_taken))
