/* Small files of /sys and /proc: one value in one line. Every path is below a root, "" for the machine itself, so that
 * tests can show trees of machines that they don't run on. */
#ifndef TANDEM_UNIT_SYSFS_H
#define TANDEM_UNIT_SYSFS_H

#include "engine/tandem.h"

/* Reads the file whose path the format makes into text[size], without the line end; longer files are cut. False with
 * errno where it can't be read. */
bool sysfs_text(const char *root, char *text, size_t size, const char *path, ...) __attribute__((format(printf, 4, 5)));

/* Reads a file that holds one decimal integer. False with errno where it can't be read or holds something else
 * (EINVAL). */
bool sysfs_number(const char *root, int64_t *value, const char *path, ...) __attribute__((format(printf, 3, 4)));

/* The names in a folder that begin with prefix, ascending by length, then by letters (hwmon2 before hwmon10), at most
 * max of them; longer names than 63 bytes are left out. Returns how many. */
int sysfs_list(const char *root, const char *folder, const char *prefix, char (*names)[64], int max);

#endif
