/* Keeps a file of packed weights (packed.h) in the background: a thread of the lowest priority that begins a moment after
 * loading, so that the first reply has the machine to itself. */
#ifndef TANDEM_FORWARD_PACKED_WRITER_H
#define TANDEM_FORWARD_PACKED_WRITER_H

#include "engine/forward/weights.h"

struct packed_writer;

/* Begins to keep the weights' file in the folder (copied), with packed_save's limit, where that is worth it: they did not
 * come from there, and packing took long enough to be felt. Else *out is NULL. The weights must live until
 * packed_writer_stop. What goes wrong while writing (a full disk, say) only means that the next start packs again. */
tdm_status packed_writer_start(struct packed_writer **out, const struct weights *w, const char *folder, uint64_t limit,
                               tdm_error *err);
/* Gives up what is not written and waits for the thread, which takes as long as writing a few megabytes. NULL is allowed. */
void packed_writer_stop(struct packed_writer *p);
/* Waits until the file is there; its error, if there was one. For tests and programs that only load. */
tdm_status packed_writer_finish(struct packed_writer *p, tdm_error *err);

#endif
