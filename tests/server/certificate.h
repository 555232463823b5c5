/* A certificate for https that nobody has signed but itself, so that every client must refuse it. */
#ifndef TANDEM_TESTS_CERTIFICATE_H
#define TANDEM_TESTS_CERTIFICATE_H

#include "engine/tandem.h"

/* Key and certificate for `localhost`, as PEM; malloc'ed. */
tdm_status certificate_make(char **key, char **certificate, tdm_error *err);

#endif
