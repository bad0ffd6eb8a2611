/* os.h -- the differences between operating systems, with one function for each difference.
 * Everything else is written once, with POSIX and libuv. A platform is one file that implements
 * this header (system/os_linux.c, system/os_darwin.c) and, for the sandbox, one folder in
 * world/sandbox. The build chooses both by the name of its platform. system/os_wasi.c has the
 * functions that the WebAssembly module needs (apps/wasm). No other code asks on which platform it
 * runs: tools/check-platforms refuses such a question.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_OS_H
#define PDL_BASE_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

#include "base/alloc.h"

/* Fills out with random bytes that cannot be guessed. Right after its start a system may not have
 * collected enough randomness. With may_wait this function then waits, and without may_wait it
 * fails. */
PDL_MUST bool pdl_os_random(void *out, size_t n, bool may_wait);
/* Clears memory that held a secret; a compiler may not leave this out. */
void pdl_os_wipe(void *p, size_t n);

/* --- memory and processes --- */

/* Maps n bytes, a power of two, at a multiple of n, filled with zeros. Returns NULL when there is
 * no memory. */
void *pdl_os_map(size_t n);
void pdl_os_unmap(void *p, size_t n);
/* Lets the system use large pages for the memory at p, which pdl_os_map returned. */
void pdl_os_use_large_pages(void *p, size_t n);

/* Returns the bytes that all processes together may still take; UINT64_MAX when that is unknown. */
uint64_t pdl_os_memory_left(void);
/* Lets the allocator keep large blocks that are freed. A conversation that grows is copied into a
 * request at every turn. Without this call, freed blocks of some megabytes would be returned to the
 * system and requested again page by page, which takes half of the time of a long agent loop. */
void pdl_os_keep_large_blocks(void);
/* Limits the address space of a child. Returns false when that fails, as on a system without this
 * limit. */
bool pdl_os_limit_memory(pid_t child, uint64_t bytes);
/* Returns true when a process is gone, or is a zombie, which has released everything. */
bool pdl_os_has_ended(pid_t process);
/* Writes a text without blanks that is different after each start of the machine. Writes an empty
 * text when the system has no such name. */
void pdl_os_boot_name(char *out, size_t size);
/* Writes the path of the program that runs. Returns its length; 0 when the path is unknown or does
 * not fit. */
size_t pdl_os_self(char *out, size_t size);

/* --- files --- */

/* pdl_os_modified_ns returns the time of the last change of a file's content, and pdl_os_changed_ns
 * that of its entry. Both times are in nanoseconds. */
int64_t pdl_os_modified_ns(const struct stat *st);
int64_t pdl_os_changed_ns(const struct stat *st);
/* Returns the time of the clock by which the system stamps files. */
int64_t pdl_os_file_clock_ns(void);
/* Sets the size of a regular file, and whether it still has a name. Returns false for a file of
 * another kind. Unlike fstat, it does not read the times of the file: Linux then writes them more
 * often, and each sync has to write them, too. */
bool pdl_os_size_and_name(int fd, int64_t *size, bool *has_name);
/* Writes the content of a file to the disk. Returns false with errno. */
PDL_MUST bool pdl_os_sync(int fd);
/* Opens a new file that has no name yet, in a folder. Returns -1 when the system has no files
 * without a name, or when pdl_os_name could not give the file a name later. */
int pdl_os_open_nameless(const char *folder, mode_t mode);
PDL_MUST bool pdl_os_name(int fd, const char *path);
/* The flag of open() for a file that is only located: no right to read it is needed. */
extern const int pdl_os_only_found;
/* Opens a path. Fails when a part of the path is a link. Returns -1 with errno. */
int pdl_os_open_exactly(const char *path, int flags, unsigned mode);
/* Opens a path below the folder dir. Fails when a link leads out of dir. Returns -1 with errno. */
int pdl_os_open_beneath(int dir, const char *path, int flags, unsigned mode);
/* Returns the kind of the network file system on which the path lies; NULL for a local one. */
const char *pdl_os_network_files(const char *path);
/* Returns the process that has an flock on the file with this inode number; 0 when the process is
 * unknown. */
pid_t pdl_os_lock_holder(uint64_t inode);

/* --- streams, pipes, sockets --- */

/* pdl_os_pending returns the number of bytes that wait in the buffer of a stream.
 * pdl_os_buffer_size returns the size of that buffer. pdl_os_purge discards the bytes. */
size_t pdl_os_pending(FILE *f);
size_t pdl_os_buffer_size(FILE *f);
void pdl_os_purge(FILE *f);
/* Opens a pipe that is not inherited. Returns false with errno. */
PDL_MUST bool pdl_os_pipe(int ends[2], bool nonblocking);
/* Returns the number of bytes that a pipe can hold. */
int pdl_os_pipe_size(int fd);
/* Opens a socket that is not inherited. Returns -1 with errno. */
int pdl_os_socket(int family, int type, int protocol, bool nonblocking);
/* Accepts a connection, whose descriptor is not inherited and does not block. Returns -1 with
 * errno. */
int pdl_os_accept(int listener);
/* Returns true when the other side has closed the connection or its half of it. */
bool pdl_os_is_left(int socket);

/* --- one descriptor for many sockets, which is readable when one of them is ready --- */

enum { PDL_OS_READ = 1, PDL_OS_WRITE = 2, PDL_OS_FAILED = 4 };
typedef struct pdl_os_ready {
    void *what;
    unsigned events;
} pdl_os_ready;
/* Makes a poller, which is closed with close(). Returns -1 with errno. */
int pdl_os_poller(void);
/* Changes which events of a socket the poller reports, from `before` to `events`. 0 means no
 * events. Returns false with errno. */
bool pdl_os_poller_set(int poller, int fd, unsigned before, unsigned events, void *what);
/* Takes sockets that are ready now. Returns their number. */
int pdl_os_poller_take(int poller, pdl_os_ready *out, int most);

#endif
