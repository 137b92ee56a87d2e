/*
 * watch: when a path was there and when it wasn't, to the tenth of a millisecond.
 *
 * `watch [--open | --write] PATH` stats it (or opens it to read, to write) again and again, and prints a line when what
 * that says changes: the time of CLOCK_MONOTONIC in milliseconds, and "there", the errno's name, or "held" when the
 * call has not come back for a tenth of a second. The time is that of the first call that said so; with "held", of the
 * last that came back. `watch --now` prints the time. It ends when its standard input does.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { HELD_MS = 100, HELD = -1 };

static struct watch {
	const char *path;
	int flags;                 /* of open; -1: stat */
	_Atomic int64_t came_back; /* microseconds */
	_Atomic int64_t turned;
	_Atomic int error; /* 0: there */
} watch = {.flags = -1};

static int64_t now(void) {
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

static int look(void) {
	struct stat facts;
	if (watch.flags < 0) return stat(watch.path, &facts) < 0 ? errno : 0;
	int fd = open(watch.path, watch.flags | O_CLOEXEC);
	if (fd < 0) return errno;
	close(fd);
	return 0;
}

__attribute__((noreturn)) static void *look_on(void *unused) {
	const struct timespec pause = {.tv_nsec = 200000};
	(void)unused;
	for (;;) {
		int error = look();
		int64_t time = now();
		if (error != watch.error) watch.turned = time;
		watch.error = error;
		watch.came_back = time;
		nanosleep(&pause, NULL);
	}
}

static void tell(int64_t time, const char *what) {
	printf("%lld.%lld %s\n", (long long)time / 1000, (long long)time / 100 % 10, what);
	fflush(stdout);
}

static bool input_ended(void) {
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	char byte;
	return poll(&input, 1, 1) > 0 && read(STDIN_FILENO, &byte, 1) <= 0;
}

int main(int argc, char **argv) {
	pthread_t thread;
	int said = HELD - 1;
	if (argc == 2 && strcmp(argv[1], "--now") == 0) {
		tell(now(), "now");
		return 0;
	}
	if (argc == 3) watch.flags = strcmp(argv[1], "--write") == 0 ? O_WRONLY : O_RDONLY;
	if (argc < 2 || argc > 3) return 2;
	watch.path = argv[argc - 1];
	watch.came_back = watch.turned = now();
	watch.error = HELD;
	if (pthread_create(&thread, NULL, look_on, NULL) != 0) return 1;
	while (!input_ended()) {
		int64_t came_back = watch.came_back, turned = watch.turned;
		int error = watch.error, says = now() - came_back > HELD_MS * 1000 ? HELD : error;
		if (says == said) continue;
		if (says == HELD)
			tell(came_back, "held");
		else if (watch.error == error) /* no turn since it was read */
			tell(said == HELD ? came_back : turned, says == 0 ? "there" : strerrorname_np(says));
		said = says;
	}
	return 0;
}
