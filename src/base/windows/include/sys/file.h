/* SPDX-License-Identifier: Apache-2.0 */
/* flock() is in posix.h. */
#pragma once
