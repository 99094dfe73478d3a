/* SPDX-License-Identifier: Apache-2.0 */
/* mapped_file.c - see mapped_file.h. */
#include "weights/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/file_io.h"
#include "base/try.h"

/* Reads the whole file into memory. */
static rung_status copy_file(const char *path, int descriptor, rungi_mapped_file *file)
{
    enum { ALIGNMENT = 64 };
    rungi_allocator allocator = rungi_allocator_default();
    void *bytes = rungi_allocator_allocate(&allocator, file->count, ALIGNMENT);
    TRY(rungi_allocated(bytes));
    int64_t count = rungi_read_up_to(descriptor, bytes, file->count);
    if (count != file->count) {
        rungi_allocator_release(&allocator, bytes);
        return rungi_fail(RUNG_STATUS_IO, "%s cannot be read: %s", path,
                          count < 0 ? strerror(errno) : "it became shorter; it is still being written");
    }
    file->bytes = bytes;
    file->is_copy = true;
    return RUNG_OK;
}

static rung_status map_descriptor(const char *path, int descriptor, rungi_mapped_file *file)
{
    struct stat status;
    if (fstat(descriptor, &status) != 0)
        return rungi_fail(RUNG_STATUS_IO, "%s cannot be read: %s", path, strerror(errno));
    if (!S_ISREG(status.st_mode))
        return rungi_fail(RUNG_STATUS_IO, "%s is not a regular file; only regular files can be mapped", path);
    if (status.st_size <= 0)
        return rungi_invalid("%s is empty; it was truncated or is still being written", path);
    if ((uint64_t)status.st_size > SIZE_MAX / 2)
        return rungi_fail(RUNG_STATUS_TOO_LARGE, "%s is larger than the address space", path);
    file->count = (int64_t)status.st_size;
    void *bytes = mmap(NULL, (size_t)file->count, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (bytes == MAP_FAILED && (errno == ENOSYS || errno == ENODEV))
        return copy_file(path, descriptor, file);
    if (bytes == MAP_FAILED)
        return rungi_fail(RUNG_STATUS_IO, "%s cannot be mapped: %s", path, strerror(errno));
    file->bytes = bytes;
    return RUNG_OK;
}

/* O_NONBLOCK: opening a pipe would otherwise wait for a writer. */
rung_status rungi_mapped_file_open(const char *path, rungi_mapped_file *file)
{
    *file = (rungi_mapped_file){.bytes = NULL};
    int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (descriptor < 0)
        return rungi_fail(RUNG_STATUS_IO, "%s cannot be opened: %s", path, strerror(errno));
    rung_status status = map_descriptor(path, descriptor, file);
    close(descriptor);
    return status;
}

void rungi_mapped_file_close(rungi_mapped_file *file)
{
    if (!file->bytes)
        return;
    if (file->is_copy) {
        rungi_allocator allocator = rungi_allocator_default();
        rungi_allocator_release(&allocator, (void *)file->bytes);
    } else {
        munmap((void *)file->bytes, (size_t)file->count);
    }
    file->bytes = NULL;
}
