/* SPDX-License-Identifier: Apache-2.0 */
/* output_file.c - see output_file.h. */
#include "io/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_io.h"

bool lab_output_is_same_file(const char *name, const char *input)
{
    struct stat output, other;
    return stat(name, &output) == 0 && stat(input, &other) == 0 && S_ISREG(output.st_mode) &&
           output.st_dev == other.st_dev && output.st_ino == other.st_ino;
}

/* Creates a file under a name that no file has, with the permissions of the file that it replaces. */
static int create_temporary(lab_output_file *file, const struct stat *before)
{
    enum { NAME_TRIES_MAX = 100 };
    int descriptor = -1;
    errno = EEXIST;
    for (int i = 0; i < NAME_TRIES_MAX && descriptor < 0 && errno == EEXIST; i++) {
        snprintf(file->temporary, sizeof file->temporary, "%s.rung-%ld-%d", file->path, (long)getpid(), i);
        descriptor = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    }
    if (descriptor >= 0 && before)
        fchmod(descriptor, before->st_mode & 0777); /* if that fails, the permissions are those of a new file */
    return descriptor;
}

/* Removes the temporary file, if there is one, and sets errno. */
static void remove_temporary(lab_output_file *file, int number)
{
    if (*file->temporary)
        unlink(file->temporary);
    errno = number;
}

bool lab_output_open(const char *name, lab_output_file *file)
{
    struct stat about;
    *file = (lab_output_file){.stream = NULL};
    if (!rungi_follow_links(name, file->path))
        return false;
    bool exists = stat(file->path, &about) == 0;
    if (exists && S_ISDIR(about.st_mode)) {
        errno = EISDIR;
        return false;
    }
    file->is_direct = exists && !S_ISREG(about.st_mode);
    int descriptor = file->is_direct ? open(file->path, O_WRONLY | O_CLOEXEC)
                                     : create_temporary(file, exists ? &about : NULL);
    if (descriptor < 0) {
        *file->temporary = '\0'; /* belongs to another process */
        return false;
    }
    file->stream = fdopen(descriptor, "w");
    if (file->stream)
        return true;
    int number = errno;
    close(descriptor);
    remove_temporary(file, number);
    return false;
}

bool lab_output_commit(lab_output_file *file)
{
    errno = 0;
    bool failed = fflush(file->stream) != 0 || ferror(file->stream) != 0; /* flushing again sets errno again */
    int number = errno;
    if (fclose(file->stream) != 0 && !failed) {
        failed = true;
        number = errno;
    }
    file->stream = NULL;
    if (!failed && (file->is_direct || rename(file->temporary, file->path) == 0))
        return true;
    if (!failed)
        number = errno;
    remove_temporary(file, number ? number : EIO); /* 0: a write before the last one failed, and its errno is gone */
    return false;
}

void lab_output_discard(lab_output_file *file)
{
    if (!file->stream)
        return;
    fclose(file->stream);
    file->stream = NULL;
    remove_temporary(file, errno);
}

/* Opening a pipe would wait for its reader, so a file that is written directly is not opened. */
static bool can_write(const char *name)
{
    lab_output_file file;
    struct stat about;
    bool exists = stat(name, &about) == 0;
    if (exists && access(name, W_OK) != 0)
        return false;
    if (exists && !S_ISREG(about.st_mode))
        return true;
    if (!lab_output_open(name, &file))
        return false;
    lab_output_discard(&file);
    return true;
}

const char *lab_output_check(const char *name)
{
    static _Thread_local char why[LAB_OUTPUT_PATH_BYTES + 256];
    struct stat about;
    if (stat(name, &about) == 0 && S_ISDIR(about.st_mode))
        snprintf(why, sizeof why, "%.*s is a directory; give a file in it with --output", LAB_OUTPUT_PATH_BYTES, name);
    else if (can_write(name))
        return NULL;
    else
        snprintf(why, sizeof why, "%.*s cannot be written: %s; give a file in a writable folder with --output",
                 LAB_OUTPUT_PATH_BYTES, name, strerror(errno));
    return why;
}

void lab_csv_write(FILE *out, const char *text)
{
    bool is_quoted = strpbrk(text, ",\"\n\r") != NULL;
    if (is_quoted)
        fputc('"', out);
    for (; *text; text++)
        fprintf(out, "%s%c", *text == '"' ? "\"" : "", *text);
    if (is_quoted)
        fputc('"', out);
}
