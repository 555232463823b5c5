#include "engine/text/marks.h"

#include <string.h>

enum { WORD = 64 }; /* bytes of the longest */

void marks_add(struct marks *m, struct span text, bool control)
{
    if (!text.length || marks_find(m, text) < m->n || m->n == MARKS_MAX) return;
    m->texts[m->n] = text;
    m->control[m->n++] = control;
}

void marks_init(struct marks *m)
{
    static const char *const control[] = {"<|im_start|>", "<|im_end|>", "<|endoftext|>"};
    static const char *const shown[] = {"<think>", "</think>"};
    *m = (struct marks){.n = 0};
    for (size_t i = 0; i < sizeof control / sizeof *control; i++) marks_add(m, span_text(control[i]), true);
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) marks_add(m, span_text(shown[i]), false);
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* The length of the word <|...|> that the n bytes begin with; 0: none. */
static size_t word_length(const char *text, size_t n)
{
    size_t at = 2;
    if (n < 5 || text[0] != '<' || text[1] != '|') return 0;
    while (at < n && at < WORD && is_letter(text[at])) at++;
    return at > 2 && n - at >= 2 && text[at] == '|' && text[at + 1] == '>' ? at + 2 : 0;
}

void marks_read_template(struct marks *m, struct span text)
{
    for (size_t at = 0; at < text.length;) {
        size_t n = word_length(text.bytes + at, text.length - at);
        if (n) marks_add(m, (struct span){text.bytes + at, n}, true);
        at += n ? n : 1;
    }
}

bool marks_is_word(struct span text)
{
    return text.length && word_length(text.bytes, text.length) == text.length;
}

bool marks_look(struct span text)
{
    if (text.length < 3) return false;
    char first = text.bytes[0], last = text.bytes[text.length - 1];
    return (first == '<' && last == '>') || (first == '[' && last == ']');
}

size_t marks_find(const struct marks *m, struct span text)
{
    size_t i = 0;
    while (i < m->n && (m->texts[i].length != text.length || memcmp(m->texts[i].bytes, text.bytes, text.length))) i++;
    return i;
}

bool marks_stop(const struct marks *m, tdm_id id, struct span text)
{
    for (size_t i = 0; i < m->n_stops; i++)
        if (m->stops[i] == id) return marks_look(text);
    return false;
}
