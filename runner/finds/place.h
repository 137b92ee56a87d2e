/*
 * place: where a program is installed, so that the whole of it can be shown (a node with its lib/, a venv with its
 * packages), and no more.
 */
#pragma once

#include "base/string.h"

/* Does it lie in a folder of the system, which every sandbox has? */
bool place_is_system(const char *path);

/* Adds the place of the program at `path` (absolute, normal) to `places`; nothing when it lies in a folder that every
 * sandbox has. `home` is canonical or at least normal. With `known_only` just the places of known installers. */
void place_add(const char *path, const char *home, bool known_only, struct strings *places);
