/* The shaders, as glslc compiled them when the program was built (Makefile). */
#include "engine/base/fnv.h"
#include "engine/gpu/device/device.h"

#define SHADER(name) static const uint32_t name##_words[] =
SHADER(embed)
#include <shaders/embed.inc>
    ;
SHADER(bias)
#include <shaders/bias.inc>
    ;
SHADER(added)
#include <shaders/added.inc>
    ;
SHADER(cap)
#include <shaders/cap.inc>
    ;
SHADER(beside)
#include <shaders/beside.inc>
    ;
SHADER(inputs)
#include <shaders/inputs.inc>
    ;
SHADER(act)
#include <shaders/products/act.inc>
    ;
SHADER(matmul)
#include <shaders/products/matmul.inc>
    ;
SHADER(tile)
#include <shaders/products/tile.inc>
    ;
SHADER(matrix)
#include <shaders/products/matrix.inc>
    ;
SHADER(heads)
#include <shaders/attention/heads.inc>
    ;
SHADER(attend)
#include <shaders/attention/attend.inc>
    ;
SHADER(merge)
#include <shaders/attention/merge.inc>
    ;
SHADER(conv)
#include <shaders/delta/conv.inc>
    ;
SHADER(delta)
#include <shaders/delta/delta.inc>
    ;
SHADER(deltas)
#include <shaders/delta/deltas.inc>
    ;
SHADER(choose)
#include <shaders/choose.inc>
    ;
SHADER(group)
#include <shaders/group.inc>
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
SHADER(topk)
#include <shaders/topk.inc>
    ;
SHADER(vision_patches)
#include <shaders/vision/patches.inc>
    ;
SHADER(vision_positions)
#include <shaders/vision/positions.inc>
    ;
SHADER(vision_norm)
#include <shaders/vision/norm.inc>
    ;
SHADER(vision_product)
#include <shaders/vision/product.inc>
    ;
SHADER(vision_product_units)
#include <shaders/vision/product_units.inc>
    ;
SHADER(vision_rope)
#include <shaders/vision/rope.inc>
    ;
SHADER(vision_attend)
#include <shaders/vision/attend.inc>
    ;
SHADER(vision_attend_units)
#include <shaders/vision/attend_units.inc>
    ;

#define CODE(name)                                                                                                     \
    {                                                                                                                  \
#name, name##_words, sizeof name##_words                                                                       \
    }
const struct shader_code shader_codes[SHADERS] = {
    [SHADER_EMBED] = CODE(embed),
    [SHADER_ACT] = CODE(act),
    [SHADER_MATMUL] = CODE(matmul),
    [SHADER_HEADS] = CODE(heads),
    [SHADER_ATTEND] = CODE(attend),
    [SHADER_MERGE] = CODE(merge),
    [SHADER_CONV] = CODE(conv),
    [SHADER_DELTA] = CODE(delta),
    [SHADER_CHOOSE] = CODE(choose),
    [SHADER_MIX] = CODE(mix),
    [SHADER_READ] = CODE(read),
    [SHADER_TOKEN] = CODE(token),
    [SHADER_NORM] = CODE(norm),
    [SHADER_TOPK] = CODE(topk),
    [SHADER_MATRIX] = CODE(matrix),
    [SHADER_TILE] = CODE(tile),
    [SHADER_DELTAS] = CODE(deltas),
    [SHADER_BIAS] = CODE(bias),
    [SHADER_ADDED] = CODE(added),
    [SHADER_CAP] = CODE(cap),
    [SHADER_BESIDE] = CODE(beside),
    [SHADER_INPUTS] = CODE(inputs),
    [SHADER_GROUP] = CODE(group),
    [SHADER_VISION_PATCHES] = CODE(vision_patches),
    [SHADER_VISION_POSITIONS] = CODE(vision_positions),
    [SHADER_VISION_NORM] = CODE(vision_norm),
    [SHADER_VISION_PRODUCT] = CODE(vision_product),
    [SHADER_VISION_PRODUCT_UNITS] = CODE(vision_product_units),
    [SHADER_VISION_ROPE] = CODE(vision_rope),
    [SHADER_VISION_ATTEND] = CODE(vision_attend),
    [SHADER_VISION_ATTEND_UNITS] = CODE(vision_attend_units),
};

uint64_t gpu_shaders_hash(void)
{
    uint64_t hash = FNV_START;
    for (int i = 0; i < SHADERS; i++)
        for (size_t j = 0; j < shader_codes[i].bytes / sizeof(uint32_t); j++)
            hash = fnv_step(hash, shader_codes[i].words[j]);
    return hash;
}
