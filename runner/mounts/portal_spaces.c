/*
 * Theory of operation. The process joins the user namespace that owns the sandbox's mount namespace (NS_GET_USERNS; it
 * may, because the user made it) and unshares a mount namespace there: still the host's view, but one in which it has
 * the right to clone mounts. From then on it goes to and fro with setns(2).
 *
 * Over the root of its own namespace lies a tmpfs, the scratch: setns(2) puts the process's root on the topmost mount,
 * so an absolute path finds nothing there, and the host's view is had through a descriptor of what lies below.
 *
 * System calls: setns, unshare, mount (propagation only), fsopen, fsmount, move_mount, openat2, capset, prctl.
 */
#include "portal_spaces.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/string.h"
#include "portal_quotas.h"
#include "portal_tree.h"

/* <sys/mount.h> and <linux/mount.h> don't go together in glibc 2.36. */
int mount(const char *source, const char *target, const char *type, unsigned long flags, const void *data);
enum { PROPAGATE_PRIVATE = 0x44000 /* MS_REC | MS_PRIVATE */, PROPAGATE_SLAVE = 0x84000 /* MS_REC | MS_SLAVE */ };

void spaces_init(struct spaces *spaces, pid_t parent) {
	*spaces = (struct spaces){.parent = parent,
				  .own_mounts = -1,
				  .mounts = -1,
				  .network = -1,
				  .host = -1,
				  .scratch = -1,
				  .inside = -1,
				  .self = -1};
}

int spaces_reach(int root, const char *path) {
	return file_reach(root, path[1] ? path + 1 : ".", 0);
}

int spaces_step_in(const struct spaces *spaces, struct error *error) {
	return setns(spaces->mounts, CLONE_NEWNS) < 0 ? error_errno(error, "entering the sandbox's mounts") : 0;
}

/* There is no going on from the wrong side. */
void spaces_step_out(const struct spaces *spaces) {
	if (setns(spaces->own_mounts, CLONE_NEWNS) < 0) _exit(125);
}

static int open_namespace(pid_t pid, const char *name, struct error *error) {
	CLEANUP_FREE char *path = string_format("/proc/%d/ns/%s", pid, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? error_errno(error, "opening the sandbox's namespace %s", name) : fd;
}

/* The host's, with `network: host`: there is none to enter, nor the right to. */
static bool stands_in_network(const struct spaces *spaces) {
	struct stat own, there;
	return fstatat(spaces->self, "ns/net", &own, 0) == 0 && fstat(spaces->network, &there) == 0 &&
	       own.st_dev == there.st_dev && own.st_ino == there.st_ino;
}

int spaces_enter_network(const struct spaces *spaces, struct error *error) {
	if (stands_in_network(spaces)) return 0;
	return setns(spaces->network, CLONE_NEWNET) < 0 ? error_errno(error, "entering the sandbox's network") : 0;
}

/* DAC_OVERRIDE: a tool that takes rights from its own folders must not keep us from putting a mask back there. */
enum {
	KEPT = 1U << CAP_SYS_ADMIN | 1U << CAP_SYS_CHROOT | 1U << CAP_NET_BIND_SERVICE | 1U << CAP_DAC_OVERRIDE,
	KEPT_NETWORK = 1U << CAP_NET_ADMIN,
};

static int keep_capabilities(unsigned kept, struct error *error) {
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	const struct __user_cap_data_struct data[2] = {{.effective = kept, .permitted = kept}};
	if (syscall(SYS_capset, &header, data) < 0) return error_errno(error, "dropping capabilities");
	return 0;
}

int spaces_drop_network(struct error *error) {
	return keep_capabilities(KEPT, error);
}

static int make_scratch(struct spaces *spaces, struct error *error) {
	CLEANUP_FD int tree = tree_fresh(0700, false, error);
	if (tree < 0) return tree;
	int r = tree_attach(tree, spaces->host, error);
	if (r < 0) return r;
	spaces->scratch = fd_steal(&tree);
	return 0;
}

/* The runner takes descriptors of this process by pidfd_getfd(2), which asks for the right to trace it, and a change of
 * credentials took that from everybody (commit_creds() in kernel/cred.c). A process with fewer rights in the
 * sandbox's user namespace than this one is still kept out (cap_ptrace_access_check()), and so is the tool, which can't
 * name this process either.
 */
static int let_runner_take(struct error *error) {
	return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0 ? error_errno(error, "letting the runner take descriptors") : 0;
}

int spaces_join(struct spaces *spaces, pid_t init, struct error *error) {
	if (spaces->mounts >= 0) return error_set(error, EBUSY, "the portal has joined a sandbox already");
	if ((spaces->self = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0)
		return error_errno(error, "opening /proc");
	if ((spaces->mounts = open_namespace(init, "mnt", error)) < 0) return spaces->mounts;
	if ((spaces->network = open_namespace(init, "net", error)) < 0) return spaces->network;
	CLEANUP_FD int owner = ioctl(spaces->mounts, NS_GET_USERNS);
	if (owner < 0) return error_errno(error, "finding the sandbox's user namespace");
	struct quotas quotas;
	quotas_look(&quotas);
	if (setns(owner, CLONE_NEWUSER) < 0) return error_errno(error, "joining the sandbox's user namespace");
	quotas_write(&quotas);
	if (unshare(CLONE_NEWNS) < 0) return error_errno(error, "copying the host's mounts");
	/* a change of credentials cleared it */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != spaces->parent) _exit(125);
	if (mount(NULL, "/", NULL, PROPAGATE_SLAVE, NULL) < 0) return error_errno(error, "following the host's mounts");
	if ((spaces->own_mounts = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC)) < 0)
		return error_errno(error, "opening the own mount namespace");
	if ((spaces->host = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0)
		return error_errno(error, "opening the host's root");
	int r = make_scratch(spaces, error);
	if (r == 0) r = keep_capabilities(KEPT | KEPT_NETWORK, error);
	return r < 0 ? r : let_runner_take(error);
}

int spaces_enter(struct spaces *spaces, struct error *error) {
	if (spaces->mounts < 0) return error_set(error, EINVAL, "the portal has joined no sandbox");
	int r = spaces_step_in(spaces, error);
	if (r < 0) return r;
	if (mount(NULL, "/", NULL, PROPAGATE_PRIVATE, NULL) < 0)
		r = error_errno(error, "making the sandbox's mounts private");
	else if ((spaces->inside = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0)
		r = error_errno(error, "opening the sandbox's root");
	spaces_step_out(spaces);
	return r;
}
