/* Status codes, and the line that explains one.
 *
 * This part stands alone because the kernels need no more of the interface. They take minutes to compile, and would be
 * compiled anew whenever the interface of a chat changes.
 */
#ifndef TDM_ERROR_H
#define TDM_ERROR_H

typedef enum {
    TDM_OK = 0,
    TDM_E_IO = -1,          /* the system refused to open, read, map or write */
    TDM_E_FORMAT = -2,      /* a file is damaged or not what it claims to be */
    TDM_E_UNSUPPORTED = -3, /* well-formed, but not supported by this engine */
    TDM_E_NOMEM = -4,       /* no memory */
    TDM_E_ARG = -5,         /* an argument or option is out of range */
    TDM_E_CONTEXT = -6,     /* the context is full, or too small */
    TDM_E_CANCELLED = -7,   /* the caller's progress function cancelled it */
    TDM_E_NOT_FOUND = -8,   /* what the call is about does not exist */
    TDM_E_REFUSED = -9,     /* the chat template refuses these messages */
    TDM_E_BUSY = -10,       /* not now: another operation has to end first */
} tdm_status;

typedef struct {
    tdm_status code;
    char text[400]; /* one line, zero-terminated, no control characters */
} tdm_error;

#endif
