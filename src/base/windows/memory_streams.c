/* SPDX-License-Identifier: Apache-2.0 */
/* memory_streams.c - streams in memory. The C library of Windows has none, so they are temporary files, and fclose() copies
 * the text to memory. */
#include <stdbool.h>

#include "base/windows/windows_api.h"
#undef fclose

/* An open stream of open_memstream(). */
typedef struct memory_stream {
    struct memory_stream *next;
    FILE *file;
    char **text;
    size_t *bytes;
} memory_stream_t;

static SRWLOCK list_lock = SRWLOCK_INIT;
static memory_stream_t *streams;

/* Opens a file that disappears when it is closed. */
static FILE *open_temporary(void)
{
    char folder[MAX_PATH], path[MAX_PATH];
    if (GetTempPathA(sizeof folder, folder) == 0 || GetTempFileNameA(folder, "rng", 0, path) == 0) {
        rungi_windows_fail();
        return NULL;
    }
    HANDLE handle = CreateFileA(path, GENERIC_READ | GENERIC_WRITE, 0, NULL, CREATE_ALWAYS,
                                FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, NULL);
    int file = handle == INVALID_HANDLE_VALUE ? rungi_windows_fail()
                                              : _open_osfhandle((intptr_t)handle, _O_BINARY | _O_NOINHERIT);
    return file < 0 ? NULL : _fdopen(file, "w+b");
}

FILE *fmemopen(void *data, size_t bytes, const char *mode)
{
    (void)mode; /* callers read */
    FILE *file = open_temporary();
    if (file && fwrite(data, 1, bytes, file) == bytes && fseek(file, 0, SEEK_SET) == 0)
        return file;
    if (file)
        (void)fclose(file);
    return NULL;
}

FILE *open_memstream(char **text, size_t *bytes)
{
    memory_stream_t *stream = malloc(sizeof *stream);
    FILE *file = stream ? open_temporary() : NULL;
    if (!file) {
        free(stream);
        return NULL;
    }
    *text = NULL;
    *bytes = 0;
    *stream = (memory_stream_t){.file = file, .text = text, .bytes = bytes};
    AcquireSRWLockExclusive(&list_lock);
    stream->next = streams;
    streams = stream;
    ReleaseSRWLockExclusive(&list_lock);
    return file;
}

/* Removes the stream of a file from the list. Returns NULL for other files. */
static memory_stream_t *take_stream(const FILE *file)
{
    AcquireSRWLockExclusive(&list_lock);
    memory_stream_t **link = &streams;
    while (*link && (*link)->file != file)
        link = &(*link)->next;
    memory_stream_t *stream = *link;
    if (stream)
        *link = stream->next;
    ReleaseSRWLockExclusive(&list_lock);
    return stream;
}

/* Copies the text of a stream to memory. */
static bool copy_text(const memory_stream_t *stream)
{
    int64_t length = fflush(stream->file) == 0 ? _filelengthi64(_fileno(stream->file)) : -1;
    char *text = length < 0 ? NULL : malloc((size_t)length + 1);
    if (!text)
        return false;
    rewind(stream->file);
    bool is_read = fread(text, 1, (size_t)length, stream->file) == (size_t)length;
    text[length] = '\0';
    *stream->text = text;
    *stream->bytes = (size_t)length;
    return is_read;
}

int rungi_windows_fclose(FILE *file)
{
    memory_stream_t *stream = take_stream(file);
    bool is_copied = !stream || copy_text(stream);
    free(stream);
    return fclose(file) == 0 && is_copied ? 0 : EOF;
}
