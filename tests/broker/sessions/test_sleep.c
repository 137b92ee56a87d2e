/* The machine is about to sleep: a fake logind on a private system bus, a real sbxd and sbx-sleep. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <systemd/sd-bus.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "base/string.h"
#include "prompts_fixture.h"
#include "schema/limits.h"
#include "support/cmocka.h"
#include "support/home.h"
#include "support/patience.h"

static const char object[] = "/org/freedesktop/login1", interface[] = "org.freedesktop.login1.Manager";

/* One who delays the sleep: as long as the other end of `lock` is open. */
static struct logind {
	pid_t bus_daemon;
	sd_bus *bus;
	int lock;
	int locks_taken;
	char what[64], mode[64];
} logind = {.lock = -1};

static int inhibit(sd_bus_message *message, void *context, sd_bus_error *error) {
	const char *what, *who, *why, *mode;
	int ends[2];
	(void)context;
	(void)error;
	assert_true(sd_bus_message_read(message, "ssss", &what, &who, &why, &mode) >= 0);
	snprintf(logind.what, sizeof logind.what, "%s", what);
	snprintf(logind.mode, sizeof logind.mode, "%s", mode);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	fd_close(logind.lock);
	logind.lock = ends[0];
	logind.locks_taken++;
	int r = sd_bus_reply_method_return(message, "h", ends[1]);
	close(ends[1]);
	return r;
}

static const sd_bus_vtable manager[] = {
	SD_BUS_VTABLE_START(0),
	SD_BUS_METHOD("Inhibit", "ssss", "h", inhibit, SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_SIGNAL("PrepareForSleep", "b", 0),
	SD_BUS_VTABLE_END,
};

static void serve_until_locks(int count) {
	int64_t until = now_ms() + PATIENCE_MS;
	while (logind.locks_taken < count) {
		assert_true(now_ms() < until);
		while (sd_bus_process(logind.bus, NULL) > 0) continue;
		sd_bus_wait(logind.bus, 20 * 1000);
	}
}

static void say_sleep(bool sleeping) {
	assert_true(sd_bus_emit_signal(logind.bus, object, interface, "PrepareForSleep", "b", (int)sleeping) >= 0);
	assert_true(sd_bus_flush(logind.bus) >= 0);
}

/* Has the lock been let go within so long? */
static bool is_free(int ms) {
	struct pollfd lock = {.fd = logind.lock, .events = POLLIN};
	return poll(&lock, 1, ms) == 1 && (lock.revents & POLLHUP);
}

static void start_bus(void) {
	CLEANUP_FREE char *socket = home_path("bus"), *config = home_path("bus.conf");
	CLEANUP_FREE char *text =
		string_format("<!DOCTYPE busconfig PUBLIC \"-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN\" "
			      "\"http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd\">\n"
			      "<busconfig><type>session</type><listen>unix:path=%s</listen><auth>EXTERNAL</auth>"
			      "<policy context=\"default\"><allow send_destination=\"*\" eavesdrop=\"true\"/>"
			      "<allow eavesdrop=\"true\"/><allow own=\"*\"/></policy></busconfig>",
			      socket);
	home_write("bus.conf", text);
	CLEANUP_FREE char *address = string_format("unix:path=%s", socket);
	setenv("DBUS_SYSTEM_BUS_ADDRESS", address, 1);
	logind.bus_daemon = fork();
	assert_true(logind.bus_daemon >= 0);
	if (logind.bus_daemon == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		CLEANUP_FREE char *option = string_format("--config-file=%s", config);
		execlp("dbus-daemon", "dbus-daemon", "--nofork", "--nosyslog", option, NULL);
		_exit(127);
	}
	int r = -1; /* its socket is there before it listens */
	wait_until((r = sd_bus_open_system(&logind.bus)) >= 0);
	assert_true(sd_bus_add_object_vtable(logind.bus, NULL, object, interface, manager, NULL) >= 0);
	assert_true(sd_bus_request_name(logind.bus, "org.freedesktop.login1", 0) >= 0);
}

static bool is_told(void) {
	CLEANUP_PEER struct peer *peer = peer_connect(true);
	json_t *status = peer_call(peer, "status", NULL);
	bool told = json_is_true(json_object_get(status, "sleep"));
	json_decref(status);
	return told;
}

static int setup(void **state) {
	start_bus();
	if (prompts_setup_waits(state) != 0) return -1;
	serve_until_locks(1);
	wait_until(is_told());
	return 0;
}

static int teardown(void **state) {
	broker_teardown(state);
	assert_true(is_free(PATIENCE_MS)); /* sbx-sleep goes with sbxd */
	sd_bus_flush_close_unref(logind.bus);
	kill(logind.bus_daemon, SIGTERM);
	waitpid(logind.bus_daemon, NULL, 0);
	fd_close(logind.lock);
	logind = (struct logind){.lock = -1};
	unsetenv("DBUS_SYSTEM_BUS_ADDRESS");
	CLEANUP_FREE char *socket = home_path("bus");
	unlink(socket);
	return 0;
}

static int64_t told_to_sleep(struct peer *runner) {
	json_t *push = peer_push(runner, "sleep");
	assert_true(json_is_true(json_object_get(push, "sleeping")));
	int64_t number = number_of(push, "settle");
	assert_true(number > 0);
	json_decref(push);
	return number;
}

static void settle(struct peer *runner, int64_t number) {
	json_decref(peer_call(runner, "settled", json_pack("{s:I, s:[]}", "settle", (json_int_t)number, "holders")));
}

static void sleep_waits_until_the_runners_have_settled(void **state) {
	(void)state;
	assert_true(is_told());
	assert_string_equal(logind.what, "sleep");
	assert_string_equal(logind.mode, "delay");
	CLEANUP_PEER struct peer *runner = runner_new(), *other = runner_new();
	say_sleep(true);
	settle(runner, told_to_sleep(runner));
	int64_t number = told_to_sleep(other);
	assert_false(is_free(50));
	settle(other, number);
	assert_true(is_free(PATIENCE_MS));
	say_sleep(false);
	serve_until_locks(2); /* for the next time */
	json_t *awake = peer_push(runner, "sleep");
	assert_true(json_is_false(json_object_get(awake, "sleeping")));
	json_decref(awake);
	say_sleep(true);
	settle(runner, told_to_sleep(runner));
	json_decref(peer_push(other, "sleep")); /* awake */
	settle(other, told_to_sleep(other));
	assert_true(is_free(PATIENCE_MS));
}

static void who_does_not_answer_keeps_nothing_awake(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new();
	int64_t began = now_ms();
	say_sleep(true);
	told_to_sleep(runner);
	assert_true(is_free(PATIENCE_MS));
	assert_in_range(now_ms() - began, LIMIT_SETTLE_MS - 20, PATIENCE_MS);
}

static int64_t took_to_sleep(void) {
	int64_t began = now_ms();
	say_sleep(true);
	assert_true(is_free(PATIENCE_MS));
	int64_t took = now_ms() - began;
	say_sleep(false);
	serve_until_locks(logind.locks_taken + 1); /* for the next time */
	return took;
}

static void without_a_sandbox_sleep_waits_for_nothing(void **state) {
	(void)state;
	assert_once_below(LIMIT_SETTLE_MS, took_to_sleep());
}

static void a_killed_broker_leaves_nobody_who_delays(void **state) {
	(void)state;
	broker_kill();
	assert_true(is_free(PATIENCE_MS));
	assert_int_equal(broker_start(NULL), 0);
	serve_until_locks(2);
}

static void without_a_bus_nothing_happens(void **state) {
	(void)state;
	setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nowhere", 1);
	assert_int_equal(prompts_setup_waits(state), 0);
	wait_until(!is_told());
	CLEANUP_PEER struct peer *runner = runner_new();
	assert_true(peer_is_quiet(runner, 20));
	broker_teardown(state);
	unsetenv("DBUS_SYSTEM_BUS_ADDRESS");
}

#define SLEEP(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void) {
	static const char *const programs[] = {SBX_TEST_SBXD, SBX_TEST_SLEEP, NULL};
	static const struct CMUnitTest tests[] = {
		SLEEP(sleep_waits_until_the_runners_have_settled), SLEEP(who_does_not_answer_keeps_nothing_awake),
		SLEEP(without_a_sandbox_sleep_waits_for_nothing),  SLEEP(a_killed_broker_leaves_nobody_who_delays),
		cmocka_unit_test(without_a_bus_nothing_happens),
	};
	home_make(programs);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	home_remove();
	return failed;
}
