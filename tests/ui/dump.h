/* A canvas as text, for golden screens. */
#ifndef TANDEM_TESTS_UI_DUMP_H
#define TANDEM_TESTS_UI_DUMP_H

#include "ui/draw/canvas.h"

/* The rows as UTF-8, each ended by a newline, trailing blanks cut. The caller frees it. */
char *dump_canvas(const struct canvas *canvas);

/* The same, each row followed by its looks: `  @COL+LEN fg attributes` for every stretch that is not plain. */
char *dump_looks(const struct canvas *canvas, enum view_theme theme, int colours);

#endif
