/* What a model can do without never refuses it: damaged or strange, it is left out with a note, and the model is as
 * without it. */
#include "tests/check.h"

#include <unistd.h>

#include "engine/model/source.h"
#include "tests/engine/model/made.h"

static struct source *open_model(const char *path)
{
    struct source *s;
    tdm_error err;
    if (!source_open(&s, path, NULL, &err)) return s;
    CHECK_FAIL("%s", err.text);
    return NULL;
}

/* note: a part of the only note; "": there is none. */
static void check_note(struct source *s, const char *note)
{
    const struct notes *notes = source_notes(s);
    CHECK_INT(note[0] != 0, notes->n);
    for (size_t i = 0; i < notes->n; i++)
        if (!strstr(notes->lines[i], note) || strchr(notes->lines[i], '\n'))
            CHECK_FAIL("expected \"%s\", found \"%s\"", note, notes->lines[i]);
}

/* As the golden models' own files say it: nothing of sampling. */
static const struct sampling none = {NAN, NAN, NAN, NAN, NAN, NAN, -1};

static void check_same(float expected, float found)
{
    if (isnan(expected) ? !isnan(found) : expected != found) CHECK_FAIL("expected %g, found %g", expected, found);
}

static void check_sampling(struct sampling wanted, const struct sampling *found)
{
    check_same(wanted.temperature, found->temperature);
    check_same(wanted.top_p, found->top_p);
    check_same(wanted.min_p, found->min_p);
    check_same(wanted.repeat_penalty, found->repeat_penalty);
    check_same(wanted.presence_penalty, found->presence_penalty);
    check_same(wanted.frequency_penalty, found->frequency_penalty);
    CHECK_INT(wanted.top_k, found->top_k);
}

TEST(sampling_that_is_damaged_or_out_of_range)
{
    struct sampling greedy = none, off = none, twenty = none, warm = none, nucleus = none;
    greedy.temperature = 0;
    off.top_k = 0;
    twenty.top_k = 20;
    warm.temperature = 0.5f;
    nucleus.top_p = 1;
    const struct {
        const char *text, *note;
        struct sampling wanted;
    } cases[] = {
        {"", "generation_config.json: expected JSON, found an empty file", none},
        {"\xEF\xBB\xBF", "generation_config.json: byte 3: ", none},
        {"{\"temperature\": 0.5,\n}\n", "generation_config.json: byte 21: ", none},
        {"{\"temperature\": 0.5", "found the end", none},
        {"[]", "expected a JSON object", none},
        {"\x80PK\x03\x04", "not valid JSON", none},
        {"\xEF\xBB\xBF{\"temperature\": 0.5}", "", warm},
        {"{\"top_k\": -1}", "", off},
        {"{\"top_k\": 0}", "", off},
        {"{\"top_k\": 20.0}", "", twenty},
        {"{\"top_k\": 20.5}", "top_k is left out: expected -1 to 2.14748e+09, a whole number, found 20.5", none},
        {"{\"top_k\": -2}", "top_k is left out", none},
        {"{\"top_k\": 99999999999999999999}", "top_k is left out", none},
        {"{\"top_k\": \"20\"}", "top_k is left out: expected a number, found string", none},
        {"{\"top_k\": null, \"top_p\": null, \"temperature\": null, \"do_sample\": null}", "", none},
        {"{\"temperature\": -0.1}", "temperature is left out: expected 0 to 100, found -0.1", none},
        {"{\"temperature\": NaN}", "temperature is left out", none},
        {"{\"temperature\": Infinity}", "temperature is left out", none},
        {"{\"temperature\": \"0.7\"}", "temperature is left out: expected a number, found string", none},
        {"{\"temperature\": [0.7], \"top_p\": 1}", "temperature is left out: expected a number, found array", nucleus},
        {"{\"temperature\": true}", "temperature is left out: expected a number, found boolean", none},
        {"{\"top_p\": 0}", "top_p is left out: expected more than 0 to 1, found 0", none},
        {"{\"top_p\": 1.5, \"temperature\": 0.5}", "top_p is left out", warm},
        {"{\"min_p\": -1}", "min_p is left out", none},
        {"{\"repetition_penalty\": 0}", "repetition_penalty is left out", none},
        {"{\"presence_penalty\": 1e9}", "presence_penalty is left out", none},
        {"{\"frequency_penalty\": {}}", "frequency_penalty is left out", none},
        {"{\"do_sample\": 1}", "", none},
        {"{\"do_sample\": 0}", "", greedy},
        {"{\"do_sample\": \"no\"}", "do_sample is left out", none},
    };
    char *folder = made_folder("sampling", "tiny-a");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        made_text(folder, "generation_config.json", cases[i].text);
        struct source *s = open_model(folder);
        REQUIRE(s);
        check_note(s, cases[i].note);
        check_sampling(cases[i].wanted, source_sampling(s));
        CHECK_INT(1, source_config(s)->stops.count); /* config.json's */
        CHECK_INT(507, source_config(s)->stops.ids[0]);
        source_close(s);
    }
    free(folder);
}

TEST(end_tokens_that_are_none)
{
    static const struct {
        const char *text, *note;
        int n, first;
    } cases[] = {
        {"505", "", 2, 505},
        {"[505, 506]", "", 3, 505},
        {"505.0", "", 2, 505},
        {"null", "", 1, 507},
        {"[506, null]", "an entry is left out: expected a token's id, found null", 2, 506},
        {"-1", "the end token -1 is left out: expected an id below 512", 1, 507},
        {"512", "the end token 512 is left out: expected an id below 512", 1, 507},
        {"[248046, 506]", "the end token 248046 is left out", 2, 506},
        {"1e30", "the end token 1e+30 is left out", 1, 507},
        {"1.5", "the end token 1.5 is left out", 1, 507},
        {"{}", "an entry is left out: expected a token's id, found object", 1, 507},
        {"[[505]]", "an entry is left out", 1, 507},
    };
    char *folder = made_folder("ends", "tiny-a"), text[80];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(text, sizeof text, "{\"eos_token_id\": %s}", cases[i].text);
        made_text(folder, "generation_config.json", text);
        struct source *s = open_model(folder);
        REQUIRE(s);
        check_note(s, cases[i].note);
        CHECK_INT(cases[i].n, source_config(s)->stops.count);
        CHECK_INT(cases[i].first, source_config(s)->stops.ids[0]);
        source_close(s);
    }
    made_text(folder, "generation_config.json", "{\"eos_token_id\": [\"<|endoftext|>\", \"505\"]}");
    struct source *s = open_model(folder);
    REQUIRE(s);
    const struct ends *ends = source_ends(s);
    REQUIRE(ends->n == 3);
    CHECK_STR("<|endoftext|>", ends->texts[0]);
    CHECK_STR("505", ends->texts[1]);
    CHECK_STR("<|im_end|>", ends->texts[2]); /* tokenizer_config.json's */
    source_close(s);
    free(folder);
}

TEST(files_beside_the_tokenizer)
{
    static const struct {
        const char *file, *text, *note, *template;
    } cases[] = {
        {"tokenizer_config.json", "", "tokenizer_config.json: expected JSON, found an empty file", ""},
        {"tokenizer_config.json", "{\"eos_token\": \"<|im_end|>\",}", "left out: ", ""},
        {"tokenizer_config.json", "{\"chat_template\": 5, \"eos_token\": null}", "chat_template is left out", ""},
        {"tokenizer_config.json", "\xEF\xBB\xBF{\"chat_template\": \"one\"}", "", "one"},
        {"special_tokens_map.json", "<html>", "special_tokens_map.json: expected JSON, found an HTML page", "one"},
        {"special_tokens_map.json", "{\"eos_token\": {\"content\": \"<|endoftext|>\"}}", "", "one"},
        {"chat_template.json", "{\"chat_template\": \"two\"", "chat_template.json: byte 23: ", "one"},
        {"chat_template.json", "{\"chat_template\": \"two\"}", "", "one"},
        {"chat_template.jinja", "", "chat_template.jinja: expected a chat template, found an empty file", "one"},
        {"chat_template.jinja", "\xEF\xBB\xBFthree", "", "three"},
        {"added_tokens.json", "{,", "", "three"},
        {"preprocessor_config.json", "", "", "three"},
    };
    char *folder = made_folder("beside", "tiny-a");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        made_text(folder, cases[i].file, cases[i].text);
        struct source *s = open_model(folder);
        REQUIRE(s);
        check_note(s, cases[i].note);
        struct span template = source_text(s)->chat_template;
        if (!span_is(template, cases[i].template))
            CHECK_FAIL("%s: expected template \"%s\", found \"%.*s\"", cases[i].file, cases[i].template,
                       (int)template.length, template.bytes);
        source_close(s);
    }
    made_remove(folder, "chat_template.jinja");
    made_remove(folder, "tokenizer_config.json");
    struct source *s = open_model(folder);
    REQUIRE(s);
    CHECK(span_is(source_text(s)->chat_template, "two"));
    source_close(s);
    free(folder);
}

/* As in a copy of the hub's cache without its blobs: the model must not look as if it had no such file. */
TEST(links_that_lead_nowhere)
{
    static const char *const files[] = {"generation_config.json", "tokenizer_config.json", "special_tokens_map.json",
                                        "chat_template.json", "chat_template.jinja"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char name[32], path[900], note[100];
        snprintf(name, sizeof name, "nowhere-%zu", i);
        char *folder = made_folder(name, "tiny-a");
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        unlink(path);
        CHECK(!symlink("../../blobs/none", path));
        struct source *s = open_model(folder);
        REQUIRE(s);
        snprintf(note, sizeof note, "%s: can't be opened: No such file or directory", files[i]);
        check_note(s, note);
        source_close(s);
        free(folder);
    }
}

/* Both forms in one folder: which one is taken is told. */
TEST(gguf_files_beside_safetensors)
{
    char *folder = made_folder("both", "tiny-a");
    made_text(folder, "mmproj-BF16.gguf", "");
    struct source *s = open_model(folder);
    REQUIRE(s);
    check_note(s, "");
    source_close(s);
    made_text(folder, "m-Q8_0.gguf", "");
    s = open_model(folder);
    REQUIRE(s);
    CHECK_INT(SOURCE_HF, source_format(s));
    check_note(s, "/m-Q8_0.gguf: the safetensors beside it are taken; name the file to open it");
    source_close(s);
    made_text(folder, "m-BF16.gguf", "");
    s = open_model(folder);
    REQUIRE(s);
    check_note(s, "/m-BF16.gguf and others: the safetensors beside it are taken");
    source_close(s);
    free(folder);
}

/* ---- GGUF -------------------------------------------------------------------------------------------------------- */

static void add_strange(struct gguf_writer *w)
{
    gguf_add_string(w, "general.sampling.temp", (struct span){"0.7", 3});
    gguf_add_f32(w, "general.sampling.top_p", NAN);
    gguf_add_f32(w, "general.sampling.min_p", -1);
    gguf_add_bool(w, "general.sampling.penalty_repeat", true);
    gguf_add_f32(w, "general.sampling.top_k", 20.5f);
    gguf_add_u32(w, "tokenizer.ggml.eos_token_id", 512);
    gguf_add_string(w, "tokenizer.ggml.eot_token_id", (struct span){"507", 3});
    gguf_add_u32(w, "tokenizer.chat_template", 5);
    gguf_add_u32(w, "general.name", 5);
}

static void add_unusual(struct gguf_writer *w)
{
    static const int32_t ends[] = {506, 505};
    gguf_add_u32(w, "general.sampling.temp", 1);
    gguf_add_i32(w, "general.sampling.top_k", -1);
    gguf_add_i32(w, "tokenizer.ggml.eos_token_id", -1);
    gguf_add_i32s(w, "tokenizer.ggml.eos_token_ids", ends, 2);
    gguf_add_u32(w, "tokenizer.ggml.eot_token_id", UINT32_MAX);
}

TEST(strange_values_of_a_gguf_file)
{
    static const char *const without[] = {"tokenizer.ggml.eos_token_id", "general.name", NULL};
    static const char *const notes[] = {"temp is left out: expected a number, found another type",
                                        "top_p is left out: expected more than 0 to 1, found nan",
                                        "min_p is left out: expected 0 to 1, found -1",
                                        "penalty_repeat is left out: expected a number",
                                        "top_k is left out: expected -1 to 2.14748e+09, a whole number, found 20.5",
                                        "tokenizer.ggml.eos_token_id: the end token 512 is left out",
                                        "key tokenizer.ggml.eot_token_id: ",
                                        "key tokenizer.chat_template: expected a string, found another type"};
    char *path = made_gguf("strange.gguf", "tiny-a-q8_0", without, add_strange);
    struct source *s = open_model(path);
    REQUIRE(s);
    check_sampling(none, source_sampling(s));
    CHECK_INT(0, source_text(s)->chat_template.length);
    CHECK_INT(2, source_config(s)->stops.count);
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++) {
        bool found = false;
        for (size_t k = 0; k < source_notes(s)->n; k++) found |= strstr(source_notes(s)->lines[k], notes[i]) != NULL;
        if (!found) CHECK_FAIL("expected the note \"%s\"", notes[i]);
    }
    CHECK_INT(sizeof notes / sizeof *notes, source_notes(s)->n);
    source_close(s);
    free(path);

    struct sampling wanted = none;
    wanted.temperature = 1;
    wanted.top_k = 0;
    path = made_gguf("unusual.gguf", "tiny-a-q8_0", without, add_unusual);
    s = open_model(path);
    REQUIRE(s);
    check_note(s, "");
    check_sampling(wanted, source_sampling(s));
    CHECK_INT(506, source_config(s)->stops.ids[0]);
    CHECK_INT(505, source_config(s)->stops.ids[1]);
    CHECK_INT(3, source_config(s)->stops.count); /* and <|im_end|> */
    source_close(s);
    free(path);
}

/* More than there is room for, in text that a terminal must not be given. */
TEST(many_and_hostile_notes)
{
    char *folder = made_folder("many", "tiny-a");
    made_text(folder, "generation_config.json",
              "{\"eos_token_id\": [-1,-2,-3,-4,-5,-6,-7,-8,-9,-10,-11,-12,-13,-14,-15]}");
    made_text(folder, "tokenizer_config.json", "\x1b[31m");
    struct source *s = open_model(folder);
    REQUIRE(s);
    const struct notes *notes = source_notes(s);
    CHECK_INT(NOTES_MAX, notes->n);
    CHECK_STR("further parts of the model's files are left out", notes->lines[NOTES_MAX - 1]);
    source_close(s);
    free(folder);
    struct notes n = {.n = 0};
    notes_add(&n, "a\x1b[31mb\nc%s", "\xE2\x80\xAE");
    CHECK_STR("a?[31mb?c???", n.lines[0]);
}

TEST_MAIN(T(sampling_that_is_damaged_or_out_of_range), T(end_tokens_that_are_none), T(files_beside_the_tokenizer),
          T(links_that_lead_nowhere), T(gguf_files_beside_safetensors), T(strange_values_of_a_gguf_file),
          T(many_and_hostile_notes))
