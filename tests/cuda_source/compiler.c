/* SPDX-License-Identifier: Apache-2.0 */
/* compiler.c - the compiler of plain CUDA files: results, messages and limits, with NVRTC 12.9 from
 * tools/install-test-tools. The loader is wrapped, so that no other NVRTC of this machine is used. nvcc is disabled. */
#include "support/unit.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <unistd.h>

#include "cuda_source/cuda_compiler.h"
#include "cuda_source/cuda_headers.h"
#include "cuda_source/stub_headers.h"

static char nvrtc[1024]; /* the library's file */
static bool is_hidden;   /* as if NVRTC were not installed */
static char folder[] = "/tmp/rung-compiler-XXXXXX";
static lab_cuda_code code;
static char why[2048];

void *__real_dlopen(const char *name, int flags);
__attribute__((visibility("default"))) void *__wrap_dlopen(const char *name, int flags);

__attribute__((visibility("default"))) void *__wrap_dlopen(const char *name, int flags)
{
    bool is_12 = name && strcmp(name, "libnvrtc.so.12") == 0;
    if (name && strstr(name, "libnvrtc") && (is_hidden || !is_12))
        return NULL;
    return __real_dlopen(is_12 ? nvrtc : name, flags);
}

static lab_cuda_job job_of(const char *text)
{
    static char file[256];
    snprintf(file, sizeof file, "%s/mine.cu", folder);
    return (lab_cuda_job){.file = file, .text = text, .bytes = strlen(text), .architecture = 86};
}

static lab_cuda_compile_status compile_job(const lab_cuda_job *job)
{
    lab_cuda_code_free(&code);
    return lab_cuda_compile(job, &code, why, sizeof why);
}

static lab_cuda_compile_status compile(const char *text)
{
    lab_cuda_job job = job_of(text);
    return compile_job(&job);
}

static void expect(lab_cuda_compile_status status, lab_cuda_compile_status expected, const char *words)
{
    if (status != expected || !strstr(why, words))
        fail_msg("status %d, \"%s\", not %d with \"%s\"; log: %s", (int)status, why, (int)expected, words,
                 code.log ? code.log : "");
}

static void write_file(const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void remove_file(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    unlink(path);
}

/* ---- Success ---- */

static void compiles_a_kernel(void **state)
{
    (void)state;
    expect(compile("__global__ void k(float *p)\n{\n    p[threadIdx.x] = 2;\n}\n"), LAB_CUDA_COMPILED, "");
    assert_non_null(strstr(code.ptx, ".entry _Z1kPf"));
    assert_non_null(strstr(code.ptx, ".loc"));
    assert_non_null(strstr(code.ptx, "mine.cu"));
    assert_int_equal(code.ptx_bytes, strlen(code.ptx));
    assert_string_equal(code.log, "");
    assert_int_equal(code.version_major, 12);
    assert_int_equal(code.version_minor, 9);
    assert_null(code.cubin_bytes > 0 ? code.cubin : NULL);
}

static void returns_lowered_names(void **state)
{
    const char *const names[] = {"scale<64, 8>", "space::plain"};
    lab_cuda_job job = job_of("template <int A, int B> __global__ void scale(float *p) { p[0] = A * B; }\n"
                              "namespace space { __global__ void plain(int *p) { *p = 1; } }\n");
    (void)state;
    job.names = names;
    job.name_count = 2;
    job.wants_cubin = true;
    expect(compile_job(&job), LAB_CUDA_COMPILED, "");
    assert_int_equal(code.name_count, 2);
    assert_string_equal(code.lowered[0], "_Z5scaleILi64ELi8EEvPf");
    assert_string_equal(code.lowered[1], "_ZN5space5plainEPi");
    assert_non_null(strstr(code.ptx, code.lowered[0]));
    assert_true(code.cubin_bytes > 0 && memcmp(code.cubin,
                                               "\x7f"
                                               "ELF",
                                               4) == 0);
}

/* Host code with launches compiles, and no function of the host is in the PTX. */
static void compiles_host_code(void **state)
{
    static const char text[] = "#include <cuda_runtime.h>\n#include <iostream>\n#include <vector>\n#include <chrono>\n"
                               "int ceil_div(int a, int b) { return (a + b - 1) / b; }\n"
                               "template <int N> __global__ void k(float *p) { p[threadIdx.x] = N; }\n"
                               "__global__ void blocks(int *p) { *p = ceil_div(*p, 32); }\n"
                               "int main()\n{\n    std::vector<float> h(64);\n    float *d;\n"
                               "    cudaMalloc(&d, 256);\n    k<3><<<ceil_div(64, 32), 32>>>(d);\n"
                               "    cudaMemcpy(h.data(), d, 256, cudaMemcpyDeviceToHost);\n"
                               "    std::cout << h[0] << std::endl;\n}\n";
    (void)state;
    expect(compile(text), LAB_CUDA_COMPILED, "");
    assert_int_equal(code.way, LAB_CUDA_WHOLE);
    assert_non_null(strstr(code.ptx, ".entry _Z1kILi3EEvPf"));
    assert_null(strstr(code.ptx, "main"));
}

/* Where NVRTC rejects host code, its functions are blanked; helpers remain. */
static void blanks_host_code(void **state)
{
    static const char helper[] = "#include <unknown/library.h>\n"
                                 "int ceil_div(int a, int b) { return (a + b - 1) / b; }\n"
                                 "__global__ void k(int *p) { *p = ceil_div(*p, 32); }\n"
                                 "int main() { unknown::library::call(); }\n";
    (void)state;
    expect(compile(helper), LAB_CUDA_COMPILED, "");
    assert_int_equal(code.way, LAB_CUDA_HELPERS);
    assert_non_null(strstr(code.log, "unknown/library.h (line 1) was not found"));
    expect(compile("int odd(int a) { return unknown::odd(a); }\n__global__ void k(int *p) { *p = 1; }\n"),
           LAB_CUDA_COMPILED, "");
    assert_int_equal(code.way, LAB_CUDA_DEVICE_ONLY);
}

static void reads_the_users_headers(void **state)
{
    static const char *const options[] = {"-DTILE=8", "-I", "/usr/share"};
    lab_cuda_job job = job_of("#include \"mine.h\"\n__global__ void k(int *p) { *p = mine() + TILE; }\n");
    (void)state;
    write_file("mine.h", "#include <stdio.h>\n__device__ int mine() { return 1; }\nvoid host() { unknown(); }\n");
    job.options = options;
    job.option_count = 3;
    expect(compile_job(&job), LAB_CUDA_COMPILED, "");
    assert_int_equal(code.way, LAB_CUDA_HELPERS);
    remove_file("mine.h");
}

/* One name of each stub, and all together. */
static void every_stub_compiles(void **state)
{
    static const char *texts[64];
    static char all[1 << 14], one[512];
    int count = 0;
    const char *name;
    (void)state;
    *all = '\0';
    for (int i = 0; (name = lab_stub_header_name(i)); i++) {
        bool is_folder = name[strlen(name) - 1] == '/', is_new = true;
        const char *text = lab_stub_header_find(name, false);
        for (int j = 0; j < count; j++)
            is_new = is_new && strcmp(texts[j], text) != 0;
        snprintf(one, sizeof one, "#include <%s%s>\n__global__ void k(int *p) { *p = 1; }\n", name,
                 is_folder ? "any.h" : "");
        snprintf(all + strlen(all), sizeof all - strlen(all), "#include <%s%s>\n", name, is_folder ? "any.h" : "");
        if (!is_new)
            continue;
        assert_true(count < 64);
        texts[count++] = text;
        if (compile(one) != LAB_CUDA_COMPILED || code.way != LAB_CUDA_WHOLE || *code.log)
            fail_msg("%s: %s %s", name, why, code.log);
    }
    snprintf(all + strlen(all), sizeof all - strlen(all), "__global__ void k(int *p) { *p = 1; }\n");
    if (compile(all) != LAB_CUDA_COMPILED || code.way != LAB_CUDA_WHOLE || *code.log)
        fail_msg("all: %s %s", why, code.log);
    assert_true(count > 5);
}

/* ---- Failures ---- */

static void reports_the_line(void **state)
{
    (void)state;
    expect(compile("#include <vector>\n\nint main() { std::nothing(); }\n__global__ void k(int *p)\n{\n    oops;\n}\n"),
           LAB_CUDA_REJECTED, "mine.cu did not compile with NVRTC 12.9");
    assert_non_null(strstr(code.log, "mine.cu(6): error: identifier \"oops\" is undefined"));
    assert_null(strstr(code.log, "nothing"));
    assert_null(code.ptx_bytes > 0 ? code.ptx : NULL);
}

static void rejects_options_and_names(void **state)
{
    static const char *const options[] = {"--no-such-option"}, *const names[] = {"none<3>"};
    lab_cuda_job job = job_of("__global__ void k(int *p) { *p = 1; }\n");
    (void)state;
    job.options = options;
    job.option_count = 1;
    expect(compile_job(&job), LAB_CUDA_FAILED, "--no-such-option");
    job.option_count = 0;
    job.names = names;
    job.name_count = 1;
    expect(compile_job(&job), LAB_CUDA_REJECTED, "did not compile");
}

/* No line of a file outside of the folder is in a message, however the file is named. */
static void keeps_other_files_secret(void **state)
{
    static const char *const texts[] = {"#include \"/etc/passwd\"\n__global__ void k() {}\n",
                                        "#include </etc/passwd>\n__global__ void k() {}\n",
                                        "#define F \"/etc/passwd\"\n#include F\n__global__ void k() {}\n",
                                        "#include \"../../../../../../etc/passwd\"\n__global__ void k() {}\n",
                                        "#include \"link.h\"\n__global__ void k() {}\n",
                                        "#include \"nested.h\"\n__global__ void k() {}\n",
                                        "#include \\\n\"/etc/passwd\"\n__global__ void k() {}\n"};
    char path[512];
    (void)state;
    snprintf(path, sizeof path, "%s/link.h", folder);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    write_file("nested.h", "#include \"/etc/passwd\"\n");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        lab_cuda_compile_status status = compile(texts[i]);
        if (strstr(code.log, "root:") || strstr(why, "root:") || (i < 3 && status == LAB_CUDA_COMPILED))
            fail_msg("%s: status %d, %s, %s", texts[i], (int)status, why, code.log);
    }
    expect(compile(texts[0]), LAB_CUDA_REJECTED, "mine.cu:1 includes /etc/passwd; the compiler reads only the folder");
    remove_file("link.h");
    remove_file("nested.h");
}

static void ends_at_the_limit_of_time(void **state)
{
    char text[4096] = "#define A0 x x x x x x x x x x\n";
    (void)state;
    for (int i = 1; i < 12; i++)
        for (int j = 0; j < 12; j++)
            snprintf(text + strlen(text), sizeof text - strlen(text),
                     j == 0    ? "#define A%d"
                     : j == 11 ? "\n"
                               : " A%d",
                     j == 0 ? i : i - 1);
    strcat(text, "__global__ void k(int *p) { A11 }\n");
    lab_cuda_job job = job_of(text);
    job.seconds = 1;
    expect(compile_job(&job), LAB_CUDA_LIMIT, "did not finish");
    expect(compile("template <int N> struct A { static const int v = A<N + 1>::v; };\n"
                   "__global__ void k(int *p) { *p = A<0>::v; }\n"),
           LAB_CUDA_REJECTED, "did not compile");
    assert_non_null(strstr(code.log, "recursion"));
}

/* Builds with a sanitizer do not limit memory. */
static void ends_at_the_limit_of_memory(void **state)
{
    lab_cuda_job job = job_of(
        "template <int N, class... T> struct A { static constexpr int v = A<N + 1, T..., T...>::v; };\n"
        "__global__ void k(int *p) { *p = A<0, int>::v; }\n");
    (void)state;
#ifdef RUNGI_SANITIZED
    skip();
#endif
    job.memory_bytes = 256 << 20;
    job.seconds = 20;
    expect(compile_job(&job), LAB_CUDA_LIMIT, "memory");
}

static void names_missing_tools(void **state)
{
    (void)state;
    is_hidden = true;
    expect(compile("__global__ void k() {}\n"), LAB_CUDA_NO_COMPILER, "pip install nvidia-cuda-nvrtc-cu12");
    is_hidden = false;
    char *packages = strdup(getenv("VIRTUAL_ENV"));
    unsetenv("VIRTUAL_ENV");
    expect(compile("// a\n#include <mma.h>\n__global__ void k() {}\n"), LAB_CUDA_NO_HEADERS,
           "mine.cu:2 includes mma.h, a header of CUDA that was not found; to install it: pip install "
           "'nvidia-cuda-runtime-cu12==12.9.*'");
    expect(compile("#include <stdio.h>\n__global__ void k() { printf(\"x\"); }\n"), LAB_CUDA_COMPILED, "");
    setenv("VIRTUAL_ENV", packages, 1);
    free(packages);
}

/* NVRTC alone in a folder, without the libraries that it loads. The file is not at fault. */
static void names_broken_nvrtc(void **state)
{
    char alone[1024];
    (void)state;
    snprintf(alone, sizeof alone, "%s/libnvrtc.so.12", folder);
    assert_int_equal(symlink(nvrtc, alone), 0);
    snprintf(nvrtc, sizeof nvrtc, "%s", alone);
    expect(compile("__global__ void k() {}\n"), LAB_CUDA_NO_COMPILER,
           "does not work (nvrtc: error: failed to open libnvrtc-builtins");
    assert_non_null(strstr(why, "pip install nvidia-cuda-nvrtc-cu12"));
    assert_int_equal(unlink(alone), 0);
}

/* Headers of CUDA, where the test tools have them. */
static void compiles_with_cuda_headers(void **state)
{
    char found[8192], install[256];
    (void)state;
    lab_cuda_headers_describe(found, sizeof found, install, sizeof install);
    assert_non_null(strstr(install, "nvidia-cuda-runtime-cu12==12.9."));
    if (!*found)
        skip();
    expect(compile("#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <mma.h>\n#include <cuda_pipeline.h>\n"
                   "using namespace nvcuda;\n__global__ void k(half *p)\n{\n"
                   "    wmma::fragment<wmma::accumulator, 16, 16, 16, half> c;\n    wmma::fill_fragment(c, p[0]);\n"
                   "    wmma::store_matrix_sync(p, c, 16, wmma::mem_row_major);\n}\n"),
           LAB_CUDA_COMPILED, "");
}

static int remove_folder(void **state)
{
    (void)state;
    lab_cuda_code_free(&code);
    return rmdir(folder);
}

/* With an argument, NVRTC must not find its other libraries through LD_LIBRARY_PATH. */
int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compiles_a_kernel),
        cmocka_unit_test(returns_lowered_names),
        cmocka_unit_test(compiles_host_code),
        cmocka_unit_test(blanks_host_code),
        cmocka_unit_test(reads_the_users_headers),
        cmocka_unit_test(every_stub_compiles),
        cmocka_unit_test(reports_the_line),
        cmocka_unit_test(rejects_options_and_names),
        cmocka_unit_test(keeps_other_files_secret),
        cmocka_unit_test(ends_at_the_limit_of_time),
        cmocka_unit_test(ends_at_the_limit_of_memory),
        cmocka_unit_test(names_missing_tools),
        cmocka_unit_test(compiles_with_cuda_headers),
    };
    const struct CMUnitTest tests_of_broken[] = {cmocka_unit_test(names_broken_nvrtc)};
    (void)arguments;
    glob_t found;
    unit_clean_environment();
    if (glob(TOOLS "/lib/python3*/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12", 0, NULL, &found) != 0) {
        printf("NVRTC 12.9 is not here; see tools/install-test-tools\n");
        return UNIT_SKIPPED;
    }
    snprintf(nvrtc, sizeof nvrtc, "%s", found.gl_pathv[0]);
    globfree(&found);
    setenv("VIRTUAL_ENV", TOOLS, 1);
    setenv("RUNG_NVCC", "/nonexistent", 1);
    setenv("HOME", "/nonexistent", 1);
    unsetenv("CUDA_HOME");
    unsetenv("CUDA_PATH");
    unsetenv("CONDA_PREFIX");
    if (!mkdtemp(folder))
        return 1;
    return count > 1 ? cmocka_run_group_tests(tests_of_broken, NULL, remove_folder)
                     : cmocka_run_group_tests(tests, NULL, remove_folder);
}
