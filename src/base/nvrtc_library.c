/* SPDX-License-Identifier: Apache-2.0 */
/* nvrtc_library.c - see nvrtc_library.h. */
#include "base/nvrtc_library.h"

#include "base/cuda_folders.h"
#include "base/dynamic_library.h"
#include "base/python_package.h"

enum { ARCHITECTURES_MAX = 64 };

bool rungi_nvrtc_load_from(rungi_nvrtc *nvrtc, void *library)
{
    bool all = library != NULL;
#define X(name, symbol, arguments) all = all && rungi_library_symbol(library, symbol, &nvrtc->name, sizeof nvrtc->name);
    RUNGI_NVRTC_FUNCTION_LIST(X)
#undef X
    all = all && nvrtc->version(&nvrtc->major, &nvrtc->minor) == 0;
    nvrtc->library = all ? library : NULL;
    return all;
}

int rungi_nvrtc_best_architecture(const rungi_nvrtc *nvrtc, int architecture)
{
    int known[ARCHITECTURES_MAX], count = 0, best = 0;
    if (nvrtc->architecture_count(&count) != 0 || count < 1 || count > ARCHITECTURES_MAX ||
        nvrtc->architectures(known) != 0)
        return 0;
    for (int i = 0; i < count; i++)
        if (known[i] <= architecture && known[i] > best)
            best = known[i];
    return best;
}

const char *rungi_nvrtc_install_hint(void)
{
    return rungi_lab_install_hint("pip install nvidia-cuda-nvrtc-cu12");
}

bool rungi_nvrtc_load(rungi_nvrtc *nvrtc, int driver_version, int architecture)
{
    rungi_nvrtc found;
    for (int major = RUNGI_CUDA_MAJOR_MAX; major >= RUNGI_CUDA_MAJOR_MIN; major--) {
        void *library = rungi_cuda_library_open_major("libnvrtc.so", major, driver_version);
        if (!rungi_nvrtc_load_from(&found, library))
            continue;
        bool is_first = !nvrtc->library, knows = rungi_nvrtc_best_architecture(&found, architecture) != 0;
        if (is_first || knows)
            *nvrtc = found;
        if (knows)
            break;
    }
    return nvrtc->library != NULL;
}
