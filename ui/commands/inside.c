#include "inside.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/fd.h"
#include "base/memory.h"
#include "base/text.h"
#include "runner/inside.h"
#include "schema/limits.h"
#include "schema/message.h"

static int connect_door(int *ret_fd, struct error *error) {
	const struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = INSIDE_DOOR};
	CLEANUP_FD int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0) return error_errno(error, "making a socket");
	if (connect(fd, (const struct sockaddr *)&address, sizeof address) < 0)
		return error_errno(error, "connecting to the sandbox's runner at " INSIDE_DOOR);
	*ret_fd = fd_steal(&fd);
	return 0;
}

static int receive(int fd, json_t **ret_reply, struct error *error) {
	CLEANUP_FREE char *bytes = mem_array(char, LIMIT_MESSAGE);
	ssize_t size;
	do size = recv(fd, bytes, LIMIT_MESSAGE, 0);
	while (size < 0 && errno == EINTR);
	if (size < 0) return error_errno(error, "reading the runner's reply");
	if (size == 0) return error_set(error, ECONNRESET, "the sandbox's runner has hung up");
	return message_decode(bytes, (size_t)size, ret_reply, error);
}

static int check_reply(const json_t *sent, const json_t *reply, struct error *error) {
	const char *type = json_string_value(json_object_get(reply, "type"));
	const char *why = json_string_value(json_object_get(reply, "message"));
	if (string_equal(type, json_string_value(json_object_get(sent, "type")))) return 0;
	CLEANUP_FREE char *shown = text_visible_cut(why ? why : "the runner's reply makes no sense", 300);
	return error_set(error, EPROTO, "%s", shown);
}

int inside_call(json_t *message, json_t **ret_reply, struct error *error) {
	CLEANUP_FREE char *text = NULL;
	CLEANUP_FD int fd = -1;
	json_t *reply = NULL;
	size_t size;
	int r = message_encode(message, &text, &size, error);
	if (r == 0) r = connect_door(&fd, error);
	if (r == 0 && send(fd, text, size, MSG_NOSIGNAL) < 0) r = error_errno(error, "asking the sandbox's runner");
	if (r == 0) r = receive(fd, &reply, error);
	if (r == 0) r = check_reply(message, reply, error);
	json_decref(message);
	if (r == 0)
		*ret_reply = reply;
	else
		json_decref(reply);
	return r;
}
