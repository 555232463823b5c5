/* What all requests by libcurl have in common, in each program: certificates are verified, and the time to connect and
 * the time without data have limits. */
#ifndef TANDEM_SRC_HTTPS_H
#define TANDEM_SRC_HTTPS_H

#include <curl/curl.h>
#include <stdbool.h>

/* agent: the program's name and version. http, https: what may be spoken. */
void https_prepare(CURL *curl, const char *agent, bool http, bool https);
/* Where the system's certificates are looked for, and those that the user names: paths, then NULL. */
enum { HTTPS_CERTIFICATES = 5 };
void https_certificates(const char *out[HTTPS_CERTIFICATES]);
/* A connection that takes longer, or is silent for longer, counts as cut. */
void https_limit(CURL *curl, long connect_s, long silent_s);

#endif
