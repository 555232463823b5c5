/* Pictures as the library's users have them: objects, a model's vision tower, what a picture becomes, sequences that
 * are shown some. */
#include "engine/model/hf/safetensors.h"
#include "engine/tandem.h"
#include "tests/check.h"
#include "tests/engine/gpu/rig.h"
#include "tests/seeing.h"

#define BUILTIN "assets/tandem-demo-51m-q6_k.gguf"
enum { TOKENS = 12 };

static tdm_error err;

TEST(pictures_are_told_apart_by_what_they_show)
{
    tdm_picture *a = seeing_picture(40, 30, 1), *b = seeing_picture(40, 30, 1), *turned = seeing_picture(30, 40, 1),
                *other = seeing_picture(40, 30, 2);
    tdm_picture_facts of_a, of_b, of_turned, of_other;
    tdm_picture_describe(a, &of_a);
    tdm_picture_describe(b, &of_b);
    tdm_picture_describe(turned, &of_turned);
    tdm_picture_describe(other, &of_other);
    CHECK(of_a.width == 40 && of_a.height == 30 && of_a.rgb != of_b.rgb);
    CHECK(!memcmp(of_a.hash, of_b.hash, sizeof of_a.hash));
    CHECK(memcmp(of_a.hash, of_turned.hash, sizeof of_a.hash) && memcmp(of_a.hash, of_other.hash, sizeof of_a.hash));
    CHECK(tdm_picture_hold(a) == a);
    tdm_picture_drop(a);
    CHECK(of_a.rgb[0] == of_b.rgb[0]);
    tdm_picture_drop(a), tdm_picture_drop(b), tdm_picture_drop(turned), tdm_picture_drop(other), tdm_picture_drop(NULL);
    CHECK_INT(TDM_E_ARG, tdm_picture_new(&a, NULL, 0, 4, &err));
    CHECK_STR("a picture of 0 x 4: expected sides from 1 to 65536", err.text);
}

static tdm_model *open_model(const char *path, const char *mmproj)
{
    tdm_model *m = NULL;
    tdm_model_options o = {.path = path, .builtin = BUILTIN, .mmproj = mmproj};
    tdm_model_open(&m, &o, &err);
    return m;
}

TEST(models_tell_what_they_see)
{
    tdm_vision vision;
    tdm_picture_fit fit;
    tdm_model *blind = open_model(BUILTIN, NULL);
    REQUIRE(blind);
    tdm_model_vision(blind, &vision);
    CHECK(!vision.there);
    CHECK_STR("no projector (mmproj-*.gguf) lies beside it", vision.why);
    CHECK_INT(TDM_E_UNSUPPORTED, tdm_picture_fit_of(blind, 64, 64, 0, &fit, &err));
    CHECK_STR("the model sees no pictures: no projector (mmproj-*.gguf) lies beside it", err.text);
    tdm_model_close(blind);

    const char *shared = check_shared("goldens/families/qwen35-vision");
    if (!shared) return;
    tdm_model *m = open_model(shared, NULL);
    REQUIRE(m);
    tdm_model_vision(m, &vision);
    CHECK(vision.there && !vision.why && vision.side == 32 && vision.pad == SEEING_PAD && vision.depth == 3);
    CHECK(vision.least_tokens == 1 && vision.most_tokens == 256);
    CHECK(!tdm_picture_fit_of(m, 150, 101, 0, &fit, &err));
    CHECK(fit.width == 160 && fit.height == 96 && fit.columns == 5 && fit.rows == 3 && fit.tokens == 15);
    CHECK(!tdm_picture_fit_of(m, 150, 101, 4, &fit, &err) && fit.tokens <= 4);
    CHECK_INT(TDM_E_ARG, tdm_picture_fit_of(m, 10, 3000, 0, &fit, &err));
    tdm_model_close(m);
    m = open_model(check_shared("goldens/families/qwen35-vision"), "");
    REQUIRE(m);
    tdm_model_vision(m, &vision);
    CHECK_STR("it was opened without its vision tower", vision.why);
    tdm_model_close(m);
    shared = check_shared("goldens/families/gguf/qwen35-vision-mmproj.gguf");
    CHECK(!open_model(BUILTIN, shared) && strstr(err.text, "a vision tower of width 128, and the model's is 512"));
}

static void logits_of(tdm_sequence *s, const tdm_id *ids, size_t n, size_t piece, float *out, size_t vocab)
{
    for (size_t at = 0; at < n; at += piece)
        if (tdm_sequence_eval(s, ids + at, n - at < piece ? n - at : piece, false, out + at * vocab, &err))
            CHECK_FAIL("%s", err.text);
}

TEST(sessions_are_shown_pictures)
{
    enum { N = 40, VOCAB = 512 };
    const char *shared = check_shared("goldens/families/qwen35-vision");
    tdm_model *m = shared ? open_model(shared, NULL) : NULL;
    tdm_machine *machine;
    tdm_sequence *s;
    if (!m) return;
    REQUIRE(!tdm_machine_open(&machine, &(tdm_machine_options){0}, &err));
    tdm_sequence_options o = {.unit = TDM_PREFILL_UNIT, .kv = TDM_KV_F16, .context = 64, .dispatch = 10};
    REQUIRE(!tdm_sequence_open(&s, m, machine, &o, &err));
    tdm_picture *pictures[] = {seeing_picture(128, 96, 1), seeing_picture(128, 96, 2)};
    static float whole[N * VOCAB], pieces[N * VOCAB], other[N * VOCAB];
    tdm_id ids[N];
    for (int i = 0; i < N; i++)
        ids[i] = (i >= 3 && i < 3 + TOKENS) || (i >= 20 && i < 20 + TOKENS) ? SEEING_PAD : (i * 37 + 11) % 500;
    CHECK(!tdm_sequence_pictures(s, pictures, 2, 0, &err));
    logits_of(s, ids, N, N, whole, VOCAB);
    tdm_sequence_clear(s);
    CHECK(!tdm_sequence_pictures(s, pictures, 1, 0, &err) && !tdm_sequence_pictures(s, pictures + 1, 1, 0, &err));
    logits_of(s, ids, N, 7, pieces, VOCAB);
    CHECK(!memcmp(whole, pieces, sizeof whole));
    tdm_sequence_clear(s);
    tdm_picture *turned[] = {pictures[1], pictures[0]};
    CHECK(!tdm_sequence_pictures(s, turned, 2, 0, &err));
    logits_of(s, ids, N, N, other, VOCAB);
    CHECK(!memcmp(whole, other, 3 * VOCAB * sizeof(float)) && memcmp(whole, other, sizeof whole));
    tdm_sequence_clear(s); /* without pictures pads are tokens */
    logits_of(s, ids, N, N, other, VOCAB);

    tdm_sequence_clear(s);
    CHECK(!tdm_sequence_pictures(s, pictures, 1, 0, &err));
    CHECK_INT(TDM_E_ARG, tdm_sequence_eval(s, ids + 4, 20, false, NULL, &err));
    CHECK_STR("picture 1 has 12 tokens: fewer pads stand for it", err.text);
    ids[2] = SEEING_PAD;
    CHECK_INT(TDM_E_ARG, tdm_sequence_eval(s, ids, 20, false, NULL, &err));
    CHECK_STR("picture 1 has 12 tokens: more pads stand for it", err.text);
    CHECK_INT(0, tdm_sequence_length(s));
    ids[2] = -1;
    CHECK_INT(TDM_E_ARG, tdm_sequence_eval(s, ids, 20, false, NULL, &err));
    tdm_picture_drop(pictures[0]), tdm_picture_drop(pictures[1]);
    tdm_sequence_close(s);
    tdm_machine_close(machine);
    tdm_model_close(m);
}

/* The reference's picture and prompt. */
TEST(a_session_on_a_gpu_sees_as_the_reference_does)
{
    enum { VOCAB = 512 };
    struct safetensors *f;
    tdm_machine *machine;
    tdm_sequence *s;
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    const char *shared = check_shared("goldens/families/qwen35-vision");
    tdm_model *m = shared ? open_model(shared, NULL) : NULL;
    if (!m) return;
    REQUIRE(!safetensors_open(&f, check_shared("goldens/families/qwen35-vision/image-128x96.safetensors"), &err));
    const struct safetensors_tensor *image = safetensors_find(f, "image"), *prompt = safetensors_find(f, "prompt_ids");
    const float *want = (const float *)safetensors_find(f, "logits")->data;
    REQUIRE(!tdm_machine_open(&machine, &(tdm_machine_options){.prefill_unit = gpu_rig_name()}, &err));
    tdm_sequence_options o = {.unit = TDM_PREFILL_UNIT, .kv = TDM_KV_F32, .context = 64};
    REQUIRE(!tdm_sequence_open(&s, m, machine, &o, &err));
    tdm_picture *p;
    REQUIRE(!tdm_picture_new(&p, image->data, (uint32_t)image->shape[1], (uint32_t)image->shape[0], &err));
    CHECK(!tdm_sequence_pictures(s, &p, 1, 0, &err));
    size_t n = prompt->elements;
    float *logits = malloc(n * VOCAB * sizeof *logits);
    logits_of(s, (const tdm_id *)prompt->data, n, n, logits, VOCAB);
    float largest = 0, most = 0;
    for (size_t i = 0; i < n * VOCAB; i++) {
        largest = fmaxf(largest, fabsf(want[i]));
        most = fmaxf(most, fabsf(want[i] - logits[i]));
    }
    if (!(most <= 1e-2f * largest)) CHECK_FAIL("differs by %g, of %g", (double)most, (double)largest);
    free(logits);
    tdm_picture_drop(p);
    tdm_sequence_close(s);
    tdm_machine_close(machine);
    tdm_model_close(m);
    safetensors_close(f);
}

TEST_MAIN(T(pictures_are_told_apart_by_what_they_show), T(models_tell_what_they_see), T(sessions_are_shown_pictures),
          T(a_session_on_a_gpu_sees_as_the_reference_does))
