/*
 * bubblewrap: which bwrap is run.
 *
 * Promises: one of a few fixed paths, where an AppArmor profile for it would be bound to; never by PATH, which may hold
 * a project's folder.
 */
#pragma once

const char *bubblewrap_path(void); /* NULL: none is installed */
