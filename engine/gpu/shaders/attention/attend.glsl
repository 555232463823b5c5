// Attention within a block of 128 absolute positions. A score is the sums of four parts of the head's elements, added in
// ascending order, each of four sums over every fourth element; the largest score is exact; the exponentials are added 16
// at a time; values are the sums of four times 32 positions, added in ascending order. Who includes this has declared HEAD.
const uint BLOCK = 128, PARTS = 4, PART = (HEAD / 4 + PARTS - 1) / PARTS; // PART: vectors of 4 elements
const uint AT_ONCE = HEAD % 128 == 0 ? 8 : 1; // vectors of a key in flight

// The first position that a token sees: it has a window of so many, its own the last; 0: all.
uint first_seen(uint window, uint position)
{
    return window > 0 && position >= window ? position + 1 - window : 0;
}
