/*
 * Theory of operation. A notification is received, the call's paths are read (call.h), what it needs is judged by
 * sight alone (call_needs.h). Nothing: it goes on at once, whatever it will meet. Something: it is held, one need
 * after the other, and then goes on. What can't be read goes on, too: the sandbox's mounts stand for themselves. (A
 * masked name that the host doesn't have is the one thing that no mount can stand for: a tool that changes its memory
 * between our look and the kernel's makes it unasked, and is found out at the end of the session.)
 *
 * Receiving blocks where there is nothing to receive. After poll(2) has said that there is something, it doesn't: the
 * kernel counts what came and doesn't uncount what died meanwhile (ENOENT).
 */
#include "traps.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "call_needs.h"
#include "call_table.h"
#include "interpreters.h"
#include "lead.h"

enum {
	TRAPS_TURN = 64,   /* calls answered before the rest of the loop has its turn: some 0.3 ms */
	TRAPS_TURN_MS = 2, /* and no longer: a path of thousands of steps takes milliseconds */
};

#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS /* Linux 6.6 */
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS      SECCOMP_IOW(4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#endif
#ifndef SECCOMP_ADDFD_FLAG_SEND /* Linux 5.14 */
#define SECCOMP_ADDFD_FLAG_SEND (1UL << 1)
#endif

/* A held call. */
struct trapped {
	struct trapped *next, **link;
	struct traps *traps;
	uint64_t id, ticket;
	pid_t thread;
	int open_flags; /* of what an answered descriptor gets: O_CLOEXEC or 0 */
	struct call call;
	struct call_needs needs;
	size_t at; /* the need that is waited for */
};

struct traps {
	struct traps_options options;
	struct call_world world;
	struct event *readable;
	struct seccomp_notif *received; /* of the kernel's size */
	struct seccomp_notif_resp *answer;
	struct seccomp_notif_sizes sizes;
	struct trapped *held;
	struct traps_counts counts;
};

static bool is_waiting(const struct traps *traps, uint64_t id) {
	return ioctl(traps->options.listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

/* Of a thread that is gone nobody hears. */
static void send_answer(struct traps *traps, uint64_t id, int code, uint32_t flags) {
	memset(traps->answer, 0, traps->sizes.seccomp_notif_resp);
	traps->answer->id = id;
	traps->answer->error = -code;
	traps->answer->flags = flags;
	ioctl(traps->options.listener, SECCOMP_IOCTL_NOTIF_SEND, traps->answer);
}

/* `code` 0: the kernel goes on with the call. */
static void answer(struct traps *traps, uint64_t id, int code) {
	send_answer(traps, id, code, code == 0 ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0);
}

static void trapped_free(struct trapped *trapped) {
	*trapped->link = trapped->next;
	if (trapped->next) trapped->next->link = trapped->link;
	call_needs_finish(&trapped->needs);
	call_finish(&trapped->call);
	free(trapped);
}

/* What a refusal looks like from inside: as the mount table would have it. */
static int refusal(enum held_end end, const struct need *need) {
	switch (end) {
	case HELD_AGAIN:
		return 0;
	case HELD_ABSENT:
		return need->permission == PERMISSION_FS_WRITE ? EROFS : ENOENT;
	case HELD_REFUSED:
		return EACCES;
	case HELD_INTERRUPTED:
		return EINTR;
	}
	return EACCES;
}

static void on_done(void *argument, enum held_end end);

static void hold_next(struct trapped *trapped) {
	const struct traps_options *options = &trapped->traps->options;
	trapped->ticket =
		options->hold(options->context, trapped->thread, &trapped->needs.items[trapped->at], on_done, trapped);
}

static void on_done(void *argument, enum held_end end) {
	struct trapped *trapped = argument;
	struct traps *traps = trapped->traps;
	const int code = refusal(end, &trapped->needs.items[trapped->at]);
	trapped->ticket = 0;
	if (code == 0 && ++trapped->at < trapped->needs.count && is_waiting(traps, trapped->id)) {
		hold_next(trapped);
		return;
	}
	answer(traps, trapped->id, code);
	trapped_free(trapped);
}

/* Where signals restart a held call (before Linux 5.19) its thread comes again: the new one has joined the question
 * before the old one leaves it. */
static void drop_older(struct traps *traps, const struct trapped *newest) {
	for (struct trapped *held = traps->held, *next; held; held = next) {
		next = held->next;
		if (held == newest || held->thread != newest->thread || is_waiting(traps, held->id)) continue;
		traps->options.drop(traps->options.context, held->ticket);
		trapped_free(held);
	}
}

static int open_flags(const struct call *call, const struct call_raw *raw) {
	const struct call_shape *shape = call_shape_of(raw->number);
	if (call->class != CALL_OPEN || shape->flags != CALL_FLAGS_OPEN) return 0;
	return (int)(raw->arguments[shape->flags_at - 1] & O_CLOEXEC);
}

static void hold(struct traps *traps, const struct call_raw *raw, struct call *call, struct call_needs *needs) {
	struct trapped *trapped = mem_new(struct trapped);
	*trapped = (struct trapped){.next = traps->held,
				    .link = &traps->held,
				    .traps = traps,
				    .id = traps->received->id,
				    .thread = (pid_t)traps->received->pid,
				    .open_flags = open_flags(call, raw),
				    .call = *call,
				    .needs = *needs};
	*call = (struct call){.class = CALL_OTHER};
	*needs = (struct call_needs){.count = 0};
	if (trapped->next) trapped->next->link = &trapped->next;
	traps->held = trapped;
	traps->counts.held++;
	hold_next(trapped);
	drop_older(traps, trapped);
}

static struct sight look(void *context, const char *path) {
	const struct traps *traps = context;
	return traps->options.sight(traps->options.context, path);
}

/* Something that is shown, or that a curtain would show: neither tells more of the host than a name. */
static bool would_be_asked(const struct traps *traps, const struct sight *sight) {
	const bool hidden = traps->options.wanted & TRAPS_OPENS;
	return (sight->mode == VIEW_READ && sight->ask_write) ||
	       (hidden && (sight->mode == VIEW_ASK || sight->own_or_asked));
}

/*
 * An editor asks access(2) whether a file may be written, long before it writes, without a curtain even before it opens
 * the file, and takes "no" as final. Where a write would be asked about, it may be; the question comes with the write.
 * No link is followed, so that nothing is learned of what can't be asked for.
 */
static bool may_be_written(const struct traps *traps, const struct call *call) {
	const char *path = call->paths[0];
	if (call->class != CALL_LOOK || !call->write || !path) return false;
	const struct sight sight = look((void *)traps, path);
	if (!would_be_asked(traps, &sight)) return false;
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
	CLEANUP_FD int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
	return fd >= 0 && faccessat(fd, "", W_OK, AT_EMPTY_PATH) == 0;
}

static bool makes(const struct call *call, size_t which) {
	if (call->class == CALL_OPEN) return which == 0 && call->create && !call->nameless;
	return call->class == CALL_NAMES && call->makes[which];
}

/* A program is asked about by what it is, whatever it is called. */
static bool runs(const struct traps *traps, const struct call *call, size_t which) {
	if (which != 0 || !(traps->options.wanted & TRAPS_PROGRAMS)) return false;
	return call->class == CALL_EXECUTE || (call->class == CALL_OPEN && !call->write); /* "ld.so PROGRAM" */
}

/* Where a name is made, and what a program is, is found behind whatever links the tool has laid on the way there. 0,
 * or what the call fails with: a thread that can't be looked at makes no names, and starts nothing. */
static int find_places(const struct traps *traps, pid_t thread, struct call *call) {
	for (size_t i = 0; i < CALL_PATHS; i++) {
		char *place;
		const bool made = makes(call, i);
		if (!made && !runs(traps, call, i)) continue;
		if (!call->paths[i] && !lead_is_open(thread)) return EACCES;
		if (!call->paths[i]) continue;
		const struct lead lead = {.thread = thread,
					  .curtain = traps->options.curtain,
					  .last = call->class != CALL_NAMES && !call->exclusive,
					  .there = !made,
					  .rooted = call->rooted};
		int r = lead_find(&lead, call->ways[i] ? call->ways[i] : call->paths[i], &place);
		if (r == -EXDEV || (made && (r == -EACCES || r == -EPERM))) return EACCES;
		if (r < 0) continue;
		free(call->paths[i]);
		call->paths[i] = place;
	}
	return 0;
}

/* Going on would be to another socket or address than the one that was looked at: without somebody who carries it out
 * it is refused. */
static bool take(struct traps *traps, const struct call_raw *raw) {
	const struct traps_options *options = &traps->options;
	const struct seccomp_notif *received = traps->received;
	enum socket_call_kind kind;
	if (!socket_call_kind(raw->number, &kind)) return false;
	if (options->take && options->take(options->context, kind, raw, received->id, (pid_t)received->pid))
		return true;
	if (kind != SOCKET_CALL_CONNECT && kind != SOCKET_CALL_SEND) return false;
	answer(traps, received->id, EACCES);
	return true;
}

static void judge(struct traps *traps) {
	const struct seccomp_notif *received = traps->received;
	const struct seccomp_data *data = &received->data;
	struct call_raw raw = {.number = data->nr};
	static_assert(sizeof raw.arguments == sizeof data->args, "all arguments");
	memcpy(raw.arguments, data->args, sizeof raw.arguments);
	if (take(traps, &raw)) return;
	CLEANUP_CALL struct call call;
	CLEANUP_CALL_NEEDS struct call_needs needs = {.count = 0};
	call_read((pid_t)received->pid, &raw, &call);
	const int code = find_places(traps, (pid_t)received->pid, &call);
	/* the paths are that thread's if it has been waiting all the while (seccomp_unotify(2), "process reuse") */
	if (!is_waiting(traps, received->id)) return;
	if (code != 0) {
		answer(traps, received->id, code);
		return;
	}
	if (may_be_written(traps, &call)) {
		send_answer(traps, received->id, 0, 0);
		return;
	}
	call_needs_find(&call, traps->options.wanted, &traps->world, &needs);
	if (needs.count == 0)
		answer(traps, received->id, 0);
	else
		hold(traps, &raw, &call, &needs);
}

static void on_readable(evutil_socket_t fd, short what, void *argument) {
	struct traps *traps = argument;
	const int64_t since = clock_ms(CLOCK_MONOTONIC);
	(void)what;
	for (int i = 0; i < TRAPS_TURN && clock_ms(CLOCK_MONOTONIC) - since <= TRAPS_TURN_MS; i++) {
		struct pollfd polled = {.fd = fd, .events = POLLIN};
		if (poll(&polled, 1, 0) < 1) return;
		if (!(polled.revents & POLLIN)) {
			event_del(traps->readable); /* POLLHUP: nobody is under the filter any more */
			return;
		}
		memset(traps->received, 0, traps->sizes.seccomp_notif); /* the kernel insists */
		if (ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, traps->received) < 0) continue;
		traps->counts.received++;
		judge(traps);
	}
}

/* Of a path that somebody will be asked about. Links aren't followed, so at most a folder of the tool's is looked at
 * by another name; what comes of it is the order of choices in the question. */
static bool host_has(void *context, const char *path) {
	struct stat status;
	(void)context;
	return lstat(path, &status) == 0;
}

static void find_programs(void *context, const char *path, struct strings *ret_paths) {
	const struct traps *traps = context;
	interpreters_find((pid_t)traps->received->pid, path, ret_paths);
}

static int get_sizes(struct traps *traps, struct error *error) {
	struct seccomp_notif_sizes *sizes = &traps->sizes;
	if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, sizes) < 0)
		return error_errno(error, "asking for the size of a notification");
	if (sizes->seccomp_notif < sizeof *traps->received) sizes->seccomp_notif = sizeof *traps->received;
	if (sizes->seccomp_notif_resp < sizeof *traps->answer) sizes->seccomp_notif_resp = sizeof *traps->answer;
	traps->received = mem_alloc(1, sizes->seccomp_notif);
	traps->answer = mem_alloc(1, sizes->seccomp_notif_resp);
	return 0;
}

int traps_new(const struct traps_options *options, struct traps **ret_traps, struct error *error) {
	CLEANUP_TRAPS struct traps *traps = mem_new(struct traps);
	*traps = (struct traps){
		.options = *options,
		.world = {.sight = look, .exists = host_has, .programs = find_programs, .context = traps}};
	int r = get_sizes(traps, error);
	if (r < 0) return r;
	/* the answer runs where the asking thread was, at once: 7 µs a call instead of up to 45 */
	ioctl(options->listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
	traps->readable = event_new(options->base, options->listener, EV_READ | EV_PERSIST, on_readable, traps);
	if (!traps->readable || event_add(traps->readable, NULL) < 0)
		return error_set(error, ENOMEM, "watching for trapped calls");
	*ret_traps = STEAL(traps);
	return 0;
}

int traps_answer_fd(struct traps *traps, uint64_t ticket, int fd) {
	struct trapped *trapped = traps->held;
	while (trapped && trapped->ticket != ticket) trapped = trapped->next;
	if (!trapped || trapped->call.class != CALL_OPEN) return -EINVAL;
	struct seccomp_notif_addfd add = {.id = trapped->id,
					  .flags = SECCOMP_ADDFD_FLAG_SEND,
					  .srcfd = (uint32_t)fd,
					  .newfd_flags = (uint32_t)trapped->open_flags};
	int r = ioctl(traps->options.listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add) < 0 ? -errno : 0;
	if (r < 0) answer(traps, trapped->id, EACCES);
	trapped_free(trapped);
	return r;
}

struct traps_counts traps_count(const struct traps *traps) {
	return traps->counts;
}

void traps_free(struct traps *traps) {
	if (!traps) return;
	for (struct trapped *held = traps->held, *next; held; held = next) {
		next = held->next;
		if (held->ticket) traps->options.drop(traps->options.context, held->ticket);
		trapped_free(held);
	}
	if (traps->readable) event_free(traps->readable);
	fd_close(traps->options.listener);
	free(traps->received);
	free(traps->answer);
	free(traps);
}
