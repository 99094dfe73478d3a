/* SPDX-License-Identifier: Apache-2.0 */
/* next.c - finding what other libraries of this process have.
 *
 * The loader's own order comes first. But a BLAS that came with a plugin, as NumPy's does, is in
 * no list but that plugin's: then every library that is loaded is asked in turn. */
#define _GNU_SOURCE /* RTLD_NEXT, dladdr, dl_iterate_phdr */
#include "blas/blas.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

/* ---- Libraries ------------------------------------------------------------------------------------ */

/* Files of loaded libraries, one after the other, each ending in 0. */
typedef struct files {
    char *text;
    size_t used, capacity;
} files_t;

static int add_file(struct dl_phdr_info *info, size_t size, void *user)
{
    files_t *list = user;
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

/* Every copy of this library has it, and no other library does. */
const char rung_blas_library = 1;

/* Whether a symbol lies in this library, or in another copy of it: two packages may bring one each, and a call that one
 * of them hands on to the other would come back. The copy is known by its own rung_blas_library; that of a library
 * which it merely links lies elsewhere. */
static bool is_ours(const void *address)
{
    Dl_info of_symbol, of_marker;
    if (!dladdr(address, &of_symbol) || !of_symbol.dli_fname)
        return false;
    if (dladdr(&rung_blas_library, &of_marker) && of_marker.dli_fbase == of_symbol.dli_fbase)
        return true; /* whether or not the loader can open this library by its name */
    void *library = dlopen(of_symbol.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    const void *marker = library ? dlsym(library, "rung_blas_library") : NULL;
    bool is_ours = marker && dladdr(marker, &of_marker) && of_marker.dli_fbase == of_symbol.dli_fbase;
    if (library)
        dlclose(library);
    return is_ours;
}

/* The names are gathered first: the loader must not be called while it tells them. A library in
 * which something was found stays loaded. */
static void *ask_all(const char *name)
{
    files_t list = {0};
    void *found = NULL;
    dl_iterate_phdr(add_file, &list);
    for (size_t at = 0; !found && at < list.used; at += strlen(list.text + at) + 1) {
        void *library = dlopen(list.text + at, RTLD_LAZY | RTLD_NOLOAD);
        void *symbol = library ? dlsym(library, name) : NULL;
        found = symbol && !is_ours(symbol) ? symbol : NULL;
        if (library && !found)
            dlclose(library);
    }
    free(list.text);
    return found;
}

void *rungi_blas_find(const char *name)
{
    void *symbol = dlsym(RTLD_DEFAULT, name);
    return symbol ? symbol : ask_all(name);
}

/* ---- The next function ------------------------------------------------------------------------------ */

/* In the loader's order; its library stays loaded, since the function is remembered. NULL where that is a copy of this
 * one. */
static void *ask_next(const char *name)
{
    Dl_info info;
    void *symbol = dlsym(RTLD_NEXT, name);
    if (!symbol || is_ours(symbol))
        return NULL;
    if (dladdr(symbol, &info) && info.dli_fname)
        dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    return symbol;
}

/* POSIX lets a data pointer hold a function's address; C does not, so it is copied and not
 * converted. One that was not found may be there later. */
rungi_blas_function *rungi_blas_next(rungi_blas_name *name)
{
    rungi_blas_function *next = atomic_load_explicit(&name->next, memory_order_acquire);
    if (next)
        return next;
    void *symbol = ask_next(name->name);
    if (!symbol)
        symbol = ask_all(name->name);
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
