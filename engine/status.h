/* What a function says that can fail for an outside cause: a status code and one line for the user.
 *
 * Apart from tandem.h, of which it is a part, because kernels need no more of that: they take minutes to compile, and
 * would be compiled anew whenever the interface of a chat changes.
 */
#ifndef TANDEM_STATUS_H
#define TANDEM_STATUS_H

typedef enum {
    TDM_OK = 0,
    TDM_E_IO = -1,          /* the system refused: open, read, map, write */
    TDM_E_FORMAT = -2,      /* a file is damaged or not what it claims to be */
    TDM_E_UNSUPPORTED = -3, /* well-formed, but beyond this engine */
    TDM_E_NOMEM = -4,
    TDM_E_ARG = -5,         /* an argument or option is out of range */
    TDM_E_CONTEXT = -6,     /* the context is full, or too small */
    TDM_E_CANCELLED = -7,
    TDM_E_NOT_FOUND = -8,
    TDM_E_REFUSED = -9,     /* the chat template refuses these messages */
    TDM_E_BUSY = -10,
} tdm_status;

typedef struct {
    tdm_status code;
    char text[400]; /* one line, no control characters */
} tdm_error;

#endif
