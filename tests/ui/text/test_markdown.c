/* Markdown to lines: what each construct looks like, and that streaming it byte by byte gives the same. */
#include "tests/check.h"

#include "ui/text/markdown.h"

/* The rendered lines as text, `chunk` bytes at a time. The caller frees it. */
static char *render(const char *text, size_t chunk, int width)
{
    struct lines lines = {0};
    struct markdown md;
    size_t len = strlen(text);
    markdown_start(&md, &lines, width, true, true);
    for (size_t at = 0; at < len;) {
        at = at + chunk < len ? at + chunk : len;
        markdown_update(&md, text, at);
    }
    struct canvas *canvas = canvas_new(lines.n ? (int)lines.n : 1, width);
    canvas->ascii = true;
    for (size_t i = 0; i < lines.n; i++) lines_draw(&lines, i, canvas, (int)i, 0, width, NULL, 0);
    char *out = canvas_dump(canvas);
    canvas_free(canvas);
    lines_free(&lines);
    return out;
}

static void check_render(const char *text, int width, const char *expected)
{
    char *s = render(text, strlen(text), width);
    CHECK_STR(expected, s);
    free(s);
}

TEST(paragraphs_and_lists)
{
    check_render("Hello *big*\nworld.\n\n- one two three four\n- two\n  - inner\n\nEnd", 20,
                 "Hello big\nworld.\n\n  - one two three\n    four\n  - two\n    - inner\n\nEnd\n");
    check_render("3. three\n4. four\n", 20, "  3. three\n  4. four\n");
    check_render("- [ ] open\n- [x] done\n", 20, "  [ ] open\n  [x] done\n");
    check_render("- a\n\n- b\n", 20, "  - a\n\n  - b\n");
}

TEST(blocks)
{
    check_render("# Title\n\n> quoted words here\n> more\n\n---\n", 16,
                 "Title\n\n| quoted words\n| here\n| more\n\n----------------\n");
    check_render("a [link](http://x.y) b <http://z.w>\n", 60, "a link (http://x.y) b http://z.w\n");
    check_render("~~gone~~ &amp; &#65; <b>\n", 60, "~~gone~~ & A <b>\n");
}

TEST(code)
{
    check_render("Look:\n```c\nint a = 1;\n\tb();\n```\nand\n```\nx\n```\n", 40,
                 "Look:\n\n  [1] c\n    int a = 1;\n            b();\n\nand\n\n  [2]\n    x\n");
    size_t len;
    char *code = markdown_code_block("a\n```c\nint a;\n\n```\n\n```\nx\ny\n```\n", 32, 2, &len);
    CHECK_STR("x\ny\n", code);
    free(code);
    CHECK(!markdown_code_block("none", 4, 1, &len));
    const char *links = "[a](http://x) and http://y.z and ![i](p.png)";
    static const char *const addresses[] = {"http://x", "http://y.z", "p.png"};
    for (int i = 0; i < 3; i++) {
        char *link = markdown_link(links, strlen(links), i + 1);
        CHECK_STR(addresses[i], link);
        free(link);
    }
    CHECK(!markdown_link(links, strlen(links), 4));
}

TEST(tables)
{
    const char *table = "| Name | Size |\n|---|--:|\n| alpha | 1 |\n| a rather long name | 1024 |\n";
    check_render(
        table, 40,
        "Name               | Size\n-------------------+-----\nalpha              |    1\na rather long name | 1024\n");
    check_render(table, 16, "Name      | Size\n----------+-----\nalpha     |    1\na rather  | 1024\nlong name |\n");
    check_render(table, 8, "Name:\nalpha\nSize: 1\n\nName: a\nrather\nlong\nname\nSize:\n1024\n");
}

TEST(wide_characters)
{
    check_render("\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97\xe3\x80\x82" "abc", 8, "? ? ?\n? ? abc\n");
}

static const char *samples[] = {
    "Hello *big*\nworld.\n\n- one two three four\n- two\n  - inner\n\n    para\n\n- three\n\nEnd **bold** `code`\n",
    "# A\n\ntext\nSetext\n===\n\n> q\n> - a\n>\n> ```c\n> int x;\n> ```\n\nlast",
    "1. a\n   ```python\n   def f():\n\n       '''doc\n       '''\n   ```\n2. b\n\n````md\n```\ninner\n```\n````\n\nx",
    "| a | b |\n|---|:-:|\n| 1 | `x|y` |\n| 2 | ~~z~~ |\n\ntext\n~~~\nopen fence\n\nto the end",
    ("\xe6\xbc\xa2\xe5\xad\x97 \xf0\x9f\x98\x80 e\xcc\x81 [l](u) <b>html</b> &nbsp; \\* \n\n\n\n***\n\n"
     "    indented code\n"),
};

TEST(streaming_gives_the_same)
{
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
        for (int width = 6; width <= 80; width += 37) {
            char *whole = render(samples[i], strlen(samples[i]), width);
            for (size_t chunk = 1; chunk <= 7; chunk += 3) {
                char *parts = render(samples[i], chunk, width);
                if (strcmp(whole, parts))
                    CHECK_FAIL("sample %zu, width %d, chunks of %zu:\n%s---\n%s", i, width, chunk, whole, parts);
                free(parts);
            }
            free(whole);
        }
}

TEST(long_replies_stay_cheap)
{
    /* What is rendered again is bounded by the open piece, not by the reply. */
    struct lines lines = {0};
    struct markdown md;
    size_t cap = 1 << 20, len = 0;
    char *text = malloc(cap);
    markdown_start(&md, &lines, 80, false, true);
    for (size_t i = 0; len + 100 < cap / 4; i++) {
        len += (size_t)sprintf(text + len, "Word after word after word, line %zu of it.%s", i, i % 5 ? " " : "\n\n");
        markdown_update(&md, text, len);
        CHECK(len - md.closed < 300);
    }
    memset(text + len, 'x', cap - len); /* one endless word */
    for (size_t at = len; at < cap; at += 8192) {
        markdown_update(&md, text, at);
        CHECK(at - md.closed < 200000);
    }
    CHECK(!lines.failed);
    free(text);
    lines_free(&lines);
}

TEST_MAIN(T(paragraphs_and_lists), T(blocks), T(code), T(tables), T(wide_characters), T(streaming_gives_the_same),
          T(long_replies_stay_cheap))
