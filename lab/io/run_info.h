/* SPDX-License-Identifier: Apache-2.0 */
/* run_info.h - records where and when a result was measured. */
#pragma once

#include "io/json_writer.h"
#include "rung/rung.h"

/* Writes the JSON object "machine": the device, its driver, the processor, the version of rung, the time and the load. */
void lab_run_info_print(lab_json *json, const rung_device_info *device);
