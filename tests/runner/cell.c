#include "cell.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "base/string.h"
#include "init/orders.h"
#include "support/cmocka.h"

enum { CELL_UID = 65533, CELL_OUTPUT_MAX = 4 << 20, CELL_PROGRAM_MAX = 64 << 20, CELL_TIMEOUT_S = 900 };

static void copy_program(const char *top, const char *from, const char *name) {
	CLEANUP_FREE char *to = path_join(top, name), *bytes = NULL;
	size_t size = 0;
	assert_int_equal(file_read(from, CELL_PROGRAM_MAX, &bytes, &size, NULL), 0);
	assert_int_equal(file_write(to, bytes, size, 0755, NULL), 0);
	assert_int_equal(chmod(to, 0755), 0);
}

void cell_make(struct cell *cell) {
	static const char *const folders[] = {"w", "ask", "read", "secret"};
	char name[] = "/tmp/sbx-cell.XXXXXX";
	assert_non_null(mkdtemp(name));
	assert_int_equal(chmod(name, 0755), 0);
	*cell = (struct cell){.top = realpath(name, NULL), .base = event_base_new(), .orders = -1};
	copy_program(name, SBX_TEST_INIT, "init");
	copy_program(name, SBX_TEST_CALLS, "calls");
	if (geteuid() == 0) {
		assert_int_equal(chown(name, CELL_UID, CELL_UID), 0);
		assert_int_equal(setgroups(0, NULL), 0);
		assert_int_equal(setresgid(CELL_UID, CELL_UID, CELL_UID), 0);
		assert_int_equal(setresuid(CELL_UID, CELL_UID, CELL_UID), 0);
		prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	}
	for (size_t i = 0; i < ARRAY_LENGTH(folders); i++) {
		CLEANUP_FREE char *path = path_join(cell->top, folders[i]), *file = path_join(path, "file");
		assert_int_equal(mkdir(path, 0755), 0);
		assert_int_equal(file_write(file, folders[i], strlen(folders[i]), 0644, NULL), 0);
	}
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place) {
	(void)status, (void)type, (void)place;
	return remove(path);
}

void cell_remove(struct cell *cell) {
	nftw(cell->top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	event_base_free(cell->base);
	free(cell->top);
}

struct sight cell_sight(void *context, const char *path) {
	const struct cell *cell = context;
	struct sight sight = {.mode = path_is_below(path, "/usr") ? VIEW_READ : VIEW_ABSENT};
	sight.program = strcmp(path, "/usr/bin/true") == 0;
	if (!path_is_below(path, cell->top)) return sight;
	const char *inside = path + strlen(cell->top);
	sight.masked_missing = path_is_below(inside, "/w/masked");
	if (path_is_below(inside, "/w"))
		sight.mode = VIEW_WRITE;
	else if (path_is_below(inside, "/ask"))
		sight = (struct sight){.mode = VIEW_READ, .ask_write = true};
	else if (path_is_below(inside, "/read"))
		sight.mode = VIEW_READ;
	else if (path_is_below(inside, "/secret"))
		sight.mode = VIEW_ASK;
	return sight;
}

static _Noreturn void become_bwrap(const struct cell *cell, int orders) {
	CLEANUP_STRINGS struct strings argv = {0};
	const char *const start[] = {"bwrap", "--unshare-all", "--die-with-parent",
				     "--dev", "/dev",          "--proc",
				     "/proc", "--ro-bind",     "/usr",
				     "/usr",  "--symlink",     "usr/bin",
				     "/bin",  "--symlink",     "usr/lib",
				     "/lib",  "--symlink",     "usr/lib64",
				     "/lib64"};
	static const struct {
		const char *option, *name;
	} binds[] = {{"--bind", "w"},
		     {"--bind", "ask"},
		     {"--ro-bind", "read"},
		     {"--ro-bind", "init"},
		     {"--ro-bind", "calls"}};
	for (size_t i = 0; i < ARRAY_LENGTH(start); i++) strings_add(&argv, start[i]);
	for (size_t i = 0; i < ARRAY_LENGTH(binds); i++) {
		strings_add(&argv, binds[i].option);
		strings_take(&argv, path_join(cell->top, binds[i].name));
		strings_take(&argv, path_join(cell->top, binds[i].name));
	}
	strings_add(&argv, "--");
	strings_take(&argv, path_join(cell->top, "init"));
	int high = fcntl(orders, F_DUPFD, 10);
	if (high < 0 || dup2(high, ORDERS_FD) < 0) _exit(99);
	close(high);
	execvp(argv.items[0], argv.items);
	_exit(99);
}

static void receive(struct cell *cell, struct report *ret_report, int *ret_fd) {
	int fds[FD_PASS_MAX];
	size_t count = 0;
	assert_int_equal(fd_receive(cell->orders, ret_report, sizeof *ret_report, fds, &count, NULL),
			 sizeof *ret_report);
	*ret_fd = count > 0 ? fds[0] : -1;
}

static void go(struct cell *cell, unsigned wanted, const char *const *words) {
	CLEANUP_ORDERS struct launch_orders orders = {
		.program = path_join(cell->top, "calls"), .directory = string_copy(cell->top), .listener = wanted != 0};
	orders.filter_count = filters[wanted].count;
	orders.filter = mem_copy(filters[wanted].steps, orders.filter_count * sizeof *filters[wanted].steps);
	strings_add(&orders.arguments, "calls");
	for (; *words; words++) strings_add(&orders.arguments, *words);
	CLEANUP_FREE char *name = path_join(cell->top, "out");
	CLEANUP_FD int out = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	CLEANUP_FD int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	CLEANUP_FD int memory = -1;
	assert_int_equal(orders_pack(&orders, &memory, NULL), 0);
	const int fds[] = {memory, null, out, out};
	const struct order prepare = {.kind = ORDER_PREPARE}, order = {.kind = ORDER_GO};
	assert_int_equal(fd_send(cell->orders, &prepare, sizeof prepare, fds, ARRAY_LENGTH(fds), NULL), 0);
	assert_int_equal(fd_send(cell->orders, &order, sizeof order, NULL, 0, NULL), 0);
}

void cell_start(struct cell *cell, unsigned wanted, const char *const *words) {
	int pair[2], passed;
	struct report report;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	cell->ended = false;
	cell->orders = pair[0];
	cell->bwrap = fork();
	if (cell->bwrap == 0) become_bwrap(cell, pair[1]);
	fd_close(pair[1]);
	receive(cell, &report, &passed);
	assert_int_equal(report.kind, REPORT_HELLO);
	go(cell, wanted, words);
	if (wanted == 0) return;
	receive(cell, &report, &passed);
	if (report.kind != REPORT_LISTENER) fail_msg("report %d: %s", report.kind, report.text);
	assert_true(passed >= 0);
	cell->killable = report.value;
	const struct traps_options options = {.base = cell->base,
					      .listener = passed,
					      .wanted = wanted,
					      .sight = cell->sight ? cell->sight : cell_sight,
					      .hold = cell->hold,
					      .drop = cell->drop,
					      .context = cell};
	assert_int_equal(traps_new(&options, &cell->traps, NULL), 0);
}

static void on_report(evutil_socket_t fd, short what, void *argument) {
	struct cell *cell = argument;
	struct report report = {0};
	int fds[FD_PASS_MAX];
	size_t count = 0;
	(void)what;
	ssize_t size = fd_receive(fd, &report, sizeof report, fds, &count, NULL);
	assert_int_equal(count, 0);
	cell->ended = size == sizeof report && report.kind == REPORT_EXITED;
	cell->wait_status = report.value;
	if (!cell->ended) print_error("report %d: %s: %s\n", report.kind, report.text, strerror(report.value));
	event_base_loopbreak(cell->base);
}

static void on_timeout(evutil_socket_t fd, short what, void *argument) {
	(void)fd, (void)what;
	event_base_loopbreak(argument);
}

void cell_run(struct cell *cell) {
	const struct timeval limit = {.tv_sec = CELL_TIMEOUT_S};
	struct event *reports = event_new(cell->base, cell->orders, EV_READ | EV_PERSIST, on_report, cell);
	struct event *timeout = evtimer_new(cell->base, on_timeout, cell->base);
	event_add(reports, NULL);
	evtimer_add(timeout, &limit);
	event_base_dispatch(cell->base);
	event_free(reports);
	event_free(timeout);
	if (cell->traps) cell->counts = traps_count(cell->traps);
	traps_free(cell->traps);
	cell->traps = NULL;
	fd_close(cell->orders);
	if (!cell->ended) kill(cell->bwrap, SIGKILL);
	while (waitpid(cell->bwrap, NULL, 0) < 0 && errno == EINTR) {
	}
	if (!cell->ended) fail_msg("the tool didn't run to its end");
}

char *cell_output(const struct cell *cell) {
	CLEANUP_FREE char *name = path_join(cell->top, "out");
	char *text = NULL;
	assert_int_equal(file_read(name, CELL_OUTPUT_MAX, &text, NULL, NULL), 0);
	return text;
}
