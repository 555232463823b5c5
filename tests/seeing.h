/* A model that sees, and what it is shown, for tests. */
#ifndef TANDEM_TESTS_SEEING_H
#define TANDEM_TESTS_SEEING_H

#include "engine/tandem.h"

/* The folder of the reference's model with a vision tower, a copy whose vocabulary has <|image_pad|> and whose chat
 * template is templates/pictures.jinja (tests/engine/text/template); NULL with the test marked skipped: it isn't there.
 * Kept until the program ends. */
enum { SEEING_PAD = 508 };
const char *seeing_model(void);

/* Noise, the same for the same seed. */
tdm_picture *seeing_picture(uint32_t width, uint32_t height, unsigned seed);

#endif
