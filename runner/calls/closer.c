/*
 * Theory of operation. Any of several threads takes the next descriptor, so that one that lingers holds up the others'
 * peers, who wait for the end of a connection, only when all threads have met such a one. The last thread frees what
 * all share.
 */
#include "closer.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "base/fd.h"
#include "base/thread.h"

enum { CLOSER_THREADS = 4, CLOSER_STACK = 64 * 1024 };

struct closing {
	STAILQ_ENTRY(closing) entry;
	int fd;
};

struct closer {
	pthread_mutex_t lock; /* all below */
	pthread_cond_t work;
	STAILQ_HEAD(, closing) waiting;
	size_t count; /* that wait, or are being closed */
	size_t threads, idle;
	bool over;
};

static void closer_finish(struct closer *closer) {
	pthread_cond_destroy(&closer->work);
	pthread_mutex_destroy(&closer->lock);
	free(closer);
}

/* The lock is held. NULL: there is none. */
static struct closing *take_first(struct closer *closer) {
	struct closing *closing = STAILQ_FIRST(&closer->waiting);
	if (closing) STAILQ_REMOVE_HEAD(&closer->waiting, entry);
	return closing;
}

/* One that was taken; the lock isn't held. */
static void close_now(struct closer *closer, struct closing *closing) {
	fd_close(closing->fd);
	free(closing);
	pthread_mutex_lock(&closer->lock);
	closer->count--;
	pthread_mutex_unlock(&closer->lock);
}

static void *thread_main(void *argument) {
	struct closer *closer = argument;
	struct closing *closing;

	pthread_mutex_lock(&closer->lock);
	while ((closing = take_first(closer)) || !closer->over) {
		if (!closing) {
			closer->idle++;
			pthread_cond_wait(&closer->work, &closer->lock);
			closer->idle--;
			continue;
		}
		pthread_mutex_unlock(&closer->lock);
		close_now(closer, closing);
		pthread_mutex_lock(&closer->lock);
	}
	const bool last = --closer->threads == 0;
	pthread_mutex_unlock(&closer->lock);
	if (last) closer_finish(closer);
	return NULL;
}

/* The lock is held. */
static void add_thread(struct closer *closer) {
	if (thread_start(CLOSER_STACK, thread_main, closer) == 0) closer->threads++;
}

struct closer *closer_new(void) {
	struct closer *closer = mem_new(struct closer);

	pthread_mutex_init(&closer->lock, NULL);
	pthread_cond_init(&closer->work, NULL);
	STAILQ_INIT(&closer->waiting);
	return closer;
}

void closer_close(struct closer *closer, int fd) {
	struct closing *closing;

	if (fd < 0) return;
	closing = mem_new(struct closing);
	closing->fd = fd;
	pthread_mutex_lock(&closer->lock);
	STAILQ_INSERT_TAIL(&closer->waiting, closing, entry);
	closer->count++;
	if (closer->idle == 0 && closer->threads < CLOSER_THREADS) add_thread(closer);
	const bool alone = closer->threads == 0;
	if (alone) take_first(closer);
	pthread_mutex_unlock(&closer->lock);
	pthread_cond_signal(&closer->work); /* who is woken finds the lock free */
	if (alone) close_now(closer, closing);
}

size_t closer_count(struct closer *closer) {
	pthread_mutex_lock(&closer->lock);
	const size_t count = closer->count;
	pthread_mutex_unlock(&closer->lock);
	return count;
}

void closer_free(struct closer *closer) {
	if (!closer) return;
	pthread_mutex_lock(&closer->lock);
	closer->over = true;
	const bool last = closer->threads == 0;
	pthread_cond_broadcast(&closer->work);
	pthread_mutex_unlock(&closer->lock);
	if (last) closer_finish(closer);
}
