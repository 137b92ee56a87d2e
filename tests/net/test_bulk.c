/* Much data, byte-exact, with little memory; and the real clients: curl over HTTP, TLS and SOCKS. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "base/string.h"
#include "fixture.h"
#include "script.h"
#include "support/memory_use.h"
#include "support/patience.h"
#include "wire.h"

extern char **environ;

enum { TOTAL = 30 * 1000 * 1000, PIECE = 64 * 1024, MEMORY_KIB = 8 * 1024 };

/* The byte at each place of the data; with a period that no buffer size shares. */
static uint8_t byte_at(size_t place) {
	return (uint8_t)(place % 251 + place / 65521);
}

static void send_data(int fd) {
	uint8_t bytes[PIECE];

	for (size_t place = 0; place < TOTAL;) {
		size_t size = TOTAL - place < PIECE ? TOTAL - place : PIECE;

		for (size_t i = 0; i < size; i++) bytes[i] = byte_at(place + i);
		wire_send(fd, bytes, size);
		place += size;
	}
}

/* Returns how many bytes were right before the first wrong or missing one; notes the most memory held meanwhile. */
static size_t check_data(int fd, long *peak_kib) {
	uint8_t bytes[PIECE];
	size_t place = 0;
	ssize_t n = 0;

	while (place < TOTAL && (n = recv(fd, bytes, TOTAL - place < PIECE ? TOTAL - place : PIECE, 0)) > 0) {
		for (ssize_t i = 0; i < n; i++)
			if (bytes[i] != byte_at(place++)) return place - 1;
		if (peak_kib && memory_use_kib() > *peak_kib) *peak_kib = memory_use_kib();
	}
	if (place < TOTAL)
		print_message("%zu of %d bytes, then %zd: %s\n", place, TOTAL, n, n < 0 ? strerror(errno) : "the end");
	return place;
}

/* A POST's body is checked, a GET is answered with the data, anything else is an upload and then a download. */
static void serve_data(int fd, void *argument) {
	CLEANUP_FREE char *head = wire_read_head(fd);
	size_t *checked = argument;

	if (strncmp(head, "POST", 4) == 0) {
		*checked = check_data(fd, NULL);
		wire_say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone");
		free(wire_read_all(fd, NULL));
	} else if (strncmp(head, "GET /chunked", 12) == 0) {
		wire_say(fd, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n", TOTAL);
		send_data(fd);
		wire_say(fd, "\r\n0\r\n\r\n");
	} else {
		wire_say(fd, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", TOTAL);
		send_data(fd);
	}
}

static void memory_stayed(long before, long peak) {
	if (!memory_use_stayed(before, peak, MEMORY_KIB)) fail_msg("%ld KiB grew to %ld KiB", before, peak);
}

static void an_upload_is_exact_and_bounded(void **state) {
	size_t checked = 0;
	struct server *origin = server_new(serve_data, &checked);
	struct fixture *fixture = fixture_new();
	int fd = wire_dial(fixture_port(fixture));
	long before = memory_use_kib();

	(void)state;
	wire_say(fd, "POST http://localhost:%d/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n",
		 server_port(origin), TOTAL);
	send_data(fd);
	CLEANUP_FREE char *response = wire_read_response(fd);
	assert_non_null(strstr(response, "\r\n\r\ndone"));
	memory_stayed(before, memory_use_kib());
	fd_close(fd);
	server_join(origin); /* it may still read what is on its way */
	assert_int_equal(checked, TOTAL);
	fixture_free(fixture);
	server_free(origin);
}

static void a_download_is_exact_and_bounded(void **state) {
	size_t checked = 0;
	struct server *origin = server_new(serve_data, &checked);
	struct fixture *fixture = fixture_new();
	int fd = wire_dial(fixture_port(fixture));
	long before = memory_use_kib(), peak = before;

	(void)state;
	wire_say(fd, "GET http://localhost:%d/ HTTP/1.1\r\nHost: localhost\r\n\r\n", server_port(origin));
	CLEANUP_FREE char *head = wire_read_head(fd);
	assert_non_null(strstr(head, "Content-Length: 30000000"));
	assert_int_equal(check_data(fd, &peak), TOTAL);
	memory_stayed(before, peak);
	fd_close(fd);
	fixture_free(fixture);
	server_free(origin);
}

/* One huge chunk comes in the pieces that fit our window. */
static void a_chunked_download_is_exact(void **state) {
	size_t checked = 0, place = 0;
	struct server *origin = server_new(serve_data, &checked);
	struct fixture *fixture = fixture_new();
	int fd = wire_dial(fixture_port(fixture));

	(void)state;
	wire_say(fd, "GET http://localhost:%d/chunked HTTP/1.1\r\nHost: localhost\r\n\r\n", server_port(origin));
	FILE *file = fdopen(fd, "r");
	char line[200];
	while (fgets(line, sizeof line, file) && strcmp(line, "\r\n") != 0) continue;
	static uint8_t bytes[4 * PIECE];
	while (fgets(line, sizeof line, file)) {
		size_t size = strtoul(line, NULL, 16);

		assert_true(size <= sizeof bytes);
		assert_int_equal(fread(bytes, 1, size, file), size);
		for (size_t i = 0; i < size; i++)
			if (bytes[i] != byte_at(place++)) fail_msg("a wrong byte at %zu", place - 1);
		assert_non_null(fgets(line, sizeof line, file));
		assert_string_equal(line, "\r\n");
		if (size == 0) break;
	}
	assert_int_equal(place, TOTAL);
	fclose(file);
	fixture_free(fixture);
	server_free(origin);
}

static void *send_main(void *argument) {
	send_data(*(int *)argument);
	shutdown(*(int *)argument, SHUT_WR);
	return NULL;
}

static void serve_both_ways(int fd, void *argument) {
	pthread_t sender;

	pthread_create(&sender, NULL, send_main, &fd);
	*(size_t *)argument = check_data(fd, NULL);
	pthread_join(sender, NULL);
}

static void a_tunnel_is_exact_both_ways_at_once(void **state) {
	size_t checked = 0;
	struct server *origin = server_new(serve_both_ways, &checked);
	struct fixture *fixture = fixture_new();
	int fd = wire_dial(fixture_port(fixture));
	long before = memory_use_kib(), peak = before;
	pthread_t sender;

	(void)state;
	wire_say(fd, "CONNECT localhost:%d HTTP/1.1\r\n\r\n", server_port(origin));
	CLEANUP_FREE char *head = wire_read_head(fd);
	assert_non_null(strstr(head, "200"));
	pthread_create(&sender, NULL, send_main, &fd);
	assert_int_equal(check_data(fd, &peak), TOTAL);
	pthread_join(sender, NULL);
	memory_stayed(before, peak);
	assert_int_equal(wire_read_end(fd), 0);
	fd_close(fd);
	fixture_wait(fixture, reports_reach, 1);
	assert_int_equal(fixture_counts(fixture).sent, TOTAL);
	assert_int_equal(fixture_counts(fixture).received, TOTAL);
	server_join(origin); /* it may still read what is on its way */
	assert_int_equal(checked, TOTAL);
	fixture_free(fixture);
	server_free(origin);
}

/* Past a user's share of pipes a new one has two pages (pipe(7)); bytes are copied then. For root there is no share. */
static void a_tunnel_is_exact_without_pipes(void **state) {
	enum { PIPES_MOST = 256, PIPE_MOST = 1 << 20 };
	int ends[PIPES_MOST][2];
	size_t count = 0;

	while (count < PIPES_MOST && pipe2(ends[count], O_CLOEXEC) == 0) {
		(void)fcntl(ends[count][0], F_SETPIPE_SZ, PIPE_MOST);
		if (fcntl(ends[count++][0], F_GETPIPE_SZ) < PIECE) break;
	}
	a_tunnel_is_exact_both_ways_at_once(state);
	while (count-- > 0) {
		fd_close(ends[count][0]);
		fd_close(ends[count][1]);
	}
}

/* Real clients. A program that is not installed is a skip that cmocka reports. */

static pid_t start(const char *const *command, int in, int out) {
	posix_spawn_file_actions_t actions;
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in, 0);
	posix_spawn_file_actions_adddup2(&actions, out, 1);
	int r = posix_spawnp(&pid, command[0], &actions, NULL, (char *const *)command, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (r == ENOENT) {
		print_message("%s is not installed\n", command[0]);
		return -1;
	}
	assert_int_equal(r, 0);
	return pid;
}

/* Runs to its end and returns what it wrote, NULL when it is not installed. */
static char *run(const char *const *command) {
	int out[2];
	CLEANUP_FD int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct string text = {0};
	char bytes[4096];
	ssize_t n;

	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	pid_t pid = start(command, null, out[1]);
	fd_close(out[1]);
	while ((n = read(out[0], bytes, sizeof bytes)) > 0) string_append_bytes(&text, bytes, (size_t)n);
	fd_close(out[0]);
	if (pid < 0) return NULL;
	waitpid(pid, NULL, 0);
	return string_steal(&text);
}

static void curl_is_served_through_every_door(void **state) {
	const struct script script = {.reply = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"};
	static const char *const schemes[] = {"http", "socks5h", "socks5"};
	struct origin_log *log;
	struct server *origin = script_new(&script, &log);
	struct fixture *fixture = fixture_new();
	char proxy[100], url[100];

	(void)state;
	fixture_set_host(fixture, "svc.test", "127.0.0.1");
	for (size_t i = 0; i < ARRAY_LENGTH(schemes); i++) {
		snprintf(proxy, sizeof proxy, "%s://127.0.0.1:%d", schemes[i], fixture_port(fixture));
		snprintf(url, sizeof url, "http://%s:%d/", i < 2 ? "svc.test" : "localhost", server_port(origin));
		const char *const command[] = {"curl", "-4",      "-sS", "--max-time", "10", "--noproxy",
					       "",     "--proxy", proxy, url,          url,  NULL};
		CLEANUP_FREE char *text = run(command);
		if (!text) skip();
		assert_string_equal(text, "hellohello");
	}
	fixture_free(fixture);
	script_free(origin, log);
}

static int make_certificate(const char *folder, char ret_key[200], char ret_certificate[200]) {
	snprintf(ret_key, 200, "%s/key", folder);
	snprintf(ret_certificate, 200, "%s/certificate", folder);
	const char *const command[] = {"openssl",
				       "req",
				       "-x509",
				       "-newkey",
				       "ec",
				       "-pkeyopt",
				       "ec_paramgen_curve:prime256v1",
				       "-nodes",
				       "-keyout",
				       ret_key,
				       "-out",
				       ret_certificate,
				       "-days",
				       "2",
				       "-subj",
				       "/CN=svc.test",
				       "-addext",
				       "subjectAltName=DNS:svc.test",
				       NULL};
	CLEANUP_FREE char *text = run(command);

	if (!text) return -ENOENT;
	return access(ret_certificate, R_OK);
}

static void wait_until_listening(uint16_t port) {
	for (int64_t end = now_ms() + PATIENCE_MS; now_ms() < end; usleep(10 * 1000)) {
		struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
		CLEANUP_FD int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) return;
	}
	fail_msg("the TLS server does not listen");
}

static void curl_speaks_tls_through_the_tunnel(void **state) {
	char folder[] = "/tmp/sbx-test-XXXXXX", key[200], certificate[200], port[10], proxy[100], url[100];
	uint16_t tls_port = wire_closed_port();
	struct fixture *fixture = fixture_new();
	CLEANUP_FD int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)state;
	assert_non_null(mkdtemp(folder));
	if (make_certificate(folder, key, certificate) < 0) skip();
	snprintf(port, sizeof port, "%d", tls_port);
	const char *const s_server[] = {"openssl", "s_server", "-quiet", "-accept", port,        "-4",
					"-www",    "-key",     key,      "-cert",   certificate, NULL};
	pid_t server = start(s_server, null, null);
	wait_until_listening(tls_port);
	fixture_set_host(fixture, "svc.test", "127.0.0.1");
	for (int i = 0; i < 2; i++) {
		snprintf(proxy, sizeof proxy, "%s://127.0.0.1:%d", i ? "socks5h" : "http", fixture_port(fixture));
		snprintf(url, sizeof url, "https://svc.test:%d/", tls_port);
		const char *const command[] = {"curl",     "-sS",       "--max-time", "10",  "--noproxy", "",
					       "--cacert", certificate, "--proxy",    proxy, url,         NULL};
		CLEANUP_FREE char *text = run(command);
		if (!text) skip();
		assert_non_null(strstr(text ? text : "", "TLSv1."));
	}
	kill(server, SIGTERM);
	waitpid(server, NULL, 0);
	unlink(key);
	unlink(certificate);
	rmdir(folder);
	fixture_free(fixture);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_upload_is_exact_and_bounded),
		cmocka_unit_test(a_download_is_exact_and_bounded),
		cmocka_unit_test(a_chunked_download_is_exact),
		cmocka_unit_test(a_tunnel_is_exact_both_ways_at_once),
		cmocka_unit_test(a_tunnel_is_exact_without_pipes),
		cmocka_unit_test(curl_is_served_through_every_door),
		cmocka_unit_test(curl_speaks_tls_through_the_tunnel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
