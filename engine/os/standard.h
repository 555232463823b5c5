/* Standard input, output and error of a program that was started without one of them, by a supervisor or a hook. */
#ifndef TANDEM_OS_STANDARD_H
#define TANDEM_OS_STANDARD_H

/* Call it first in main(). Otherwise the first file, pipe or socket that is opened would get the number of a closed
 * standard descriptor: output would go there, and its data would be read as the user's input. This function opens a
 * placeholder in its place, which fails with EBADF as a closed descriptor does. It ends the program if that is
 * impossible. */
void standard_hold(void);

#endif
