/*
 * watch: which of some files may have become others, by inotify(7).
 *
 * Promises: a change that was complete (closed, renamed, removed) before watch_read is called is told of by it, also
 * when a folder on the way was replaced, removed or made. It may tell of too much. Not told of: writes through mmap(2),
 * through another name of the same file, or by another host of a network file system; so whoever cares looks for
 * themselves from time to time as well.
 * Where inotify can't be had or has no room the watch is blind: everything is always stirred.
 */
#pragma once

#include <stdbool.h>

struct watch;
struct watched; /* one file, or all files of one folder */

struct watch *watch_new(void);
void watch_free(struct watch *watch); /* after all that it watches; NULL is allowed */

int watch_fd(const struct watch *watch); /* readable when something was told; -1 where there is none */
bool watch_is_blind(const struct watch *watch);

/* Any absolute path, whether or not there is something. Stirred from the start. */
struct watched *watch_file(struct watch *watch, const char *path);
struct watched *watch_folder(struct watch *watch, const char *path); /* stirred by every name in it */
void watched_free(struct watched *watched);                          /* NULL is allowed */

/* Takes in what the kernel has told. Is anything stirred? One read(2) when nothing happened. */
bool watch_read(struct watch *watch);

/* Was it stirred since this was asked last? What is read of it after the question is not older than the answer. */
bool watched_take(struct watched *watched);
bool watched_is_stirred(const struct watched *watched); /* only asks */
bool watch_is_stirred(const struct watch *watch);       /* any of them */
