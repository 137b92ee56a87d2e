/*
 * Theory of operation. One thread at a time is the receiver: it receives a call, serves it to its end and receives the
 * next, so that a call that goes on costs one switch there and one back, as if the loop had done it. A second thread is
 * the watcher: while calls come it looks every READERS_STUCK_MS whether the receiver is still at the call of the look
 * before. Then it becomes the receiver itself and there is a new watcher; who was relieved watches when it comes back,
 * or leaves where somebody does already. When no call came for a while the watcher sleeps until one does.
 *
 * `beat` is odd while a reader serves a call. A receiver that begins one looks whether the watcher sleeps; a watcher
 * that lies down looks at the beat once more. So one of the two sees the other.
 */
#include "readers.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/thread.h"
#include "calls/used_up.h"

enum { READERS_STACK = 512 * 1024, READERS_QUIET_LOOKS = 40 };

struct reader {
	struct readers *readers;
	atomic_ulong beat;
	struct socket_caller caller;
	struct seccomp_notif *received; /* of the kernel's size */
};

struct readers {
	struct readers_options options;
	size_t size; /* of a notification */
	bool polls;  /* before it receives */
	int over;    /* eventfd, readable from readers_free on */
	pthread_mutex_t lock;
	pthread_cond_t changed; /* what is below, or the watcher is wanted */
	_Atomic(struct reader *) receiver;
	struct reader *watcher;
	atomic_bool asleep; /* the watcher, or there is none */
	size_t threads;     /* and one for readers_free */
	atomic_bool closed;
};

static void readers_gone(struct readers *readers) {
	readers->options.gone(readers->options.context);
	pthread_cond_destroy(&readers->changed);
	pthread_mutex_destroy(&readers->lock);
	fd_close(readers->over);
	free(readers);
}

/* The lock is held and is released. */
static void leave(struct readers *readers) {
	const bool last = --readers->threads == 0;
	pthread_mutex_unlock(&readers->lock);
	if (last) readers_gone(readers);
}

static void *thread_main(void *argument);

/* The lock is held. 0 or -errno. */
static int add_thread(struct readers *readers) {
	const int r = thread_start(READERS_STACK, thread_main, readers);
	if (r == 0) readers->threads++;
	return r;
}

/* The receiver has begun a call, and nobody looks after it. */
static void call_watcher(struct readers *readers) {
	pthread_mutex_lock(&readers->lock);
	if (readers->watcher) {
		atomic_store(&readers->asleep, false);
		pthread_cond_broadcast(&readers->changed);
	} else if (readers->threads <= READERS_MAX && add_thread(readers) == 0) {
		atomic_store(&readers->asleep, false);
	}
	pthread_mutex_unlock(&readers->lock);
}

/* Is there something to receive? False: never again. */
static bool wait_for_call(const struct readers *readers) {
	struct pollfd polled[] = {{.fd = readers->options.listener, .events = POLLIN},
				  {.fd = readers->over, .events = POLLIN}};
	while (poll(polled, 2, -1) < 0) {
	}
	return polled[1].revents == 0 && (polled[0].revents & POLLIN);
}

/* Since Linux 6.11 who waits in the call itself is woken when the last process that has the filter has ended. */
static bool kernel_wakes_who_receives(void) {
	struct utsname name;
	if (uname(&name) < 0) return false;
	char *end;
	const long major = strtol(name.release, &end, 10), minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;
	return major > 6 || (major == 6 && minor >= 11);
}

/* False: there is nothing to receive any more. Receiving blocks where there is nothing to receive, on older kernels for
 * ever: so what comes is polled for first. Then it doesn't block: the kernel counts what came and doesn't uncount what
 * died meanwhile (ENOENT). That is also what it says when all have ended. */
static bool receive(struct reader *reader) {
	struct readers *readers = reader->readers;
	for (bool polls = readers->polls; atomic_load(&readers->receiver) == reader;) {
		if (polls && !wait_for_call(readers)) return false;
		memset(reader->received, 0, readers->size); /* the kernel insists */
		polls = ioctl(readers->options.listener, SECCOMP_IOCTL_NOTIF_RECV, reader->received) < 0;
		if (polls) continue;
		if (readers->closed) return false; /* the call fails with the listener */
		polls = readers->polls;
		atomic_fetch_add(&reader->beat, 1);
		if (atomic_load(&readers->asleep)) call_watcher(readers);
		readers->options.serve(readers->options.context, reader->received, &reader->caller);
		atomic_fetch_add(&reader->beat, 1);
	}
	return true;
}

/* The lock is held. */
static void wait_shortly(struct readers *readers) {
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += READERS_STUCK_MS * 1000000L;
	if (until.tv_nsec >= 1000000000L) {
		until.tv_nsec -= 1000000000L;
		until.tv_sec++;
	}
	pthread_cond_timedwait(&readers->changed, &readers->lock, &until);
}

/* Until a call comes. The lock is held. */
static void sleep_unless(struct readers *readers, const struct reader *receiver, unsigned long beat) {
	atomic_store(&readers->asleep, true);
	while (atomic_load(&readers->asleep) && !readers->closed) {
		if (atomic_load(&receiver->beat) != beat)
			atomic_store(&readers->asleep, false);
		else
			pthread_cond_wait(&readers->changed, &readers->lock);
	}
}

/* Until the receiver is stuck, or there is none. The lock is held. */
static void watch(struct readers *readers) {
	const struct reader *receiver = NULL;
	unsigned long seen = 0;
	for (int quiet = 0; !readers->closed;) {
		const struct reader *now = atomic_load(&readers->receiver);
		if (!now) return;
		const unsigned long beat = atomic_load(&now->beat);
		const bool same = now == receiver && beat == seen;
		if (same && beat % 2 == 1) return;
		quiet = same ? quiet + 1 : 0;
		receiver = now;
		seen = beat;
		if (quiet >= READERS_QUIET_LOOKS) {
			sleep_unless(readers, receiver, beat);
			continue;
		}
		wait_shortly(readers);
		readers->options.look(readers->options.context);
	}
}

/* The lock is held, and released while it receives. */
static void take_turns(struct reader *reader) {
	struct readers *readers = reader->readers;
	while (!readers->closed && !readers->watcher) {
		readers->watcher = reader;
		watch(readers);
		readers->watcher = NULL;
		if (readers->closed) return;
		atomic_store(&readers->receiver, reader);
		atomic_store(&readers->asleep, true); /* its next call brings a watcher */
		pthread_mutex_unlock(&readers->lock);
		const bool more = receive(reader);
		pthread_mutex_lock(&readers->lock);
		if (!more) readers->closed = true;
	}
}

static void *thread_main(void *argument) {
	struct readers *readers = argument;
	struct reader reader = {.readers = readers, .received = mem_alloc(1, readers->size)};
	pthread_mutex_lock(&readers->lock);
	take_turns(&reader);
	/* nobody looks at this one any more */
	if (atomic_load(&readers->receiver) == &reader) atomic_store(&readers->receiver, NULL);
	pthread_cond_broadcast(&readers->changed);
	socket_caller_finish(&reader.caller);
	free(reader.received);
	leave(readers);
	return NULL;
}

static size_t notification_size(void) {
	struct seccomp_notif_sizes sizes = {0};
	syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes);
	return sizes.seccomp_notif < sizeof(struct seccomp_notif) ? sizeof(struct seccomp_notif) : sizes.seccomp_notif;
}

/* An answer is written as a whole struct of ours. */
static int check_sizes(struct error *error) {
	struct seccomp_notif_sizes sizes;
	if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) < 0)
		return error_errno(error, "asking for the size of a notification");
	if (sizes.seccomp_notif_resp > sizeof(struct seccomp_notif_resp))
		return error_set(error, ENOSYS, "this kernel's answers to trapped calls are longer than what is known");
	return 0;
}

int readers_new(const struct readers_options *options, struct readers **ret_readers, struct error *error) {
	int r = check_sizes(error);
	if (r < 0) return r;
	struct readers *readers = mem_new(struct readers);
	pthread_condattr_t attributes;
	*readers = (struct readers){.options = *options,
				    .size = notification_size(),
				    .polls = !kernel_wakes_who_receives(),
				    .over = eventfd(0, EFD_CLOEXEC),
				    .threads = 1};
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_mutex_init(&readers->lock, NULL);
	pthread_cond_init(&readers->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	pthread_mutex_lock(&readers->lock);
	r = readers->over < 0 ? -errno : add_thread(readers);
	pthread_mutex_unlock(&readers->lock);
	if (r < 0) {
		fd_close(readers->over);
		free(readers);
		errno = -r;
		return used_up_errno(error, "starting a thread that reads trapped calls");
	}
	*ret_readers = readers;
	return 0;
}

void readers_free(struct readers *readers) {
	static const uint64_t one = 1;
	if (!readers) return;
	(void)!write(readers->over, &one, sizeof one);
	pthread_mutex_lock(&readers->lock);
	readers->closed = true;
	pthread_cond_broadcast(&readers->changed);
	leave(readers);
}
