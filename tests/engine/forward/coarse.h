/* Models in the types that the engine reads but does not write: IQ2, IQ3 and MXFP4. */
#ifndef TANDEM_TESTS_FORWARD_COARSE_H
#define TANDEM_TESTS_FORWARD_COARSE_H

#include "engine/model/type.h"

/* Writes the GGUF file `from` with the matrices of its first layers (of whole blocks a row) rounded to the type: each
 * magnitude to the nearest value under a scale taken from the sub-block's spread, then 8 or 4 of them to the nearest
 * entry of the grid, without a search for better scales. Ends the test as failed, and says why, when it cannot. */
bool coarse_write(const char *from, const char *to, enum type type, int layers);

#endif
