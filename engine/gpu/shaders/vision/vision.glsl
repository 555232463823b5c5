// What the shaders of pictures share. Weights and activations of products are half floats, rows of them padded with
// zeros to a multiple of DEPTH columns.
const uint DEPTH = 32;

// In patches, where the patch of this number lies: they stand in the order of merging (engine/vision/patches.h).
uvec2 place_of(uint i, uint columns, uint merge)
{
    uint within = i % (merge * merge), token = i / (merge * merge), tokens = columns / merge;
    return uvec2(token % tokens * merge + within % merge, token / tokens * merge + within / merge);
}

// Two half floats, the largest there are in place of larger ones.
uint halves_of(float a, float b)
{
    return packHalf2x16(clamp(vec2(a, b), vec2(-65504.0), vec2(65504.0)));
}
