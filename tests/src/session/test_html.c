/* A conversation as a page of HTML: the structure of Markdown, and nothing of a text that a browser would take for
 * more. */
#include "tests/check.h"

#include "src/session/html.h"

static char *page; /* of the last call */

/* The page of a message and its reply. */
static const char *made(const char *asked, const char *reply, size_t n)
{
    tdm_node nodes[] = {
        {.node = 1, .role = TDM_USER, .text = (char *)asked, .length = strlen(asked), .current = true},
        {.node = 2, .parent = 1, .role = TDM_ASSISTANT, .text = (char *)reply, .length = n, .current = true},
        {.node = 3, .parent = 1, .role = TDM_ASSISTANT, .text = "another branch", .length = 14},
    };
    session s = {.name = "A <name>", .model_name = "M & N", .nodes = nodes, .n = 3};
    size_t length = 0;
    free(page);
    page = html_page(&s, &length);
    if (page && strlen(page) != length) CHECK_FAIL("%s", "a zero within the page");
    return page ? page : "";
}

/* What became of a reply. */
static const char *reply(const char *text)
{
    const char *at = strstr(made("?", text, strlen(text)), "<h2>Model</h2>\n");
    char *end = at ? strstr(at, "</section>") : NULL;
    if (!end) return "";
    *end = 0;
    return at + strlen("<h2>Model</h2>\n");
}

TEST(structure_of_markdown)
{
    CHECK_STR("<h3>One</h3>\n<p>a <strong>b</strong> <em>c</em> <code>d</code> <del>e</del><br>\nf</p>\n",
              reply("# One\n\na **b** *c* `d` ~~e~~\nf"));
    CHECK_STR("<h6>Five</h6>\n<hr>\n\n<blockquote><p>said</p>\n</blockquote>\n", reply("##### Five\n\n---\n\n> said"));
    CHECK_STR("<ul><li>a</li>\n<li>[x] b</li>\n</ul>\n<ol start=\"3\"><li>c</li>\n</ol>\n",
              reply("- a\n- [x] b\n\n3. c\n"));
    CHECK_STR(
        "<div class=\"language\">c</div><pre><code>if (a &lt; b)\n    x = &quot;&amp;amp;&quot;;\n</code></pre>\n",
        reply("```c\nif (a < b)\n    x = \"&amp;\";\n```\n"));
    CHECK_STR("<table><thead><tr><th>a</th><th class=\"right\">b</th></tr>\n</thead>\n<tbody><tr><td>1</td>"
              "<td class=\"right\">2</td></tr>\n</tbody>\n</table>\n",
              reply("| a | b |\n|---|--:|\n| 1 | 2 |"));
    CHECK_STR(
        "<p><u>a</u> <span class=\"address\">(https://b.c/?d&amp;e)</span> image: <u>f</u> <span class=\"address\">"
        "(g.png)</span></p>\n",
        reply("[a](https://b.c/?d&e) ![f](g.png)"));
    CHECK_STR("<p>\xc3\x97 &amp; &lt; A &amp;nosuch; \xe2\x82\xac</p>\n",
              reply("&times; &amp; &lt; &#65; &nosuch; &#x20ac;"));
}

TEST(formulas)
{
    CHECK_STR("<p>So <span class=\"formula\">x² &lt; y</span>, 2*3*4, $5 and $10.</p>\n",
              reply("So $x^2 < y$, 2*3*4, $5 and $10."));
    CHECK_STR("<p><span class=\"formula display\">a\nb</span></p>\n", reply("\\[\na \\\\ b\n\\]"));
    CHECK_STR("<p><span class=\"formula\">\\(a{&lt;b&gt;\\)</span> <code>$x$</code></p>\n", reply("\\(a{<b>\\) `$x$`"));
}

TEST(hostile_texts_stay_texts)
{
    CHECK_STR("<p>&lt;script&gt;alert(1)&lt;/script&gt; &lt;img src=x onerror=&quot;y&quot;&gt;</p>\n",
              reply("<script>alert(1)</script> <img src=x onerror=\"y\">"));
    CHECK_STR("<p>&lt;/section&gt;&lt;/body&gt;</p>\n", reply("</section></body>"));
    CHECK_STR("<p><u>a</u> <span class=\"address\">(javascript:alert(&#39;1&#39;))</span></p>\n",
              reply("[a](<javascript:alert('1')>)"));
    CHECK_STR("<p>&lt;b&gt; ^[[31m ^[ \xef\xbf\xbd</p>\n", reply("&#60;b&#62; \033[31m &#27; &#x202e;"));
    CHECK_STR("<div class=\"language\">&quot;&gt;&lt;script&gt;</div><pre><code>x\n</code></pre>\n",
              reply("```\"><script>\nx\n```"));
    CHECK_STR("<p>a\xef\xbf\xbd(\xef\xbf\xbd\xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd</p>\n",
              reply("a\xff(\xc0\xaf \xe2\x82"));
    CHECK(strstr(made("?",
                      "\0b\xe2\x80\xae"
                      "c",
                      6),
                 "<p>^@b\xef\xbf\xbd"
                 "c</p>\n"));
    made("<b>\r\n&amp; \033]0;x\007</b>", "", 0);
    CHECK(strstr(page, "<div class=\"written\">&lt;b&gt;\n&amp;amp; ^[]0;x^G&lt;/b&gt;</div>"));
    CHECK(strstr(page, "<title>A &lt;name&gt;</title>") && strstr(page, "Model: M &amp; N</p>"));
}

TEST(the_page_needs_nothing_else)
{
    static const char text[] = "![x](https://example.org/p.png) <https://c.d> [a](https://example.org)";
    made("<a>", text, strlen(text));
    static const char *const never[] = {"<script", "href",    " src", "url(", "@import",       "<img",
                                        "<link",   "<iframe", "<a>",  "<a ",  "another branch"};
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        if (strstr(page, never[i])) CHECK_FAIL("'%s' is in the page", never[i]);
    CHECK(strstr(page, "prefers-color-scheme: dark") && strstr(page, "color-scheme: light dark"));
    free(page);
    page = NULL;
}

TEST_MAIN(T(structure_of_markdown), T(formulas), T(hostile_texts_stay_texts), T(the_page_needs_nothing_else))
