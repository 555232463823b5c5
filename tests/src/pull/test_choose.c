/* Which files of a repository are taken. */
#include "tests/check.h"

#include "src/pull/choose.h"

#define GB (uint64_t)1000000000

static repository_file files[40];
static repository made;

/* Files of so many GB each, by name; the last name is NULL. */
static void make(const char *const *names, const double *sizes)
{
    made = (repository){.files = files};
    for (; names[made.n]; made.n++)
        files[made.n] = (repository_file){.path = (char *)names[made.n], .size = (uint64_t)(sizes[made.n] * 1e9)};
}

static void check_choice(const char *tag, const char *why, const char *asked, uint64_t memory)
{
    choice c;
    tdm_error err = {0};
    if (choose(&c, &made, &(choice_wish){asked, memory, true}, &err)) {
        CHECK_FAIL("%s: %s", tag, err.text);
        return;
    }
    CHECK_STR(tag, c.tag);
    if (!strstr(c.reason, why)) CHECK_FAIL("expected '%s' in '%s'", why, c.reason);
    choose_free(&c);
}

static void check_none(const char *part, const char *asked, uint64_t memory)
{
    choice c;
    tdm_error err = {0};
    CHECK_INT(TDM_E_NOT_FOUND, choose(&c, &made, &(choice_wish){asked, memory, true}, &err));
    CHECK(!c.files);
    if (!strstr(err.text, part)) CHECK_FAIL("expected '%s' in '%s'", part, err.text);
}

TEST(the_usual_quant_that_fits)
{
    make((const char *const[]){"x-BF16.gguf", "x-IQ4_XS.gguf", "x-Q2_K.gguf", "x-Q3_K_M.gguf", "x-Q4_K_M.gguf",
                               "x-Q8_0.gguf", "x-UD-Q4_K_XL.gguf", "mmproj-BF16.gguf", NULL},
         (const double[]){18, 5.1, 3.5, 4.5, 5.7, 9.5, 5.5, 0.9});
    check_choice("Q4_K_M", "the usual quant, and it fits", "", 16 * GB);
    check_choice("Q4_K_M", "the usual quant", "", 0);
    check_choice("Q4_K_M", "fits", "", 3 * GB + (uint64_t)(5.7e9));
    check_choice("UD-Q4_K_XL", "the usual quant", "", 3 * GB + (uint64_t)(5.6e9));
    check_choice("IQ4_XS", "Q4_K_M does not fit the memory; the largest quant that fits", "", 8 * GB + 200000000);
    check_choice("Q3_K_M", "does not fit", "", 8 * GB);
    check_choice("Q2_K", "does not fit", "", 7 * GB);
    check_none("no quant that Tandem reads fits the memory (6.0 GB less 3 GB)", "", 6 * GB);
    check_none("BF16 18.0 GB, Q8_0 9.5 GB", "", 2 * GB);
    check_choice("BF16", "the quant that you named", "bf16", 6 * GB);
    check_none("no model Q4_K; there are: BF16", "Q4_K", 0);
}

/* Which projector comes with a model; "": none. */
static void check_projector(const char *path, const char *tag, bool vision)
{
    choice c;
    tdm_error err = {0};
    REQUIRE(!choose(&c, &made, &(choice_wish){tag, 0, vision}, &err));
    CHECK_STR(path, c.projector ? c.projector->path : "");
    if (c.projector) CHECK(c.files[0] == c.projector && c.bytes == c.files[1]->size + c.projector->size);
    choose_free(&c);
}

TEST(a_projector_comes_with_the_model)
{
    make((const char *const[]){"x-Q4_K_M.gguf", "mmproj-F32.gguf", "mmproj-F16.gguf", "mmproj-BF16.gguf", "MMPROJ.txt",
                               "big/x-Q8_0.gguf", "other/mmproj-bf16.gguf", NULL},
         (const double[]){5, 1.8, 0.9, 0.8, 1, 9, 0.8});
    check_projector("mmproj-BF16.gguf", "", true);
    check_projector("mmproj-BF16.gguf", "Q8_0", true); /* the top's, where the folder has none */
    check_projector("", "", false);
    made.n = 3;
    check_projector("mmproj-F16.gguf", "", true);
    made.n = 2;
    check_projector("mmproj-F32.gguf", "", true);
    made.n = 1;
    check_projector("", "", true);
}

TEST(wide_forms_are_the_last_resort)
{
    make((const char *const[]){"x-BF16.gguf", "x-Q8_0.gguf", "x-NVFP4.gguf", NULL}, (const double[]){4, 2, 3});
    check_choice("Q8_0", "there is neither Q4_K_M nor UD-Q4_K_XL", "", 16 * GB);
    made.n = 1;
    check_choice("BF16", "the only model", "", 16 * GB);
    make((const char *const[]){"x-BF16.gguf", "x-NVFP4.gguf", NULL}, (const double[]){4, 3});
    check_choice("BF16", "the largest", "", 16 * GB);
    make((const char *const[]){"model.gguf", "README.md", NULL}, (const double[]){4, 0});
    check_choice("model", "the only model", "", 16 * GB);
    check_none("no quant that Tandem reads fits", "", 5 * GB);
}

TEST(split_files_are_whole)
{
    choice c;
    tdm_error err = {0};
    make((const char *const[]){"Q4_K_M/x-Q4_K_M-00003-of-00003.gguf", "Q4_K_M/x-Q4_K_M-00001-of-00003.gguf",
                               "x-Q8_0-00001-of-00002.gguf", "Q4_K_M/x-Q4_K_M-00002-of-00003.gguf", NULL},
         (const double[]){1, 2, 3, 4});
    REQUIRE(!choose(&c, &made, &(choice_wish){"", 0, true}, &err));
    CHECK_INT(3, c.n);
    CHECK_INT(7 * GB, c.bytes);
    for (size_t i = 0; i < c.n; i++) CHECK_INT('1' + (int)i, c.files[i]->path[strlen("Q4_K_M/x-Q4_K_M-0000")]);
    choose_free(&c);
    CHECK_INT(TDM_E_FORMAT, choose(&c, &made, &(choice_wish){"Q8_0", 0, true}, &err));
    CHECK(strstr(err.text, "expected 2 parts, found 1"));
}

TEST(two_models_of_one_quant_are_told_apart_by_their_names)
{
    make((const char *const[]){"a-Q4_K_M.gguf", "b-Q4_K_M.gguf", NULL}, (const double[]){1, 2});
    check_none("2 models have this tag; name one by its file", "Q4_K_M", 0);
    check_choice("Q4_K_M", "named", "b-Q4_K_M", 0);
    check_choice("Q4_K_M", "the largest quant", "", 0);
}

TEST(safetensors_with_what_belongs_to_them)
{
    choice c;
    tdm_error err = {0};
    make((const char *const[]){"config.json", "tokenizer.json", "model.safetensors-00001-of-00002.safetensors",
                               "model.safetensors-00002-of-00002.safetensors", "model.safetensors.index.json",
                               "merges.txt", "consolidated.safetensors", "onnx/model.safetensors",
                               "chat_template.jinja", NULL},
         (const double[]){0, 0, 8, 9, 0, 0, 17, 17, 0});
    CHECK_STR("model.safetensors.index.json", choose_index(&made)->path);
    CHECK(!choose_whole(&made));
    char *weights[] = {(char *)files[3].path, (char *)files[2].path};
    made.index = (repository_index){weights, 2};
    REQUIRE(!choose(&c, &made, &(choice_wish){"", 16 * GB, true}, &err));
    CHECK_INT(6, c.n);
    CHECK_INT(17 * GB, c.weights);
    CHECK(!c.fits);
    CHECK_STR("", c.tag);
    CHECK_STR(files[2].path, c.files[c.n - 1]->path);
    choose_free(&c);
    made.index.n = 0;
    check_none("there are no GGUF models", "Q4_K_M", 0);
    made.n = 2;
    check_none("neither GGUF models nor safetensors", "", 0);
    made.n = 1;
    check_none("expected GGUF models, or safetensors", "", 0);
    made.n = 0;
    check_none("expected GGUF models", "", 0);
}

/* So many files are taken, and these are the weights; NULL: the line has this. */
static void check_weights(int n, double gb, const char *fails)
{
    choice c;
    tdm_error err = {0};
    tdm_status status = choose(&c, &made, &(choice_wish){"", 0, true}, &err);
    if (fails ? !strstr(err.text, fails) : status) CHECK_FAIL("found '%s'", err.text);
    CHECK_INT(fails ? 0 : n, c.n);
    CHECK_INT(fails ? 0 : (int64_t)(gb * 1e9), c.weights);
    choose_free(&c);
}

TEST(the_index_names_the_weights)
{
    char *weights[] = {"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors", "mtp.safetensors"};
    make((const char *const[]){"config.json", "tokenizer.json", "model.safetensors.index.json",
                               "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
                               "mtp.safetensors", "model.safetensors", "model-old.safetensors",
                               "consolidated.safetensors", "original/model.safetensors", "pytorch_model.bin",
                               "tokenizer_config.json", "special_tokens_map.json", "chat_template.json", "vocab.json",
                               NULL},
         (const double[]){0, 0, 0, 1, 2, 4, 7, 16, 32, 64, 128, 0, 0, 0, 0});
    made.index = (repository_index){weights, 3};
    check_weights(9, 7, NULL);
    made.index.n = 2; /* no more than that */
    check_weights(8, 3, NULL);
    made.index.n = 0; /* damaged: the whole file, and not the index */
    check_weights(6, 7, NULL);
    char *gone[] = {"model-00001-of-00002.safetensors", "gone.safetensors"};
    made.index = (repository_index){gone, 2};
    check_weights(0, 0, "names gone.safetensors, which the repository doesn't have");
    made.index.n = 0;
}

TEST(without_an_index_the_parts_of_one_model)
{
    make((const char *const[]){"config.json", "tokenizer.json", "model-00001-of-00002.safetensors",
                               "model-00002-of-00002.safetensors", "consolidated-00001-of-00001.safetensors",
                               "adapter_model.safetensors", "other.safetensors", NULL},
         (const double[]){0, 0, 1, 2, 4, 8, 16});
    check_weights(4, 3, NULL);
    files[2].path = "README.md";
    check_weights(0, 0, "expected 2 parts, found 1");
    files[3].path = "LICENSE"; /* what is left may be called anything */
    check_weights(3, 16, NULL);
    files[3].path = "b.safetensors";
    check_weights(0, 0, "several files of weights and no model.safetensors.index.json");
}

TEST_MAIN(T(the_index_names_the_weights), T(without_an_index_the_parts_of_one_model), T(the_usual_quant_that_fits),
          T(a_projector_comes_with_the_model),

          T(wide_forms_are_the_last_resort), T(split_files_are_whole),
          T(two_models_of_one_quant_are_told_apart_by_their_names), T(safetensors_with_what_belongs_to_them))
