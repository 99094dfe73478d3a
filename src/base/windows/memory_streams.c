/* SPDX-License-Identifier: Apache-2.0 */
/* memory_streams.c - streams in memory. The C library of Windows has none, so they are temporary files, and fclose() copies
 * the text to memory. */
#include <stdbool.h>

#include "base/windows/windows_api.h"
#undef fclose

/* An open stream whose text fclose() copies to memory. */
typedef struct memory_stream {
    struct memory_stream *next;
    FILE *file;
    char **text; /* of open_memstream(): allocated */
    size_t *bytes;
    char *fixed; /* of fmemopen() */
    size_t capacity;
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

/* Opens a file for a stream and adds the stream to the list. */
static FILE *open_stream(memory_stream_t about)
{
    memory_stream_t *stream = malloc(sizeof *stream);
    FILE *file = stream ? open_temporary() : NULL;
    if (!file) {
        free(stream);
        return NULL;
    }
    *stream = about;
    stream->file = file;
    AcquireSRWLockExclusive(&list_lock);
    stream->next = streams;
    streams = stream;
    ReleaseSRWLockExclusive(&list_lock);
    return file;
}

/* Callers read, or write from the beginning. */
FILE *fmemopen(void *data, size_t bytes, const char *mode)
{
    if (mode[0] == 'w')
        return open_stream((memory_stream_t){.fixed = data, .capacity = bytes});
    FILE *file = open_temporary();
    if (file && fwrite(data, 1, bytes, file) == bytes && fseek(file, 0, SEEK_SET) == 0)
        return file;
    if (file)
        (void)fclose(file);
    return NULL;
}

FILE *open_memstream(char **text, size_t *bytes)
{
    FILE *file = open_stream((memory_stream_t){.text = text, .bytes = bytes});
    if (file) {
        *text = NULL;
        *bytes = 0;
    }
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

/* Copies the text of a stream to memory: to new memory, or as much as the caller's memory takes. */
static bool copy_text(const memory_stream_t *stream)
{
    int64_t length = fflush(stream->file) == 0 ? _filelengthi64(_fileno(stream->file)) : -1;
    if (length < 0)
        return false;
    size_t bytes = stream->fixed && (size_t)length > stream->capacity ? stream->capacity : (size_t)length;
    char *text = stream->fixed ? stream->fixed : malloc(bytes + 1);
    if (!text)
        return false;
    rewind(stream->file);
    bool is_read = fread(text, 1, bytes, stream->file) == bytes;
    if (!stream->fixed || bytes < stream->capacity)
        text[bytes] = '\0';
    if (!stream->fixed) {
        *stream->text = text;
        *stream->bytes = bytes;
    }
    return is_read;
}

int rungi_windows_fclose(FILE *file)
{
    memory_stream_t *stream = take_stream(file);
    bool is_copied = !stream || copy_text(stream);
    free(stream);
    return fclose(file) == 0 && is_copied ? 0 : EOF;
}
