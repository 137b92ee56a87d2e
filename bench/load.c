#include "load.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"

/* Shared by all clients. They start together: the last one to be ready starts the clock. */
struct board {
	atomic_size_t ready;
	atomic_bool failed; /* one of them: then none goes on */
	int64_t started_ns, times[];
};

int64_t load_now_ns(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void wait_for_all(struct board *board, size_t clients) {
	if (atomic_fetch_add(&board->ready, 1) + 1 == clients) board->started_ns = load_now_ns();
	while (atomic_load(&board->ready) < clients && !atomic_load(&board->failed)) usleep(1000);
}

static int run_client(const struct load *load, struct board *board, size_t clients, size_t client, size_t count,
		      struct error *error) {
	void *state = NULL;
	int64_t *times = board->times + client * count;
	int r = load->open(load, client, &state, error);
	for (size_t i = 0; r == 0 && i < count + load->warm_up && !atomic_load(&board->failed); i++) {
		if (i == load->warm_up) wait_for_all(board, clients);
		if (load->prepare) load->prepare(state, i);
		int64_t start = load_now_ns();
		r = load->exchange(state, i, error);
		if (i >= load->warm_up) times[i - load->warm_up] = load_now_ns() - start;
	}
	return r;
}

static int start_client(const struct load *load, struct board *board, size_t clients, size_t client, size_t count,
			struct error *error) {
	fflush(stdout);
	pid_t child = fork();
	if (child < 0) return error_errno(error, "fork");
	if (child > 0) return 0;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (run_client(load, board, clients, client, count, error) == 0) _exit(0);
	atomic_store(&board->failed, true);
	log_error("%s, client %zu: %s", load->what, client, error->message);
	_exit(1);
}

static int wait_for_clients(size_t clients, struct error *error) {
	int failed = 0;
	for (size_t i = 0; i < clients; i++) {
		int status;
		if (wait(&status) < 0) return error_errno(error, "waiting for the clients");
		failed += status != 0;
	}
	return failed ? error_set(error, EIO, "%d of the clients failed", failed) : 0;
}

static int compare(const void *a, const void *b) {
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

void load_sort(int64_t *times, size_t count) {
	qsort(times, count, sizeof *times, compare);
}

static void report(const struct load *load, struct board *board, size_t clients, size_t count, int64_t ended_ns) {
	int64_t *times = board->times;
	const size_t all = clients * count, half = all / 2, most = all * 99 / 100;
	load_sort(times, all);
	printf("| %s | %zu | %.1f | %.1f | %.0f | %.0f |\n", load->what, clients, (double)times[half] / 1e3,
	       (double)times[most] / 1e3, (double)times[all - 1] / 1e3,
	       (double)all * 1e9 / (double)(ended_ns - board->started_ns));
}

int load_run(const struct load *load, size_t clients, size_t count, struct error *error) {
	size_t size = sizeof(struct board) + clients * count * sizeof(int64_t);
	struct board *board = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (board == MAP_FAILED) return error_errno(error, "mmap");
	int r = 0;
	for (size_t i = 0; r == 0 && i < clients; i++) r = start_client(load, board, clients, i, count, error);
	if (r == 0) r = wait_for_clients(clients, error);
	if (r == 0) report(load, board, clients, count, load_now_ns());
	munmap(board, size);
	return r;
}
