/* The names of pipelines, levels of speculation, kinds of turns and their marks. */
#include <string.h>

#include "engine/base/error.h"
#include "engine/chat/policy/pipeline.h"

static const char *const levels[] = {
    [TDM_SPEC_OFF] = "off", [TDM_SPEC_HISTORY] = "history", [TDM_SPEC_DRAFT] = "draft", [TDM_SPEC_FULL] = "full"};

TDM_API int tdm_pipeline_find(const char *name)
{
    for (int i = 0; i < TDM_PIPELINES; i++)
        if (!strcmp(pipeline_of((tdm_pipeline)i)->name, name)) return i;
    return -1;
}

TDM_API const char *tdm_pipeline_name(tdm_pipeline p)
{
    return pipeline_of(p)->name;
}

TDM_API int tdm_speculation_find(const char *name)
{
    for (int i = TDM_SPEC_OFF; i <= TDM_SPEC_FULL; i++)
        if (!strcmp(levels[i], name)) return i;
    return -1;
}

TDM_API const char *tdm_speculation_name(tdm_speculation s)
{
    assert_always(s >= TDM_SPEC_OFF && s <= TDM_SPEC_FULL);
    return levels[s];
}

TDM_API const char *tdm_turn_kind_name(tdm_turn_kind kind)
{
    static const char *const names[] = {"first", "resumed", "warm", "cold"};
    return names[kind];
}

TDM_API const char *tdm_turn_mark_name(tdm_turn_mark mark)
{
    static const char *const names[] = {"", "queued", "cut", "head start"};
    return names[mark];
}
