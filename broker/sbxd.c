/*
 * Theory of operation.
 *
 * The process that was started forks; the child takes the lock, listens, opens the database, gives up its terminal and
 * then, confined (confine.c), writes one byte into a pipe. The parent ends with 0 when it reads it, else with the
 * child's status. Nothing that wouldn't survive a fork (SQLite, libevent) is opened before it.
 */
#include "broker/sbxd.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/path.h"
#include "core/broker.h"
#include "core/confine.h"
#include "programs/exec.h"
#include "programs/executor.h"
#include "schema/limits.h"
#include "schema/owner.h"
#include "service.h"
#include "sessions/sleep.h"

enum { EXIT_FAILED = 1, EXIT_USAGE = 2, IDLE_MS = 60 * 1000, LOG_MAX = 1024 * 1024 };

static const char usage[] =
	"Usage: sbxd [--foreground] [--idle DURATION]\n"
	"The permission broker of sbx. Commands start it when they need it; it ends when nobody has needed it for a "
	"while.\n"
	"\n"
	"  --foreground     stay in the foreground (for service managers; takes a socket from LISTEN_FDS)\n"
	"  --idle DURATION  how long without clients until it ends (60s; SBX_IDLE does the same)\n"
	"  --version        print the version\n"
	"  --help           print this\n";

struct options {
	bool foreground;
	int64_t idle_ms;
};

/* 0 to go on, else the exit status + 1. */
static int read_options(int argc, char **argv, struct options *options) {
	enum { FOREGROUND = 1000, IDLE, VERSION, HELP };
	static const struct option known[] = {{"foreground", no_argument, NULL, FOREGROUND},
					      {"idle", required_argument, NULL, IDLE},
					      {"version", no_argument, NULL, VERSION},
					      {"help", no_argument, NULL, HELP},
					      {NULL, 0, NULL, 0}};
	const char *idle = getenv("SBX_IDLE");
	*options = (struct options){.idle_ms = IDLE_MS};
	for (int option; argc > 0 && (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
		switch (option) {
		case FOREGROUND:
			options->foreground = true;
			break;
		case IDLE:
			idle = optarg;
			break;
		case VERSION:
			puts("sbxd " SBX_VERSION);
			return 1;
		case HELP:
			fputs(usage, stdout);
			return 1;
		default:
			return EXIT_USAGE + 1;
		}
	}
	struct error error = ERROR_NONE;
	if (optind < argc) {
		log_error("there are no arguments (sbxd --help)");
		return EXIT_USAGE + 1;
	}
	if (idle && *idle && duration_parse(idle, &options->idle_ms, &error) < 0) {
		log_error("--idle: %s", error.message);
		return EXIT_USAGE + 1;
	}
	return 0;
}

static int drop_capabilities(struct error *error) {
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (syscall(SYS_capset, &header, none) < 0) return error_errno(error, "dropping capabilities");
	return 0;
}

/* Lifts the limits that were meant for the program that came first, as far as an ordinary user may; `wanted`: no more
 * than that.
 */
static void raise_limit(int resource, rlim_t wanted) {
	struct rlimit limit;
	if (getrlimit((__rlimit_resource_t)resource, &limit) < 0 || limit.rlim_cur >= wanted) return;
	limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
	if (setrlimit((__rlimit_resource_t)resource, &limit) < 0) log_debug("limit %d: %m", resource);
}

static void raise_limits(void) {
	static const int lifted[] = {RLIMIT_AS,    RLIMIT_CPU,   RLIMIT_DATA,       RLIMIT_FSIZE,
				     RLIMIT_LOCKS, RLIMIT_NPROC, RLIMIT_SIGPENDING, RLIMIT_MEMLOCK};
	for (size_t i = 0; i < ARRAY_LENGTH(lifted); i++) raise_limit(lifted[i], RLIM_INFINITY);
	/* A connection, a pidfd of who made it; two of its sandbox. With fewer, fewer clients are served: accept fails
	 * and goes on. */
	raise_limit(RLIMIT_NOFILE, 4 * LIMIT_CLIENTS + 64);
}

static int restrict_self(struct error *error) {
	static const struct rlimit no_core = {0};
	umask(077);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
	    setrlimit(RLIMIT_CORE, &no_core) < 0)
		return error_errno(error, "giving up rights");
	raise_limits();
	for (int i = 1; i < NSIG; i++) signal(i, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a write that fails is an error like others */
	return drop_capabilities(error);
}

/* From here on the terminal is not ours; what there is to say goes to a file in the state directory. */
static int leave_terminal(const struct places *places, struct error *error) {
	CLEANUP_FD int directory = file_open_private_directory(places->state, error);
	if (directory < 0) return directory;
	CLEANUP_FD int log = openat(directory, "sbxd.log",
				    O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	CLEANUP_FD int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct stat status;
	if (log < 0) return error_errno(error, "opening sbxd.log in %s", places->state);
	if (null < 0) return error_errno(error, "opening /dev/null");
	if (fstat(log, &status) < 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid())
		return error_set(error, EPERM, "sbxd.log in %s must be a file of your own", places->state);
	if (status.st_size > LOG_MAX && ftruncate(log, 0) < 0) return error_errno(error, "cutting sbxd.log");
	if (dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 || dup2(log, STDERR_FILENO) < 0 ||
	    chdir("/") < 0)
		return error_errno(error, "leaving the terminal");
	return 0;
}

/* For the stack's exec lines, which only an administrator's file can have. -1: none; such lines deny then. */
static int start_executor(const struct places *places) {
	CLEANUP_FREE char *stack = path_join(places->admin, "sbx.yaml");
	struct error error = ERROR_NONE;
	int socket = -1;
	if (access(stack, F_OK) < 0) return -1;
	signal(SIGCHLD, SIG_IGN); /* its end is seen by its socket's */
	if (executor_start(places->admin, places->admin_owner, &socket, &error) < 0) log_error("%s", error.message);
	return socket;
}

/* `ready` is told with one byte when the broker serves; -1 in the foreground. Takes the listener. */
static int serve(struct places *places, const struct options *options, struct listener *listener, int ready,
		 struct error *error) {
	struct broker *broker;
	int sleeper = sleep_start(), executor = start_executor(places);
	int r = broker_new(places, clock_system(), options->idle_ms, listener, &broker, error);
	if (r < 0) {
		fd_close(executor);
		fd_close(sleeper);
		return r;
	}
	exec_use(broker->exec, executor);
	broker->sleep = sleep_new(broker, sleeper);
	if (ready >= 0) r = leave_terminal(&broker->places, error);
	if (r == 0) r = confine_self(&broker->confined, error);
	if (r == 0 && ready >= 0 && write(ready, "", 1) != 1) log_debug("nobody waits for us");
	fd_close(ready);
	if (r == 0) r = broker_run(broker, error);
	broker_free(broker);
	return r;
}

/* The database is one broker's, too: a container may have a runtime directory of its own and the same home. This lock
 * is only for saying so: SQLite has one that counts (a disk may be full, a broker's files removed under it). */
static int take_state(const char *path, int *ret_lock, struct error *error) {
	CLEANUP_FD int lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (lock < 0) return 0;
	if (flock(lock, LOCK_EX | LOCK_NB) < 0) return owner_refuse_foreign(path, error);
	owner_write(lock);
	*ret_lock = fd_steal(&lock);
	return 0;
}

static int start(const struct options *options, int ready, struct error *error) {
	CLEANUP_FD int lock = -1;
	struct places places;
	struct listener *listener;
	enum listener_outcome outcome;
	int r = places_find(&places, error);
	if (r < 0) return r;
	r = places_make(&places, error);
	if (r == 0) r = listener_open(&places, &outcome, &listener, error);
	if (r == 0 && outcome == LISTENER_OURS) {
		CLEANUP_FREE char *state = path_join(places.state, "sbxd.lock");
		r = take_state(state, &lock, error);
		if (r == 0)
			r = serve(&places, options, listener, ready, error);
		else
			listener_free(listener);
		if (r == -EBUSY && lock < 0) owner_explain(state, error);
	}
	places_finish(&places);
	return r;
}

static int run_child(const struct options *options, int ready) {
	struct error error = ERROR_NONE;
	setsid();
	if (start(options, ready, &error) == 0) return 0;
	log_error("%s", error.message);
	return EXIT_FAILED;
}

static int wait_for_child(pid_t child, int ready) {
	char byte;
	ssize_t got;
	do got = read(ready, &byte, 1);
	while (got < 0 && errno == EINTR);
	if (got == 1) return 0;
	int status;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR) return EXIT_FAILED;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILED;
}

static int run_background(const struct options *options) {
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0) {
		log_error("making a pipe: %m");
		return EXIT_FAILED;
	}
	pid_t child = fork();
	if (child < 0) {
		log_error("going into the background: %m");
		return EXIT_FAILED;
	}
	if (child == 0) {
		fd_close(ends[0]);
		return run_child(options, ends[1]);
	}
	fd_close(ends[1]);
	return wait_for_child(child, ends[0]);
}

int sbxd_main(int argc, char **argv) {
	struct options options;
	struct error error = ERROR_NONE;
	int stop = read_options(argc, argv, &options);
	if (stop > 0) return stop - 1;
	if (geteuid() == 0 || getuid() == 0) {
		log_error("as root it refuses to run: every user has a broker of their own");
		return EXIT_FAILED;
	}
	if (restrict_self(&error) < 0) {
		log_error("%s", error.message);
		return EXIT_FAILED;
	}
	openlog("sbxd", LOG_PID, LOG_USER);
	/* Descriptors of whoever started us are not ours; 3 may be the service manager's socket. */
	close_range(options.foreground ? 4 : 3, ~0U, 0);
	if (!options.foreground) return run_background(&options);
	if (start(&options, -1, &error) == 0) return 0;
	log_error("%s", error.message);
	return EXIT_FAILED;
}
