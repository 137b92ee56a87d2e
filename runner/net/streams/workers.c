/*
 * Theory of operation. One `pool` is shared by the loop's side (struct workers) and the threads, each of which holds a
 * reference; the last one out frees it. A job is in exactly one place: the waiting queue, a thread's hands,
 * or the finished queue, from where an eventfd calls the loop to deliver. Cancelling takes it out of a queue, or leaves
 * a mark for the thread that has it. Threads start on demand and end after some idle seconds.
 */
#include "workers.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "base/thread.h"

enum { THREAD_IDLE_SECONDS = 10, THREAD_STACK = 512 * 1024 /* nsswitch modules run on it */ };

enum job_state { JOB_WAITING, JOB_RUNNING, JOB_FINISHED };

struct worker_job {
	TAILQ_ENTRY(worker_job) entry;
	struct pool *pool;
	const struct worker_task *task;
	void *work, *argument;
	enum job_state state;
	bool cancelled;
};
TAILQ_HEAD(job_queue, worker_job);

struct pool {
	pthread_mutex_t lock; /* all below, and `state` and `cancelled` of jobs */
	pthread_cond_t work;
	struct job_queue waiting, finished;
	int wake; /* eventfd */
	size_t references, threads, threads_max;
	size_t idle, queued; /* threads that wait for a job; jobs that wait for a thread */
	bool closed;
};

struct workers {
	struct pool *pool;
	struct event *wake;
};

static void job_free(struct worker_job *job) {
	job->task->drop(job->work);
	free(job);
}

static void queue_clear(struct job_queue *queue) {
	struct worker_job *job;

	while ((job = TAILQ_FIRST(queue))) {
		TAILQ_REMOVE(queue, job, entry);
		job_free(job);
	}
}

/* Gives back one reference; the lock is held and is released. */
static void pool_leave(struct pool *pool) {
	bool last = --pool->references == 0;

	pthread_mutex_unlock(&pool->lock);
	if (!last) return;
	queue_clear(&pool->waiting);
	queue_clear(&pool->finished);
	pthread_cond_destroy(&pool->work);
	pthread_mutex_destroy(&pool->lock);
	fd_close(pool->wake);
	free(pool);
}

/* Waits for a job; NULL when there was none for a while or the pool is closed. The lock is held. */
static struct worker_job *pool_next(struct pool *pool) {
	struct timespec until;
	struct worker_job *job;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += THREAD_IDLE_SECONDS;
	while (!pool->closed && TAILQ_EMPTY(&pool->waiting)) {
		pool->idle++;
		int r = pthread_cond_timedwait(&pool->work, &pool->lock, &until);
		pool->idle--;
		if (r == ETIMEDOUT) break;
	}
	if (pool->closed || !(job = TAILQ_FIRST(&pool->waiting))) return NULL;
	TAILQ_REMOVE(&pool->waiting, job, entry);
	pool->queued--;
	job->state = JOB_RUNNING;
	return job;
}

static void *thread_main(void *argument) {
	struct pool *pool = argument;
	const uint64_t one = 1;
	struct worker_job *job;

	pthread_mutex_lock(&pool->lock);
	while ((job = pool_next(pool))) {
		pthread_mutex_unlock(&pool->lock);
		job->task->run(job->work);
		pthread_mutex_lock(&pool->lock);
		if (job->cancelled) {
			job_free(job);
			continue;
		}
		job->state = JOB_FINISHED;
		TAILQ_INSERT_TAIL(&pool->finished, job, entry);
		(void)!write(pool->wake, &one, sizeof one); /* can't fail short of 2^64 finished jobs */
	}
	pool->threads--;
	pool_leave(pool);
	return NULL;
}

/* The lock is held. */
static int pool_add_thread(struct pool *pool) {
	int r = thread_start(THREAD_STACK, thread_main, pool);
	if (r < 0) return r;
	pool->threads++;
	pool->references++;
	return 0;
}

static struct worker_job *pool_take_finished(struct pool *pool) {
	struct worker_job *job;

	pthread_mutex_lock(&pool->lock);
	if ((job = TAILQ_FIRST(&pool->finished))) TAILQ_REMOVE(&pool->finished, job, entry);
	pthread_mutex_unlock(&pool->lock);
	return job;
}

/* One at a time, since `done` may cancel others or free the workers (which closes the pool). */
static void deliver(evutil_socket_t fd, short what, void *argument) {
	struct workers *workers = argument;
	struct pool *pool = workers->pool;
	struct worker_job *job;
	uint64_t count;

	(void)what;
	(void)!read(fd, &count, sizeof count);
	pthread_mutex_lock(&pool->lock);
	pool->references++;
	pthread_mutex_unlock(&pool->lock);
	while ((job = pool_take_finished(pool))) {
		job->task->done(job->work, job->argument);
		job_free(job);
	}
	pthread_mutex_lock(&pool->lock);
	pool_leave(pool);
}

struct workers *workers_new(struct event_base *base, size_t threads_max) {
	struct workers *workers = mem_new(struct workers);
	struct pool *pool = mem_new(struct pool);
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->work, &attributes);
	pthread_condattr_destroy(&attributes);
	TAILQ_INIT(&pool->waiting);
	TAILQ_INIT(&pool->finished);
	pool->threads_max = threads_max;
	pool->references = 1;
	pool->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	workers->pool = pool;
	workers->wake = event_new(base, pool->wake, EV_READ | EV_PERSIST, deliver, workers);
	if (pool->wake < 0 || !workers->wake || event_add(workers->wake, NULL) < 0) mem_exhausted();
	return workers;
}

void workers_free(struct workers *workers) {
	struct pool *pool;

	if (!workers) return;
	pool = workers->pool;
	event_free(workers->wake);
	pthread_mutex_lock(&pool->lock);
	pool->closed = true;
	queue_clear(&pool->waiting);
	queue_clear(&pool->finished);
	pthread_cond_broadcast(&pool->work);
	pool_leave(pool);
	free(workers);
}

struct worker_job *workers_start(struct workers *workers, const struct worker_task *task, void *work, void *argument) {
	struct pool *pool = workers->pool;
	struct worker_job *job = mem_new(struct worker_job);
	const uint64_t one = 1;

	*job = (struct worker_job){.pool = pool, .task = task, .work = work, .argument = argument};
	pthread_mutex_lock(&pool->lock);
	/* One that was called for a job is idle until it runs: it takes no second one. */
	const bool needs_thread = pool->idle <= pool->queued && pool->threads < pool->threads_max;
	if (needs_thread && pool_add_thread(pool) < 0 && pool->threads == 0) {
		task->fail(work);
		job->state = JOB_FINISHED;
		TAILQ_INSERT_TAIL(&pool->finished, job, entry);
		(void)!write(pool->wake, &one, sizeof one);
	} else {
		TAILQ_INSERT_TAIL(&pool->waiting, job, entry);
		pool->queued++;
		pthread_cond_signal(&pool->work);
	}
	pthread_mutex_unlock(&pool->lock);
	return job;
}

void worker_cancel(struct worker_job *job) {
	struct pool *pool = job->pool;

	pthread_mutex_lock(&pool->lock);
	if (job->state == JOB_RUNNING) {
		job->cancelled = true;
	} else {
		if (job->state == JOB_WAITING) pool->queued--;
		TAILQ_REMOVE(job->state == JOB_WAITING ? &pool->waiting : &pool->finished, job, entry);
		job_free(job);
	}
	pthread_mutex_unlock(&pool->lock);
}
