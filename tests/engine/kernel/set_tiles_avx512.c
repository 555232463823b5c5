/* The set amx with its tile instructions in C (vector/tiles.h): its code on every CPU with AVX-512. */
#define SET_AMX
#define TILES_IN_C
#include "engine/kernel/vector/avx512.h"
#include "engine/kernel/vector/tiles.h"

#ifndef __AVX512BF16__
/* As the instruction: to nearest even, subnormals to zero. */
static inline __m256i vf_bf16(vf x)
{
    const vi bits = _mm512_castps_si512(x);
    const vi exponent = _mm512_set1_epi32(0x7f800000), sign = _mm512_set1_epi32(INT32_MIN);
    vi even = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    vi y = _mm512_add_epi32(bits, _mm512_add_epi32(even, _mm512_set1_epi32(0x7fff)));
    __mmask16 no_number = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), small = _mm512_testn_epi32_mask(bits, exponent);
    y = _mm512_mask_or_epi32(y, no_number, bits, _mm512_set1_epi32(0x00400000)); /* a quiet NaN */
    y = _mm512_mask_and_epi32(y, small, bits, sign);
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(y, 16));
}
#endif

#include "engine/kernel/sets/set_template.h"
#include "tests/engine/kernel/tested.h"

KERNEL_SET(kernels_tiles_in_c, "amx in C");
KERNEL_SET_WITH(kernels_wide_tiles_in_c, "amx-bf16 in C", widened_panel_of);
