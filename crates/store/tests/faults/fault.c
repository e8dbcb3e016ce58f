/* Loaded with LD_PRELOAD: makes calls that write to some files fail.
   $FAULT_FILES is a part of the paths of these files. The file $FAULT_SWITCH says what fails and how, as
   `ENOSPC write`, `EIO write` or `EIO sync`; as long as it is absent, nothing fails. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

/* The error for a call of this kind on this descriptor, or 0. */
static int fault(int descriptor, const char *kind) {
    const char *files = getenv("FAULT_FILES"), *file = getenv("FAULT_SWITCH");
    char link[64], path[4096], text[64];
    int saved = errno, error = 0;
    if (files == NULL || file == NULL) return 0;
    int opened = open(file, O_RDONLY | O_CLOEXEC);
    if (opened >= 0) {
        ssize_t length = read(opened, text, sizeof text - 1);
        close(opened);
        text[length > 0 ? length : 0] = 0;
        snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
        length = readlink(link, path, sizeof path - 1);
        path[length > 0 ? length : 0] = 0;
        if (strstr(path, files) != NULL && strstr(text, kind) != NULL)
            error = strncmp(text, "ENOSPC", 6) == 0 ? ENOSPC : EIO;
    }
    errno = saved;
    return error;
}

#define FAILING(kind, result, name, parameters, arguments)                      \
    result name parameters {                                                    \
        static result(*real) parameters;                                        \
        if (real == NULL) real = (result(*) parameters)dlsym(RTLD_NEXT, #name); \
        int error = fault(descriptor, kind);                                    \
        if (error == 0) return real arguments;                                  \
        errno = error;                                                          \
        return -1;                                                              \
    }

FAILING("write", ssize_t, write, (int descriptor, const void *bytes, size_t count), (descriptor, bytes, count))
FAILING("write", ssize_t, pwrite, (int descriptor, const void *bytes, size_t count, off_t at),
        (descriptor, bytes, count, at))
FAILING("write", ssize_t, pwrite64, (int descriptor, const void *bytes, size_t count, off64_t at),
        (descriptor, bytes, count, at))
FAILING("write", ssize_t, writev, (int descriptor, const struct iovec *parts, int count),
        (descriptor, parts, count))
FAILING("write", ssize_t, pwritev, (int descriptor, const struct iovec *parts, int count, off_t at),
        (descriptor, parts, count, at))
FAILING("write", ssize_t, pwritev64, (int descriptor, const struct iovec *parts, int count, off64_t at),
        (descriptor, parts, count, at))
FAILING("write", int, ftruncate, (int descriptor, off_t length), (descriptor, length))
FAILING("write", int, ftruncate64, (int descriptor, off64_t length), (descriptor, length))
FAILING("sync", int, fsync, (int descriptor), (descriptor))
FAILING("sync", int, fdatasync, (int descriptor), (descriptor))
