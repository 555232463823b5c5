/* Replies as HTML: no element but those of Markdown, whatever the text holds, and no control character. */
#include <stdlib.h>
#include <string.h>

#include "src/session/html.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whether the element that begins behind this `<` is one that a page has. */
static int is_known(const char *at)
{
    static const char *const names[] = {
        "!doctype", "html", "head", "meta",       "title",  "style", "body", "section", "details", "summary",
        "div",      "span", "h1",   "h2",         "h3",     "h4",    "h5",   "h6",      "p",       "hr",
        "br",       "pre",  "code", "blockquote", "ul",     "ol",    "li",   "table",   "thead",   "tbody",
        "tr",       "th",   "td",   "em",         "strong", "del",   "u"};
    at += *at == '/';
    size_t n = strcspn(at, " >");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == n && !memcmp(names[i], at, n)) return 1;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tdm_node nodes[2] = {{.node = 1, .role = TDM_USER}, {.node = 2, .parent = 1, .role = TDM_ASSISTANT}};
    for (int i = 0; i < 2; i++) {
        nodes[i].current = true;
        nodes[i].text = (char *)data;
        nodes[i].length = size;
    }
    session s = {.nodes = nodes, .n = 2};
    size_t n = 0;
    char *page = html_page(&s, &n);
    if (!page || strlen(page) != n) abort();
    for (const char *c = page; *c; c++)
        if ((*c == '<' && !is_known(c + 1)) || ((unsigned char)*c < ' ' && *c != '\n' && *c != '\t')) abort();
    free(page);
    return 0;
}
