/*
 * point: the mount points and links that sbx makes in a sandbox's own folders, which may last longer than the sandbox.
 *
 * Promises: whoever finds one later knows it from what a tool has made: a folder or file by a mode that nothing else
 * has, a link by its time. A tool that imitates one has it removed as if it were one.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

/* The sticky bit means nothing for a file (inode(7)), and keeps nobody from anything in a folder of his own. */
enum { POINT_FOLDER = 01755, POINT_FILE = 01000 };

bool point_has_mode(mode_t mode, off_t size);      /* of a folder or file; a file is empty */
bool point_is_made(const struct statx *status);    /* STATX_BASIC_STATS */
int point_mark_link(int folder, const char *name); /* 0 or -1 with errno */
