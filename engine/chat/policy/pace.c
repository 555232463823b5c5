#include "engine/chat/policy/pace.h"

int64_t pace_next(int64_t due_ns, int64_t now_ns, double tps)
{
    static const double century_ns = 3e18; /* of a pace that is next to nothing: the sum must not wrap */
    const int64_t behind_ns = (int64_t)PACE_BEHIND_MS * 1000000;
    double interval = 1e9 / tps;
    int64_t next = (due_ns ? due_ns : now_ns) + (int64_t)(interval < century_ns ? interval : century_ns);
    return next > now_ns - behind_ns ? next : now_ns - behind_ns;
}

uint32_t pace_late(int64_t due_ns, int64_t now_ns, double tps)
{
    static const double most = 1000000;
    double late = due_ns && now_ns > due_ns ? (double)(now_ns - due_ns) * 1e-9 * tps : 0;
    return (uint32_t)(late < most ? late : most);
}
