/* The names of pipelines, levels of speculation, ways of thinking, kinds of turns and their marks, as options and saved
 * sessions write them. */
#include <string.h>

#include "engine/base/error.h"
#include "engine/chat/policy/pipeline.h"
#include "engine/tandem.h"

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

static const char *const thinkings[TDM_THINKINGS] = {"off", "on", "low", "medium", "high", "xhigh"};
static const char *const keeps[TDM_KEEPS] = {"auto", "on", "off"};

TDM_API const char *tdm_thinking_name(tdm_thinking t)
{
    assert_always((unsigned)t < TDM_THINKINGS);
    return thinkings[t];
}

TDM_API const char *tdm_keep_thinking_name(tdm_keep_thinking k)
{
    assert_always((unsigned)k < TDM_KEEPS);
    return keeps[k];
}
