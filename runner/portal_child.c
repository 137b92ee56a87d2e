/*
 * Theory of operation. The process is forked off the runner, keeps nothing of it but the socket, and does one request
 * after the other. What it knows of the sandbox is what it was told and what it can find again by walking, so another
 * can take its place.
 */
#include "portal_child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "portal_curtain.h"
#include "portal_dev.h"
#include "portal_mounts.h"
#include "portal_network.h"
#include "portal_sockets.h"
#include "portal_spaces.h"
#include "portal_tree.h"
#include "portal_wire.h"

struct child {
	struct spaces spaces;
	struct mounts mounts;
	bool entered;
	int given;               /* came with the request, -1 = none */
	int passed[FD_PASS_MAX]; /* go with the reply */
	size_t passed_count;
};

static void pass(struct child *child, int fd) {
	child->passed[child->passed_count++] = fd;
}

static int join(struct child *child, const struct portal_request *request, struct error *error) {
	return spaces_join(&child->spaces, request->number, error);
}

static int make_curtain(struct child *child, const struct portal_request *request, struct error *error) {
	(void)request;
	int device, spare;
	if (child->mounts.curtain >= 0) return error_set(error, EBUSY, "there is a curtain already");
	int r = superblock_make(&child->spaces, &device, &child->mounts.curtain, &spare, error);
	if (r < 0) return r;
	pass(child, device);
	pass(child, spare);
	return 0;
}

static int adopt(struct child *child, const struct portal_request *request, struct error *error) {
	(void)request;
	int spare;
	if (child->mounts.curtain >= 0) return error_set(error, EBUSY, "there is a curtain already");
	int r = superblock_adopt(&child->spaces, child->given, &child->mounts.curtain, &spare, error);
	if (r == 0) pass(child, spare);
	return r;
}

static int enter(struct child *child, const struct portal_request *request, struct error *error) {
	if (child->entered) return error_set(error, EBUSY, "the portal has entered already");
	int r = spaces_enter(&child->spaces, error);
	if (r == 0 && request->number == 0) r = dev_make(&child->spaces, error);
	if (r == 0) r = mounts_init(&child->mounts, &child->spaces, request->number != 0, error);
	child->entered = r == 0;
	return r;
}

typedef int do_steps(struct mounts *mounts, const struct steps *steps, struct portal_applied *applied,
		     struct error *error);

static int carry_out(struct child *child, do_steps *carry, struct error *error) {
	CLEANUP_STEPS struct steps steps = {0};
	CLEANUP_PORTAL_APPLIED struct portal_applied applied = {0};
	int r = portal_steps_unpack(child->given, &steps, error);
	if (r < 0) return r;
	r = carry(&child->mounts, &steps, &applied, error);
	int memory, packed = portal_applied_pack(&applied, &memory, r < 0 ? NULL : error);
	if (packed == 0) pass(child, memory);
	return r < 0 ? r : packed;
}

static int know(struct child *child, const struct portal_request *request, struct error *error) {
	(void)request;
	return carry_out(child, mounts_know, error);
}

static int apply(struct child *child, const struct portal_request *request, struct error *error) {
	(void)request;
	return carry_out(child, mounts_apply, error);
}

static int listen_port(struct child *child, const struct portal_request *request, struct error *error) {
	int fd, r = sockets_listen_port(&child->spaces, (uint16_t)request->number, &fd, error);
	if (r == 0) pass(child, fd);
	return r;
}

static int listen_path(struct child *child, const struct portal_request *request, struct error *error) {
	int fd, r = sockets_listen_path(&child->spaces, request->path, request->number, &fd, error);
	if (r == 0) pass(child, fd);
	return r;
}

static int make_network(struct child *child, const struct portal_request *request, struct error *error) {
	(void)request;
	return network_make(&child->spaces, error);
}

static int make_sockets(struct child *child, const struct portal_request *request, struct error *error) {
	if (request->number < 1 || request->number > FD_PASS_MAX || (unsigned)request->kind >= SPARE_COUNT)
		return error_set(error, EINVAL, "no such sockets");
	int r = sockets_make(&child->spaces, &spare_shapes[request->kind], (size_t)request->number, child->passed,
			     error);
	if (r == 0) child->passed_count = (size_t)request->number;
	return r;
}

static int seal(struct child *child, const struct portal_request *request, struct error *error) {
	CLEANUP_FD int fd = spaces_reach(child->spaces.inside, request->path);
	if (fd < 0) return error_errno(error, "reaching %s", request->path);
	int r = spaces_step_in(&child->spaces, error);
	if (r < 0) return r;
	r = tree_set(fd, false, MOUNT_ATTR_RDONLY, 0);
	spaces_step_out(&child->spaces);
	return r < 0 ? error_set(error, -r, "making %s read-only: %s", request->path, strerror(-r)) : 0;
}

static const struct {
	int (*serve)(struct child *child, const struct portal_request *request, struct error *error);
	bool entered; /* only after ENTER */
	bool given;   /* needs a descriptor */
	bool path;    /* needs one */
} verbs[PORTAL_VERB_COUNT] = {
	[PORTAL_JOIN] = {.serve = join},
	[PORTAL_CURTAIN] = {.serve = make_curtain},
	[PORTAL_ADOPT] = {.serve = adopt, .given = true},
	[PORTAL_ENTER] = {.serve = enter},
	[PORTAL_KNOW] = {.serve = know, .entered = true, .given = true},
	[PORTAL_APPLY] = {.serve = apply, .entered = true, .given = true},
	[PORTAL_LISTEN_PORT] = {.serve = listen_port, .entered = true},
	[PORTAL_LISTEN_PATH] = {.serve = listen_path, .entered = true, .path = true},
	[PORTAL_NETWORK] = {.serve = make_network, .entered = true},
	[PORTAL_SOCKETS] = {.serve = make_sockets, .entered = true},
	[PORTAL_SEAL] = {.serve = seal, .entered = true, .path = true},
};

static int serve(struct child *child, const struct portal_request *request, struct error *error) {
	if ((unsigned)request->verb >= PORTAL_VERB_COUNT) return error_set(error, EINVAL, "no such request");
	if (verbs[request->verb].entered && !child->entered)
		return error_set(error, EINVAL, "the portal has entered no sandbox");
	if (verbs[request->verb].given && child->given < 0) return error_set(error, EBADF, "a descriptor is missing");
	if (verbs[request->verb].path && request->path[0] != '/') return error_set(error, EINVAL, "a path is missing");
	return verbs[request->verb].serve(child, request, error);
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

/* A descriptor is kept for each mount. */
static void raise_limit(void) {
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static void receive(struct child *child, int socket, struct portal_request *request) {
	int fds[FD_PASS_MAX];
	size_t count;
	if (fd_receive(socket, request, sizeof *request, fds, &count, NULL) != sizeof *request) _exit(0);
	request->path[sizeof request->path - 1] = '\0';
	child->given = count > 0 ? fds[0] : -1;
	for (size_t i = 1; i < count; i++) fd_close(fds[i]);
}

static void reply(struct child *child, int socket, int code, const struct error *error) {
	struct portal_reply reply = {.code = code};
	if (code) snprintf(reply.text, sizeof reply.text, "%.399s", error->message);
	if (fd_send(socket, &reply, sizeof reply, child->passed, child->passed_count, NULL) < 0) _exit(0);
	for (size_t i = 0; i < child->passed_count; i++) fd_close(child->passed[i]);
	child->passed_count = 0;
	fd_close_p(&child->given);
}

_Noreturn void portal_child_run(int socket, pid_t parent) {
	struct child child = {.mounts = {.curtain = -1, .behind = REACHED_NONE, .inside = REACHED_NONE}, .given = -1};
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent) _exit(125);
	prctl(PR_SET_NAME, "sbx-portal");
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	if (setsid() < 0) _exit(125); /* out of reach of the terminal's ^C and ^Z */
	umask(0);
	socket = keep_only(socket);
	raise_limit();
	spaces_init(&child.spaces, parent);
	for (;;) {
		struct portal_request request;
		receive(&child, socket, &request);
		struct error error = ERROR_NONE;
		int r = serve(&child, &request, &error);
		reply(&child, socket, -r, &error);
		if (child.entered) mounts_sweep(&child.mounts);
	}
}
