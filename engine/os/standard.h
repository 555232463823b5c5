/* Standard input, output and error of a program that was started without one of them, by a supervisor or a hook. */
#ifndef TANDEM_OS_STANDARD_H
#define TANDEM_OS_STANDARD_H

/* First in main(). The first file, pipe or socket that is opened would take the place of a closed one: what is printed
 * would go there, and what comes from there would be read as the user's. What takes its place here fails as a closed
 * one does, with EBADF. Ends the program where that is impossible. */
void standard_hold(void);

#endif
