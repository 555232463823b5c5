/* The cursor over the lanes, and the text about the spans under it. Pure. */
#ifndef TANDEM_UI_INSPECT_H
#define TANDEM_UI_INSPECT_H

#include "ui/draw/view.h"
#include "ui/monitor/lanes.h"

enum { INSPECT_SIZE = 256 };

/* The cursor's column, 0 to lanes->cols - 1. */
int inspect_column(const struct view_monitor *monitor, const struct lanes *lanes);

/* "-12.3 s: h reply and history, 32 tokens, 302 tok/s, 105 ms, 12 MiB, 'is called Bruno', 2 more here": the span with
 * the largest part of the column, with as many details as fit in `cols` columns; "idle" if there was none. unit: 0
 * prefill, 1 decode. */
void inspect_text(char out[INSPECT_SIZE], const struct view_monitor *monitor, int unit, const struct lanes *lanes,
                  int column, int cols);

#endif
