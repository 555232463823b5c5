#include "src/net/https.h"

#include <stdlib.h>

static void set_protocols(CURL *curl, bool http, bool https)
{
#if LIBCURL_VERSION_NUM >= 0x075500
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, !http ? "https" : https ? "http,https" : "http");
#else
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS, (long)((http ? CURLPROTO_HTTP : 0) | (https ? CURLPROTO_HTTPS : 0)));
#endif
}

void https_prepare(CURL *curl, const char *agent, bool http, bool https)
{
    const char *certificates = getenv("SSL_CERT_FILE"), *folder = getenv("SSL_CERT_DIR");
    set_protocols(curl, http, https);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, agent);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 1L);
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 2L);
    if (certificates && certificates[0]) curl_easy_setopt(curl, CURLOPT_CAINFO, certificates);
    if (folder && folder[0]) curl_easy_setopt(curl, CURLOPT_CAPATH, folder);
}

void https_certificates(const char *out[HTTPS_CERTIFICATES])
{
    const char *paths[HTTPS_CERTIFICATES] = {getenv("SSL_CERT_FILE"), getenv("SSL_CERT_DIR")};
#if LIBCURL_VERSION_NUM >= 0x074600
    const curl_version_info_data *about = curl_version_info(CURLVERSION_NOW);
    if (about->age >= CURLVERSION_SEVENTH) paths[2] = about->cainfo, paths[3] = about->capath;
#endif
    int n = 0;
    for (int i = 0; i < HTTPS_CERTIFICATES; i++)
        if (paths[i] && paths[i][0]) out[n++] = paths[i];
    out[n] = NULL;
}

void https_limit(CURL *curl, long connect_s, long silent_s)
{
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, connect_s);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, silent_s);
}
