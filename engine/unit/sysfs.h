/* Small files of /sys and /proc with one value in one line. Every path is below a root, "" for this machine, so that
 * tests can present other machines. */
#ifndef TANDEM_UNIT_SYSFS_H
#define TANDEM_UNIT_SYSFS_H

#include "engine/tandem.h"

/* Reads the file whose path the format makes into text[size], without the line end; longer files are cut. False with
 * errno where it can't be read. */
bool sysfs_text(const char *root, char *text, size_t size, const char *path, ...) __attribute__((format(printf, 4, 5)));

/* Reads a file that holds one decimal integer. False with errno where it can't be read or holds something else
 * (EINVAL). */
bool sysfs_number(const char *root, int64_t *value, const char *path, ...) __attribute__((format(printf, 3, 4)));

/* The names in a folder that begin with prefix, ordered by length, then by bytes (hwmon2 before hwmon10), at most max
 * of them; names longer than 63 bytes are skipped. Returns the number of names. */
int sysfs_list(const char *root, const char *folder, const char *prefix, char (*names)[64], int max);

#endif
