/* Made-up /sys and /proc trees for the tests of topology and sensors. */
#ifndef TANDEM_TESTS_UNIT_TREE_H
#define TANDEM_TESTS_UNIT_TREE_H

/* A new, empty root below check_tmp(); the string lives as long as the program. */
const char *tree_new(void);

/* Writes text (and a line end) to a file below root, with the folders on its way. The path is a format. */
void tree_write(const char *root, const char *text, const char *path, ...) __attribute__((format(printf, 3, 4)));

#endif
