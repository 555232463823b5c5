/* The common settings of all requests by libcurl, in each program: certificates are verified, and the time to connect
 * and the time without data are limited. */
#ifndef TANDEM_SRC_HTTPS_H
#define TANDEM_SRC_HTTPS_H

#include <curl/curl.h>
#include <stdbool.h>

/* agent: the program's name and version. http, https: the allowed protocols. */
void https_prepare(CURL *curl, const char *agent, bool http, bool https);
/* The paths of the system's certificates, and of those that the user names; then NULL. */
enum { HTTPS_CERTIFICATES = 5 };
void https_certificates(const char *out[HTTPS_CERTIFICATES]);
/* A connection that takes longer, or is silent for longer, counts as broken. */
void https_limit(CURL *curl, long connect_s, long silent_s);

#endif
