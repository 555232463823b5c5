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

int64_t pace_carrying_ns(uint64_t bytes, uint64_t read_bytes, uint64_t read_ns)
{
    static const double most = 60e9; /* a unit that hardly reads anything is slow for another reason */
    if (!read_bytes || !read_ns) return 0;
    double each = (double)read_ns / (double)read_bytes; /* every byte is read and written */
    double rest = 2 * (double)bytes * each * 100 / PACE_CARRYING_PERCENT;
    return (int64_t)(rest < most ? rest : most);
}
