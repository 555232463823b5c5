/* The loop guard, told at the token that makes it so and at no other; what only looks like a loop is none. */
#include "tests/check.h"

#include <stdlib.h>

#include "engine/base/buffer.h"
#include "engine/chat/policy/guard.h"
#include "engine/object/model.h"
#include "tests/engine/chat/talk.h"

enum { WORDS = GUARD_PERIOD + 20, LIMIT = 4000 };

/* Where texts are ended. */
enum {
    WHOLE = 0,
    WORD = GUARD_PROSE,
    MARKS = GUARD_PUNCTUATION,
    LIST = GUARD_LIST,
    CODE = GUARD_WORDS,
    DATA = GUARD_DATA,
};

static struct guard guard;

static const struct tokenizer *tokenizer(void)
{
    static tdm_model *model;
    tdm_model_options o = {.path = talk_builtin, .text_only = true};
    if (!model && tdm_model_open(&model, &o, NULL)) exit(1);
    return model->tokenizer;
}

static struct span span_of(const char *text)
{
    return (struct span){text, strlen(text)};
}

/* ---- By ids ------------------------------------------------------------------------------------------------------ */

static bool is_word(struct span text)
{
    bool is = text.length > 2 && text.bytes[0] == ' ';
    for (size_t i = 1; i < text.length && is; i++) is = text.bytes[i] >= 'a' && text.bytes[i] <= 'z';
    return is;
}

/* Ids that are each a blank and a word. */
static const tdm_id *words(void)
{
    static tdm_id all[WORDS];
    int n = all[0] ? WORDS : 0;
    for (tdm_id id = 1; n < WORDS && id < tokenizer_count(tokenizer()); id++)
        if (is_word(tokenizer_bytes(tokenizer(), id))) all[n++] = id;
    CHECK_INT(WORDS, n);
    return all;
}

static tdm_id id_of(const char *text)
{
    struct ids ids = {0};
    CHECK(tokenizer_encode(tokenizer(), text, strlen(text), 0, 0, &ids, NULL) == TDM_OK && ids.count == 1);
    tdm_id id = ids.count ? ids.id[0] : -1;
    ids_free(&ids);
    return id;
}

/* Twenty words, then the period over and over: how many tokens of it until it is told; 0: never. */
static int told_after(const tdm_id *period, int p, const char *message)
{
    guard_begin(&guard, tokenizer());
    for (int i = 0; i < 20; i++) CHECK(!guard_push(&guard, words()[GUARD_PERIOD + i], span_of(message)));
    for (int i = 0; i < LIMIT; i++)
        if (guard_push(&guard, period[i % p], span_of(message))) return i + 1;
    return 0;
}

TEST(prose_takes_four_times_and_120_tokens)
{
    static const int expected[][2] = {{5, 120},  {8, 120},  {29, 120}, {30, 120},           {31, 124},
                                      {50, 200}, {99, 396}, {199, 796}, {GUARD_PERIOD, 800}, {GUARD_PERIOD + 1, 0}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        CHECK_INT(expected[i][1], told_after(words(), expected[i][0], ""));
}

TEST(what_may_be_wanted_takes_more)
{
    tdm_id mark = id_of("."), line = id_of("\n"), zero = id_of("0"), marks[GUARD_PERIOD];
    CHECK_INT(GUARD_PUNCTUATION, told_after(&mark, 1, ""));
    CHECK_INT(GUARD_PUNCTUATION, told_after((tdm_id[]){mark, line}, 2, ""));
    CHECK_INT(GUARD_PUNCTUATION, told_after(&line, 1, ""));
    for (int i = 0; i < GUARD_PERIOD; i++) marks[i] = i ? mark : line;
    CHECK_INT(GUARD_PUNCTUATION, told_after(marks, 100, ""));
    CHECK_INT(404, told_after(marks, 101, ""));
    CHECK_INT(800, told_after(marks, GUARD_PERIOD, ""));
    CHECK_INT(GUARD_WORDS, told_after(words(), 2, ""));
    CHECK_INT(GUARD_PROSE, told_after(words(), 3, ""));
    CHECK_INT(GUARD_DATA, told_after(&zero, 1, ""));
    CHECK_INT(GUARD_DATA, told_after((tdm_id[]){zero, mark}, 2, ""));
    CHECK_INT(GUARD_WORDS, told_after((tdm_id[]){zero, mark, words()[0]}, 3, ""));
}

TEST(one_word_within_a_line_takes_120_tokens)
{
    tdm_id mark = id_of("."), zero = id_of("0");
    CHECK_INT(GUARD_PROSE, told_after(words(), 1, ""));
    CHECK_INT(GUARD_WORDS, told_after((tdm_id[]){words()[0], mark}, 2, ""));
    CHECK_INT(GUARD_WORDS, told_after((tdm_id[]){words()[0], zero}, 2, ""));
}

/* A line break makes a list of it: as many times as a wanted one may have rows. */
TEST(a_list_takes_24_times_and_600_tokens)
{
    static const int expected[][2] = {{2, 600},   {3, 600},   {9, 600},    {24, 600},           {25, 600},
                                      {26, 624},  {50, 1200}, {83, 1992},  {84, 2016},          {100, 2400},
                                      {166, 3984}, {GUARD_PERIOD + 1, 0}};
    tdm_id line = id_of("\n"), period[GUARD_PERIOD + 1];
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        int p = expected[i][0];
        for (int k = 0; k < p; k++) period[k] = k + 1 < p ? words()[k] : line;
        CHECK_INT(expected[i][1], told_after(period, p, ""));
        period[0] = line, period[p - 1] = words()[0]; /* wherever it stands */
        CHECK_INT(expected[i][1], told_after(period, p, ""));
    }
}

/* The words of a period, from its `from`th on, as a message has them. */
static const char *said(const char *before, int from, int p)
{
    static char text[4000];
    strcpy(text, before);
    for (int i = 0; i < p; i++) {
        struct span word = tokenizer_bytes(tokenizer(), words()[(from + i) % p]);
        strncat(text, word.bytes, word.length);
    }
    return text;
}

TEST(what_the_message_says_takes_the_most)
{
    CHECK_INT(GUARD_DATA, told_after(words(), 5, said("Write 200 times:", 0, 5)));
    CHECK_INT(GUARD_DATA, told_after(words(), 5, said("Write 200 times:", 3, 5))); /* wherever it begins */
    CHECK_INT(GUARD_DATA, told_after(words(), 1, said("Again and again:", 0, 1)));
    CHECK_INT(GUARD_PROSE, told_after(words(), 6, said("Write:", 0, 5))); /* not all of it */
    CHECK_INT(GUARD_PROSE, told_after((tdm_id[]){words()[1], words()[0], words()[2], words()[3]}, 4, said("", 0, 4)));
    char material[GUARD_MESSAGE + 100];
    memset(material, '.', sizeof material);
    material[GUARD_MESSAGE] = 0;
    const char *period = said("", 0, 5);
    memcpy(material, period, strlen(period));
    CHECK_INT(GUARD_DATA, told_after(words(), 5, material));
    material[GUARD_MESSAGE] = '.', material[GUARD_MESSAGE + 1] = 0;
    CHECK_INT(GUARD_PROSE, told_after(words(), 5, material));
}

TEST(the_shortest_period_counts)
{
    /* A word eight times is no prose, and zeros in prose are no data. */
    tdm_id zero = id_of("0"), mixed[60];
    for (int i = 0; i < 60; i++) mixed[i] = i < 50 ? words()[i] : zero;
    CHECK_INT(240, told_after(mixed, 60, ""));
    tdm_id same[8];
    for (int i = 0; i < 8; i++) same[i] = words()[0];
    CHECK_INT(GUARD_PROSE, told_after(same, 8, ""));
}

TEST(it_is_told_once_and_anew_from_the_beginning)
{
    int told[4] = {0}, n = 0;
    guard_begin(&guard, tokenizer());
    for (int i = 1; i <= LIMIT; i++)
        if (guard_push(&guard, words()[i % 30], span_of("")) && n < 4) told[n++] = i;
    CHECK_INT(2, n);
    CHECK(told[0] == GUARD_PROSE && told[1] == GUARD_DATA);
    guard_begin(&guard, tokenizer());
    for (int i = 1; i < GUARD_PROSE; i++) CHECK(!guard_push(&guard, words()[i % 30], span_of("")));
    CHECK(guard_push(&guard, words()[0], span_of("")));
}

TEST(one_other_token_begins_the_count_again)
{
    guard_begin(&guard, tokenizer());
    for (int i = 0; i < LIMIT; i++) {
        bool other = i % 119 == 118; /* so that not even the others have a period that is short enough */
        CHECK(!guard_push(&guard, other ? words()[40 + i / 119] : words()[i % 30], span_of("")));
    }
}

/* ---- By text ----------------------------------------------------------------------------------------------------- */

/* The text in pieces of about so many bytes, whole characters each; 0: of sizes that differ. How much of it there was
 * when it was told, or 0. */
static size_t told_in_text(const char *text, size_t n, size_t size, const char *message)
{
    uint64_t seed = 3;
    guard_begin(&guard, NULL);
    for (size_t at = 0, end; at < n; at = end) {
        end = at + (size ? size : 1 + talk_draw(&seed, 300));
        if (end > n) end = n;
        while (end < n && ((unsigned char)text[end] & 0xC0) == 0x80) end++;
        struct span piece = {text + at, end - at};
        if (guard_push_text(&guard, &piece, span_of(message))) return at + piece.length;
    }
    return 0;
}

TEST(text_is_told_at_the_same_character_however_it_is_cut)
{
    static const char *const sentences[] = {"Once there was a king, and he had a daughter. ",
                                            "\xd0\x96\xd0\xb8\xd0\xbb \xd0\xb1\xd1\x8b\xd0\xbb "
                                            "\xd0\xba\xd0\xbe\xd1\x82. ",
                                            "\xe6\x88\x91\xe4\xb8\x8d\xe7\x9f\xa5\xe9\x81\x93\xef\xbc\x8c"
                                            "\xe8\xaf\xb7\xe5\x86\x8d\xe8\xaf\xb4\xe4\xb8\x80\xe9\x81\x8d\xe3\x80\x82"};
    for (size_t s = 0; s < sizeof sentences / sizeof *sentences; s++) {
        struct buffer text = {0};
        buffer_append(&text, "Well. ", 6, NULL);
        size_t p = strlen(sentences[s]), chars = 0;
        for (size_t i = 0; i < p; i++) chars += ((unsigned char)sentences[s][i] & 0xC0) != 0x80;
        while (text.n < 8000) buffer_append(&text, sentences[s], p, NULL);
        size_t told = told_in_text(text.bytes, text.n, text.n, ""), first = told - 6, all = 0;
        for (size_t i = 0; i < first; i++) all += ((unsigned char)text.bytes[6 + i] & 0xC0) != 0x80;
        /* ". " before the first sentence is as at its end, or not */
        CHECK(all <= GUARD_PROSE * GUARD_CHARACTERS && all + 2 >= GUARD_PROSE * GUARD_CHARACTERS);
        CHECK(told > 6 && chars * GUARD_TIMES < all);
        for (size_t size = 0; size < 20; size++) CHECK_INT(told, told_in_text(text.bytes, text.n, size, ""));
        buffer_free(&text);
    }
}

/* ---- Texts ------------------------------------------------------------------------------------------------------- */

/* Asked for, or not: `before`, then `unit` so many times (%d in it: the number), then `after`. */
struct text {
    const char *message, *before, *unit;
    int times;
    const char *after;
};

static const struct text wanted[] = {
    {"write hello 100 times", "", "hello ", 100, ""},
    {"write hello 100 times", "Sure:\n\n", "hello\n", 100, "\nThat makes 100."},
    {"Write hello 100 times.", "", "Hello, ", 100, "hello."},
    {"say it a hundred times", "", "Sorry! ", 100, ""},
    {"Write 'I will not talk in class.' 100 times", "", "I will not talk in class.\n", 100, ""},
    {"Write a hundred times: I must not tell lies", "", "- I must not tell lies.\n", 100, ""},
    {"\xe5\x86\x99\xe4\xb8\x80\xe7\x99\xbe\xe9\x81\x8d\xe4\xbd\xa0\xe5\xa5\xbd", "", "\xe4\xbd\xa0\xe5\xa5\xbd\n", 100,
     ""},
    {"say hello in Korean 30 times", "", "\xec\x95\x88\xeb\x85\x95\xed\x95\x98\xec\x84\xb8\xec\x9a\x94\n", 30, ""},
    {"count to 200", "", "%d, ", 200, "done."},
    {"count to 200", "", "%d\n", 200, ""},
    {"number 100 lines", "", "%d. Drink a glass of water and walk for ten minutes.\n", 100, ""},
    {"an array of 256 zeros in C", "static const int zeros[256] = {", "0, ", 256, "};"},
    {"a sector of zeros", "", "00 ", 512, ""},
    {"a sector of zeros", "", "00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00\n", 32, ""},
    {"bytes", "unsigned char pad[] = {\n", "    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,\n", 16, "};\n"},
    {"a matrix", "[\n", "  [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],\n", 16, "]\n"},
    {"a kilobyte in base64", "", "AAAA", 341, "AA=="},
    {"a list", "[", "null, ", 200, "null]"},
    {"flags", "bool seen[] = {", "false, ", 128, "false};"},
    {"an empty table", "| name | age | town |\n|---|---|---|\n", "| | | |\n", 40, ""},
    {"an empty form", "<table>\n", "  <tr><td></td><td></td><td></td></tr>\n", 20, "</table>\n"},
    {"ten records", "[\n", "  {\"id\": 0, \"name\": \"\", \"email\": \"\", \"phone\": \"\"},\n", 12, "]\n"},
    {"a table", "| day | open |\n|---|---|\n", "| %d May | 9 to 17 |\n", 31, ""},
    {"rules", "Title\n", "-", 80, "\nText\n"},
    {"rules", "", "=", 300, "\n"},
    {"rules", "", "\xe2\x94\x80", 100, "\n"},
    {"rules", "", "* * *\n\nSome words about part %d.\n\n", 20, ""},
    {"a box", "", "|                    |\n", 12, ""},
    {"code", "", "    i++;\n", 60, ""},
    {"code", "switch (n) {\n", "case %d: return \"the number is %d\";\n", 50, "}\n"},
    {"a song", "", "La la la la la, la la la la la, hey!\n", 8, "And now the verse.\n"},
    {"a song", "", "Happy birthday to you,\n", 4, "dear Anna.\n"},
    {"laugh", "", "ha", 150, "!"},
    {"dots", "Wait for it", ".", 300, " now"},
    {"lines", "Far below", "\n", 100, "the end"},
};

static const struct text loops[] = {
    {"Why is the sky blue?", "The sky is blue", ", the blue light is scattered", 400, ""},
    {"What is the capital of Peru?", "", "The capital of Peru is Lima. ", 100, ""},
    {"Tell me a story.", "Once upon a time ", "there was a king who had a son. The son went into the world. ", 60, ""},
    {"Hi", "", "I am sorry, but I do not know that.\n\n", 100, ""},
    {"Hi", "", "As I said, \xd0\xb4\xd0\xb0, \xd0\xba\xd0\xbe\xd0\xbd\xd0\xb5\xd1\x87\xd0\xbd\xd0\xbe, yes. ", 80, ""},
    {"Hi", "", "\xe6\x88\x91\xe4\xb8\x8d\xe7\x9f\xa5\xe9\x81\x93\xef\xbc\x8c"
               "\xe8\xaf\xb7\xe5\x86\x8d\xe8\xaf\xb4\xe4\xb8\x80\xe9\x81\x8d\xe3\x80\x82", 300, ""},
    {"A list of animals", "", "- a cat\n- a dog\n- a small bird\n", 100, ""},
    {"Tell me more", "More", " and more", 4000, ""},
    {"Tell me more", "", "!", 8000, ""},
    {"Tell me more", "", "\n \n", 4000, ""},
    {"Tell me more", "1", "0", 8000, ""},
    {"write hello", "", "hello ", 8000, ""},
};

static void spell(const struct text *t, struct buffer *out)
{
    buffer_clear(out);
    buffer_append(out, t->before, strlen(t->before), NULL);
    for (int i = 1; i <= t->times; i++) {
        char unit[200];
        int n = 0;
        for (const char *at = t->unit; *at; at++)
            if (at[0] == '%' && at[1] == 'd') n += sprintf(unit + n, "%d", i), at++;
            else unit[n++] = *at;
        buffer_append(out, unit, (size_t)n, NULL);
    }
    buffer_append(out, t->after, strlen(t->after), NULL);
}

static int told_in_tokens(const struct buffer *text, const char *message)
{
    struct ids ids = {0};
    CHECK(tokenizer_encode(tokenizer(), text->bytes, text->n, 0, 0, &ids, NULL) == TDM_OK);
    guard_begin(&guard, tokenizer());
    size_t at = 0;
    while (at < ids.count && !guard_push(&guard, ids.id[at], span_of(message))) at++;
    int told = at < ids.count ? (int)at + 1 : 0;
    ids_free(&ids);
    return told;
}

/* Told of each of them, by tokens and by characters, or of none. */
static void check_texts(const struct text *texts, size_t n, bool endless)
{
    struct buffer text = {0};
    for (size_t i = 0; i < n; i++) {
        spell(&texts[i], &text);
        int told = told_in_tokens(&text, texts[i].message);
        size_t in_text = told_in_text(text.bytes, text.n, 0, texts[i].message);
        if ((told != 0) != endless || (in_text != 0) != endless)
            CHECK_FAIL("'%s' (%s): told at token %d, byte %zu", texts[i].unit, texts[i].message, told, in_text);
    }
    buffer_free(&text);
}

TEST(what_is_wanted_is_no_loop)
{
    check_texts(wanted, sizeof wanted / sizeof *wanted, false);
}

TEST(what_goes_on_for_ever_is)
{
    check_texts(loops, sizeof loops / sizeof *loops, true);
}

/* Texts of every day, and where each is ended: what tables, lists and code are made of is wanted. */
static const struct {
    const char *message, *unit;
    int times;
    uint32_t most; /* tokens that are too many; WHOLE: all of it is wanted */
} daily[] = {
    {"Hi", "INSERT INTO users (name, email) VALUES ('John Doe', 'john@example.com');\n", 40, LIST},
    {"Hi", "print(\"hello world\")\n", 60, WHOLE},
    {"Hi", "<li><a href=\"#\">Link</a></li>\n", 60, WHOLE},
    {"Hi",
     "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt"
     " ut labore et dolore magna aliqua.\n\n", 8, WHOLE},
    {"Hi", "We will, we will rock you\n", 30, WHOLE},
    {"Hi", "- [ ] to be decided later\n", 40, WHOLE},
    {"Hi", "| Monday | not yet known | to be decided |\n", 30, WHOLE},
    {"Hi", "unknown,not available,not available,unknown\n", 40, WHOLE},
    {"Hi", "0, ", 1500, WHOLE},
    {"Hi", "0, ", 4000, DATA},
    {"Hi", "00 ", 2500, WHOLE},
    {"Hi", "    nop\n", 200, WHOLE},
    {"Hi", "<item><name>unknown</name><value>not set</value></item>\n", 30, WHOLE},
    {"Hi", "        case 0: return EXIT_FAILURE;\n", 40, WHOLE},
    {"Hi", "assert result is None\n", 60, WHOLE},
    {"Hi", "  - name: web server\n    image: nginx latest\n", 30, WHOLE},
    {"Hi",
     "Hail Mary, full of grace, the Lord is with thee. Blessed art thou among women, and"
     " blessed is the fruit of thy womb, Jesus.\n", 10, WHOLE},
    {"Hi", "connection refused, retrying in one second\n", 40, WHOLE},
    {"Hi", "-", 3000, MARKS},
    {"Hi", "=-", 1500, MARKS},
    {"Hi", ". ", 1600, MARKS},
    {"Hi", " ", 4000, MARKS},
    {"write ha 600 times", "ha ", 600, WHOLE},
    {"write hello 100 times", "hello ", 100, WHOLE},
    {"Hi", "<circle cx=\"50\" cy=\"50\" r=\"40\" fill=\"red\" />\n", 30, WHOLE},
    {"Hi", "  margin: 0 auto;\n", 60, WHOLE},
    {"Hi", "console.log(\"test\");\n", 60, WHOLE},
    {"Hi", "(NULL, NULL, NULL, NULL),\n", 60, WHOLE},
    {"Hi", "\\item First item of the list\n", 40, WHOLE},
    {"Hi", "\xe5\x93\x88", 600, WORD},
    {"Hi", "\xe6\x88\x91\xe4\xb8\x8d\xe7\x9f\xa5\xe9\x81\x93\xe3\x80\x82", 200, WHOLE},
    {"Hi", "AAAAAAAAAAAAAAAA\n", 200, LIST},
    {"Hi", "C  G  Am  F\n", 60, WHOLE},
    {"Hi", "everywhere ", 600, WORD},
    {"Hi", "the cat ", 600, CODE},
    {"Hi", "ha ", 600, WORD},
    {"Hi", "hello ", 100, WORD},
    {"Hi", "everywhere\n", 600, LIST},
    {"Hi", "0\n", 6000, DATA},
    {"Hi", "---\n", 900, MARKS},
};

TEST(each_text_of_a_day_ends_where_it_should)
{
    struct buffer text = {0};
    for (size_t i = 0; i < sizeof daily / sizeof *daily; i++) {
        buffer_clear(&text);
        for (int k = 0; k < daily[i].times; k++) buffer_append(&text, daily[i].unit, strlen(daily[i].unit), NULL);
        size_t told = told_in_text(text.bytes, text.n, 0, daily[i].message), chars = 0;
        for (size_t k = 0; k < told; k++) chars += ((unsigned char)text.bytes[k] & 0xC0) != 0x80;
        if (chars != daily[i].most * GUARD_CHARACTERS)
            CHECK_FAIL("'%s': expected %u characters, found %zu", daily[i].unit, daily[i].most * GUARD_CHARACTERS,
                       chars);
    }
    buffer_free(&text);
}

TEST_MAIN(T(prose_takes_four_times_and_120_tokens), T(what_may_be_wanted_takes_more),
          T(one_word_within_a_line_takes_120_tokens),
          T(a_list_takes_24_times_and_600_tokens),
          T(what_the_message_says_takes_the_most), T(the_shortest_period_counts),
          T(it_is_told_once_and_anew_from_the_beginning), T(one_other_token_begins_the_count_again),
          T(text_is_told_at_the_same_character_however_it_is_cut), T(what_is_wanted_is_no_loop),
          T(what_goes_on_for_ever_is), T(each_text_of_a_day_ends_where_it_should))
