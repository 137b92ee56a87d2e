#include "cell.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/loop.h"
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
	*cell = (struct cell){.top = realpath(name, NULL), .base = loop_new(), .orders = -1};
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
	assert_int_equal(clearance_new(&cell->clearance, NULL), 0);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place) {
	(void)status, (void)type, (void)place;
	return remove(path);
}

void cell_remove(struct cell *cell) {
	nftw(cell->top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	event_base_free(cell->base);
	clearance_free(cell->clearance);
	free(cell->top);
}

/* Each takes a closer look. */
static bool none_plain(void *context, const char *path) {
	(void)context, (void)path;
	return false;
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

static bool never(void *context) {
	(void)context;
	return false;
}

static void at_once(void *context, void (*done)(void *argument), void *argument) {
	(void)context;
	done(argument);
}

static _Noreturn void become_bwrap(const struct cell *cell, int orders, int out) {
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
	const int from[] = {orders, -1, open("/dev/null", O_RDWR | O_CLOEXEC), out, out}; /* from ORDERS_FD on */
	int high[ARRAY_LENGTH(from)];
	for (size_t i = 0; i < ARRAY_LENGTH(from); i++) high[i] = fcntl(from[i], F_DUPFD_CLOEXEC, 10);
	for (size_t i = 0; i < ARRAY_LENGTH(from); i++)
		if (high[i] >= 0 && dup2(high[i], ORDERS_FD + (int)i) < 0) _exit(99);
	execvp(argv.items[0], argv.items);
	_exit(99);
}

/* sbx-init's process, as the kernel tells it of the hello. */
static pid_t receive_hello(struct cell *cell) {
	struct report report;
	struct pollfd polled = {.fd = cell->orders, .events = POLLIN};
	pid_t init;
	int flags;
	assert_int_equal(poll(&polled, 1, CELL_TIMEOUT_S * 1000), 1);
	assert_int_equal(fd_receive_from(cell->orders, &report, sizeof report, &init, &flags), sizeof report);
	assert_int_equal(report.kind, REPORT_HELLO);
	return init;
}

static int take_from(pid_t init, int number) {
	struct error error = ERROR_NONE;
	CLEANUP_FD int process = (int)syscall(SYS_pidfd_open, init, 0U);
	int fd = fd_take(process, number, &error);
	if (fd < 0) fail_msg("%s", error.message);
	return fd;
}

static void prepare(struct cell *cell, unsigned wanted, const char *const *words) {
	CLEANUP_ORDERS struct launch_orders orders = {
		.program = path_join(cell->top, "calls"), .directory = string_copy(cell->top), .listener = wanted != 0};
	orders.filter_count = filters[wanted].count;
	orders.filter = mem_copy(filters[wanted].steps, orders.filter_count * sizeof *filters[wanted].steps);
	strings_add(&orders.arguments, "calls");
	for (; *words; words++) strings_add(&orders.arguments, *words);
	const struct order order = {.kind = ORDER_PREPARE};
	assert_int_equal(orders_send(cell->orders, &order, &orders, NULL), 0);
}

void cell_start(struct cell *cell, unsigned wanted, const char *const *words) {
	int pair[2];
	struct report report;
	const struct order go = {.kind = ORDER_GO};
	CLEANUP_FREE char *name = path_join(cell->top, "out");
	CLEANUP_FD int out = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &(int){1}, sizeof(int)), 0);
	cell->ended = false;
	cell->orders = pair[0];
	cell->bwrap = fork();
	if (cell->bwrap == 0) become_bwrap(cell, pair[1], out);
	fd_close(pair[1]);
	const pid_t init = receive_hello(cell);
	prepare(cell, wanted, words);
	assert_int_equal(fd_receive(cell->orders, &report, sizeof report, NULL), sizeof report);
	if (report.kind != REPORT_READY) fail_msg("report %d: %s", report.kind, report.text);
	const int listener = wanted != 0 ? take_from(init, report.listener) : -1;
	assert_int_equal(fd_send(cell->orders, &go, sizeof go, NULL), 0);
	if (wanted == 0) return;
	cell->killable = report.value;
	const struct traps_options options = {.base = cell->base,
					      .listener = listener,
					      .wanted = wanted,
					      .called = cell->called,
					      .sight = cell->sight ? cell->sight : cell_sight,
					      .hold = cell->hold,
					      .drop = cell->drop,
					      .clearance = cell->clearance,
					      .behind = cell->behind ? cell->behind : never,
					      .carried_out = cell->carried_out ? cell->carried_out : at_once,
					      .context = cell};
	assert_int_equal(traps_new(&options, &cell->traps, NULL), 0);
	traps_see(cell->traps, &(struct traps_view){.seen = options.sight,
						    .plain = cell->plain ? cell->plain : none_plain,
						    .context = cell});
}

static void on_report(evutil_socket_t fd, short what, void *argument) {
	struct cell *cell = argument;
	struct report report = {0};
	(void)what;
	ssize_t size = fd_receive(fd, &report, sizeof report, NULL);
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
