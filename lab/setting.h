/* SPDX-License-Identifier: Apache-2.0 */
/* setting.h - where and when something was measured, for whoever reads the result later. */
#ifndef LAB_SETTING_H
#define LAB_SETTING_H

#include "json.h"
#include "rung/rung.h"

/* An object "machine": the device, its driver, the processor, this version, the time, the load. */
void lab_setting_print(lab_json *json, const rung_device_info *device);

#endif /* LAB_SETTING_H */
