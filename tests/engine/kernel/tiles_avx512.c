/* The instructions of Intel's matrix unit in C, as the 'Intel 64 and IA-32 Architectures Software Developer's Manual'
 * describes them. A file of its own, so that sanitizers look at its loads and stores, but not at a whole kernel set. */
#define TILES_IN_C
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/kernel/vector/tiles.h"

enum { TILES = 8, TILE_HEIGHT = 16, TILE_BYTES = 64 };

struct tile_registers {
    struct tile_shapes shapes;
    uint8_t tile[TILES][TILE_HEIGHT][TILE_BYTES] __attribute__((aligned(64)));
};
static _Thread_local struct tile_registers tile_registers;

void tile_configure(const void *shapes)
{
    tile_registers = (struct tile_registers){0};
    memcpy(&tile_registers.shapes, shapes, sizeof tile_registers.shapes);
    for (int i = 0; i < TILES; i++)
        assert_always(tile_registers.shapes.rows[i] <= TILE_HEIGHT && tile_registers.shapes.row_bytes[i] <= TILE_BYTES);
}

void tile_release(void)
{
    tile_registers = (struct tile_registers){0};
}

void tile_zero(int tile)
{
    assert_always(tile_registers.shapes.rows[tile]); /* configured */
    memset(tile_registers.tile[tile], 0, sizeof tile_registers.tile[tile]);
}

void tile_load(int tile, const void *memory, size_t stride)
{
    const uint8_t *from = memory;
    tile_zero(tile);
    for (int i = 0; i < tile_registers.shapes.rows[tile]; i++)
        memcpy(tile_registers.tile[tile][i], from + i * stride, tile_registers.shapes.row_bytes[tile]);
}

void tile_store(int tile, void *memory, size_t stride)
{
    uint8_t *to = memory;
    assert_always(tile_registers.shapes.rows[tile]);
    for (int i = 0; i < tile_registers.shapes.rows[tile]; i++)
        memcpy(to + i * stride, tile_registers.tile[tile][i], tile_registers.shapes.row_bytes[tile]);
}

/* The unit refuses operands whose shapes don't fit. Returns how many k there are. */
static int tile_depth(int sum, int a, int b)
{
    const struct tile_shapes *s = &tile_registers.shapes;
    assert_always(s->rows[sum] == s->rows[a] && s->row_bytes[a] == 4 * s->rows[b] &&
                  s->row_bytes[b] == s->row_bytes[sum] && s->row_bytes[b] == TILE_BYTES && s->rows[a]);
    return s->rows[b];
}

/* vpdpbusd wants an unsigned and a signed operand: 128 is added to a's bytes, and taken off again. */
void tile_dot_signed(int sum, int a, int b)
{
    int depth = tile_depth(sum, a, b);
    for (int m = 0; m < tile_registers.shapes.rows[sum]; m++) {
        __m512i total = _mm512_load_si512(tile_registers.tile[sum][m]), less = _mm512_setzero_si512();
        for (int k = 0; k < depth; k++) {
            int32_t four;
            memcpy(&four, tile_registers.tile[a][m] + 4 * k, sizeof four);
            __m512i raised = _mm512_xor_si512(_mm512_set1_epi32(four), _mm512_set1_epi8((char)128));
            __m512i row = _mm512_load_si512(tile_registers.tile[b][k]);
            total = _mm512_dpbusd_epi32(total, raised, row);
            less = _mm512_dpbusd_epi32(less, _mm512_set1_epi8((char)128), row);
        }
        _mm512_store_si512(tile_registers.tile[sum][m], _mm512_sub_epi32(total, less));
    }
}

void tile_dot_mixed(int sum, int a, int b)
{
    int depth = tile_depth(sum, a, b);
    for (int m = 0; m < tile_registers.shapes.rows[sum]; m++) {
        __m512i total = _mm512_load_si512(tile_registers.tile[sum][m]);
        for (int k = 0; k < depth; k++) {
            int32_t four;
            memcpy(&four, tile_registers.tile[a][m] + 4 * k, sizeof four);
            total = _mm512_dpbusd_epi32(total, _mm512_load_si512(tile_registers.tile[b][k]), _mm512_set1_epi32(four));
        }
        _mm512_store_si512(tile_registers.tile[sum][m], total);
    }
}

/* Two sums from zero, of the even and of the odd elements, ascending, each step a fused multiply-add; then even + odd
 * is added to the tile's. Subnormals are zero, taken and given. The barriers keep the arithmetic, which begins with
 * loads and ends with stores, between the changes of MXCSR. */
void tile_dot_bf16(int sum, int a, int b)
{
    enum { SUBNORMALS_ARE_ZERO = 0x8040 };
    int depth = tile_depth(sum, a, b);
    unsigned before = _mm_getcsr();
    _mm_setcsr(before | SUBNORMALS_ARE_ZERO);
    __asm__ volatile("" ::: "memory");
    for (int m = 0; m < tile_registers.shapes.rows[sum]; m++) {
        __m512 even = _mm512_setzero_ps(), odd = _mm512_setzero_ps();
        for (int k = 0; k < depth; k++) {
            uint32_t two;
            memcpy(&two, tile_registers.tile[a][m] + 4 * k, sizeof two);
            __m512i row = _mm512_load_si512(tile_registers.tile[b][k]);
            __m512 x = _mm512_castsi512_ps(_mm512_set1_epi32((int32_t)(two << 16)));
            __m512 y = _mm512_castsi512_ps(_mm512_set1_epi32((int32_t)(two & 0xffff0000)));
            even = _mm512_fmadd_ps(x, _mm512_castsi512_ps(_mm512_slli_epi32(row, 16)), even);
            odd = _mm512_fmadd_ps(
                y, _mm512_castsi512_ps(_mm512_and_si512(row, _mm512_set1_epi32((int32_t)0xffff0000))), odd);
        }
        __m512 total = _mm512_add_ps(_mm512_load_ps((float *)tile_registers.tile[sum][m]), _mm512_add_ps(even, odd));
        _mm512_store_ps((float *)tile_registers.tile[sum][m], total);
    }
    __asm__ volatile("" ::: "memory");
    _mm_setcsr(before);
}
