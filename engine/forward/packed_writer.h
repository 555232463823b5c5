/* Writes a file of packed weights (packed.h) in the background: a thread of the lowest priority that begins a moment
 * after loading, so that it does not delay the first reply. */
#ifndef TANDEM_FORWARD_PACKED_WRITER_H
#define TANDEM_FORWARD_PACKED_WRITER_H

#include "engine/forward/weights.h"

struct packed_writer;

/* Starts writing the weights to the folder (copied), with packed_save's limit, if they were not read from there and
 * packing took noticeably long; otherwise *out is NULL. The weights must live until packed_writer_stop. An error while
 * writing (a full disk, say) only means that the next start packs again. */
tdm_status packed_writer_start(struct packed_writer **out, const struct weights *w, const char *folder, uint64_t limit,
                               tdm_error *err);
/* Abandons the rest of the file and waits for the thread, which takes as long as writing a few megabytes. NULL is
 * allowed. */
void packed_writer_stop(struct packed_writer *p);
/* Waits until the file is written; returns its error, if any. For tests. */
tdm_status packed_writer_finish(struct packed_writer *p, tdm_error *err);

#endif
