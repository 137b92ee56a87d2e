/*
 * slow: a tool whose memory is slow to read, for the end-to-end tests.
 *
 *     slow page COUNT PAGE TRAPPED READABLE     COUNT threads make a trapped call whose path lies in the file PAGE
 *     slow fork MIB TRAPPED READABLE            threads fork a process of so many MiB, over and over
 *
 * Says "ready"; then, for each trapped call that returned meanwhile, counts; when READABLE can't be opened any more
 * says "gone MS CALLS": the time (CLOCK_MONOTONIC) and how many calls to TRAPPED had returned since "ready".
 */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS_MAX = 64, FORKERS = 3, PAGE = 4096 };

static atomic_int begun, calls;
static const char *trapped, *page;

static int64_t now_ms(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void *make_slow_call(void *argument) {
	atomic_fetch_add(&begun, 1);
	return open(page, O_WRONLY | O_CREAT, 0600) < 0 ? argument : NULL;
}

static void *fork_often(void *argument) {
	atomic_fetch_add(&begun, 1);
	for (;;) {
		const pid_t child = fork();
		if (child == 0) _exit(0);
		if (child > 0) waitpid(child, NULL, 0);
	}
	return argument;
}

static void *make_calls(void *argument) {
	for (;;) {
		chmod(trapped, 0600);
		atomic_fetch_add(&calls, 1);
	}
	return argument;
}

static void start(void *(*run)(void *argument), int count) {
	pthread_t thread;
	const int before = atomic_load(&begun);
	for (int i = 0; i < count; i++)
		if (pthread_create(&thread, NULL, run, NULL) != 0) exit(1);
	while (run != make_calls && atomic_load(&begun) < before + count) usleep(1000);
}

static void map_page(const char *path) {
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	if (fd < 0 || page == MAP_FAILED) exit(1);
}

static void fill(size_t mib) {
	const size_t size = mib << 20;
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED) exit(1);
	madvise(memory, size, MADV_NOHUGEPAGE); /* so that there are many to copy */
	memset(memory, 1, size);
}

static void watch(const char *readable) {
	int fd;
	printf("ready\n");
	fflush(stdout);
	atomic_store(&calls, 0);
	while ((fd = open(readable, O_RDONLY | O_CLOEXEC)) >= 0) {
		close(fd);
		usleep(1000);
	}
	printf("gone %" PRId64 " %d\n", now_ms(), atomic_load(&calls));
	fflush(stdout);
	_exit(0);
}

int main(int count, char **arguments) {
	if (count == 6 && strcmp(arguments[1], "page") == 0) {
		trapped = arguments[4];
		map_page(arguments[3]);
		start(make_slow_call, (int)strtol(arguments[2], NULL, 10));
		usleep(50 * 1000); /* until they are in their calls */
		start(make_calls, 1);
		watch(arguments[5]);
	}
	if (count == 5 && strcmp(arguments[1], "fork") == 0) {
		trapped = arguments[3];
		fill(strtoul(arguments[2], NULL, 10));
		start(fork_often, FORKERS);
		start(make_calls, 1);
		watch(arguments[4]);
	}
	return 2;
}
