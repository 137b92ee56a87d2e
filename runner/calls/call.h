/*
 * call: which system call a thread of the sandbox is in, and which paths it names.
 *
 * Promises: advisory. The tool can change its memory, its folder and its descriptors while we read; what is read here
 * only words a question or lets a call go on to meet the mount table. Bounded (PATH_MAX for each path, one read a
 * page); never follows or touches a path, sends nothing to the thread; a thread that is dead, hostile or unreadable
 * gives paths that are NULL.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { CALL_ARGUMENTS = 6, CALL_PATHS = 2 };

enum call_class {
	CALL_OTHER,   /* names no path that we know of */
	CALL_LOOK,    /* stat, access, readlink, chdir, statfs, getxattr, inotify_add_watch: no change */
	CALL_OPEN,    /* open, openat, creat: `write`, `create`, `nameless` say how */
	CALL_EXECUTE, /* execve, execveat */
	CALL_NAMES,  /* mkdir, mknod, unlink, rmdir, rename, link, symlink, bind: changes the folder(s) the names are in
		      */
	CALL_CHANGE, /* truncate, chmod, chown, utimens, setxattr, removexattr: changes the object */
};
enum { CALL_CLASS_COUNT = CALL_CHANGE + 1 };

/* Of the native architecture, as seccomp_data(2) and /proc/TID/syscall (proc_pid_syscall(5)) give it. */
struct call_raw {
	int number; /* -1: in none */
	uint64_t arguments[CALL_ARGUMENTS];
};

struct call {
	enum call_class class;
	const char *name;         /* "openat", borrowed from the table; NULL for CALL_OTHER */
	bool write;               /* an open that writes or truncates; an access(2) with W_OK */
	bool create;              /* an open that may make the file (O_CREAT, O_TMPFILE) */
	bool listing;             /* an open of a folder to read its names (O_DIRECTORY) */
	bool exclusive;           /* an open or a rename that must make the name (O_EXCL, RENAME_NOREPLACE) */
	bool set_id;              /* CALL_CHANGE: a mode with the set-user-ID or set-group-ID bit */
	bool quiet;               /* an open that the file itself never hears of (O_PATH) */
	bool straight;            /* an open or a change that follows no link at its end (O_NOFOLLOW, lchown) */
	bool nameless;            /* O_TMPFILE: paths[0] is the folder that gets a file without a name */
	bool makes[CALL_PATHS];   /* CALL_NAMES: the name is made there */
	bool removes[CALL_PATHS]; /* CALL_NAMES: the name goes from there; rename's exchange does both on both sides */
	bool special;             /* CALL_NAMES: the call makes a socket, pipe or device */
	bool brings;              /* CALL_NAMES: what is made may be a whole tree (rename, symlink) */
	bool follows; /* linkat(2) with AT_SYMLINK_FOLLOW: a link at the end of paths[0] isn't meant itself */
	bool by_object[CALL_PATHS]; /* where the path leads was not come to by a name, but by a descriptor or working
				     * folder, also one of /proc (trap_place): the mount there may be an older one */
	bool covered[CALL_PATHS];   /* likewise, and the sandbox has something else by that name, or nothing */
	char *text;                 /* of symlink(2), as the thread wrote it: what the link leads to; or NULL */
	char *paths[CALL_PATHS]; /* absolute and normal, as the sandbox sees them (relative ones joined with the working
				  * folder's or the descriptor's name); NULL where there is none or it can't be read.
				  * An empty path is the descriptor's own. Of symlink the link alone */
	char *ways[CALL_PATHS];  /* the same as the thread wrote it */
	int folders[CALL_PATHS]; /* the descriptor that a way begins at, or AT_FDCWD */
	int codes[CALL_PATHS]; /* what a call fails with whose path can't be read (EFAULT, EACCES, ENAMETOOLONG); or 0:
				* it was, or there is none */
};

/* From /proc/TID/syscall. -EAGAIN: it runs, or has no processor; -ESRCH: it is gone, or in no call; -EACCES, -EPERM:
 * not to be read. */
int call_raw_read(pid_t thread, struct call_raw *ret_raw);

/* Always fills *ret_call; call_finish frees its paths. */
void call_read(pid_t thread, const struct call_raw *raw, struct call *ret_call);
/* The same in two steps: without `paths`, and one of these, where there is none yet. */
void call_read_ways(pid_t thread, const struct call_raw *raw, struct call *ret_call);
void call_join(pid_t thread, struct call *call, size_t which);
void call_finish(struct call *call);

/* Is it link(2) or the like? Then what is at paths[0] gets another name. */
bool call_links(const struct call *call);

/* The same, where whoever asks can't wait for the tool's memory: what can't be read by then (promptly.h) is a
 * CALL_OTHER. */
struct promptly;
void call_read_promptly(struct promptly *promptly, pid_t thread, const struct call_raw *raw, struct call *ret_call);
/* The path of a name in `folder` that the call which the thread is in makes, replaces or removes; NULL: it names none.
 * Freed by the caller. */
char *call_name_in(struct promptly *promptly, pid_t thread, const char *folder);
/* Likewise of the program that it starts. */
char *call_started(struct promptly *promptly, pid_t thread);
#define CLEANUP_CALL __attribute__((cleanup(call_finish)))
