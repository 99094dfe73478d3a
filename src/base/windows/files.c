/* SPDX-License-Identifier: Apache-2.0 */
/* files.c - descriptors of files. Files are opened so that an open file can be renamed and removed, as on other systems. */
#include <stdarg.h>
#include <stdbool.h>

#include "base/windows/windows_api.h"

int rungi_windows_fail(void)
{
    static const struct {
        DWORD error;
        int number;
    } numbers[] = {
        {ERROR_FILE_NOT_FOUND, ENOENT},    {ERROR_PATH_NOT_FOUND, ENOENT},
        {ERROR_INVALID_NAME, ENOENT},      {ERROR_BAD_NETPATH, ENOENT},
        {ERROR_FILE_EXISTS, EEXIST},       {ERROR_ALREADY_EXISTS, EEXIST},
        {ERROR_ACCESS_DENIED, EACCES},     {ERROR_SHARING_VIOLATION, EBUSY},
        {ERROR_LOCK_VIOLATION, EAGAIN},    {ERROR_IO_PENDING, EAGAIN},
        {ERROR_DISK_FULL, ENOSPC},         {ERROR_HANDLE_DISK_FULL, ENOSPC},
        {ERROR_NOT_ENOUGH_MEMORY, ENOMEM}, {ERROR_INVALID_HANDLE, EBADF},
        {ERROR_BROKEN_PIPE, EPIPE},        {ERROR_FILENAME_EXCED_RANGE, ENAMETOOLONG},
    };
    DWORD error = GetLastError();
    errno = EIO;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i].error == error)
            errno = numbers[i].number;
    return -1;
}

static HANDLE handle_of(int file)
{
    return (HANDLE)_get_osfhandle(file);
}

/* ---- Opening -------------------------------------------------------------------------------------------- */

int open(const char *path, int flags, ...)
{
    const int access = flags & (O_RDONLY | O_WRONLY | O_RDWR);
    DWORD wanted = access == O_RDONLY   ? GENERIC_READ
                   : access == O_WRONLY ? GENERIC_WRITE
                                        : GENERIC_READ | GENERIC_WRITE;
    DWORD creation = flags & O_CREAT   ? (flags & O_EXCL    ? CREATE_NEW
                                          : flags & O_TRUNC ? CREATE_ALWAYS
                                                            : OPEN_ALWAYS)
                     : flags & O_TRUNC ? TRUNCATE_EXISTING
                                       : OPEN_EXISTING;
    if (flags & O_DIRECTORY) {
        errno = ENOSYS;
        return -1;
    }
    if (flags & O_APPEND)
        wanted = (wanted & ~(DWORD)GENERIC_WRITE) | FILE_APPEND_DATA;
    DWORD attributes = GetFileAttributesA(path);
    if (attributes != INVALID_FILE_ATTRIBUTES && attributes & FILE_ATTRIBUTE_DIRECTORY) {
        errno = EISDIR;
        return -1;
    }
    HANDLE handle = CreateFileA(path, wanted, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, creation,
                                FILE_ATTRIBUTE_NORMAL, NULL);
    if (handle == INVALID_HANDLE_VALUE)
        return rungi_windows_fail();
    int file = _open_osfhandle((intptr_t)handle, (flags & (O_APPEND | O_RDONLY)) | _O_BINARY | _O_NOINHERIT);
    if (file < 0)
        CloseHandle(handle);
    return file;
}

FILE *rungi_windows_fopen(const char *path, const char *mode)
{
    const bool updates = strchr(mode, '+') != NULL;
    const char *plain = mode[0] == 'r'   ? (updates ? "r+b" : "rb")
                        : mode[0] == 'a' ? (updates ? "a+b" : "ab")
                                         : (updates ? "w+b" : "wb");
    int flags = mode[0] == 'r' ? 0 : mode[0] == 'a' ? O_CREAT | O_APPEND : O_CREAT | O_TRUNC;
    flags |= updates ? O_RDWR : mode[0] == 'r' ? O_RDONLY : O_WRONLY;
    int file = open(path, flags | (strchr(mode, 'x') ? O_EXCL : 0) | O_CLOEXEC, 0666);
    FILE *opened = file < 0 ? NULL : _fdopen(file, plain);
    if (file >= 0 && !opened)
        _close(file);
    return opened;
}

int openat(int folder, const char *path, int flags, ...)
{
    (void)folder, (void)path, (void)flags;
    errno = ENOSYS;
    return -1;
}

int pipe2(int ends[2], int flags)
{
    return _pipe(ends, 1 << 16, _O_BINARY | (flags & O_CLOEXEC ? _O_NOINHERIT : 0));
}

int pipe(int ends[2])
{
    return pipe2(ends, 0);
}

/* ---- Contents ------------------------------------------------------------------------------------------- */

static OVERLAPPED at_offset(int64_t offset)
{
    return (OVERLAPPED){.Offset = (DWORD)offset, .OffsetHigh = (DWORD)(offset >> 32)};
}

static DWORD at_most_1_gib(size_t bytes)
{
    return bytes < (size_t)1 << 30 ? (DWORD)bytes : (DWORD)1 << 30;
}

ssize_t pread(int file, void *data, size_t bytes, int64_t offset)
{
    OVERLAPPED position = at_offset(offset);
    DWORD count = 0;
    if (ReadFile(handle_of(file), data, at_most_1_gib(bytes), &count, &position) || GetLastError() == ERROR_HANDLE_EOF)
        return (ssize_t)count;
    return rungi_windows_fail();
}

ssize_t pwrite(int file, const void *data, size_t bytes, int64_t offset)
{
    OVERLAPPED position = at_offset(offset);
    DWORD count = 0;
    return WriteFile(handle_of(file), data, at_most_1_gib(bytes), &count, &position) ? (ssize_t)count
                                                                                     : rungi_windows_fail();
}

ssize_t rungi_windows_read(int file, void *data, size_t bytes)
{
    return _read(file, data, at_most_1_gib(bytes));
}

ssize_t rungi_windows_write(int file, const void *data, size_t bytes)
{
    return _write(file, data, at_most_1_gib(bytes));
}

int fsync(int file)
{
    return _commit(file);
}

int fdatasync(int file)
{
    return _commit(file);
}

int fallocate(int file, int mode, int64_t offset, int64_t bytes)
{
    (void)mode;
    int number = _chsize_s(file, offset + bytes);
    errno = number;
    return number == 0 ? 0 : -1;
}

/* ---- Locks and descriptors ------------------------------------------------------------------------------- */

/* Locks on Windows also forbid reading. So one byte behind every file is locked, and the contents stay readable. */
static int lock(int file, bool is_locking)
{
    OVERLAPPED position = at_offset((int64_t)1 << 62);
    BOOL is_done = is_locking ? LockFileEx(handle_of(file), LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, 1,
                                           0, &position)
                              : UnlockFileEx(handle_of(file), 0, 1, 0, &position);
    return is_done ? 0 : rungi_windows_fail();
}

int fcntl(int file, int command, ...)
{
    va_list arguments;
    int result = 0;
    va_start(arguments, command);
    if (command == F_OFD_SETLK)
        result = lock(file, va_arg(arguments, struct flock *)->l_type != F_UNLCK);
    else if (command == F_DUPFD_CLOEXEC)
        result = _dup(file);
    va_end(arguments);
    return result;
}

int flock(int file, int operation)
{
    return lock(file, (operation & LOCK_EX) != 0);
}

/* ---- Status ---------------------------------------------------------------------------------------------- */

static struct timespec time_of(FILETIME time)
{
    const int64_t from_1601_to_1970 = 11644473600;
    int64_t ticks = (int64_t)time.dwHighDateTime << 32 | time.dwLowDateTime; /* of 100 ns */
    return (struct timespec){.tv_sec = ticks / 10000000 - from_1601_to_1970, .tv_nsec = (long)(ticks % 10000000 * 100)};
}

static int status_of_handle(HANDLE handle, struct stat *status)
{
    BY_HANDLE_FILE_INFORMATION about;
    *status = (struct stat){.st_nlink = 1};
    DWORD type = GetFileType(handle);
    if (type != FILE_TYPE_DISK) {
        status->st_mode = type == FILE_TYPE_PIPE ? S_IFIFO : S_IFCHR;
        return 0;
    }
    if (!GetFileInformationByHandle(handle, &about))
        return rungi_windows_fail();
    bool is_folder = about.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY;
    status->st_mode = (is_folder ? S_IFDIR | S_IXUSR : S_IFREG) | S_IRUSR |
                      (about.dwFileAttributes & FILE_ATTRIBUTE_READONLY ? 0 : S_IWUSR);
    status->st_dev = about.dwVolumeSerialNumber;
    status->st_ino = (uint64_t)about.nFileIndexHigh << 32 | about.nFileIndexLow;
    status->st_nlink = about.nNumberOfLinks;
    status->st_size = (int64_t)about.nFileSizeHigh << 32 | about.nFileSizeLow;
    status->st_mtim = time_of(about.ftLastWriteTime);
    status->st_ctim = time_of(about.ftCreationTime);
    return 0;
}

int rungi_file_status_of_open(int file, struct stat *status)
{
    HANDLE handle = handle_of(file);
    if (handle != INVALID_HANDLE_VALUE)
        return status_of_handle(handle, status);
    errno = EBADF;
    return -1;
}

int rungi_file_status(const char *path, struct stat *status)
{
    HANDLE handle = CreateFileA(path, FILE_READ_ATTRIBUTES, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                                NULL, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
    if (handle == INVALID_HANDLE_VALUE)
        return rungi_windows_fail();
    int result = status_of_handle(handle, status);
    CloseHandle(handle);
    return result;
}

int fstatat(int folder, const char *path, struct stat *status, int flags)
{
    (void)folder, (void)path, (void)status, (void)flags;
    errno = ENOSYS;
    return -1;
}

int futimens(int file, const struct timespec times[2])
{
    FILETIME now;
    (void)times; /* callers pass NULL: now */
    GetSystemTimeAsFileTime(&now);
    return SetFileTime(handle_of(file), NULL, NULL, &now) ? 0 : rungi_windows_fail();
}

/* Files belong to the user who creates them, with the permissions of their folder. */
int fchown(int file, unsigned user, unsigned group)
{
    (void)file, (void)user, (void)group;
    return 0;
}

int fchmod(int file, mode_t mode)
{
    (void)file, (void)mode;
    return 0;
}
