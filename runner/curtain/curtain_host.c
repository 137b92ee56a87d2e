/*
 * Theory of operation. A job is a path to look at. Local ones are done in the loop. A far one goes to the thread, which
 * takes the oldest, and comes back through an eventfd. A job whose time is up is answered with -EIO at once: still
 * waiting, it is dropped; in the thread's hands, it is given up and freed when the thread comes back. While it
 * has not come back, new far jobs fail at once. The thread may never come back (an NFS server that is
 * gone): what it shares with the loop is counted, so that the loop need not wait for it at the end.
 */
#include "curtain_host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/thread.h"
#include "curtain_mounts.h"
#include "schema/limits.h"

enum { HOST_STACK = 512 * 1024 };

struct job {
	struct job *next;
	struct host *host; /* NULL: given up */
	struct event *deadline;
	enum job_kind { JOB_LOOK, JOB_LIST, JOB_LINK } kind;
	host_done *done;
	void *argument;
	/* the result */
	int code;
	struct stat status;
	struct host_names names;
	char path[];
};

/* What the thread and the loop share. */
struct shared {
	pthread_mutex_t lock;
	pthread_cond_t filled;
	int finished_fd; /* eventfd */
	struct job *waiting, *working, *finished;
	bool ended; /* the loop's side is gone */
};

struct host {
	struct event_base *base;
	struct mounts *mounts;
	struct shared *shared; /* NULL: there was no far job yet */
	struct event *finished;
};

void host_names_finish(struct host_names *names) {
	string_finish(&names->text);
	free(names->starts);
	*names = (struct host_names){0};
}

static int open_beneath(const char *path, int flags) {
	const struct open_how how = {.flags = (unsigned)(flags | O_CLOEXEC | O_NOFOLLOW),
				     .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
	long fd = syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
	return fd < 0 ? -errno : (int)fd;
}

static int open_parent(const char *path) {
	char folder[PATH_MAX];
	const size_t size = (size_t)(path_name(path) - path);
	memcpy(folder, path, size);
	folder[size] = '\0'; /* with its slash: "/" stays */
	int fd = open_beneath(folder, O_PATH | O_DIRECTORY);
	return fd == -ELOOP ? -ENOENT : fd;
}

static int look(const char *path, struct stat *ret_status) {
	const char *name = path_name(path);
	if (!*name) return lstat("/", ret_status) < 0 ? -errno : 0;
	CLEANUP_FD int fd = open_parent(path);
	if (fd < 0) return fd;
	return fstatat(fd, name, ret_status, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

static int read_link(const char *path, struct string *ret_text) {
	char text[PATH_MAX];
	CLEANUP_FD int fd = open_parent(path);
	if (fd < 0) return fd;
	ssize_t size = readlinkat(fd, path_name(path), text, sizeof text);
	if (size < 0) return -errno;
	string_append_bytes(ret_text, text, (size_t)size);
	return 0;
}

static int list(const char *path, struct host_names *names) {
	CLEANUP_FD int fd = open_beneath(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
	if (fd < 0) return fd;
	DIR *folder = mem_expect(fdopendir(fd));
	fd_steal(&fd);
	for (const struct dirent *entry; names->count < LIMIT_LISTING && (entry = readdir(folder));) {
		names->starts = array_grow(names->starts, names->count, sizeof *names->starts);
		names->starts[names->count++] = names->text.size;
		string_append_char(&names->text, (char)entry->d_type);
		string_append_bytes(&names->text, entry->d_name, strlen(entry->d_name) + 1);
	}
	closedir(folder);
	return 0;
}

static void work(struct job *job) {
	switch (job->kind) {
	case JOB_LOOK:
		job->code = look(job->path, &job->status);
		break;
	case JOB_LIST:
		job->code = list(job->path, &job->names);
		break;
	case JOB_LINK:
		job->code = read_link(job->path, &job->names.text);
		break;
	}
}

static void job_free(struct job *job) {
	if (job->deadline) event_free(job->deadline);
	host_names_finish(&job->names);
	free(job);
}

static void answer(struct job *job, int code) {
	const bool good = code == 0;
	job->done(job->argument, code, good && job->kind == JOB_LOOK ? &job->status : NULL,
		  good && job->kind != JOB_LOOK ? &job->names : NULL);
}

static void jobs_free(struct job *job) {
	while (job) {
		struct job *next = job->next;
		job_free(job);
		job = next;
	}
}

static void shared_free(struct shared *shared) {
	jobs_free(shared->waiting);
	jobs_free(shared->finished);
	fd_close(shared->finished_fd);
	pthread_cond_destroy(&shared->filled);
	pthread_mutex_destroy(&shared->lock);
	free(shared);
}

static void *work_on(void *argument) {
	struct shared *shared = argument;
	pthread_mutex_lock(&shared->lock);
	for (;;) {
		while (!shared->waiting && !shared->ended) pthread_cond_wait(&shared->filled, &shared->lock);
		if (shared->ended) break;
		struct job *job = shared->waiting;
		shared->waiting = job->next;
		shared->working = job;
		pthread_mutex_unlock(&shared->lock);
		work(job);
		pthread_mutex_lock(&shared->lock);
		shared->working = NULL;
		job->next = shared->finished;
		shared->finished = job;
		eventfd_write(shared->finished_fd, 1);
	}
	pthread_mutex_unlock(&shared->lock);
	shared_free(shared);
	return NULL;
}

static void take_finished(evutil_socket_t fd, short what, void *argument) {
	struct host *host = argument;
	eventfd_t count;
	(void)what;
	eventfd_read(fd, &count);
	pthread_mutex_lock(&host->shared->lock);
	struct job *job = host->shared->finished;
	host->shared->finished = NULL;
	pthread_mutex_unlock(&host->shared->lock);
	while (job) {
		struct job *next = job->next;
		if (job->host) answer(job, job->code);
		job_free(job);
		job = next;
	}
}

/* Takes it from those that wait; false: the thread has it, or has had it. */
static bool take_back(struct shared *shared, struct job *job) {
	for (struct job **at = &shared->waiting; *at; at = &(*at)->next)
		if (*at == job) {
			*at = job->next;
			return true;
		}
	return false;
}

static void give_up(evutil_socket_t fd, short what, void *argument) {
	struct job *job = argument;
	struct shared *shared = job->host->shared;
	(void)fd;
	(void)what;
	pthread_mutex_lock(&shared->lock);
	const bool ours = take_back(shared, job);
	job->host = NULL;
	pthread_mutex_unlock(&shared->lock);
	job->done(job->argument, -EIO, NULL, NULL);
	if (ours) job_free(job);
}

static bool start_thread(struct host *host) {
	struct shared *shared = mem_new(struct shared);
	pthread_mutex_init(&shared->lock, NULL);
	pthread_cond_init(&shared->filled, NULL);
	shared->finished_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (shared->finished_fd < 0 || thread_start(HOST_STACK, work_on, shared) < 0) {
		shared_free(shared);
		return false;
	}
	host->shared = shared;
	host->finished = event_new(host->base, shared->finished_fd, EV_READ | EV_PERSIST, take_finished, host);
	if (!host->finished || event_add(host->finished, NULL) < 0) mem_exhausted();
	return true;
}

static bool is_away(struct shared *shared) {
	return shared->working && !shared->working->host;
}

/* Takes the job over. False: it can't be done. */
static bool give_to_thread(struct host *host, struct job *job) {
	const struct timeval time = clock_timeval(LIMIT_LOOK_MS);
	if (!host->shared && !start_thread(host)) return false;
	job->deadline = evtimer_new(host->base, give_up, job);
	if (!job->deadline || event_add(job->deadline, &time) < 0) mem_exhausted();
	pthread_mutex_lock(&host->shared->lock);
	const bool away = is_away(host->shared);
	if (!away) {
		struct job **last = &host->shared->waiting;
		while (*last) last = &(*last)->next;
		*last = job;
		pthread_cond_signal(&host->shared->filled);
	}
	pthread_mutex_unlock(&host->shared->lock);
	return !away;
}

static void ask(struct host *host, const char *path, enum job_kind kind, host_done *done, void *argument) {
	const size_t size = strlen(path) + 1;
	struct job *job = mem_alloc(1, sizeof *job + size);
	*job = (struct job){.host = host, .kind = kind, .done = done, .argument = argument};
	memcpy(job->path, path, size);
	if (mounts_is_far(host->mounts, path)) {
		if (give_to_thread(host, job)) return;
		job->code = -EIO;
	} else {
		work(job);
	}
	answer(job, job->code);
	job_free(job);
}

void host_look(struct host *host, const char *path, host_done *done, void *argument) {
	ask(host, path, JOB_LOOK, done, argument);
}

void host_list(struct host *host, const char *path, host_done *done, void *argument) {
	ask(host, path, JOB_LIST, done, argument);
}

void host_read_link(struct host *host, const char *path, host_done *done, void *argument) {
	ask(host, path, JOB_LINK, done, argument);
}

struct host *host_new(struct event_base *base) {
	struct host *host = mem_new(struct host);
	*host = (struct host){.base = base, .mounts = mounts_new()};
	return host;
}

/* Timers are the loop's: they go while it is there. */
static void stop_timer(struct job *job) {
	if (job->deadline) event_free(job->deadline);
	job->deadline = NULL;
	job->host = NULL;
}

void host_free(struct host *host) {
	if (!host) return;
	if (host->shared) {
		event_free(host->finished);
		pthread_mutex_lock(&host->shared->lock);
		for (struct job *job = host->shared->waiting; job; job = job->next) stop_timer(job);
		for (struct job *job = host->shared->finished; job; job = job->next) stop_timer(job);
		if (host->shared->working) stop_timer(host->shared->working);
		host->shared->ended = true;
		pthread_cond_signal(&host->shared->filled);
		pthread_mutex_unlock(&host->shared->lock);
	}
	mounts_free(host->mounts);
	free(host);
}
