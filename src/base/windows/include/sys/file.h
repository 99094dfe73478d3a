/* SPDX-License-Identifier: Apache-2.0 */
/* file.h - flock() is in posix.h. */
#pragma once
