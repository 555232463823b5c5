/* Files by names from outside, bytes to a descriptor, folders, and programs. */
#ifndef TANDEM_BASE_FILE_H
#define TANDEM_BASE_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/tandem.h"

/* Any descriptor that is shared with another program can be made non-blocking by it, at any time: a terminal, standard
 * input, a pipe. Whether a read or write that returned n must be repeated: once the descriptor is ready (EAGAIN), or at
 * once (EINTR). Neither is the end of the file or an error. */
bool file_again(ssize_t n);

/* Opens the terminal of fd once more, for this program alone and non-blocking, whatever the flags of fd; way: O_RDONLY
 * or O_WRONLY. -1: fd is no terminal, or it can't be opened again. */
int file_open_terminal(int fd, int way);

/* Waits until a descriptor is ready for these events of poll(2), or a signal comes. */
void file_wait(int fd, short events);

/* read(2) that waits, whatever the descriptor is, and goes on after signals. */
ssize_t file_read(int fd, void *to, size_t bytes);

/* Writes all bytes, however many calls, waits and interruptions that takes; false with errno. Safe in signal handlers.
 * For a terminal or a pipe whose reader may never read see inout.h. */
bool file_write_all(int fd, const void *data, size_t bytes);

/* The kind of a file by its mode from stat(): "a FIFO", "a folder". */
const char *file_kind(unsigned mode);

/* Whether a file is /dev/null: a link to it is the usual way to say that a file is empty. */
struct stat;
bool file_is_null(const struct stat *st);
/* Whether the path names the open file: a program may have removed one that another waited to lock. */
bool file_is_at(int fd, const char *path);
/* Whether both paths lead to the same file; false if one leads to none. */
bool file_is_same(const char *a, const char *b);
/* Whether the folder has a file of that name; a link that leads nowhere is one too, whose reading fails. */
bool file_is_there(const char *path);

/* "PATH: expected a regular file, found a FIFO": TDM_E_IO. */
tdm_status file_refuse(const char *path, unsigned mode, tdm_error *err);

/* Opens a file that is read as a whole, by a name from outside: *fd stays -1 on failure, with one line in err
 * (TDM_E_NOT_FOUND: there is none). A FIFO, a socket, a folder or a device other than /dev/null is refused without
 * waiting for a writer. */
tdm_status file_open(const char *path, int *fd, tdm_error *err);
/* The same where the file has to be there: TDM_E_IO if it isn't. */
tdm_status file_open_needed(const char *path, int *fd, tdm_error *err);

/* Opens a file for writing in place: creates it with this mode, or truncates it; a device or a FIFO with a reader is
 * written into. *fd, blocking, stays -1 on failure. */
tdm_status file_create(const char *path, unsigned mode, int *fd, tdm_error *err);

/* Writes into a device or a FIFO that is there. A FIFO without a reader, or whose reader stops reading for two
 * seconds, is an error. */
tdm_status file_write_into(const char *path, const void *data, size_t bytes, tdm_error *err);

/* The file's first `bytes`, or all of it (0), won't be read again for long: the system's cache need not keep them.
 * Only a wish. */
void file_forget(int fd, uint64_t bytes);

/* The folder that holds the file behind the path, which may be a link, or will hold it. False with errno: there is no
 * such folder. */
bool file_folder_of(const char *path, char out[PATH_MAX]);

/* "folder/name", malloc'ed. */
char *file_join(const char *folder, const char *name);
/* The part of the path behind its last slash. */
const char *file_base(const char *path);

/* Flushes the folder that the path stands in to the disk, so that a file renamed or removed there stays so after a
 * power cut. A file system that can't do so is no error. */
tdm_status file_sync_folder(const char *path, tdm_error *err);

/* Makes the folder and those above it that are missing, with the mode that the umask leaves of `mode`. */
tdm_status file_make_folders(const char *path, unsigned mode, tdm_error *err);

/* A regular file that this process may run. */
bool file_is_program(const char *path);
/* The program in the first of these folders (as PATH has them, with colons between; NULL: none) that has it. Empty and
 * relative ones don't count: a program in the current folder is never run by accident. */
bool file_find_program(const char *folders, const char *name, char out[PATH_MAX]);

#endif
