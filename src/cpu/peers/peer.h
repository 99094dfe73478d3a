/* SPDX-License-Identifier: Apache-2.0 */
/* peer.h - finds and opens the GEMM libraries of peer_library.h. */
#ifndef RUNGI_CPU_PEER_H
#define RUNGI_CPU_PEER_H

#include "core/backend.h"
#include "cpu/peers/peer_library.h"

/* RUNG_CPU_VENDOR. An invalid value makes 00_vendor fail: another library than the requested one might go unnoticed. */
extern const rungi_environment_variable rungi_peer_variable;

/* Finds and opens a library; searches again at each call. For RUNGI_PEER_ANY, RUNG_CPU_VENDOR may be a word of
 * RUNGI_PEER_LIST or a path. A path is also used for the library's own kind. Returns RUNG_STATUS_UNSUPPORTED with a message
 * if no library is found. */
rung_status rungi_peer_find(rungi_peer_kind kind, const rungi_cpu_features *features, rungi_peer *peer);

/* Adds every library to the list, found or not. */
void rungi_peer_list(rung_dependency_list *list);

/* Sets the library's number of threads. Returns the previous setting, which can be set again. */
int64_t rungi_peer_set_threads(const rungi_peer *peer, int64_t threads);

#endif /* RUNGI_CPU_PEER_H */
