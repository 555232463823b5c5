/* The parts of `tandem bench mtp`: the costs and the gains of passes that verify drafts. */
#ifndef TANDEM_SRC_BENCH_MTP_H
#define TANDEM_SRC_BENCH_MTP_H

#include "src/bench/bench.h"

/* Passes of 1 to 6 tokens with all that drafting adds, and prefill with and without the MTP head (verify.c). */
tdm_status bench_mtp_passes(bench *b, tdm_error *err);
tdm_status bench_mtp_prefill(bench *b, tdm_error *err);
/* Replies with and without drafts (mtp.c). */
tdm_status bench_mtp_decode(bench *b, tdm_error *err);
/* The share of a text that can be drafted (mtp.c). */
tdm_status bench_mtp_coverage(bench *b, tdm_error *err);

#endif
