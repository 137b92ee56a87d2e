/*
 * homes: where the home directories of sandboxes are kept, and what tools have left in one.
 *
 * Promises: names alone; nothing that a tool has left is opened, followed or believed. Mount points that a sandbox was
 * given in its home are none of the tool's.
 */
#pragma once

#include "base/string.h"
#include "schema/view.h"

enum { HOMES_NAMES_MAX = 4096 };

/* `home` is the user's. Freed by the caller. */
char *homes_folder(const char *variable, const char *home, const char *fallback); /* $VARIABLE/sbx or ~/FALLBACK/sbx */
char *homes_state(const char *home);                           /* sbx's own folder, $XDG_STATE_HOME/sbx */
char *homes_of_project(const char *home, const char *project); /* what a project has for itself */
/* Where such a home of the profile lies; NULL: nowhere, it doesn't last. */
char *homes_place(enum view_home kind, const char *home, const char *profile, const char *project);

/* What there is in a home, relative to it and sorted; of the folders that many programs share (schema/home.h) what is
 * in them. At most HOMES_NAMES_MAX. */
void homes_names(int folder, struct strings *ret_names);
/* The next listing of one of those folders is seen by its time of last access, whatever was listed before. */
void homes_unread(int folder);
