/* The shaders, as glslc compiled them when the program was built (Makefile). */
#include "engine/base/fnv.h"
#include "engine/gpu/device.h"

#define SHADER(name) static const uint32_t name##_words[] =
SHADER(embed)
#include <shaders/embed.inc>
    ;
SHADER(act)
#include <shaders/act.inc>
    ;
SHADER(matmul)
#include <shaders/matmul.inc>
    ;
SHADER(tile)
#include <shaders/tile.inc>
    ;
SHADER(matrix)
#include <shaders/matrix.inc>
    ;
SHADER(heads)
#include <shaders/heads.inc>
    ;
SHADER(attend)
#include <shaders/attend.inc>
    ;
SHADER(merge)
#include <shaders/merge.inc>
    ;
SHADER(conv)
#include <shaders/conv.inc>
    ;
SHADER(delta)
#include <shaders/delta.inc>
    ;
SHADER(deltas)
#include <shaders/deltas.inc>
    ;
SHADER(choose)
#include <shaders/choose.inc>
    ;
SHADER(mix)
#include <shaders/mix.inc>
    ;
SHADER(read)
#include <shaders/read.inc>
    ;
SHADER(token)
#include <shaders/token.inc>
    ;

SHADER(norm)
#include <shaders/norm.inc>
    ;
SHADER(best)
#include <shaders/best.inc>
    ;

#define CODE(name)                                                                                                     \
    {                                                                                                                  \
#name, name##_words, sizeof name##_words                                                                       \
    }
const struct shader_code shader_codes[SHADERS] = {
    [SHADER_EMBED] = CODE(embed), [SHADER_ACT] = CODE(act),       [SHADER_MATMUL] = CODE(matmul),
    [SHADER_HEADS] = CODE(heads), [SHADER_ATTEND] = CODE(attend), [SHADER_MERGE] = CODE(merge),
    [SHADER_CONV] = CODE(conv),   [SHADER_DELTA] = CODE(delta),   [SHADER_CHOOSE] = CODE(choose),
    [SHADER_MIX] = CODE(mix),     [SHADER_READ] = CODE(read),     [SHADER_TOKEN] = CODE(token),
    [SHADER_NORM] = CODE(norm),   [SHADER_BEST] = CODE(best),     [SHADER_MATRIX] = CODE(matrix),
    [SHADER_TILE] = CODE(tile),   [SHADER_DELTAS] = CODE(deltas),
};

uint64_t gpu_shaders_hash(void)
{
    uint64_t hash = FNV_START;
    for (int i = 0; i < SHADERS; i++)
        for (size_t j = 0; j < shader_codes[i].bytes / sizeof(uint32_t); j++)
            hash = fnv_step(hash, shader_codes[i].words[j]);
    return hash;
}
