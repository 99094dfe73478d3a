/* SPDX-License-Identifier: Apache-2.0 */
/* driver_faults.c - errors that tests plant in the emulated driver: RUNG_EMULATED_FAULT lists errors of calls, and
 * RUNG_EMULATED_FAULT_ASYNC errors of their asynchronous work. See fault_injection.h for the format. */
#include "emulator/driver/driver.h"
#include "fault_injection.h"

int rungi_driver_fault(const char *symbol, bool is_late)
{
    static faults_t at_call = {.variable = "RUNG_EMULATED_FAULT"};
    static faults_t late = {.variable = "RUNG_EMULATED_FAULT_ASYNC"};
    return faults_next(is_late ? &late : &at_call, symbol);
}
