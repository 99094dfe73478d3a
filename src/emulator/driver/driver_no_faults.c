/* SPDX-License-Identifier: Apache-2.0 */
/* driver_no_faults.c - the driver without planted errors. Tests link their own rungi_driver_fault() instead. */
#include "emulator/driver/driver.h"

int rungi_driver_fault(const char *symbol, bool is_late)
{
    (void)symbol;
    (void)is_late;
    return 0;
}
