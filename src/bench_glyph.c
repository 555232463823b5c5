/* `tandem bench glyph`: from Enter to the first character of the reply on a terminal, beside the engine's figure. */
#include "engine/base/error.h"
#include "src/bench.h"

tdm_status bench_glyph(bench *b, tdm_error *err)
{
    bench_table *t = bench_new_table(b, "", "Enter to the first character", "turn", "glyph:ms|engine:ms", err);
    if (!t) return err->code;
    bench_table_note(t, "not measured: this build has no full-screen front end");
    return TDM_OK;
}
