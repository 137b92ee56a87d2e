/*
 * Theory of operation. A notification names a thread, a descriptor of it and an address in its memory, and all three
 * may be others a moment later: a second thread writes to that memory or lays another socket over the number (dup2(2)).
 * So each is taken once: the descriptor by pidfd_getfd(2), which gives us the tool's own open file, the address and the
 * data by one process_vm_readv(2). After that the notification's id is looked at: if the thread has been waiting all
 * the while, they were its own (seccomp_unotify(2), "process reuse"; attack K6). What comes of the call is done on our
 * duplicate with our copy, and the tool only gets the result (attack N9).
 */
#include "socket_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/queue.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/string.h"
#include "closer.h"
#include "descriptors.h"
#include "looks.h"
#include "process.h"
#include "schema/limits.h"

#ifndef PIDFD_THREAD /* Linux 6.9 */
#define PIDFD_THREAD O_EXCL
#endif
#ifndef SO_NETNS_COOKIE /* Linux 5.14 */
#define SO_NETNS_COOKIE 71
#endif

enum {
	SOCKET_CALLS_PART = 4,  /* of all descriptors: each call that is held has one */
	CONNECT_US = 5000,      /* after which a connect(2) that must not wait is broken off */
	CONNECT_WARY_US = 1000, /* where one had to be already */
};

TAILQ_HEAD(held_list, held_call);

struct held_call {
	struct socket_call call; /* first: what handlers are given */
	TAILQ_ENTRY(held_call) entry;
	struct socket_calls *calls;
	uint64_t id;
	struct look *look;
	bool told; /* that it must come back */
	void (*interrupted)(void *argument);
	void *argument;
};

struct socket_calls {
	struct socket_calls_options options;
	struct held_list held;
	size_t count, most;
	size_t bytes;            /* of the data of all */
	struct held_call *fresh; /* the one that the handler is being given; NULL: it was ended by then */
	struct looks *looks;
	struct closer *closer;
	bool wary; /* a connect(2) was made to wait */
};

static const int numbers[] = {[SOCKET_CALL_CONNECT] = SYS_connect,
			      [SOCKET_CALL_SEND] = SYS_sendto,
			      [SOCKET_CALL_BIND] = SYS_bind,
			      [SOCKET_CALL_LISTEN] = SYS_listen};

bool socket_call_kind(int number, enum socket_call_kind *ret_kind) {
	for (size_t i = 0; i < ARRAY_LENGTH(numbers); i++) {
		if (numbers[i] != number) continue;
		*ret_kind = (enum socket_call_kind)i;
		return true;
	}
	return false;
}

static bool is_waiting(const struct socket_calls *calls, uint64_t id) {
	return ioctl(calls->options.listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

/* Of a thread that is gone nobody hears. */
static void send_result(const struct socket_calls *calls, uint64_t id, int64_t result) {
	struct seccomp_notif_resp answer = {.id = id};
	if (result < 0)
		answer.error = (int32_t)result;
	else
		answer.val = result;
	ioctl(calls->options.listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

/* Nobody waits for the last close(2) of a datagram socket, nor of one without a connection, which it gets through us
 * alone; a server's port must be free when its tool has closed it. Of all else that a tool may have passed for a socket
 * nobody knows how long it takes. */
static bool is_closed_at_once(const struct socket_call *call) {
	struct tcp_info info;
	socklen_t size = sizeof info;
	if (call->domain == AF_NETLINK) return true;
	if (call->type == SOCK_DGRAM && call->protocol == IPPROTO_UDP) return true;
	if (call->protocol != IPPROTO_TCP || getsockopt(call->fd, IPPROTO_TCP, TCP_INFO, &info, &size) < 0)
		return false;
	/* of a server those that it hasn't accepted */
	return info.tcpi_state == TCP_CLOSE || (info.tcpi_state == TCP_LISTEN && info.tcpi_unacked == 0);
}

static void call_close(struct socket_calls *calls, const struct socket_call *call) {
	if (is_closed_at_once(call))
		fd_close(call->fd);
	else
		closer_close(calls->closer, call->fd);
}

/* One that is in no list any more. */
static void call_release(struct held_call *held) {
	struct socket_calls *calls = held->calls;
	if (calls->fresh == held) calls->fresh = NULL;
	calls->count--;
	calls->bytes -= held->call.size;
	look_free(held->look);
	call_close(calls, &held->call);
	free(held->call.data);
	free(held);
}

static void call_free(struct held_call *held) {
	TAILQ_REMOVE(&held->calls->held, held, entry);
	call_release(held);
}

static struct held_call *held_of(struct socket_call *call) {
	return (struct held_call *)call;
}

/* What is read of the thread */

/* Threads share their descriptors, all but those of the rarest programs (clone(2), CLONE_FILES). */
static int open_leader(pid_t thread) {
	CLEANUP_FREE char *path = string_format("/proc/%d/status", thread);
	const pid_t leader = (pid_t)process_number(path, "Tgid", 10);
	errno = ESRCH;
	return leader > 0 ? (int)syscall(SYS_pidfd_open, leader, 0) : -1;
}

void socket_caller_finish(struct socket_caller *caller) {
	if (caller->thread > 0) fd_close(caller->pidfd);
	*caller = (struct socket_caller){.thread = 0};
}

/* The pidfd of who called last is kept. It is that thread's for good: of one that is gone, whoever has its number now,
 * nothing can be had (ESRCH). A leader's would say nothing of the thread, and isn't kept. */
static int duplicate(struct socket_caller *caller, pid_t thread, int number) {
	int fd = caller->thread == thread ? (int)syscall(SYS_pidfd_getfd, caller->pidfd, number, 0) : -1;
	if (fd >= 0) return fd;
	socket_caller_finish(caller);
	CLEANUP_FD int pidfd = (int)syscall(SYS_pidfd_open, thread, PIDFD_THREAD);
	const bool of_thread = pidfd >= 0;
	if (!of_thread && errno == EINVAL) pidfd = open_leader(thread);
	if (pidfd < 0 || (fd = (int)syscall(SYS_pidfd_getfd, pidfd, number, 0)) < 0) return -1;
	if (of_thread) *caller = (struct socket_caller){.thread = thread, .pidfd = fd_steal(&pidfd)};
	return fd;
}

/* The errno that the call fails with, or 0. */
static int take_socket(struct socket_caller *caller, struct socket_call *call, uint64_t *ret_cookie) {
	call->fd = duplicate(caller, call->thread, call->number);
	if (call->fd < 0) return errno == EBADF ? EBADF : errno == EMFILE || errno == ENFILE ? EAGAIN : EACCES;
	socklen_t size = sizeof(int), cookie_size = sizeof *ret_cookie;
	if (getsockopt(call->fd, SOL_SOCKET, SO_DOMAIN, &call->domain, &size) < 0) return errno;
	if (getsockopt(call->fd, SOL_SOCKET, SO_TYPE, &call->type, &size) < 0 ||
	    getsockopt(call->fd, SOL_SOCKET, SO_PROTOCOL, &call->protocol, &size) < 0 ||
	    getsockopt(call->fd, SOL_SOCKET, SO_NETNS_COOKIE, ret_cookie, &cookie_size) < 0)
		return EACCES;
	const int flags = fcntl(call->fd, F_GETFL);
	call->blocking = flags >= 0 && !(flags & O_NONBLOCK);
	return 0;
}

/* All or nothing: in one piece where it is mapped, which is all that a tool can do about it. */
static bool read_memory(pid_t thread, uint64_t address, void *bytes, size_t size) {
	const struct iovec local = {.iov_base = bytes, .iov_len = size};
	const struct iovec remote = {.iov_base = (void *)(uintptr_t)address, // NOLINT(performance-no-int-to-ptr)
				     .iov_len = size};
	return size == 0 || process_vm_readv(thread, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

/* As move_addr_to_kernel() of net/socket.c. */
static int take_address(struct socket_call *call, uint64_t address, uint64_t size) {
	const int length = (int)size;
	if (length < 0 || (size_t)length > sizeof call->address) return EINVAL;
	call->address_size = (socklen_t)length;
	return read_memory(call->thread, address, &call->address, (size_t)length) ? 0 : EFAULT;
}

/* A stream takes what it can, so it is given less of what is too much. */
static int take_data(struct socket_call *call, uint64_t address, uint64_t size) {
	const size_t most = call->domain == AF_UNIX ? LIMIT_SEND_LOCAL : LIMIT_SEND;
	if (size > most && call->type != SOCK_STREAM) return EMSGSIZE;
	call->size = size < most ? (size_t)size : most;
	call->data = mem_alloc(1, call->size > 0 ? call->size : 1);
	return read_memory(call->thread, address, call->data, call->size) ? 0 : EFAULT;
}

/* Of what the filter refuses (fast open), and what needs the tool's own memory. */
static int take_flags(struct socket_call *call, uint64_t flags) {
	call->flags = (int)flags;
	if (call->flags & MSG_DONTWAIT) call->blocking = false;
	return call->flags & (MSG_FASTOPEN | MSG_ZEROCOPY) ? EOPNOTSUPP : 0;
}

static int take_arguments(struct socket_call *call, const uint64_t arguments[CALL_ARGUMENTS]) {
	int code = 0;
	switch (call->kind) {
	case SOCKET_CALL_CONNECT:
	case SOCKET_CALL_BIND:
		return take_address(call, arguments[1], arguments[2]);
	case SOCKET_CALL_SEND:
		code = take_flags(call, arguments[3]);
		if (code == 0) code = take_address(call, arguments[4], arguments[5]);
		return code == 0 ? take_data(call, arguments[1], arguments[2]) : code;
	case SOCKET_CALL_LISTEN:
		call->backlog = (int)arguments[1];
		return 0;
	}
	return EACCES;
}

static bool serves_locally(const struct socket_call *call) {
	const bool serves = call->kind == SOCKET_CALL_BIND || call->kind == SOCKET_CALL_LISTEN;
	return serves && call->domain == AF_UNIX;
}

bool socket_take(struct socket_caller *caller, enum socket_call_kind kind, pid_t thread,
		 const uint64_t arguments[CALL_ARGUMENTS], struct socket_taken *ret_taken) {
	struct socket_call *call = &ret_taken->call;
	*ret_taken =
		(struct socket_taken){.call = {.kind = kind, .thread = thread, .fd = -1, .number = (int)arguments[0]}};
	ret_taken->code = take_socket(caller, call, &ret_taken->cookie);
	if (ret_taken->code != 0) return true;
	if (serves_locally(call)) {
		fd_close(call->fd);
		return false;
	}
	ret_taken->code = take_arguments(call, arguments);
	return true;
}

void socket_taken_finish(struct socket_taken *taken) {
	fd_close(taken->call.fd);
	free(taken->call.data);
}

/* Holding */

static void call_interrupt(struct held_call *held) {
	if (held->told) return; /* its handler is about to answer */
	held->told = true;
	if (held->interrupted)
		held->interrupted(held->argument);
	else
		socket_call_answer(&held->call, -EINTR);
}

static void on_interrupted(void *argument, enum pending why) {
	struct held_call *held = argument;
	held->call.comes_again = why == PENDING_HANDLED;
	call_interrupt(held);
}

static void on_frozen(void *context) {
	socket_calls_interrupt(context);
}

static void on_alarm(int number) {
	(void)number;
}

/* So that it breaks off what waits (signal(7)). */
static void catch_alarm(void) {
	const struct sigaction action = {.sa_handler = on_alarm};
	sigset_t alarms;
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	sigaction(SIGALRM, &action, NULL);
	sigprocmask(SIG_UNBLOCK, &alarms, NULL);
}

struct socket_calls *socket_calls_new(const struct socket_calls_options *options) {
	struct socket_calls *calls = mem_new(struct socket_calls);
	*calls =
		(struct socket_calls){.options = *options, .most = descriptors_share(SOCKET_CALLS_PART, 1, LIMIT_HELD)};
	TAILQ_INIT(&calls->held);
	calls->looks = looks_new(options->base, on_frozen, calls);
	calls->closer = closer_new();
	catch_alarm();
	return calls;
}

/* The errno that the call fails with, or 0. */
static int check_taken(const struct socket_calls *calls, const struct socket_taken *taken) {
	const uint64_t own = calls->options.cookie;
	if (calls->count + closer_count(calls->closer) > calls->most) return EAGAIN;
	if (taken->call.domain != 0 && (own == 0 || taken->cookie != own)) return EACCES;
	if (taken->code != 0) return taken->code;
	return calls->bytes > LIMIT_SENDS ? ENOBUFS : 0;
}

void socket_calls_add(struct socket_calls *calls, uint64_t id, struct socket_taken *taken) {
	struct held_call *held = mem_new(struct held_call);
	held->call = taken->call;
	held->calls = calls;
	held->id = id;
	TAILQ_INSERT_TAIL(&calls->held, held, entry);
	calls->count++;
	calls->bytes += held->call.size;
	const int code = check_taken(calls, taken);
	/* all that is the thread's if it has been waiting all the while */
	if (!is_waiting(calls, id)) {
		call_free(held);
		return;
	}
	if (code != 0) {
		socket_call_answer(&held->call, -code);
		return;
	}
	calls->fresh = held;
	calls->options.handle(calls->options.context, &held->call);
	if (calls->fresh) held->look = look_new(calls->looks, held->call.thread, on_interrupted, held);
	calls->fresh = NULL;
}

void socket_calls_interrupt(struct socket_calls *calls) {
	struct held_call *held;
	for (size_t rest = calls->count; rest > 0 && (held = TAILQ_FIRST(&calls->held)); rest--) {
		TAILQ_REMOVE(&calls->held, held, entry);
		TAILQ_INSERT_TAIL(&calls->held, held, entry);
		call_interrupt(held);
	}
}

size_t socket_calls_count(const struct socket_calls *calls) {
	return calls->count;
}

void socket_calls_free(struct socket_calls *calls) {
	struct held_call *held;
	if (!calls) return;
	while ((held = TAILQ_FIRST(&calls->held))) {
		TAILQ_REMOVE(&calls->held, held, entry);
		send_result(calls, held->id, -EINTR);
		call_release(held);
	}
	looks_free(calls->looks);
	closer_free(calls->closer);
	free(calls);
}

/* Ends */

void socket_call_on_interrupt(struct socket_call *call, void (*interrupted)(void *argument), void *argument) {
	held_of(call)->interrupted = interrupted;
	held_of(call)->argument = argument;
}

void socket_call_answer(struct socket_call *call, int64_t result) {
	struct held_call *held = held_of(call);
	send_result(held->calls, held->id, result);
	call_free(held);
}

/* Does the tool's descriptor survive execve(2)? (proc_pid_fdinfo(5)) */
static bool is_closed_on_exec(const struct socket_call *call) {
	CLEANUP_FREE char *path = string_format("/proc/%d/fdinfo/%d", call->thread, call->number);
	return process_number(path, "flags", 8) & O_CLOEXEC;
}

int socket_call_replace(struct socket_call *call, int fd) {
	struct held_call *held = held_of(call);
	/* SECCOMP_ADDFD_FLAG_SEND would make the number what connect(2) returns */
	struct seccomp_notif_addfd add = {.id = held->id,
					  .flags = SECCOMP_ADDFD_FLAG_SETFD,
					  .srcfd = (uint32_t)fd,
					  .newfd = (uint32_t)call->number,
					  .newfd_flags = is_closed_on_exec(call) ? O_CLOEXEC : 0};
	int r = ioctl(held->calls->options.listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add) < 0 ? -errno : 0;
	socket_call_answer(call, r < 0 ? -EACCES : 0);
	return r;
}

static struct itimerval alarm_after(suseconds_t us) {
	return (struct itimerval){.it_value.tv_usec = us, .it_interval.tv_usec = us};
}

/*
 * The file's mode is the tool's as well, who may take it back at any moment, so there is an alarm besides: more than
 * one, since the first may come before connect(2) has begun to wait. One behind the next tick of the kernel's clock
 * (4 ms where CONFIG_HZ is 250) is a tenth of the work of a nearer one, which has the processor's timer set twice. A
 * tool that made use of it has nearer ones from then on.
 */
static int connect_briefly(struct socket_calls *calls, int fd, const struct sockaddr *address, socklen_t size) {
	const struct itimerval soon = alarm_after(calls->wary ? CONNECT_WARY_US : CONNECT_US), never = alarm_after(0);
	setitimer(ITIMER_REAL, &soon, NULL);
	int r = connect(fd, address, size) < 0 ? -errno : 0;
	setitimer(ITIMER_REAL, &never, NULL);
	if (r == -EINTR) calls->wary = true;
	return r;
}

int socket_call_connect(const struct socket_call *call, const struct sockaddr *address, socklen_t size) {
	const int flags = fcntl(call->fd, F_GETFL);
	if (flags < 0) return -errno;
	if (!(flags & O_NONBLOCK) && fcntl(call->fd, F_SETFL, flags | O_NONBLOCK) < 0) return -errno;
	int r = connect_briefly(((const struct held_call *)call)->calls, call->fd, address, size);
	if (!(flags & O_NONBLOCK)) fcntl(call->fd, F_SETFL, flags);
	return r;
}
