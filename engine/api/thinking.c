/* The names of the ways of thinking, as options and saved sessions write them. */
#include "engine/base/error.h"
#include "engine/tandem.h"

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
