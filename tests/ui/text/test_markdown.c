/* Markdown to lines: what each construct looks like, and that streaming it byte by byte gives the same. */
#include "tests/check.h"
#include "tests/ui/dump.h"

#include "ui/text/markdown.h"

static bool ascii = true, strikes;

/* The rendered lines as text, `chunk` bytes at a time. The caller frees it. */
static char *render(const char *text, size_t chunk, int width)
{
    struct lines lines = {0};
    struct markdown md;
    size_t len = strlen(text);
    markdown_start(&md, &lines, (struct blocks_look){width, ascii, true, strikes});
    for (size_t at = 0; at < len;) {
        at = at + chunk < len ? at + chunk : len;
        markdown_update(&md, text, at);
    }
    struct canvas *canvas = canvas_new(lines.n ? (int)lines.n : 1, width);
    canvas->ascii = ascii;
    for (size_t i = 0; i < lines.n; i++) lines_draw(&lines, i, canvas, (int)i, 0, width, NULL, 0);
    char *out = dump_canvas(canvas);
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
    check_render("||\n|:-:|\n||\n", 40, "\n-\n\n");
}

TEST(wide_characters)
{
    check_render("\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97\xe3\x80\x82" "abc", 8, "? ? ?\n? ? abc\n");
}

TEST(formulas)
{
    ascii = false;
    check_render("So $E = mc^2$, and \\(a_1 \\le \\frac{a}{2}\\).\n", 60, "So E = mc², and a₁ ≤ a/2.\n");
    check_render("Then:\n$$\n\\sum_{i=1}^n i = \\frac{n(n+1)}{2}\n$$\nholds.\n", 60,
                 "Then:\n  ∑ᵢ₌₁ⁿ i = n(n+1)/2\nholds.\n");
    check_render("So \\[ x = 1 \\] and\n\n\\[\nx\n\\]\n\nEnd", 60, "So\n  x = 1\nand\n\n  x\n\nEnd\n");
    check_render("- Item:\n  $$\n  - a\n  $$\n- **$x_1$** and *y*\n", 60, "  - Item:\n      - a\n  - x₁ and y\n");
    check_render("> \\[\n> a \\\\\n> b\n> \\]\n", 60, "│   a\n│   b\n");
    check_render("| $|x|$ | b |\n|---|---|\n| $a_1$ | $$c$$ |\n", 60, "|x| │ b\n────┼──\na₁  │ c\n");
    check_render("## The $n$th $\\alpha$\n", 60, "The nth α\n");
    /* no formulas */
    check_render("It costs $5 and $10, or $20.\n", 60, "It costs $5 and $10, or $20.\n");
    check_render("From $5-$10; US$5 to $7; $5, then 6 US$\n", 60, "From $5-$10; US$5 to $7; $5, then 6 US$\n");
    check_render("`$x$` and `\\(y\\)` but $`a`$\n", 60, "$x$ and \\(y\\) but $a$\n");
    check_render("```\n$x$ 2*3*4\n```\n", 60, "  [1]\n    $x$ 2*3*4\n");
    check_render("- a\n\n  ```\n  \\(x\\)\n  ```\n", 60, "  - a\n\n      [1]\n        \\(x\\)\n");
    check_render("$HOME/$USER, \\$5 and \\$6\n", 60, "$HOME/$USER, $5 and $6\n");
    check_render("[a](http://x.y/$b$) http://x.y/2*3*4\n", 60, "a (http://x.y/$b$) http://x.y/2*3*4\n");
    check_render("See \\[1\\] there.\n", 60, "See [1] there.\n");
    /* as it is written */
    check_render("\\(\\foo\\baz{x}\\) $a{b$ $$\\begin{x}\\\\\\end{y}$$\n", 60,
                 "\\foo\\baz{x} $a{b$\n$$\\begin{x}\\\\\\end{y}$$\n");
    ascii = true;
    check_render("So $\\alpha_1\\{*a*\\}$ *b*\n", 60, "So $\\alpha_1\\{*a*\\}$ b\n");
}

/* What comes of a formula before its end does is shown as it is written, and nothing is drawn as something else. */
TEST(a_formula_that_still_comes)
{
    ascii = false;
    check_render("First *this*: \\(\\frac{a_1*b*}{\\{c", 60, "First this: \\(\\frac{a_1*b*}{\\{c\n");
    check_render("\\[\n  \\sum_{i}\n  _a_", 60, "\\[\n  \\sum_{i}\n  _a_\n");
    check_render("$$\n*a*\n", 60, "$$\n*a*\n");
    check_render("a \\(b\n\n*c*\n", 60, "a (b\n\nc\n"); /* it never came */
    ascii = true;
}

TEST(stars_and_strokes)
{
    check_render("2*3*4 a*b*c (x+1)*y*(z) snake_case_name *yes* **b**old\n", 80,
                 "2*3*4 a*b*c (x+1)*y*(z) snake_case_name yes bold\n");
    check_render("*word*s and a *b*c\n", 60, "words and a bc\n");
    check_render("a ~~b~~ c\n", 60, "a ~~b~~ c\n");
    strikes = true;
    check_render("a ~~b~~ c\n", 60, "a b c\n");
    strikes = false;
}

static const char *samples[] = {
    "Hello *big*\nworld.\n\n- one two three four\n- two\n  - inner\n\n    para\n\n- three\n\nEnd **bold** `code`\n",
    "# A\n\ntext\nSetext\n===\n\n> q\n> - a\n>\n> ```c\n> int x;\n> ```\n\nlast",
    "1. a\n   ```python\n   def f():\n\n       '''doc\n       '''\n   ```\n2. b\n\n````md\n```\ninner\n```\n````\n\nx",
    "| a | b |\n|---|:-:|\n| 1 | `x|y` |\n| 2 | ~~z~~ |\n\ntext\n~~~\nopen fence\n\nto the end",
    ("\xe6\xbc\xa2\xe5\xad\x97 \xf0\x9f\x98\x80 e\xcc\x81 [l](u) <b>html</b> &nbsp; \\* \n\n\n\n***\n\n"
     "    indented code\n"),
    ("a $x_1$ b \\(y\\) 2*3*4 c\n\\[\nx = \\frac12\n\\]\n- $$\n  z\n  $$\n\n$5 and $10 `$q$`\n\n> $$a\n> b$$\n"
     "\\(open *a*\n\n$$\nlast *b*"),
};

TEST(streaming_gives_the_same)
{
    ascii = false;
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
    ascii = true;
}

TEST(long_replies_stay_cheap)
{
    /* What is rendered again is bounded by the open piece, not by the reply. */
    struct lines lines = {0};
    struct markdown md;
    size_t cap = 1 << 20, len = 0;
    char *text = malloc(cap);
    markdown_start(&md, &lines, (struct blocks_look){80, false, true, false});
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

TEST_MAIN(T(paragraphs_and_lists), T(blocks), T(code), T(tables), T(wide_characters), T(formulas),
          T(a_formula_that_still_comes), T(stars_and_strokes), T(streaming_gives_the_same), T(long_replies_stay_cheap))
