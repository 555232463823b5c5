#include "tests/server/certificate.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <string.h>

#include "engine/base/error.h"

static char *text_of(BIO *b)
{
    char *bytes;
    long n = BIO_get_mem_data(b, &bytes);
    return strndup(bytes, (size_t)n);
}

tdm_status certificate_make(char **key, char **certificate, tdm_error *err)
{
    EVP_PKEY *pair = EVP_EC_gen("P-256");
    X509 *x = X509_new();
    BIO *as_key = BIO_new(BIO_s_mem()), *as_certificate = BIO_new(BIO_s_mem());
    bool good = pair && x && as_key && as_certificate;
    *key = *certificate = NULL;
    if (good) {
        X509_NAME *name = X509_get_subject_name(x);
        X509_set_version(x, 2);
        ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
        X509_gmtime_adj(X509_getm_notBefore(x), -3600);
        X509_gmtime_adj(X509_getm_notAfter(x), 24 * 3600);
        X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"localhost", -1, -1, 0);
        good = X509_set_issuer_name(x, name) && X509_set_pubkey(x, pair) && X509_sign(x, pair, EVP_sha256()) &&
               PEM_write_bio_PrivateKey(as_key, pair, NULL, NULL, 0, NULL, NULL) &&
               PEM_write_bio_X509(as_certificate, x);
    }
    if (good) {
        *key = text_of(as_key);
        *certificate = text_of(as_certificate);
    }
    BIO_free(as_key);
    BIO_free(as_certificate);
    X509_free(x);
    EVP_PKEY_free(pair);
    return *key && *certificate ? TDM_OK : error_set(err, TDM_E_IO, "no certificate could be made");
}
