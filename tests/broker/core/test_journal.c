/* Lines for the system's log: to the journal with fields, else to syslog, never waited for. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/string.h"
#include "core/journal.h"
#include "support/cmocka.h"
#include "support/home.h"

struct log {
	char *path;
	int fd;
};

static struct log listen_at(const char *name, int type) {
	struct log log = {home_path(name), socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	assert_true(log.fd >= 0 && strlen(log.path) < sizeof address.sun_path);
	memcpy(address.sun_path, log.path, strlen(log.path) + 1);
	unlink(log.path);
	assert_int_equal(bind(log.fd, (const struct sockaddr *)&address, sizeof address), 0);
	return log;
}

static void finish(struct log *log) {
	close(log->fd);
	unlink(log->path);
	free(log->path);
}

static const struct journal_field fields[] = {{"SBX_SESSION", "7"}, {"SBX_HEAD_SEQ", "12"}, {"SBX_HEAD_HASH", "ab"}};

static enum journal_place write_to(const char *native, const char *syslog) {
	const struct journal_sockets sockets = {native, syslog};
	return journal_write(&sockets, "session 7 ended; history head 12:ab", fields, ARRAY_LENGTH(fields));
}

static void the_journal_gets_fields_of_their_own(void **state) {
	(void)state;
	struct log log = listen_at("journal", SOCK_DGRAM);
	char text[1024] = "";
	assert_int_equal(write_to(log.path, "/nowhere"), JOURNAL_NATIVE);
	assert_true(recv(log.fd, text, sizeof text - 1, 0) > 0);
	assert_string_equal(text, "MESSAGE=session 7 ended; history head 12:ab\nPRIORITY=6\nSYSLOG_FACILITY=1\n"
				  "SYSLOG_IDENTIFIER=sbxd\nSBX_SESSION=7\nSBX_HEAD_SEQ=12\nSBX_HEAD_HASH=ab\n");
	finish(&log);
}

static void without_a_journal_syslog_gets_the_message(void **state) {
	(void)state;
	struct log log = listen_at("log", SOCK_DGRAM);
	char text[1024] = "", end[64];
	assert_int_equal(write_to("/nowhere", log.path), JOURNAL_SYSLOG);
	assert_true(recv(log.fd, text, sizeof text - 1, 0) > 0);
	snprintf(end, sizeof end, " sbxd[%d]: session 7 ended; history head 12:ab", (int)getpid());
	assert_memory_equal(text, "<14>", 4);
	assert_string_equal(text + strlen("<14>Jan  1 12:00:00"), end);
	finish(&log);
}

static void without_either_it_says_so(void **state) {
	(void)state;
	struct log stream = listen_at("stream", SOCK_STREAM);
	assert_int_equal(write_to("/nowhere", "/nowhere"), JOURNAL_NOWHERE);
	assert_int_equal(write_to(stream.path, "/nowhere"), JOURNAL_NOWHERE);
	finish(&stream);
	/* The name stays, nobody listens. */
	struct log gone = listen_at("gone", SOCK_DGRAM);
	close(gone.fd);
	assert_int_equal(write_to(gone.path, "/nowhere"), JOURNAL_NOWHERE);
	finish(&gone);
}

static void a_log_that_reads_nothing_is_not_waited_for(void **state) {
	(void)state;
	struct log log = listen_at("full", SOCK_DGRAM);
	enum journal_place place = JOURNAL_NATIVE;
	alarm(20);
	for (int i = 0; i < 100000 && place == JOURNAL_NATIVE; i++) place = write_to(log.path, "/nowhere");
	alarm(0);
	assert_int_equal(place, JOURNAL_NOWHERE);
	finish(&log);
}

int main(void) {
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_journal_gets_fields_of_their_own),
		cmocka_unit_test(without_a_journal_syslog_gets_the_message),
		cmocka_unit_test(without_either_it_says_so),
		cmocka_unit_test(a_log_that_reads_nothing_is_not_waited_for),
	};
	home_make(NULL);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	home_remove();
	return failed;
}
