/* SPDX-License-Identifier: Apache-2.0 */
/* class_files.c - finds the submissions of a class; see class.h. Names and contents of folders come from students. */
#define _GNU_SOURCE /* scandir, strdup */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/failure.h"
#include "common/text.h"
#include "grade/class.h"
#include "process/supervise.h"

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Copies a name without ".cu". Control characters would change a terminal. */
static void copy_name(const char *from, char *name, size_t capacity)
{
    size_t length = strlen(from) - (lab_path_ends_in(from, ".cu") ? 3 : 0);
    snprintf(name, capacity, "%.*s", (int)length, from);
    for (char *at = name; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            *at = '?';
}

/* Returns FOLDER/NAME for free(), or NULL. */
static char *join(const char *folder, const char *name)
{
    size_t bytes = strlen(folder) + strlen(name) + 2;
    char *path = malloc(bytes);
    if (path)
        snprintf(path, bytes, "%s/%s", folder, name);
    return path;
}

static lab_class_student *add_student(lab_class *class, const char *name)
{
    lab_class_student *student = &class->students[class->count];
    *student = (lab_class_student){.path = join(class->folder, name)};
    student->result = lab_shared_memory_allocate(sizeof *student->result);
    copy_name(name, student->name, sizeof student->name);
    class->count++;
    return student->path && student->result ? student : NULL;
}

/* Returns the index of the submission among the entries of a student's folder; -1 if it is missing or ambiguous. */
static int choose_entry(const lab_class *class, struct dirent **entries, int count, int *files)
{
    char wanted[LAB_CLASS_NAME_BYTES + 8];
    int first = -1, named = -1;
    snprintf(wanted, sizeof wanted, "%s.cu", class->task->name);
    *files = 0;
    for (int i = 0; i < count; i++) {
        if (!lab_path_ends_in(entries[i]->d_name, ".cu"))
            continue;
        first = (*files)++ == 0 ? i : first;
        named = strcmp(entries[i]->d_name, wanted) == 0 ? i : named;
    }
    return named >= 0 ? named : *files == 1 ? first : -1;
}

/* Changes the path of a student from the folder to the submission in it. Returns false if memory is exhausted. */
static bool choose_file(const lab_class *class, lab_class_student *student)
{
    struct dirent **entries = NULL;
    int files = 0, count = scandir(student->path, &entries, is_visible, alphasort);
    int chosen = choose_entry(class, entries, count, &files);
    char *path = chosen >= 0 ? join(student->path, entries[chosen]->d_name) : NULL;
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
    if (path) {
        free(student->path);
        student->path = path;
    } else {
        snprintf(student->missing, sizeof student->missing,
                 count < 0    ? "the folder cannot be read"
                 : files == 0 ? "the folder has no file that ends in .cu"
                              : "the folder has several files that end in .cu; name one of them %.120s.cu",
                 class->task->name);
    }
    return path || chosen < 0;
}

/* Refuses what is not a plain file: a link could name any file of the teacher. */
static void check_file(lab_class_student *student)
{
    struct stat info;
    if (*student->missing)
        return;
    if (lstat(student->path, &info) != 0)
        snprintf(student->missing, sizeof student->missing, "it cannot be read: %s", strerror(errno));
    else if (S_ISLNK(info.st_mode))
        snprintf(student->missing, sizeof student->missing, "it is a symbolic link, which is not followed");
    else if (!S_ISREG(info.st_mode))
        snprintf(student->missing, sizeof student->missing, "it is not a regular file");
}

static bool add_entry(lab_class *class, const char *name)
{
    struct stat info;
    char *path = join(class->folder, name);
    bool is_folder = path && stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    bool is_link = path && lstat(path, &info) == 0 && S_ISLNK(info.st_mode);
    free(path);
    if (!path)
        return false;
    if (!is_folder && !lab_path_ends_in(name, ".cu"))
        return true;
    lab_class_student *student = add_student(class, name);
    if (!student || (is_folder && !is_link && !choose_file(class, student)))
        return false;
    check_file(student);
    return true;
}

bool lab_class_read(lab_class *class, char *why, size_t capacity)
{
    struct dirent **entries = NULL;
    int count = scandir(class->folder, &entries, is_visible, alphasort);
    if (count < 0)
        return lab_set_reason(why, capacity, "%s: %s", class->folder, strerror(errno));
    class->students = calloc((size_t)count + 1, sizeof *class->students);
    bool good = class->students != NULL;
    for (int i = 0; i < count; i++) {
        good = good && class->count < LAB_CLASS_STUDENTS_MAX && add_entry(class, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    if (class->count == LAB_CLASS_STUDENTS_MAX)
        return lab_set_reason(why, capacity, "%s has more than %d submissions; grade them in several folders",
                              class->folder, LAB_CLASS_STUDENTS_MAX - 1);
    if (!good)
        return lab_set_reason(why, capacity, "out of memory");
    return class->count > 0 ||
           lab_set_reason(why, capacity, "%s has no file that ends in .cu, and no folder of a student", class->folder);
}

void lab_class_free(lab_class *class)
{
    for (int i = 0; i < class->count; i++) {
        free(class->students[i].path);
        free(class->students[i].variant);
        lab_shared_memory_free(class->students[i].result, sizeof *class->students[i].result);
    }
    free(class->students);
    class->students = NULL;
    class->count = 0;
}
