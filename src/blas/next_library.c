/* SPDX-License-Identifier: Apache-2.0 */
/* next_library.c - finds functions of other BLAS libraries in this process.
 *
 * The order of the dynamic loader comes first. The BLAS of a plugin, such as NumPy's, is visible only to the plugin:
 * then all loaded libraries are searched. */
#define _GNU_SOURCE /* RTLD_NEXT, dladdr, dl_iterate_phdr */
#include "blas/blas.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

/* ---- Libraries ------------------------------------------------------------------------------------ */

/* Paths of loaded libraries, each terminated by a zero byte. */
typedef struct files {
    char *text;
    size_t used, capacity;
} library_list_t;

static int add_file(struct dl_phdr_info *info, size_t size, void *user)
{
    library_list_t *list = user;
    size_t length = strlen(info->dlpi_name) + 1;
    (void)size;
    if (length == 1) /* the program itself, which the loader's order has */
        return 0;
    if (list->used + length > list->capacity) {
        size_t capacity = 2 * (list->used + length);
        char *text = realloc(list->text, capacity);
        if (!text)
            return 1;
        list->text = text;
        list->capacity = capacity;
    }
    memcpy(list->text + list->used, info->dlpi_name, length);
    list->used += length;
    return 0;
}

/* Exported by every copy of this library and by no other library. */
const char rung_blas_library = 1;

/* Returns whether a symbol belongs to this library or to another copy of it. Two packages may contain one copy each, and
 * a call that is forwarded between them would return. A copy defines rung_blas_library itself; a library that only links
 * a copy does not. */
static bool is_own_symbol(const void *address)
{
    Dl_info of_symbol, of_marker;
    if (!dladdr(address, &of_symbol) || !of_symbol.dli_fname)
        return false;
    if (dladdr(&rung_blas_library, &of_marker) && of_marker.dli_fbase == of_symbol.dli_fbase)
        return true; /* even if the loader cannot open this library by name */
    void *library = dlopen(of_symbol.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    const void *marker = library ? dlsym(library, "rung_blas_library") : NULL;
    bool is_ours = marker && dladdr(marker, &of_marker) && of_marker.dli_fbase == of_symbol.dli_fbase;
    if (library)
        dlclose(library);
    return is_ours;
}

/* Collects the paths first, because the loader must not be called during its enumeration. A library that provides a
 * function stays loaded. */
static void *search_loaded_libraries(const char *name)
{
    library_list_t list = {0};
    void *found = NULL;
    dl_iterate_phdr(add_file, &list);
    for (size_t at = 0; !found && at < list.used; at += strlen(list.text + at) + 1) {
        void *library = dlopen(list.text + at, RTLD_LAZY | RTLD_NOLOAD);
        void *symbol = library ? dlsym(library, name) : NULL;
        found = symbol && !is_own_symbol(symbol) ? symbol : NULL;
        if (library && !found)
            dlclose(library);
    }
    free(list.text);
    return found;
}

void *rungi_blas_find_symbol(const char *name)
{
    void *symbol = dlsym(RTLD_DEFAULT, name);
    return symbol ? symbol : search_loaded_libraries(name);
}

/* ---- The next function ------------------------------------------------------------------------------ */

/* Searches in the loader's order. The library stays loaded, because the function is cached. Returns NULL for a copy of
 * this library. */
static void *search_loader_order(const char *name)
{
    Dl_info info;
    void *symbol = dlsym(RTLD_NEXT, name);
    if (!symbol || is_own_symbol(symbol))
        return NULL;
    if (dladdr(symbol, &info) && info.dli_fname)
        dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    return symbol;
}

/* POSIX lets a data pointer hold the address of a function, but C does not allow the conversion, so the address is
 * copied. A function that is missing now may be loaded later. */
rungi_blas_function *rungi_blas_next_function(rungi_blas_symbol *name)
{
    rungi_blas_function *next = atomic_load_explicit(&name->next, memory_order_acquire);
    if (next)
        return next;
    void *symbol = search_loader_order(name->name);
    if (!symbol)
        symbol = search_loaded_libraries(name->name);
    if (!symbol)
        return NULL;
    memcpy(&next, &symbol, sizeof next);
    atomic_store_explicit(&name->next, next, memory_order_release);
    return next;
}

const char *rungi_blas_file_of(rungi_blas_function *function)
{
    void *address;
    Dl_info info;
    memcpy(&address, &function, sizeof address);
    return dladdr(address, &info) && info.dli_fname ? info.dli_fname : "?";
}
