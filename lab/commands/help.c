/* SPDX-License-Identifier: Apache-2.0 */
/* help.c - the command rung help: the list of commands, the options of one, manual pages and bash completion. */
#include "cli/manual.h"
#include "cli/options.h"
#include "common/text.h"
#include "explain/explain.h"
#include "rung/rung.h"
#include "verify/verify.h"

static void print_completion(void)
{
    static const char *const known_architectures[] = {
#define LIMITS(architecture, ...) "sm_" #architecture,
#include "explain/sm_limits.def"
#undef LIMITS
    };
#define X(name) #name " "
    const char *suites = LAB_SUITE_LIST(X);
#undef X
    char gpus[1024] = "", architectures[256] = "";
    lab_gpu gpu;
    for (int i = 0; lab_gpu_at(i, &gpu); i++)
        lab_append(gpus, sizeof gpus, "%s%s", i ? " " : "", gpu.name);
    for (size_t i = 0; i < sizeof known_architectures / sizeof *known_architectures; i++)
        if (lab_gpu_of_arch(known_architectures[i], &gpu))
            lab_append(architectures, sizeof architectures, "%s%s", *architectures ? " " : "", known_architectures[i]);
    lab_completion_print(&(lab_completion_words){suites, gpus, architectures}, stdout);
}

int lab_command_help(const lab_options *options)
{
    int command = options->argument ? lab_command_find(options->argument) : LAB_COMMAND_COUNT;
    if (options->completion) {
        print_completion();
        return LAB_EXIT_SUCCESS;
    }
    if (options->argument && command == LAB_COMMAND_COUNT) {
        lab_command_report_unknown(options->argument);
        return LAB_EXIT_USAGE;
    }
    if (options->man) {
        lab_manual_print(command, stdout);
        return LAB_EXIT_SUCCESS;
    }
    if (!options->argument)
        printf("rung %s: matrix multiplication, kernel by kernel\n\n", rung_version_text());
    lab_options_help(command, stdout);
    return LAB_EXIT_SUCCESS;
}
