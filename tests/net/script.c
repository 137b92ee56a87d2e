#include "script.h"

#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/string.h"

struct origin_log {
	const struct script *script;
	pthread_mutex_t lock;
	struct string text;
};

static void log_add(struct origin_log *log, const char *text) {
	pthread_mutex_lock(&log->lock);
	string_append(&log->text, text);
	pthread_mutex_unlock(&log->lock);
}

static void read_body(int fd, struct origin_log *log, const char *head) {
	const char *length = strstr(head, "Content-Length: ");
	bool chunked = strstr(head, "Transfer-Encoding: chunked") != NULL;

	if (length) {
		CLEANUP_FREE char *body = wire_read_bytes(fd, strtoul(length + strlen("Content-Length: "), NULL, 10));
		log_add(log, body);
	}
	for (size_t size = 1; chunked && size > 0;) { /* as the proxy writes chunks: HEX CRLF data CRLF */
		char line[20] = "";
		size_t at = 0;

		while (at < sizeof line - 1 && recv(fd, line + at, 1, 0) == 1 && line[at] != '\n') at++;
		log_add(log, line);
		size = strtoul(line, NULL, 16);
		CLEANUP_FREE char *data = wire_read_bytes(fd, size + 2);
		log_add(log, data);
	}
}

static void serve_script(int fd, void *argument) {
	const struct linger at_once = {.l_onoff = 1};
	struct origin_log *log = argument;
	const struct script *script = log->script;

	for (unsigned i = 0; script->per_connection == 0 || i < script->per_connection; i++) {
		CLEANUP_FREE char *head = wire_read_head(fd);

		if (*head == '\0') return;
		log_add(log, head);
		if (!script->ignore_body) read_body(fd, log, head);
		if (script->delay_ms) usleep(script->delay_ms * 1000);
		wire_send(fd, script->reply, script->reply_size ? script->reply_size : strlen(script->reply));
	}
	if (script->reset) setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

struct server *script_new(const struct script *script, struct origin_log **ret_log) {
	struct origin_log *log = mem_new(struct origin_log);

	log->script = script;
	pthread_mutex_init(&log->lock, NULL);
	*ret_log = log;
	return server_new(serve_script, log);
}

char *origin_log_text(struct origin_log *log) {
	pthread_mutex_lock(&log->lock);
	char *text = string_copy(log->text.data ? log->text.data : "");
	pthread_mutex_unlock(&log->lock);
	return text;
}

void script_free(struct server *server, struct origin_log *log) {
	server_free(server);
	string_finish(&log->text);
	pthread_mutex_destroy(&log->lock);
	free(log);
}
