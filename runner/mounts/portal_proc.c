#include "portal_proc.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "portal_stage.h"
#include "portal_tree.h"

static const struct {
	const char *path;
	bool folder;
} closed[] = {
	{"/proc/keys", false},      /* the user's keys on the host, by name */
	{"/proc/key-users", false}, /* who uses this machine */
	{"/proc/kallsyms", false},  /* the kernel, its modules and their addresses: for exploits */
	{"/proc/config.gz", false}, /* likewise */
	{"/proc/kcore", false},     /* memory, where root runs sbx; so the next four */
	{"/proc/kmsg", false},          {"/proc/timer_list", false},  {"/proc/slabinfo", false},
	{"/proc/vmallocinfo", false},   {"/proc/sched_debug", false}, /* every process of the host, before Linux 5.13 */
	{"/proc/timer_stats", false},                                 /* likewise, before Linux 4.11 */
	{"/proc/latency_stats", false}, {"/proc/interrupts", false},  /* when keys are typed, and other users' devices
									 work */
	{"/proc/acpi", true},                                         /* the machine's devices */
	{"/proc/asound", true},         {"/proc/scsi", true},
};
enum { CLOSED_COUNT = ARRAY_LENGTH(closed) };

struct covers {
	int trees[CLOSED_COUNT], points[CLOSED_COUNT]; /* -1: there is no such thing, or it is shut anyway */
};

static void covers_finish(struct covers *covers) {
	for (size_t i = 0; i < CLOSED_COUNT; i++) {
		fd_close(covers->trees[i]);
		fd_close(covers->points[i]);
	}
}

/* What is root's alone: the tool has our user, and no capability over files of a user whom its namespace doesn't know
 * (capable_wrt_inode_uidgid() in kernel/capability.c). */
static bool is_shut(int point) {
	return faccessat(point, "", R_OK, AT_EMPTY_PATH | AT_EACCESS) < 0 && errno == EACCES;
}

/* In our own namespace. */
static int make_cover(const struct spaces *spaces, size_t i, struct covers *covers, struct error *error) {
	covers->points[i] = spaces_reach(spaces->inside, closed[i].path);
	if (covers->points[i] < 0) return errno == ENOENT ? 0 : error_errno(error, "%s", closed[i].path);
	if (is_shut(covers->points[i])) return 0;
	covers->trees[i] = closed[i].folder ? stage_clone_hidden(spaces->scratch, error)
					    : stage_clone_void(spaces->scratch, error);
	return covers->trees[i] < 0 ? error_prefix(error, "%s", closed[i].path) : 0;
}

int proc_close(const struct spaces *spaces, struct error *error) {
	__attribute__((cleanup(covers_finish))) struct covers covers;
	int r = 0;
	for (size_t i = 0; i < CLOSED_COUNT; i++) covers.trees[i] = covers.points[i] = -1;
	for (size_t i = 0; r == 0 && i < CLOSED_COUNT; i++) r = make_cover(spaces, i, &covers, error);
	if (r == 0) r = spaces_step_in(spaces, error);
	if (r < 0) return r;
	for (size_t i = 0; r == 0 && i < CLOSED_COUNT; i++)
		if (covers.trees[i] >= 0) r = tree_attach(covers.trees[i], covers.points[i], error);
	spaces_step_out(spaces);
	return r;
}
