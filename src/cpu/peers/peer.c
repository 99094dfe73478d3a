/* SPDX-License-Identifier: Apache-2.0 */
/* peer.c - finds the GEMM libraries of other projects and describes them. */
#define _GNU_SOURCE /* secure_getenv: a set-uid program loads nothing that its user names */
#include "cpu/peers/peer_library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dynamic_library.h"
#include "base/python_package.h"
#include "core/device_list.h"
#include "cpu/peers/ggml.h"
#include "cpu/peers/onednn.h"

/* ---- Where libraries are ------------------------------------------------------------------------------- */

/* The environment that this library was installed in comes first, then the activated one, then the system. */
static const rungi_library_location search_folders[] = {
    {rungi_own_packages, "/../.."},
    {rungi_own_packages, "/scipy_openblas32/lib"},
    {rungi_own_packages, "/llama_cpp/lib"},
    {"VIRTUAL_ENV", "/lib"},
    {"VIRTUAL_ENV", "/lib/python3*/site-packages/scipy_openblas32/lib"},
    {"VIRTUAL_ENV", "/lib/python3*/site-packages/llama_cpp/lib"},
    {"CONDA_PREFIX", "/lib"},
    {"MKLROOT", "/lib"},
    {"MKLROOT", "/lib/intel64"},
    {NULL, NULL},
    {NULL, "/opt/intel/oneapi/mkl/latest/lib"},
    {"HOME", "/.local/lib"},
    {"HOME", "/.local/lib/python3*/site-packages/scipy_openblas32/lib"},
    {"HOME", "/.local/lib/python3*/site-packages/llama_cpp/lib"},
    {NULL, "/usr/local/lib"},
    {NULL, "/usr/local/lib/python3*/dist-packages/scipy_openblas32/lib"},
    {NULL, "/usr/local/lib/python3*/site-packages/scipy_openblas32/lib"},
    {NULL, "/usr/local/lib/python3*/dist-packages/llama_cpp/lib"},
    {NULL, "/usr/local/lib/python3*/site-packages/llama_cpp/lib"},
};

/* File names of each library, preferred ones first. */
static const char *const files[RUNGI_PEER_COUNT][4] = {
    [RUNGI_PEER_MKL] = {"libmkl_rt.so.3", "libmkl_rt.so.2"},
    [RUNGI_PEER_OPENBLAS] = {"libscipy_openblas.so", "libopenblas.so.0", "libopenblas.so"},
    [RUNGI_PEER_BLIS] = {"libblis.so.4", "libblis.so"},
    [RUNGI_PEER_ONEDNN] = {"libdnnl.so.3"},
    [RUNGI_PEER_GGML] = {"libggml.so.0", "libggml.so"},
};

static const struct {
    const char *word, *title, *install;
} peers[] = {
#define X(id, word, title, products, install) {word, title, install},
    RUNGI_PEER_LIST(X)
#undef X
};

/* ---- Identifying a library -------------------------------------------------------------------------------- */

rungi_peer_function *rungi_peer_symbol(void *library, const char *prefix, const char *name, const char *suffix)
{
    char whole[96];
    rungi_peer_function *function = NULL;
    snprintf(whole, sizeof whole, "%s%s%s", prefix, name, suffix);
    rungi_library_symbol(library, whole, &function, sizeof function);
    return function;
}

static rungi_peer_function *find_symbol(void *library, const char *name)
{
    return rungi_peer_symbol(library, "", name, "");
}

/* Prefixes and suffixes of the names of OpenBLAS: plain, from PyPI, and with 64-bit integers. */
static const struct {
    const char *prefix, *suffix;
} decorations[] = {{"", ""}, {"scipy_", ""}, {"", "64_"}, {"scipy_", "64_"}};

enum { DECORATIONS = sizeof decorations / sizeof *decorations };

static rungi_peer_function *find_decorated(void *library, const char *name, int decoration)
{
    return rungi_peer_symbol(library, decorations[decoration].prefix, name, decorations[decoration].suffix);
}

static int find_decoration(void *library)
{
    int i = 0;
    while (i < DECORATIONS && !find_decorated(library, "openblas_get_config", i))
        i++;
    return i;
}

static bool is_mkl(void *library)
{
    return find_symbol(library, "MKL_Get_Version_String") && find_symbol(library, "cblas_sgemm_64");
}

static bool is_openblas(void *library)
{
    int decoration = find_decoration(library);
    return decoration < DECORATIONS && find_decorated(library, "cblas_sgemm", decoration);
}

static bool is_blis(void *library)
{
    return find_symbol(library, "bli_info_get_version_str") && find_symbol(library, "cblas_sgemm");
}

static bool (*const is_usable[RUNGI_PEER_COUNT])(void *library) = {
    [RUNGI_PEER_MKL] = is_mkl,
    [RUNGI_PEER_OPENBLAS] = is_openblas,
    [RUNGI_PEER_BLIS] = is_blis,
    [RUNGI_PEER_ONEDNN] = rungi_onednn_is_usable,
    [RUNGI_PEER_GGML] = rungi_ggml_is_usable,
};

static rungi_peer_kind detect_kind(void *library)
{
    int kind = 0;
    while (kind < RUNGI_PEER_COUNT && !is_usable[kind](library))
        kind++;
    return (rungi_peer_kind)kind;
}

/* ---- Describing a library ------------------------------------------------------------------------------- */

/* "Intel(R) oneAPI Math Kernel Library Version 2026.2-Product Build 20260915 for ..." */
static void describe_mkl(rungi_peer *peer)
{
    typedef void write_version_t(char *text, int capacity);
    char text[256] = "";
    write_version_t *write_version = (write_version_t *)find_symbol(peer->library, "MKL_Get_Version_String");
    if (write_version) /* a symbol that was found before may not be found without memory */
        write_version(text, sizeof text - 1);
    const char *version = strstr(text, "Version ");
    version = version ? version + strlen("Version ") : text;
    const char *end = strstr(version, " for ");
    snprintf(peer->version, sizeof peer->version, "%.*s", end ? (int)(end - version) : (int)strlen(version), version);
    peer->threads.swap_local = (int (*)(int))find_symbol(peer->library, "MKL_Set_Num_Threads_Local");
}

static bool is_listed(const char *const *names, const char *name)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

/* Warns if a library uses its kernels for an older processor, which leave AVX-512 or AVX2 unused. */
static void warn_if_older(rungi_peer *peer, const char *made_for, const char *const *avx512, const char *const *avx2,
                          rungi_isa isa, const char *advice)
{
    bool is_current = is_listed(avx512, made_for) || (isa < RUNGI_ISA_AVX512 && is_listed(avx2, made_for));
    if (*made_for && !is_current && isa >= RUNGI_ISA_AVX2)
        snprintf(peer->warning, sizeof peer->warning, "%s uses its kernels for %s, an older processor; set %s",
                 peer->title, made_for, advice);
}

static void describe_openblas(rungi_peer *peer, int decoration, rungi_isa isa)
{
    static const char *const avx512[] = {"SkylakeX", "Cooperlake", "SapphireRapids", NULL};
    static const char *const avx2[] = {"Haswell", "Zen", "Excavator", NULL};
    typedef char *get_text_t(void);
    char version[32] = "";
    get_text_t *get_config = (get_text_t *)find_decorated(peer->library, "openblas_get_config", decoration);
    get_text_t *get_core = (get_text_t *)find_decorated(peer->library, "openblas_get_corename", decoration);
    const char *core = get_core ? get_core() : "";
    if (!get_config || sscanf(get_config(), "OpenBLAS %31s", version) != 1)
        *version = '\0';
    snprintf(peer->version, sizeof peer->version, "%s (%s)", version, core);
    warn_if_older(peer, core, avx512, avx2, isa,
                  isa >= RUNGI_ISA_AVX512 ? "OPENBLAS_CORETYPE=SkylakeX" : "OPENBLAS_CORETYPE=Haswell");
    peer->threads.get = (int (*)(void))find_decorated(peer->library, "openblas_get_num_threads", decoration);
    peer->threads.set = (void (*)(int))find_decorated(peer->library, "openblas_set_num_threads", decoration);
}

static void describe_blis(rungi_peer *peer, rungi_isa isa)
{
    static const char *const avx512[] = {"skx", "knl", "zen4", "zen5", NULL};
    static const char *const avx2[] = {"haswell", "zen", "zen2", "zen3", "excavator", NULL};
    const char *(*get_version)(void) = (const char *(*)(void))find_symbol(peer->library, "bli_info_get_version_str");
    const char *(*get_name)(int id) = (const char *(*)(int))find_symbol(peer->library, "bli_arch_string");
    int (*get_id)(void) = (int (*)(void))find_symbol(peer->library, "bli_arch_query_id");
    rungi_peer_function *begin = find_symbol(peer->library, "bli_init");
    if (begin)
        begin(); /* BLIS aborts if it is queried before */
    const char *name = get_id && get_name ? get_name(get_id()) : "";
    snprintf(peer->version, sizeof peer->version, "%s (%s)", get_version ? get_version() : "", name);
    warn_if_older(peer, name, avx512, avx2, isa,
                  isa >= RUNGI_ISA_AVX512 ? "BLIS_ARCH_TYPE=0, which is skx" : "BLIS_ARCH_TYPE=3, which is haswell");
    peer->threads.get_ilp64 = (int64_t(*)(void))find_symbol(peer->library, "bli_thread_get_num_threads");
    peer->threads.set_ilp64 = (void (*)(int64_t))find_symbol(peer->library, "bli_thread_set_num_threads");
}

int64_t rungi_peer_set_threads(const rungi_peer *peer, int64_t threads)
{
    const rungi_peer_threads *own = &peer->threads;
    int64_t before = 0;
    if (own->swap_local)
        return own->swap_local((int)threads);
    if (own->get && own->set) {
        before = own->get();
        own->set((int)threads);
    } else if (own->get_ilp64 && own->set_ilp64) {
        before = own->get_ilp64();
        own->set_ilp64(threads);
    }
    return before;
}

/* Fills a peer whose library is open. Returns false if the library is no CBLAS. */
static bool describe_library(rungi_peer *peer, const rungi_cpu_features *features)
{
    int decoration = find_decoration(peer->library);
    bool is_there = true;
    peer->title = peer->kind < RUNGI_PEER_COUNT ? peers[peer->kind].title : "a CBLAS";
    switch (peer->kind) {
    case RUNGI_PEER_MKL:
        is_there = rungi_cblas_load(peer, "", "_64");
        describe_mkl(peer);
        break;
    case RUNGI_PEER_OPENBLAS:
        is_there = decoration < DECORATIONS &&
                   rungi_cblas_load(peer, decorations[decoration].prefix, decorations[decoration].suffix);
        if (is_there)
            describe_openblas(peer, decoration, features->isa);
        break;
    case RUNGI_PEER_BLIS:
        is_there = rungi_cblas_load(peer, "", "");
        describe_blis(peer, features->isa);
        break;
    case RUNGI_PEER_ONEDNN: rungi_onednn_describe(peer, features); return true;
    case RUNGI_PEER_GGML: rungi_ggml_describe(peer, features); return true;
    case RUNGI_PEER_OTHER:
    case RUNGI_PEER_ANY: is_there = rungi_cblas_load(peer, "", ""); break;
    }
    if (is_there)
        rungi_library_path(&peer->f32, peer->path, sizeof peer->path);
    return is_there;
}

/* ---- Finding -------------------------------------------------------------------------------------- */

/* Returns RUNGI_PEER_COUNT for an unknown word. */
static int kind_from_word(const char *word)
{
    int kind = 0;
    while (kind < RUNGI_PEER_COUNT && strcmp(word, peers[kind].word) != 0)
        kind++;
    return kind;
}

static bool is_library_choice(const char *value)
{
    return kind_from_word(value) < RUNGI_PEER_COUNT || strchr(value, '/');
}

const rungi_environment_variable rungi_peer_variable = {"RUNG_CPU_VENDOR",
                                                        "the path of a library, or one of"
#define X(id, word, title, products, install) " " word
                                                        RUNGI_PEER_LIST(X)
#undef X
                                                            ,
                                                        is_library_choice, true};

/* Returns the value of RUNG_CPU_VENDOR, or NULL. */
static const char *requested_library(void)
{
    const char *text = secure_getenv("RUNG_CPU_VENDOR");
    return text && *text ? text : NULL;
}

static rung_status open_path(const char *path, const rungi_cpu_features *features, rungi_peer *peer)
{
    *peer = (rungi_peer){.library = rungi_library_open_file(path, true)};
    if (!peer->library)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                          "00_vendor: the library that RUNG_CPU_VENDOR names cannot be opened: %s", dlerror());
    peer->kind = detect_kind(peer->library);
    if (!describe_library(peer, features))
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "00_vendor: %s, which RUNG_CPU_VENDOR names, has no cblas_sgemm",
                          path);
    return RUNG_OK;
}

static bool search_library(rungi_peer_kind kind, const rungi_cpu_features *features, rungi_peer *peer)
{
    *peer = (rungi_peer){.kind = kind};
    for (int i = 0; !peer->library && files[kind][i]; i++)
        peer->library = rungi_library_open(search_folders, sizeof search_folders / sizeof *search_folders,
                                           files[kind][i], is_usable[kind]);
    return peer->library && describe_library(peer, features);
}

static rung_status find_kind(rungi_peer_kind kind, const rungi_cpu_features *features, rungi_peer *peer)
{
    const char *path = requested_library();
    rungi_saved_error before = rungi_error_save();
    if (path && strchr(path, '/') && open_path(path, features, peer) == RUNG_OK && peer->kind == kind)
        return RUNG_OK;
    rungi_error_restore(&before);
    if (search_library(kind, features, peer))
        return RUNG_OK;
    return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                      "00_vendor:%s: %s of %s was not found; install it (%s), or set "
                      "RUNG_CPU_VENDOR=/path/to/library.so",
                      peers[kind].word, files[kind][0], peers[kind].title, peers[kind].install);
}

static rung_status find_first(const rungi_cpu_features *features, rungi_peer *peer)
{
    for (int kind = 0; kind < RUNGI_PEER_COUNT; kind++)
        if (kind != RUNGI_PEER_GGML && search_library((rungi_peer_kind)kind, features, peer))
            return RUNG_OK;
    return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                      "00_vendor: no library to compare with was found; install MKL (%s) or "
                      "another of mkl, openblas, blis and onednn, or set RUNG_CPU_VENDOR=/path/to/library.so",
                      peers[RUNGI_PEER_MKL].install);
}

rung_status rungi_peer_find(rungi_peer_kind kind, const rungi_cpu_features *features, rungi_peer *peer)
{
    const char *text = requested_library();
    if (kind != RUNGI_PEER_ANY)
        return find_kind(kind, features, peer);
    if (!text)
        return find_first(features, peer);
    if (strchr(text, '/'))
        return open_path(text, features, peer);
    if (kind_from_word(text) < RUNGI_PEER_COUNT)
        return find_kind((rungi_peer_kind)kind_from_word(text), features, peer);
    return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                      "00_vendor: RUNG_CPU_VENDOR is \"%.80s\"; valid values are mkl, openblas, blis, "
                      "onednn, ggml and the path of a library",
                      text);
}

void rungi_peer_list(rung_dependency_list *list)
{
    rungi_cpu_features features;
    rungi_saved_error before = rungi_error_save();
    rungi_cpu_features_detect(&features);
    for (int kind = 0; kind < RUNGI_PEER_COUNT; kind++) {
        char found[768] = "", purpose[96];
        rungi_peer peer;
        if (rungi_peer_find((rungi_peer_kind)kind, &features, &peer) == RUNG_OK)
            snprintf(found, sizeof found, "%s, %s%s%s", peer.version, peer.path, *peer.warning ? "; " : "",
                     peer.warning);
        snprintf(purpose, sizeof purpose, "a library to compare with, 00_vendor:%s", peers[kind].word);
        rungi_dependency_list_add(list, peers[kind].title, purpose, peers[kind].install, found);
    }
    rungi_error_restore(&before);
}
