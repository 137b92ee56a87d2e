#include "promptly.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/string.h"
#include "base/thread.h"
#include "regular.h"

enum {
	PROMPTLY_STACK = 256 * 1024,
	PROMPTLY_STAT_MAX = 4096,
	PROMPTLY_LOOKS = 50, /* a second without a processor */
};

struct job {
	void (*run)(void *work);
	void (*drop)(void *work);
	void *work;
	pid_t thread; /* 0: nobody has taken it yet */
	atomic_bool ran;
	bool done, given_up;
};

struct promptly {
	pthread_mutex_t lock; /* all below, and what is in jobs */
	pthread_cond_t wanted, done;
	struct job *waiting;
	size_t idle, threads; /* and one for promptly_free */
	bool closed;
};

/* The lock is held and is released. */
static void leave(struct promptly *promptly) {
	const bool last = --promptly->threads == 0;
	pthread_mutex_unlock(&promptly->lock);
	if (!last) return;
	pthread_cond_destroy(&promptly->wanted);
	pthread_cond_destroy(&promptly->done);
	pthread_mutex_destroy(&promptly->lock);
	free(promptly);
}

static void job_drop(struct job *job) {
	job->drop(job->work);
	free(job);
}

/* NULL: it is over. The lock is held. */
static struct job *take(struct promptly *promptly) {
	promptly->idle++;
	while (!promptly->waiting && !promptly->closed) pthread_cond_wait(&promptly->wanted, &promptly->lock);
	promptly->idle--;
	return STEAL(promptly->waiting);
}

static void *thread_main(void *argument) {
	struct promptly *promptly = argument;
	struct job *job;
	pthread_mutex_lock(&promptly->lock);
	while ((job = take(promptly))) {
		job->thread = gettid();
		pthread_mutex_unlock(&promptly->lock);
		job->run(job->work);
		atomic_store(&job->ran, true);
		pthread_mutex_lock(&promptly->lock);
		job->done = true;
		pthread_cond_signal(&promptly->done);
		if (job->given_up) job_drop(job);
	}
	leave(promptly);
	return NULL;
}

/* The lock is held. */
static bool add_thread(struct promptly *promptly) {
	const bool added = thread_start(PROMPTLY_STACK, thread_main, promptly) == 0;
	if (added) promptly->threads++;
	return added;
}

struct promptly *promptly_new(void) {
	struct promptly *promptly = mem_new(struct promptly);
	pthread_condattr_t attributes;
	promptly->threads = 1;
	pthread_mutex_init(&promptly->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&promptly->wanted, &attributes);
	pthread_cond_init(&promptly->done, &attributes);
	pthread_condattr_destroy(&attributes);
	return promptly;
}

/* It is at rest in the midst of it: what it waits for is a tool's. A thread without a processor goes on by itself. */
static bool is_stuck(const struct job *job) {
	CLEANUP_FREE char *path = string_format("/proc/self/task/%d/stat", job->thread), *text = NULL;
	if (job->thread == 0 || regular_read(path, PROMPTLY_STAT_MAX, &text, NULL, NULL) < 0) return false;
	const char *state = strrchr(text, ')');
	return state && strncmp(state, ") R", 3) != 0 && !atomic_load(&job->ran);
}

/* The lock is held. */
static void wait_for(struct promptly *promptly, const struct job *job) {
	for (int looks = 0; !job->done && looks < PROMPTLY_LOOKS; looks++) {
		struct timespec until;
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += PROMPTLY_MS * 1000000L;
		until.tv_sec += until.tv_nsec / 1000000000L;
		until.tv_nsec %= 1000000000L;
		while (!job->done)
			if (pthread_cond_timedwait(&promptly->done, &promptly->lock, &until) == ETIMEDOUT) break;
		if (!job->done && is_stuck(job)) return;
	}
}

bool promptly_do(struct promptly *promptly, void (*run)(void *work), void (*drop)(void *work), void *work) {
	if (!promptly) {
		run(work);
		return true;
	}
	struct job *job = mem_new(struct job);
	*job = (struct job){.run = run, .drop = drop, .work = work};
	pthread_mutex_lock(&promptly->lock);
	const bool posted = promptly->idle > 0 || (promptly->threads <= PROMPTLY_MAX && add_thread(promptly));
	if (posted) {
		promptly->waiting = job;
		pthread_cond_signal(&promptly->wanted);
		wait_for(promptly, job);
	}
	const bool done = job->done, taken = posted && promptly->waiting != job;
	promptly->waiting = NULL;
	job->given_up = true;
	pthread_mutex_unlock(&promptly->lock);
	if (done)
		free(job);
	else if (!taken)
		job_drop(job);
	return done;
}

void promptly_free(struct promptly *promptly) {
	if (!promptly) return;
	pthread_mutex_lock(&promptly->lock);
	promptly->closed = true;
	pthread_cond_broadcast(&promptly->wanted);
	leave(promptly);
}
