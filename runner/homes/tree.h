/*
 * tree: folders that somebody hostile has made, walked by descriptors. (The room: homes, what can be done with a
 * profile's own home while no sandbox is in sight: listed, measured, kept from, cleared. It guarantees that nothing in
 * there leads it anywhere else. Called by `sbx home` alone.)
 *
 * Promises: what is reached lies beneath `at`, on the same file system, and no link led there.
 */
#pragma once

/* A relative path without "..". O_PATH; -1 with errno: ELOOP a link is above it, EXDEV it is on another file system. A
 * link itself is reached, not followed. */
int tree_reach(int at, const char *path, int flags);
/* The folder to be read. -1 with errno. */
int tree_open(int at, const char *name);
