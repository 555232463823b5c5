/* The names of the kinds of turns and of their marks. */
#include "engine/tandem.h"

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
