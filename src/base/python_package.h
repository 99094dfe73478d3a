/* SPDX-License-Identifier: Apache-2.0 */
/* python_package.h - the Python package "rung" that contains this library or command, if pip installed it. Packages of the
 * same environment are found from there, also if the environment is not activated. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Writes the folder of Python packages (site-packages) that the package rung lies in. Returns false, and writes "", if
 * this code does not belong to a Python package. */
bool rungi_python_packages(char *folder, size_t capacity);

/* Stands for the folder of rungi_python_packages() where an environment variable may be named. */
extern const char rungi_own_packages[];

/* Returns the start of a search: "" for a variable of NULL, the folder of rungi_python_packages() for rungi_own_packages,
 * else the value of the environment variable. Returns NULL if there is none or it is not an absolute path, and for the
 * variables of a set-uid program. The result may be `buffer`. */
const char *rungi_search_root(const char *variable, char *buffer, size_t capacity);

/* Returns how to install a tool of the lab: in a Python package with the extra that contains it, otherwise `elsewhere`. */
const char *rungi_lab_install_hint(const char *elsewhere);
