/* White space around words. */
#ifndef TANDEM_SRC_TRIM_H
#define TANDEM_SRC_TRIM_H

/* Cuts what is behind the text off, and returns where it begins. */
char *trim(char *text);

#endif
