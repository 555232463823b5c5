/* Arbitrary bytes as a streaming reply: rendered in pieces, drawn in narrow and wide, without a finding. */
#include "ui/text/markdown.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3) return 0;
    int width = 1 + data[0] % 100;
    size_t step = 1 + data[1];
    struct lines lines = {0};
    struct markdown md;
    markdown_start(&md, &lines, (struct blocks_look){width, data[2] & 1, data[2] & 2, data[2] & 4});
    const char *text = (const char *)data + 3;
    size_t len = size - 3;
    for (size_t at = 0; at < len;) {
        at = at + step < len ? at + step : len;
        markdown_update(&md, text, at);
    }
    struct canvas *canvas = canvas_new(1, width);
    if (!canvas) abort();
    for (size_t i = 0; i < lines.n; i++) {
        if (lines.line[i].to > lines.len || lines.line[i].from > lines.line[i].to) abort();
        lines_draw(&lines, i, canvas, 0, 0, width, &(struct lines_match){1, len / 2, STYLE_MATCH}, 1);
        if (lines_source(&lines, i) > len + 1) abort();
    }
    size_t n;
    free(markdown_code_block(text, len, 1, &n));
    canvas_free(canvas);
    lines_free(&lines);
    return 0;
}
