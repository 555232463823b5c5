/* The tile registers of Intel's matrix unit (AMX), for the set amx. With TILES_IN_C they are functions that do the
 * same: tests run the set's code with them where there is no such unit. Included after vector/avx512.h.
 *
 * A tile has up to 16 rows of 64 bytes. sum, a, b of the products: sum[m][n] += the products of a[m][4k..] and
 * b[k][4n..] for all k (tile_dot_bf16: of a[m][2k..] and b[k][2n..]). */
#ifndef TANDEM_KERNEL_TILES_H
#define TANDEM_KERNEL_TILES_H

/* As LDTILECFG reads it. */
struct tile_shapes {
    uint8_t palette, start_row, unused[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

#ifndef TILES_IN_C

#define tile_configure(shapes)           _tile_loadconfig(shapes)
#define tile_release()                   _tile_release()
#define tile_zero(tile)                  _tile_zero(tile)
#define tile_load(tile, memory, stride)  _tile_loadd(tile, memory, stride)
#define tile_store(tile, memory, stride) _tile_stored(tile, memory, stride)
#define tile_dot_signed(sum, a, b)       _tile_dpbssd(sum, a, b)
#define tile_dot_mixed(sum, a, b)        _tile_dpbsud(sum, a, b) /* bytes of a are signed, those of b are not */
#define tile_dot_bf16(sum, a, b)         _tile_dpbf16ps(sum, a, b)

#else

void tile_configure(const void *shapes);
void tile_release(void);
void tile_zero(int tile);
void tile_load(int tile, const void *memory, size_t stride);
void tile_store(int tile, void *memory, size_t stride);
void tile_dot_signed(int sum, int a, int b);
void tile_dot_mixed(int sum, int a, int b);
void tile_dot_bf16(int sum, int a, int b);

#endif
#endif
