/*
 * home: the folders of a home directory in which many programs keep what is theirs.
 *
 * Promises: a table. The home itself, and what the XDG Base Directory Specification ("Environment variables") names as
 * the defaults of its variables, with the folders above them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Relative to the home, a folder before those in it; the first is the home's own, "". */
#define HOME_FOLDER_COUNT 7
extern const char *const home_folders[HOME_FOLDER_COUNT];

/* Is the path (normal, as is the home's) one of them? */
bool home_has_folder(const char *home, const char *path);
