/* What a broken invariant, a fatal signal or a library without memory does to the full screen: the terminal is given
 * back on the spot, and only then is a line written to standard error, where it stays readable. */
#ifndef TANDEM_SRC_CRASH_H
#define TANDEM_SRC_CRASH_H

/* From now on, for the whole program. Before term_open, as its signal handlers. */
void crash_catch(void);

#endif
