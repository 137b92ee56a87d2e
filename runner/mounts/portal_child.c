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
#include "portal_proc.h"
#include "portal_sockets.h"
#include "portal_spaces.h"
#include "portal_tree.h"
#include "portal_wire.h"

struct child {
	struct spaces spaces;
	struct mounts mounts;
	bool entered;
	int spare;                  /* of the curtain of an earlier portal, -1 = none */
	struct string given;        /* came with the request */
	struct string reply;        /* goes with the reply */
	int *passed;                /* named in replies, until the runner has taken them; the oldest first */
	size_t passed_count, named; /* of them, in replies that are sent */
};

static void pass(struct child *child, int fd) {
	child->passed = array_grow(child->passed, child->passed_count, sizeof *child->passed);
	child->passed[child->passed_count++] = fd;
}

/* The runner has copies of the oldest. */
static void taken(struct child *child, int32_t count) {
	if (count < 0 || (size_t)count > child->named) _exit(125);
	for (int32_t i = 0; i < count; i++) fd_close(child->passed[i]);
	child->named -= (size_t)count;
	child->passed_count -= (size_t)count;
	memmove(child->passed, child->passed + count, child->passed_count * sizeof *child->passed);
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
	if (child->spare < 0) return error_set(error, EBADF, "there is no curtain to adopt");
	int r = superblock_adopt(&child->spaces, child->spare, &child->mounts.curtain, &spare, error);
	if (r < 0) return r;
	pass(child, spare);
	fd_close_p(&child->spare);
	return 0;
}

static int enter(struct child *child, const struct portal_request *request, struct error *error) {
	if (child->entered) return error_set(error, EBUSY, "the portal has entered already");
	int r = spaces_enter(&child->spaces, error);
	if (r == 0 && request->number == 0) r = dev_make(&child->spaces, error);
	if (r == 0) r = mounts_init(&child->mounts, &child->spaces, request->number != 0, error);
	if (r == 0 && request->number == 0) r = proc_close(&child->spaces, error);
	child->entered = r == 0;
	return r;
}

static void do_inside(struct mounts *mounts, size_t index, const struct step *step, const struct report *report) {
	struct error error = ERROR_NONE;
	int r = spaces_step_in(mounts->spaces, &error);
	if (r < 0) {
		report_failure(report, index, step, &error);
		return;
	}
	switch (step->kind) {
	case STEP_PUT:
	case STEP_PUT_UNDER:
		break;
	case STEP_TAKE:
		r = mounts_take(mounts, &step->mount, report, &error);
		break;
	case STEP_RELEASE:
		r = mounts_release(mounts, &step->mount, report, &error);
		break;
	case STEP_READ_ONLY:
	case STEP_WRITABLE:
		r = mounts_set_read_only(mounts, step->mount.id, step->kind == STEP_READ_ONLY, report, &error);
		break;
	case STEP_TELL:
		r = mounts_tell(mounts, step->mount.id, report, &error);
		break;
	case STEP_REMOVE_LINK:
		point_unlink(&mounts->points, mounts->spaces->inside, step->mount.path, step->mount.source);
		break;
	}
	spaces_step_out(mounts->spaces);
	if (r < 0) report_failure(report, index, step, &error);
}

static void put_under(struct mounts *mounts, size_t index, const struct step *step, const struct report *report) {
	struct error error = ERROR_NONE;
	if (mounts_put_under(mounts, step, &error) < 0) report_failure(report, index, step, &error);
}

/* 0 or the first failure; *applied says all, also then. */
static int mounts_apply(struct mounts *mounts, const struct steps *steps, struct portal_applied *applied,
			struct error *error) {
	struct error first = ERROR_NONE;
	const struct report report = {.applied = applied, .first = &first};
	for (size_t at = 0, end; at < steps->count; at = end) {
		end = at + 1;
		if (steps->items[at].kind == STEP_PUT_UNDER) {
			put_under(mounts, at, &steps->items[at], &report);
			continue;
		}
		if (steps->items[at].kind != STEP_PUT) {
			do_inside(mounts, at, &steps->items[at], &report);
			continue;
		}
		while (end < steps->count && steps->items[end].kind == STEP_PUT) end++;
		mounts_put(mounts, steps, at, end, &report);
	}
	mounts->alone = false;
	/* another view may know the names otherwise, and the tool may move its folders */
	reached_forget(&mounts->behind);
	reached_forget(&mounts->inside);
	strings_finish(&mounts->primed);
	return first.code ? error_set(error, first.code, "%s", first.message) : 0;
}

typedef int do_steps(struct mounts *mounts, const struct steps *steps, struct portal_applied *applied,
		     struct error *error);

static int carry_out(struct child *child, do_steps *carry, struct error *error) {
	CLEANUP_STEPS struct steps steps = {0};
	CLEANUP_PORTAL_APPLIED struct portal_applied applied = {0};
	int r = portal_steps_unpack(child->given.data, child->given.size, &steps, error);
	if (r < 0) return r;
	r = carry(&child->mounts, &steps, &applied, error);
	mounts_list(&child->mounts, &applied);
	int packed = portal_applied_pack(&applied, &child->reply, r < 0 ? NULL : error);
	if (packed < 0) string_finish(&child->reply);
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
	int fds[PORTAL_FDS_MAX];
	if (request->number < 1 || request->number > PORTAL_FDS_MAX || (unsigned)request->kind >= SPARE_COUNT)
		return error_set(error, EINVAL, "no such sockets");
	int r = sockets_make(&child->spaces, &spare_shapes[request->kind], (size_t)request->number, fds, error);
	for (int32_t i = 0; i < request->number && r == 0; i++) pass(child, fds[i]);
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
	bool given;   /* needs steps */
	bool path;    /* needs one */
} verbs[PORTAL_VERB_COUNT] = {
	[PORTAL_JOIN] = {.serve = join},
	[PORTAL_CURTAIN] = {.serve = make_curtain},
	[PORTAL_ADOPT] = {.serve = adopt},
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
	if ((unsigned)request->verb >= PORTAL_VERB_COUNT || !verbs[request->verb].serve)
		return error_set(error, EINVAL, "no such request");
	if (verbs[request->verb].entered && !child->entered)
		return error_set(error, EINVAL, "the portal has entered no sandbox");
	if (verbs[request->verb].given && child->given.size == 0) return error_set(error, EINVAL, "steps are missing");
	if (verbs[request->verb].path && request->path[0] != '/') return error_set(error, EINVAL, "a path is missing");
	return verbs[request->verb].serve(child, request, error);
}

enum { KEPT_SOCKET = 3, KEPT_SPARE = 4 };

/* Nothing of the runner's may live on in here: its connections would stay open. */
static void keep_only(int socket, int spare) {
	int parked = fcntl(socket, F_DUPFD_CLOEXEC, KEPT_SPARE + 1); /* the spare may have its number */
	if (parked < 0 || (spare >= 0 && spare != KEPT_SPARE && dup3(spare, KEPT_SPARE, O_CLOEXEC) < 0)) _exit(125);
	if (dup3(parked, KEPT_SOCKET, O_CLOEXEC) < 0) _exit(125);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC); /* closed with everything else */
	for (int i = 0; i < 3; i++)
		if (dup2(null, i) < 0) _exit(125);
	if (syscall(SYS_close_range, spare >= 0 ? KEPT_SPARE + 1U : KEPT_SPARE, ~0U, 0U) < 0) _exit(125);
}

/* A descriptor is kept for each mount. A core file would be written to wherever it stands just then. */
static void set_limits(void) {
	const struct rlimit no_core = {0};
	struct rlimit files;
	setrlimit(RLIMIT_CORE, &no_core);
	if (getrlimit(RLIMIT_NOFILE, &files) < 0) return;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

/* Whole, or the runner is gone. */
static void read_all(void *bytes, size_t size) {
	for (char *at = bytes; size > 0;) {
		ssize_t got = read(KEPT_SOCKET, at, size);
		if (got < 0 && errno == EINTR) continue;
		if (got <= 0) _exit(0);
		at += got;
		size -= (size_t)got;
	}
}

static void write_all(const void *bytes, size_t size) {
	if (fd_write_all(KEPT_SOCKET, bytes, size, NULL) < 0) _exit(0);
}

static void receive(struct child *child, struct portal_request *request) {
	read_all(request, sizeof *request);
	request->path[sizeof request->path - 1] = '\0';
	if (request->size > PORTAL_WIRE_MAX) _exit(125);
	string_finish(&child->given);
	child->given = (struct string){.data = mem_alloc(1, request->size + 1), .size = request->size};
	read_all(child->given.data, request->size);
}

static void reply(struct child *child, int code, const struct error *error) {
	struct portal_reply reply = {.code = code, .size = (uint32_t)child->reply.size};
	if (code) snprintf(reply.text, sizeof reply.text, "%.399s", error->message);
	while (child->named < child->passed_count) reply.fds[reply.fd_count++] = child->passed[child->named++];
	write_all(&reply, sizeof reply);
	write_all(child->reply.data, child->reply.size);
	string_finish(&child->reply);
}

_Noreturn void portal_child_run(int socket, int spare, pid_t parent) {
	struct child child = {.mounts = {.curtain = -1, .behind = REACHED_NONE, .inside = REACHED_NONE}, .spare = -1};
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent) _exit(125);
	prctl(PR_SET_NAME, "sbx-portal");
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	if (setsid() < 0) _exit(125); /* out of reach of the terminal's ^C and ^Z */
	umask(0);
	keep_only(socket, spare);
	if (spare >= 0) child.spare = KEPT_SPARE;
	set_limits();
	spaces_init(&child.spaces, parent);
	for (;;) {
		struct portal_request request;
		struct error error = ERROR_NONE;
		receive(&child, &request);
		if (request.verb == PORTAL_TAKEN) {
			taken(&child, request.number);
			continue;
		}
		int r = serve(&child, &request, &error);
		reply(&child, -r, &error);
		if (child.entered) mounts_sweep(&child.mounts);
	}
}
