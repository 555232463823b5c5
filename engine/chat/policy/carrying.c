#include "engine/chat/policy/carrying.h"

int64_t carrying_rest_ns(uint64_t bytes, uint64_t read_bytes, uint64_t read_ns)
{
    static const double most = 60e9; /* a unit that hardly reads anything is slow for another reason */
    if (!read_bytes || !read_ns) return 0;
    double each = (double)read_ns / (double)read_bytes; /* every byte is read and written */
    double rest = 2 * (double)bytes * each * 100 / CARRYING_PERCENT;
    return (int64_t)(rest < most ? rest : most);
}
