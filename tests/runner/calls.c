/*
 * calls: a tool that makes system calls and prints what came of them, "name: worked" or the errno's name.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calls/call_table.h"

static void say(const char *what, long result) {
	printf("%s: %s\n", what, result >= 0 ? "worked" : strerrorname_np(errno));
	fflush(stdout);
}

static struct sockaddr_un address = {.sun_family = AF_UNIX};

/* What an argument that isn't of the table has to be for the call to work. */
static const struct {
	const char *name;
	uint64_t arguments[CALL_ARGUMENTS];
} rest[] = {
	{"open", {0, O_RDWR | O_CREAT, 0600}},
	{"openat", {0, 0, O_RDWR | O_CREAT, 0600}},
	{"creat", {0, 0600}},
	{"mkdir", {0, 0700}},
	{"mkdirat", {0, 0, 0700}},
	{"mknod", {0, S_IFIFO | 0600}},
	{"mknodat", {0, 0, S_IFIFO | 0600}},
	{"bind", {0, 0, sizeof address}},
	{"chmod", {0, 0600}},
	{"fchmod", {0, 0600}},
	{"fchmodat", {0, 0, 0600}},
	{"fchmodat2", {0, 0, 0600}},
	{"chown", {0, UINT32_MAX, UINT32_MAX}},
	{"lchown", {0, UINT32_MAX, UINT32_MAX}},
	{"fchown", {0, UINT32_MAX, UINT32_MAX}},
	{"fchownat", {0, 0, UINT32_MAX, UINT32_MAX}},
};

/* `paths` are made anew for each call: a.NAME is there, b.NAME isn't. */
static long make(const struct call_shape *shape, const char *folder) {
	char there[256], absent[256];
	static const char text[] = "text", *const argv[] = {"true", NULL};
	uint64_t arguments[CALL_ARGUMENTS] = {0};
	snprintf(there, sizeof there, "%s/a.%s", folder, shape->name);
	snprintf(absent, sizeof absent, "%s/b.%s", folder, shape->name);
	for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
		if (strcmp(rest[i].name, shape->name) == 0) memcpy(arguments, rest[i].arguments, sizeof arguments);
	for (size_t i = 0; i < CALL_PATHS; i++) {
		const char *path = shape->paths[i].makes ? absent : there;
		if (shape->paths[i].folder) arguments[shape->paths[i].folder - 1] = (uint64_t)AT_FDCWD;
		if (shape->paths[i].path) arguments[shape->paths[i].path - 1] = (uint64_t)(uintptr_t)path;
	}
	if (shape->paths[0].path == 0) arguments[0] = (uint64_t)open(there, O_RDONLY | O_CLOEXEC);
	if (shape->form == CALL_ADDRESS) {
		arguments[0] = (uint64_t)socket(AF_UNIX, SOCK_STREAM, 0);
		memcpy(address.sun_path, absent, sizeof address.sun_path - 1);
		arguments[1] = (uint64_t)(uintptr_t)&address;
	}
	if (strncmp(shape->name, "symlink", 7) == 0) arguments[0] = (uint64_t)(uintptr_t)text;
	if (shape->class == CALL_EXECUTE) {
		pid_t child = fork();
		int status = 0;
		if (child == 0) {
			syscall(shape->number, arguments[0], shape->paths[0].folder ? arguments[1] : (uintptr_t)argv,
				shape->paths[0].folder ? (uintptr_t)argv : 0, 0, 0);
			_exit(errno);
		}
		waitpid(child, &status, 0);
		errno = WEXITSTATUS(status);
		return errno ? -1 : 0;
	}
	return syscall(shape->number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
		       arguments[5]);
}

/* each FOLDER…: every call of the table that changes something, in each folder. */
static int each(char **argv) {
	for (char **folder = argv; *folder; folder++) {
		for (size_t i = 0; i < call_shape_count; i++) {
			const struct call_shape *shape = &call_shapes[i];
			char what[256];
			if (shape->number < 0 || shape->class == CALL_LOOK) continue;
			snprintf(what, sizeof what, "%s %s", *folder, shape->name);
			say(what, make(shape, *folder));
		}
	}
	return 0;
}

static int write_one(char **argv) {
	say(argv[0], open(argv[0], O_RDWR | O_CLOEXEC));
	return 0;
}

static int make_one(char **argv) {
	say(argv[0], open(argv[0], O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	return 0;
}

/* and what is in it */
static int read_one(char **argv) {
	char text[64] = "";
	int fd = open(argv[0], O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && read(fd, text, sizeof text - 1) < 0) return 1;
	if (fd >= 0)
		printf("%s: worked %s\n", argv[0], text);
	else
		say(argv[0], fd);
	return 0;
}

static int number(const char *text) {
	return (int)strtol(text, NULL, 10);
}

/* at once COUNT FOLDER: so many processes open a file each; how many got which result. */
static int at_once(char **argv) {
	int count = number(argv[0]), results[256] = {0};
	for (int i = 0; i < count; i++) {
		if (fork() > 0) continue;
		char path[256];
		snprintf(path, sizeof path, "%s/%d", argv[1], i);
		_exit(open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) >= 0 ? 0 : errno);
	}
	for (int status; wait(&status) > 0;) results[WEXITSTATUS(status)]++;
	for (int i = 0; i < 256; i++)
		if (results[i]) printf("%s: %d\n", i ? strerrorname_np(i) : "worked", results[i]);
	return 0;
}

struct opening {
	pthread_t thread;
	const char *path;
	int code;
};

static void *open_in_thread(void *argument) {
	struct opening *opening = argument;
	opening->code = open(opening->path, O_RDWR | O_CLOEXEC) >= 0 ? 0 : errno;
	return NULL;
}

/* threads PATH…: one for each, at the same time */
static int threads(char **argv) {
	struct opening openings[16] = {0};
	int count = 0;
	for (; count < 16 && argv[count]; count++) {
		openings[count].path = argv[count];
		pthread_create(&openings[count].thread, NULL, open_in_thread, &openings[count]);
	}
	for (int i = 0; i < count; i++) {
		pthread_join(openings[i].thread, NULL);
		errno = openings[i].code;
		say(argv[i], errno ? -1 : 0);
	}
	return 0;
}

/* spawn PROGRAM: posix_spawn(3), whose parent sleeps until the child has called execve (CLONE_VFORK) */
static int spawn(char **argv) {
	pid_t child;
	int status = 0;
	char *const words[] = {argv[0], NULL}, *const none[] = {NULL};
	errno = posix_spawn(&child, argv[0], NULL, NULL, words, none);
	say(argv[0], errno ? -1 : 0);
	if (errno == 0) waitpid(child, &status, 0);
	return 0;
}

static atomic_int signals_seen;

static void on_signal(int number) {
	(void)number;
	signals_seen++;
}

/* handled SIGNAL FLAGS PATH: open with a handler; then how many signals it saw */
static int handled(char **argv) {
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = number(argv[1])};
	sigaction(number(argv[0]), &action, NULL);
	say(argv[2], open(argv[2], O_RDWR | O_CLOEXEC));
	printf("%s\n", signals_seen > 0 ? "handled" : "no signal");
	return 0;
}

/* killed PATH: a child opens, and somebody ends it */
static int killed(char **argv) {
	int status = 0;
	pid_t child = fork();
	if (child == 0) _exit(open(argv[0], O_RDWR | O_CLOEXEC) >= 0 ? 0 : 1);
	waitpid(child, &status, 0);
	if (WIFSIGNALED(status))
		printf("signal %d\n", WTERMSIG(status));
	else
		printf("status %d\n", WEXITSTATUS(status));
	return 0;
}

/* flood PROCESSES CALLS PATH */
static int flood(char **argv) {
	int processes = number(argv[0]), calls = number(argv[1]);
	for (int i = 0; i < processes; i++) {
		if (fork() > 0) continue;
		for (int j = 0; j < calls; j++) syscall(SYS_truncate, argv[2], 0);
		_exit(0);
	}
	while (wait(NULL) > 0) {
	}
	return 0;
}

static char racing[64];
static atomic_bool raced;

static void *rewrite(void *argument) {
	char **paths = argument;
	while (!raced) {
		for (int i = 0; paths[i]; i++) memcpy(racing, paths[i], strlen(paths[i]) + 1);
	}
	return NULL;
}

/* race COUNT GOOD PATH…: opens for writing a path that another thread goes on rewriting; whatever is opened must be
 * the first */
static int race(char **argv) {
	int count = number(argv[0]), opened = 0, others = 0;
	struct stat good, status;
	pthread_t thread;
	if (stat(argv[1], &good) < 0) return 1;
	snprintf(racing, sizeof racing, "%s", argv[1]);
	pthread_create(&thread, NULL, rewrite, argv + 1);
	for (int i = 0; i < count; i++) {
		int fd = open(racing, O_RDWR | O_CLOEXEC);
		if (fd < 0) continue;
		opened++;
		if (fstat(fd, &status) < 0 || status.st_ino != good.st_ino || status.st_dev != good.st_dev) others++;
		close(fd);
	}
	raced = true;
	pthread_join(thread, NULL);
	printf("%s, %d others\n", opened > 0 ? "opened" : "never opened", others);
	return 0;
}

/* K4: a listener of the tool's own, which could answer for the calls that are trapped */
static int listener(char **argv) {
	struct sock_filter step = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_USER_NOTIF};
	const struct sock_fprog program = {.len = 1, .filter = &step};
	(void)argv;
	say("listener", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program));
	for (int fd = 3; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0) printf("descriptor %d\n", fd);
	return 0;
}

/* hidden PATH: of a process that can't be read */
static int hidden(char **argv) {
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	return write_one(argv);
}

static const struct {
	const char *name;
	int (*run)(char **argv);
} programs[] = {
	{"each", each},       {"write", write_one}, {"make", make_one},     {"read", read_one}, {"at-once", at_once},
	{"threads", threads}, {"spawn", spawn},     {"handled", handled},   {"killed", killed}, {"flood", flood},
	{"race", race},       {"hidden", hidden},   {"listener", listener},
};

int main(int argc, char **argv) {
	for (size_t i = 0; argc > 1 && i < sizeof programs / sizeof *programs; i++)
		if (strcmp(programs[i].name, argv[1]) == 0) return programs[i].run(argv + 2);
	return 99;
}
