/*
 * race: what a tool tries while it is being judged, for the tests of the doorbells.
 *
 * `race path read|write|create ROUNDS ONE OTHER`: opens a path that another thread keeps changing from ONE to OTHER and
 * back (they differ in one byte). Prints how often ONE was opened, how often it was refused, and how often OTHER was.
 * `race storm PROCESSES ROUNDS PATH…`: that many processes open the paths in turn, and come and go; prints how many
 * opens worked. `race chain N PATH`: N processes that open the path and live 0.3 ms, each the next one's parent, for
 * ever. `race die ROUNDS PATH`: processes that open the path and are killed at any moment. `race time ROUNDS ONE
 * OTHER`: stats both in turn; prints the two errnos and how unlikely their times are alike (a rank test).
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATH_ROOM = 4096, NAMES = 100, CALLS_MAX = 1000 };

static char path[PATH_ROOM]; /* two threads write and read it on purpose */
static size_t differs;
static char letters[2];
static atomic_bool over;

static int64_t now(void) {
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void *swap(void *unused) {
	volatile char *letter = &path[differs];
	(void)unused;
	while (!over) {
		*letter = letters[1];
		*letter = letters[0];
	}
	return NULL;
}

static long number(const char *text) {
	return strtol(text, NULL, 10);
}

/* The descriptor knows what was opened, whatever the path says by now. */
static char opened(int fd) {
	char link[64], target[PATH_ROOM] = "";
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	if (readlink(link, target, sizeof target - 1) < 0 || strlen(target) <= differs) return '?';
	return target[differs];
}

static int race_path(char **argv) {
	int flags = strcmp(argv[0], "read") == 0    ? O_RDONLY
		    : strcmp(argv[0], "write") == 0 ? O_WRONLY
						    : O_WRONLY | O_CREAT;
	long rounds = number(argv[1]), one = 0, refused = 0, other = 0;
	pthread_t swapper;
	snprintf(path, sizeof path, "%s", argv[2]);
	while (path[differs] && path[differs] == argv[3][differs]) differs++;
	letters[0] = path[differs];
	letters[1] = argv[3][differs];
	if (pthread_create(&swapper, NULL, swap, NULL) != 0) return 1;
	for (long i = 0; i < rounds; i++) {
		int fd = open(path, flags | O_CLOEXEC, 0600);
		if (fd < 0)
			refused++;
		else if (opened(fd) == letters[0])
			one++;
		else
			other++;
		if (fd >= 0) close(fd);
	}
	over = true;
	pthread_join(swapper, NULL);
	printf("one %ld refused %ld other %ld\n", one, refused, other);
	return 0;
}

static int race_storm(char **argv) {
	long processes = number(argv[0]), rounds = number(argv[1]), worked = 0;
	int pipes[2];
	if (pipe2(pipes, O_CLOEXEC) < 0) return 1;
	for (long i = 0; i < processes; i++) {
		if (fork() != 0) continue;
		long mine = 0;
		for (long round = 0; round < rounds; round++) {
			for (char **each = argv + 2; *each; each++) {
				int fd = open(*each, O_RDONLY | O_CLOEXEC);
				if (fd < 0) continue;
				close(fd);
				mine++;
			}
		}
		_exit(write(pipes[1], &mine, sizeof mine) < 0);
	}
	for (long i = 0, mine; i < processes && read(pipes[0], &mine, sizeof mine) == sizeof mine; i++) worked += mine;
	while (wait(NULL) > 0) continue;
	printf("worked %ld\n", worked);
	return 0;
}

static int race_die(char **argv) {
	long rounds = number(argv[0]);
	for (long i = 0; i < rounds; i++) {
		const struct timespec pause = {.tv_nsec = i * 7919 % 3000 * 1000};
		pid_t child = fork();
		if (child == 0) _exit(open(argv[1], O_RDONLY | O_CLOEXEC) < 0);
		nanosleep(&pause, NULL);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	puts("done");
	return 0;
}

struct sample {
	int64_t took;
	int which;
};

static int race_chain(char **argv) {
	static const struct timespec life = {.tv_nsec = 300 * 1000};
	int held = open(argv[1], O_RDONLY);
	for (long i = number(argv[0]); held >= 0 && i > 0; i--) {
		if (fork() != 0) continue;
		for (;; nanosleep(&life, NULL))
			if (fork() > 0) _exit(0);
	}
	pause();
	return 0;
}

static int by_time(const void *a, const void *b) {
	const struct sample *one = a, *other = b;
	return (one->took > other->took) - (one->took < other->took);
}

/* Mann-Whitney's U as a standard normal value: beyond 4 either way it is no chance. The lists of samples are of one
 * length; ties share their middle rank. */
static double rank_test(struct sample *samples, long count) {
	double ranks = 0, n = (double)count / 2;
	qsort(samples, (size_t)count, sizeof *samples, by_time);
	for (long from = 0, to; from < count; from = to) {
		for (to = from; to < count && samples[to].took == samples[from].took;) to++;
		for (long i = from; i < to; i++)
			if (samples[i].which == 0) ranks += (double)(from + to + 1) / 2;
	}
	return (ranks - n * (2 * n + 1) / 2) / sqrt(n * n * (2 * n + 1) / 12);
}

/* Single names differ by where they lie in the kernel's tables, so each name's median is one sample. */
static int race_time(char **argv) {
	static struct sample calls[NAMES][CALLS_MAX], medians[NAMES];
	long rounds = number(argv[0]) / NAMES;
	int errors[2] = {0};
	if (rounds < 1 || rounds > CALLS_MAX) return 2;
	for (long i = 0; i < rounds; i++) {
		for (int name = 0; name < NAMES; name++) {
			struct stat facts;
			int which = name & 1;
			snprintf(path, sizeof path, "%s%02d", argv[1 + which], name / 2);
			int64_t begin = now();
			int result = stat(path, &facts);
			calls[name][i] = (struct sample){now() - begin, which};
			errors[which] = result < 0 ? errno : 0;
		}
	}
	for (int name = 0; name < NAMES; name++) {
		qsort(calls[name], (size_t)rounds, sizeof calls[name][0], by_time);
		medians[name] = calls[name][rounds / 2];
	}
	double z = rank_test(medians, NAMES);
	printf("%s %s %.1f\n", strerrorname_np(errors[0]), strerrorname_np(errors[1]), z < 0 ? -z : z);
	return 0;
}

static const struct {
	const char *name;
	int least; /* arguments */
	int (*run)(char **argv);
} races[] = {{"path", 4, race_path},
	     {"storm", 3, race_storm},
	     {"die", 2, race_die},
	     {"chain", 2, race_chain},
	     {"time", 3, race_time}};

int main(int argc, char **argv) {
	for (size_t i = 0; i < sizeof races / sizeof *races; i++)
		if (argc >= 2 + races[i].least && strcmp(argv[1], races[i].name) == 0) return races[i].run(argv + 2);
	fputs("usage: see race.c\n", stderr);
	return 2;
}
