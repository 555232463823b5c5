#include "src/session/html.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/buffer.h"
#include "engine/base/span.h"
#include "engine/base/utf8.h"
#include "src/io/output.h"
#include "ui/formula/inert.h"
#include "ui/text/blocks.h"

/* ---- Text ------------------------------------------------------------------------------------------------------ */

static void put_escaped(FILE *f, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        switch (text[i]) {
        case '&':
            fputs("&amp;", f);
            break;
        case '<':
            fputs("&lt;", f);
            break;
        case '>':
            fputs("&gt;", f);
            break;
        case '"':
            fputs("&quot;", f);
            break;
        case '\'':
            fputs("&#39;", f);
            break;
        default:
            fputc(text[i], f);
        }
    }
}

/* The text as valid UTF-8 without control characters but newline and tab, malloc'ed; lines end with a newline alone. */
static char *clean(const char *text, size_t n, size_t *length)
{
    output_held held = {0};
    char *plain = malloc(n + 1), *out = malloc(3 * n + 4);
    size_t kept = 0;
    for (size_t i = 0; plain && i < n; i++)
        if (text[i] != '\r' || i + 1 == n || text[i + 1] != '\n') plain[kept++] = text[i];
    if (plain && out) {
        *length = output_harmless(&held, plain, kept, out);
        if (held.n) *length += utf8_mend(held.bytes, (size_t)held.n, out + *length);
    } else {
        free(out);
        out = NULL;
    }
    free(plain);
    return out;
}

/* ---- Markdown -------------------------------------------------------------------------------------------------- */

typedef struct {
    FILE *f;
    const struct inert *in;
    bool in_code;  /* of a block, where the ends of lines stay */
    char *address; /* of the open link or image; NULL: none */
} page;

static void put_tag(const page *p, const char *name, bool end)
{
    fprintf(p->f, "<%s%s>", end ? "/" : "", name);
}

/* The element of a block; NULL: it has none. */
static const char *block_name(MD_BLOCKTYPE type, const void *detail)
{
    static const char *const headings[] = {"h3", "h4", "h5", "h6"}; /* below those of the page */
    static const char *const names[] = {
        [MD_BLOCK_QUOTE] = "blockquote",
        [MD_BLOCK_UL] = "ul",
        [MD_BLOCK_OL] = "ol",
        [MD_BLOCK_LI] = "li",
        [MD_BLOCK_P] = "p",
        [MD_BLOCK_TABLE] = "table",
        [MD_BLOCK_TR] = "tr",
        [MD_BLOCK_THEAD] = "thead",
        [MD_BLOCK_TBODY] = "tbody",
        [MD_BLOCK_TH] = "th",
        [MD_BLOCK_TD] = "td",
    };
    if (type == MD_BLOCK_H) {
        unsigned level = ((const MD_BLOCK_H_DETAIL *)detail)->level;
        return headings[level < 4 ? level - 1 : 3];
    }
    return (size_t)type < sizeof names / sizeof *names ? names[type] : NULL;
}

static int enter_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
    page *p = arg;
    const char *name = block_name(type, detail);
    switch (type) {
    case MD_BLOCK_HR:
        fputs("<hr>\n", p->f);
        break;
    case MD_BLOCK_CODE: {
        const MD_ATTRIBUTE *language = &((MD_BLOCK_CODE_DETAIL *)detail)->lang;
        if (language->size) {
            fputs("<div class=\"language\">", p->f);
            put_escaped(p->f, language->text, language->size);
            fputs("</div>", p->f);
        }
        fputs("<pre><code>", p->f);
        p->in_code = true;
        break;
    }
    case MD_BLOCK_OL:
        fprintf(p->f, "<ol start=\"%u\">", ((MD_BLOCK_OL_DETAIL *)detail)->start);
        break;
    case MD_BLOCK_LI: {
        const MD_BLOCK_LI_DETAIL *item = detail;
        fputs("<li>", p->f);
        if (item->is_task) fputs(item->task_mark == ' ' ? "[ ] " : "[x] ", p->f);
        break;
    }
    case MD_BLOCK_TH:
    case MD_BLOCK_TD: {
        MD_ALIGN align = ((MD_BLOCK_TD_DETAIL *)detail)->align;
        const char *side = align == MD_ALIGN_RIGHT    ? " class=\"right\""
                           : align == MD_ALIGN_CENTER ? " class=\"center\""
                                                      : "";
        fprintf(p->f, "<%s%s>", name, side);
        break;
    }
    default:
        if (name) put_tag(p, name, false);
    }
    return 0;
}

static int leave_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
    page *p = arg;
    const char *name = block_name(type, detail);
    if (type == MD_BLOCK_CODE)
        fputs("</code></pre>", p->f);
    else if (name)
        put_tag(p, name, true);
    p->in_code = p->in_code && type != MD_BLOCK_CODE;
    if (type != MD_BLOCK_TH && type != MD_BLOCK_TD && type != MD_BLOCK_DOC) fputc('\n', p->f);
    return 0;
}

static const char *span_name(MD_SPANTYPE type)
{
    switch (type) {
    case MD_SPAN_EM:
        return "em";
    case MD_SPAN_STRONG:
        return "strong";
    case MD_SPAN_CODE:
        return "code";
    case MD_SPAN_DEL:
        return "del";
    default:
        return NULL;
    }
}

static int enter_span(MD_SPANTYPE type, void *detail, void *arg)
{
    page *p = arg;
    const char *name = span_name(type);
    if (name) put_tag(p, name, false);
    if (type != MD_SPAN_A && type != MD_SPAN_IMG) return 0;
    const MD_ATTRIBUTE *to =
        type == MD_SPAN_A ? &((MD_SPAN_A_DETAIL *)detail)->href : &((MD_SPAN_IMG_DETAIL *)detail)->src;
    free(p->address);
    p->address = to->size ? strndup(to->text, to->size) : NULL;
    fputs(type == MD_SPAN_IMG ? "image: <u>" : "<u>", p->f);
    return 0;
}

/* The address stands behind the text, as on the screen: nothing is fetched, and no link leads where the text doesn't
 * say. */
static int leave_span(MD_SPANTYPE type, void *detail, void *arg)
{
    page *p = arg;
    const char *name = span_name(type);
    (void)detail;
    if (name) put_tag(p, name, true);
    if (type != MD_SPAN_A && type != MD_SPAN_IMG) return 0;
    fputs("</u>", p->f);
    if (!p->address) return 0;
    fputs(" <span class=\"address\">(", p->f);
    put_escaped(p->f, p->address, strlen(p->address));
    fputs(")</span>", p->f);
    free(p->address);
    p->address = NULL;
    return 0;
}

static void put_formula(const page *p, const struct inert_formula *f)
{
    struct buffer made = {0};
    bool readable = inert_write(p->in, f, &made);
    fprintf(p->f, "<span class=\"%s\">", f->display ? "formula display" : "formula");
    if (readable)
        put_escaped(p->f, made.bytes, made.n);
    else
        put_escaped(p->f, p->in->text + f->from, f->to - f->from);
    fputs("</span>", p->f);
    buffer_free(&made);
}

/* A piece of the text, with the formulas in it. */
static void put_piece(const page *p, size_t at, size_t to)
{
    while (at < to) {
        size_t begin;
        const struct inert_formula *f = inert_next(p->in, at, to, &begin);
        put_escaped(p->f, p->in->text + at, begin - at);
        if (!f) return;
        if (begin == f->from) put_formula(p, f);
        at = f->to;
    }
}

static int on_text(MD_TEXTTYPE type, const MD_CHAR *text, MD_SIZE n, void *arg)
{
    page *p = arg;
    char character[4], safe[3 * 4 + 3];
    size_t length, at;
    if (!p->in_code && (type == MD_TEXT_BR || type == MD_TEXT_SOFTBR)) { /* models mean the ends of their lines */
        fputs("<br>\n", p->f);
    } else if (type == MD_TEXT_ENTITY && (length = blocks_entity(text, n, character))) {
        output_held held = {0};
        put_escaped(p->f, safe, output_harmless(&held, character, length, safe));
    } else if (!p->in_code && inert_place(p->in, text, &at)) {
        put_piece(p, at, at + n);
    } else {
        put_escaped(p->f, text, n);
    }
    return 0;
}

static void put_markdown(FILE *f, const char *text, size_t n)
{
    static const MD_PARSER parser = {
        .flags = INERT_DIALECT,
        .enter_block = enter_block,
        .leave_block = leave_block,
        .enter_span = enter_span,
        .leave_span = leave_span,
        .text = on_text,
    };
    struct inert in;
    if (n >= INT_MAX / 2 || !inert_open(&in, text, n)) return;
    page p = {.f = f, .in = &in};
    inert_parse(&in, &parser, &p);
    inert_close(&in);
    free(p.address);
}

/* ---- The page -------------------------------------------------------------------------------------------------- */

static const char head[] =
    "<!doctype html>\n<html>\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    /* Should anything get through all the same, it is neither run nor loaded. */
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'%s\">\n";

static const char style[] =
    "<style>\n"
    ":root { color-scheme: light dark; --text: #1f2328; --page: #ffffff; --quiet: #57606a; --mine: #eef2f7; --line: "
    "#d0d7de; }\n"
    "@media (prefers-color-scheme: dark) {\n"
    "  :root { --text: #e6e6e6; --page: #16181c; --quiet: #a0a8b2; --mine: #22262d; --line: #3a4049; }\n"
    "}\n"
    "body { max-width: 46rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif;"
    " color: var(--text); background: var(--page); overflow-wrap: anywhere; }\n"
    "h2 { margin: 1.5rem 0 .5rem; font-size: .9rem; color: var(--quiet); }\n"
    ".written { white-space: pre-wrap; }\n"
    ".you .written { padding: .5rem .75rem; background: var(--mine); border-radius: .4rem; }\n"
    ".about, .address, .language, details { color: var(--quiet); }\n"
    ".language { font-size: .85rem; }\n"
    "pre { padding: .75rem; overflow-x: auto; overflow-wrap: normal; border: 1px solid var(--line); border-radius: "
    ".4rem; }\n"
    ".formula.display { display: block; margin: .5rem 1.5rem; white-space: pre-wrap; }\n"
    "code { font-family: ui-monospace, monospace; font-size: .9em; }\n"
    "blockquote { margin-left: 0; padding-left: 1rem; border-left: 3px solid var(--line); }\n"
    "table { border-collapse: collapse; }\n"
    "th, td { padding: .25rem .6rem; border: 1px solid var(--line); text-align: left; }\n"
    "th.right, td.right { text-align: right; }\n"
    "th.center, td.center { text-align: center; }\n"
    "</style>\n";

static const char picture_style[] = "<style>img { max-width: 100%; max-height: 30rem; }</style>\n";

typedef enum { AS_WRITTEN, AS_MARKDOWN, AS_WORDS } form;

/* A text in its form; false without memory. */
static bool put_text(FILE *f, const char *text, size_t n, form how)
{
    size_t length;
    char *safe = clean(text, n, &length);
    if (!safe) return false;
    if (how == AS_MARKDOWN) {
        put_markdown(f, safe, length);
    } else {
        if (how == AS_WRITTEN) fputs("<div class=\"written\">", f);
        put_escaped(f, safe, length);
        if (how == AS_WRITTEN) fputs("</div>\n", f);
    }
    free(safe);
    return true;
}

/* The picture itself, in a data address. */
static bool put_picture(FILE *f, const session_picture *p)
{
    char *address = picture_address(picture_find_key(p->key));
    fputs("<p><img alt=\"", f);
    bool good = put_text(f, p->name, strlen(p->name), AS_WORDS);
    if (address) fprintf(f, "\" src=\"%s", address);
    fputs("\"></p>\n", f);
    free(address);
    return good;
}

/* The user's words with the pictures in their places. */
static bool put_written(FILE *f, const session *s, int i)
{
    const tdm_node *node = &s->nodes[i];
    int n;
    const session_picture *p = session_pictures_of(s, i, &n);
    size_t at = 0;
    bool good = true;
    for (int k = 0; k < n && good; at = p[k++].at) {
        if (p[k].at > at) good = put_text(f, node->text + at, p[k].at - at, AS_WRITTEN);
        good = good && put_picture(f, &p[k]);
    }
    return good && put_text(f, node->text + at, node->length - at, AS_WRITTEN);
}

static bool put_node(FILE *f, const session *s, int i)
{
    const tdm_node *node = &s->nodes[i];
    bool mine = node->role == TDM_USER, good = true;
    if (!mine && !node->thinking && span_is_blank((struct span){node->text, node->length})) return true;
    fprintf(f, "<section class=\"%s\">\n<h2>%s</h2>\n", mine ? "you" : "model", mine ? "You" : "Model");
    if (node->thinking) {
        fputs("<details><summary>thinking</summary>", f);
        good = put_text(f, node->thinking, node->thinking_length, AS_WRITTEN);
        fputs("</details>\n", f);
    }
    good = good && (mine ? put_written(f, s, i) : put_text(f, node->text, node->length, AS_MARKDOWN));
    fputs("</section>\n", f);
    return good;
}

char *html_page(const session *s, size_t *n)
{
    const char *name = s->name ? s->name : "A conversation";
    struct buffer_stream stream;
    FILE *f = buffer_stream_open(&stream);
    if (!f) return NULL;
    fprintf(f, head, s->n_pictures ? "; img-src data:" : "");
    fputs("<title>", f);
    bool good = put_text(f, name, strlen(name), AS_WORDS);
    fprintf(f, "</title>\n%s%s</head>\n<body>\n<h1>", style, s->n_pictures ? picture_style : "");
    good = good && put_text(f, name, strlen(name), AS_WORDS);
    fputs("</h1>\n", f);
    if (s->model_name) {
        fputs("<p class=\"about\">Model: ", f);
        good = good && put_text(f, s->model_name, strlen(s->model_name), AS_WORDS);
        fputs("</p>\n", f);
    }
    if (s->system) {
        fputs("<section class=\"system\">\n<h2>System</h2>\n", f);
        good = good && put_text(f, s->system, s->system_length, AS_MARKDOWN);
        fputs("</section>\n", f);
    }
    for (int i = 0; i < s->n; i++)
        if (s->nodes[i].current) good = good && put_node(f, s, i);
    fputs("</body>\n</html>\n", f);
    char *text = buffer_stream_close(&stream, n);
    if (good) return text;
    free(text);
    return NULL;
}
