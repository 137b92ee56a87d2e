/*
 * Theory of operation. The process is forked off the runner and waits. ENTER: it opens the sandbox's namespaces through
 * /proc/PID/ns, joins the user namespace that owns the mount namespace (NS_GET_USERNS; it may, because the user made
 * it), and unshares a mount namespace there: still the host's view, but one in which it has the right to clone mounts.
 * From then on it goes to and fro with setns(2): a tree is cloned out here (open_tree), made read-only, and attached in
 * there (move_mount) onto a descriptor that was reached without following a link. Sockets made while it stands in the
 * sandbox's network namespace belong to that namespace for ever, whoever holds them.
 *
 * Every path is walked with openat2(RESOLVE_NO_SYMLINKS) on both sides: another sandbox may be changing the same tree.
 *
 * System calls: setns, unshare, mount (propagation only), open_tree, mount_setattr, move_mount, openat2, statx.
 */
#include "portal_child.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/mount.h>
#include <linux/nsfs.h>
#include <linux/openat2.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "bwrap.h"

/* <sys/mount.h> and <linux/mount.h> don't go together in glibc 2.36. */
int mount(const char *source, const char *target, const char *type, unsigned long flags, const void *data);
enum { PROPAGATE_PRIVATE = 0x44000 /* MS_REC | MS_PRIVATE */, PROPAGATE_SLAVE = 0x84000 /* MS_REC | MS_SLAVE */ };

struct place {
	dev_t device;
	ino_t inode;
	int code; /* errno when it couldn't be reached */
};

struct child {
	const struct plan *plan;
	pid_t parent;
	int host_mounts, mounts, network; /* namespaces */
	int passed;                       /* descriptor for the reply, -1 = none */
};

/* A descriptor (O_PATH) of `path` in the mount namespace we stand in; the last name isn't followed either. */
static int reach(const char *path) {
	struct open_how how = {.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW, .resolve = RESOLVE_NO_MAGICLINKS};
	CLEANUP_FREE char *folder = path_parent(path);
	how.resolve |= RESOLVE_NO_SYMLINKS;
	how.flags |= O_DIRECTORY;
	CLEANUP_FD int parent = (int)syscall(SYS_openat2, AT_FDCWD, folder, &how, sizeof how);
	if (parent < 0 || path[1] == '\0') return fd_steal(&parent);
	return openat(parent, path_name(path), O_PATH | O_CLOEXEC | O_NOFOLLOW);
}

static struct place place_of(const char *path) {
	struct stat status;
	CLEANUP_FD int fd = reach(path);
	if (fd < 0 || fstat(fd, &status) < 0) return (struct place){.code = errno};
	return (struct place){.device = status.st_dev, .inode = status.st_ino};
}

static int step_in(const struct child *child, struct error *error) {
	return setns(child->mounts, CLONE_NEWNS) < 0 ? error_errno(error, "entering the sandbox's mounts") : 0;
}

/* There is no going on from the wrong side. */
static void step_out(const struct child *child) {
	if (setns(child->host_mounts, CLONE_NEWNS) < 0) _exit(125);
}

/* Clone what `fd` (O_PATH) is, detached. */
static int clone_tree(int fd, bool recursive, bool read_only, struct error *error) {
	const unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW |
			       (recursive ? AT_RECURSIVE : 0U);
	CLEANUP_FD int tree = (int)syscall(SYS_open_tree, fd, "", flags);
	if (tree < 0) return error_errno(error, "cloning a mount");
	struct mount_attr attributes = {.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
					.propagation = 0x40000 /* private */};
	if (read_only) attributes.attr_set |= MOUNT_ATTR_RDONLY;
	if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes, sizeof attributes) < 0)
		return error_errno(error, "setting a mount's attributes");
	return fd_steal(&tree);
}

static int attach(int tree, const char *path, struct error *error) {
	CLEANUP_FD int target = reach(path);
	if (target < 0) return error_errno(error, "reaching the mount point");
	if (syscall(SYS_move_mount, tree, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return error_errno(error, "attaching a mount");
	return 0;
}

/* The host's `source`, no link followed, mounted at `path` inside. */
static int mount_host(const struct child *child, const char *source, const char *path, bool recursive, bool read_only,
		      struct error *error) {
	CLEANUP_FD int fd = reach(source);
	if (fd < 0) return error_errno(error, "reaching it on the host");
	CLEANUP_FD int tree = clone_tree(fd, recursive, read_only, error);
	if (tree < 0) return -error->code;
	int r = step_in(child, error);
	if (r < 0) return r;
	r = attach(tree, path, error);
	step_out(child);
	return r;
}

/* What masks are made of, cloned from sbx's own folder inside. */
static int mount_own(const struct child *child, const char *own, const char *path, struct error *error) {
	int r = step_in(child, error);
	if (r < 0) return r;
	CLEANUP_FD int fd = reach(own);
	CLEANUP_FD int tree = fd < 0 ? error_errno(error, "reaching %s", own) : clone_tree(fd, false, true, error);
	r = tree < 0 ? tree : attach(tree, path, error);
	step_out(child);
	return r;
}

static int restore_mount(const struct child *child, size_t index, struct error *error) {
	if (index >= child->plan->count) return error_set(error, EINVAL, "no such mount");
	const struct mount *mount = &child->plan->mounts[index];
	switch (mount->kind) {
	case MOUNT_READ:
		return mount_host(child, mount->source, mount->path, true, true, error);
	case MOUNT_WRITE:
	case MOUNT_OWN:
		return mount_host(child, mount->source, mount->path, true, false, error);
	case MOUNT_PIN:
		return mount_host(child, mount->source, mount->path, false, false, error);
	case MOUNT_HELD:
		return mount_host(child, mount->path, mount->path, false, true, error);
	case MOUNT_HIDE_FILE:
		return mount_own(child, BWRAP_VOID, mount->path, error);
	case MOUNT_HIDE_FOLDER:
		return mount_own(child, BWRAP_HIDDEN, mount->path, error);
	case MOUNT_FRESH:
	case MOUNT_LINK:
	case MOUNT_CURTAIN:
	case MOUNT_PROC:
	case MOUNT_DEV:
		break;
	}
	return error_set(error, EINVAL, "this kind of mount can't be torn off");
}

static bool is_bind(const struct mount *mount) {
	return mount->kind == MOUNT_READ || mount->kind == MOUNT_WRITE || mount->kind == MOUNT_PIN ||
	       mount->kind == MOUNT_OWN;
}

/* bwrap mounted by name. Is each thing there what the host has at that very path, and what the plan was made for? */
static int compare_mounts(const struct child *child, struct error *error) {
	const struct plan *plan = child->plan;
	struct place *places = mem_array(struct place, plan->count + 1);
	for (size_t i = 0; i < plan->count; i++)
		if (is_bind(&plan->mounts[i])) places[i] = place_of(plan->mounts[i].source);
	int r = step_in(child, error);
	for (size_t i = 0; r == 0 && i < plan->count; i++) {
		const struct mount *planned = &plan->mounts[i];
		if (!is_bind(planned)) continue;
		const struct place there = place_of(planned->path);
		bool same = places[i].code == 0 && there.code == 0 && there.device == places[i].device &&
			    there.inode == places[i].inode;
		if (planned->inode != 0)
			same = same && there.device == planned->device && there.inode == planned->inode;
		if (same) continue;
		CLEANUP_FREE char *shown = text_visible_cut(planned->path, 200);
		r = error_set(error, ESTALE, "%s was changed while the sandbox was set up: try again", shown);
	}
	step_out(child);
	free(places);
	return r;
}

static int drop_capabilities(struct error *error) {
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	const unsigned kept = 1U << CAP_SYS_ADMIN | 1U << CAP_SYS_CHROOT | 1U << CAP_NET_BIND_SERVICE;
	const struct __user_cap_data_struct data[2] = {{.effective = kept, .permitted = kept}};
	if (syscall(SYS_capset, &header, data) < 0) return error_errno(error, "dropping capabilities");
	return 0;
}

static int open_namespace(pid_t pid, const char *name, struct error *error) {
	CLEANUP_FREE char *path = string_format("/proc/%d/ns/%s", pid, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? error_errno(error, "opening the sandbox's namespace %s", name) : fd;
}

static int join(struct child *child, pid_t init, struct error *error) {
	if ((child->mounts = open_namespace(init, "mnt", error)) < 0) return child->mounts;
	if ((child->network = open_namespace(init, "net", error)) < 0) return child->network;
	CLEANUP_FD int owner = ioctl(child->mounts, NS_GET_USERNS);
	if (owner < 0) return error_errno(error, "finding the sandbox's user namespace");
	if (setns(owner, CLONE_NEWUSER) < 0) return error_errno(error, "joining the sandbox's user namespace");
	if (unshare(CLONE_NEWNS) < 0) return error_errno(error, "copying the host's mounts");
	/* a change of credentials cleared it */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != child->parent) _exit(125);
	if (mount(NULL, "/", NULL, PROPAGATE_SLAVE, NULL) < 0) return error_errno(error, "following the host's mounts");
	if ((child->host_mounts = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC)) < 0)
		return error_errno(error, "opening the own mount namespace");
	return drop_capabilities(error);
}

static int enter(struct child *child, const struct portal_request *request, struct error *error) {
	int r = join(child, request->number, error);
	if (r < 0 || (r = step_in(child, error)) < 0) return r;
	if (mount(NULL, "/", NULL, PROPAGATE_PRIVATE, NULL) < 0)
		r = error_errno(error, "making the sandbox's mounts private");
	step_out(child);
	if (r < 0 || request->again) return r;
	r = compare_mounts(child, error);
	for (size_t i = 0; r == 0 && i < child->plan->count; i++)
		if (child->plan->mounts[i].kind == MOUNT_HELD) r = restore_mount(child, i, error);
	return r;
}

static int listen_port(struct child *child, const struct portal_request *request, struct error *error) {
	if (setns(child->network, CLONE_NEWNET) < 0) return error_errno(error, "entering the sandbox's network");
	CLEANUP_FD int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const struct sockaddr_in address = {.sin_family = AF_INET,
					    .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
					    .sin_port = htons((uint16_t)request->number)};
	if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof address) < 0 || listen(fd, SOMAXCONN) < 0)
		return error_errno(error, "listening on 127.0.0.1:%d inside", request->number);
	child->passed = fd_steal(&fd);
	return 0;
}

static int listen_path(struct child *child, const struct portal_request *request, struct error *error) {
	CLEANUP_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	memcpy(address.sun_path, request->path, sizeof address.sun_path);
	if (fd < 0) return error_errno(error, "making a socket");
	int r = step_in(child, error);
	if (r < 0) return r;
	mode_t mask = umask(0177);
	if (bind(fd, (const struct sockaddr *)&address, sizeof address) < 0 || listen(fd, SOMAXCONN) < 0)
		r = error_errno(error, "listening at %s inside", request->path);
	umask(mask);
	step_out(child);
	if (r == 0) child->passed = fd_steal(&fd);
	return r;
}

static int seal(struct child *child, const struct portal_request *request, struct error *error) {
	int r = step_in(child, error);
	if (r < 0) return r;
	CLEANUP_FD int fd = reach(request->path);
	struct mount_attr attributes = {.attr_set = MOUNT_ATTR_RDONLY};
	if (fd < 0 || syscall(SYS_mount_setattr, fd, "", AT_EMPTY_PATH, &attributes, sizeof attributes) < 0)
		r = error_errno(error, "making %s read-only", request->path);
	step_out(child);
	return r;
}

static int serve(struct child *child, const struct portal_request *request, struct error *error) {
	switch (request->verb) {
	case PORTAL_ENTER:
		return enter(child, request, error);
	case PORTAL_LISTEN_PORT:
		return listen_port(child, request, error);
	case PORTAL_LISTEN_PATH:
		return listen_path(child, request, error);
	case PORTAL_SEAL:
		return seal(child, request, error);
	case PORTAL_RESTORE_MOUNT:
		return restore_mount(child, (size_t)request->number, error);
	}
	return error_set(error, EINVAL, "no such verb");
}

/* Nothing of the runner's may live on in here: its connections would stay open. */
static int keep_only(int socket) {
	int kept = dup2(socket, 3);
	if (kept != 3 || fcntl(3, F_SETFD, FD_CLOEXEC) < 0) _exit(125);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC); /* closed with everything else */
	for (int i = 0; i < 3; i++)
		if (dup2(null, i) < 0) _exit(125);
	if (syscall(SYS_close_range, 4U, ~0U, 0U) < 0) _exit(125);
	return kept;
}

_Noreturn void portal_child_run(int socket, const struct plan *plan, pid_t parent) {
	struct child child = {
		.plan = plan, .parent = parent, .host_mounts = -1, .mounts = -1, .network = -1, .passed = -1};
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent) _exit(125);
	prctl(PR_SET_NAME, "sbx-portal");
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	if (setsid() < 0) _exit(125); /* out of reach of the terminal's ^C and ^Z */
	socket = keep_only(socket);
	for (;;) {
		struct portal_request request;
		int fds[FD_PASS_MAX];
		size_t count;
		if (fd_receive(socket, &request, sizeof request, fds, &count, NULL) != sizeof request) _exit(0);
		struct error error = ERROR_NONE;
		struct portal_reply reply = {.code = -serve(&child, &request, &error)};
		if (reply.code) snprintf(reply.text, sizeof reply.text, "%.399s", error.message);
		if (fd_send(socket, &reply, sizeof reply, &child.passed, child.passed < 0 ? 0 : 1, NULL) < 0) _exit(0);
		fd_close_p(&child.passed);
	}
}
