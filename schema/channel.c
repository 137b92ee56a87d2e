#include "schema/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/string.h"
#include "base/text.h"
#include "schema/limits.h"
#include "schema/message.h"

enum { VERSION_COLUMNS = 40 };

struct channel {
	int fd;
	int64_t next_id, hello;
	json_t *kept; /* array: messages that came while a call waited for its reply */
	char *broker_version;
	pid_t broker_pid;
	char buffer[LIMIT_MESSAGE];
};

static bool is_set(const char *variable) {
	const char *value = getenv(variable);
	return value && *value;
}

static const char *folder_fault(const char *path) {
	struct stat status;
	if (*path != '/') return "XDG_RUNTIME_DIR isn't an absolute path";
	if (stat(path, &status) < 0) return "what XDG_RUNTIME_DIR names isn't there or can't be entered";
	if (!S_ISDIR(status.st_mode)) return "what XDG_RUNTIME_DIR names is no directory";
	if (status.st_uid != geteuid()) return "what XDG_RUNTIME_DIR names belongs to another user";
	if (status.st_mode & 0077) return "what XDG_RUNTIME_DIR names is open to others";
	return NULL;
}

const char *channel_runtime_fault(void) {
	const char *path = getenv("XDG_RUNTIME_DIR");
	return path && *path ? folder_fault(path) : "XDG_RUNTIME_DIR isn't set";
}

static const char *home_directory(void) {
	const char *home = getenv("HOME");
	if (home && *home == '/') return home;
	const struct passwd *account = getpwuid(geteuid());
	return account && account->pw_dir && *account->pw_dir == '/' ? account->pw_dir : NULL;
}

/* Where the broker of the user's login is, for what was started without its variables (cron, su). With another home or
 * state folder the broker is another one, too. */
static char *login_runtime(void) {
	if (is_set("XDG_RUNTIME_DIR") || is_set("XDG_STATE_HOME")) return NULL;
	const char *home = home_directory();
	const struct passwd *account = getpwuid(geteuid());
	if (!account || !string_equal(home, account->pw_dir)) return NULL;
	CLEANUP_FREE char *folder = string_format("/run/user/%u", geteuid());
	return folder_fault(folder) ? NULL : STEAL(folder);
}

int channel_socket_path(char **ret_path, struct error *error) {
	const char *state = getenv("XDG_STATE_HOME");
	const char *home = home_directory();
	CLEANUP_FREE char *login = login_runtime();
	if (login || !channel_runtime_fault())
		*ret_path = string_format("%s/sbx/broker.sock", login ? login : getenv("XDG_RUNTIME_DIR"));
	else if (state && *state == '/')
		*ret_path = string_format("%s/sbx/run/broker.sock", state);
	else if (home)
		*ret_path = string_format("%s/.local/state/sbx/run/broker.sock", home);
	else
		return error_set(error, ENOENT, "you have no home directory for the broker's socket: set HOME");
	return 0;
}

/* Who can put a socket into the folder is whom we would ask. None is there: connect(2) says so. */
static int check_folder(const char *path, struct error *error) {
	const struct file_demand demand = {.kind = S_IFDIR, .owner = geteuid(), .never = 0022};
	CLEANUP_FREE char *folder = path_parent(path);
	int fd = file_open_demanded(AT_FDCWD, folder, folder, &demand, error);
	fd_close(fd);
	return fd < 0 && fd != -ENOENT ? error_prefix(error, "the folder of the broker's socket") : 0;
}

static int connect_socket(const char *path, struct error *error) {
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof address.sun_path)
		return error_set(error, ENAMETOOLONG,
				 "the socket's path %s is longer than %zu bytes: set XDG_RUNTIME_DIR to a shorter one",
				 path, sizeof address.sun_path - 1);
	memcpy(address.sun_path, path, strlen(path) + 1);
	int r = check_folder(path, error);
	if (r < 0) return r;
	CLEANUP_FD int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0) return error_errno(error, "making a socket");
	if (connect(fd, (const struct sockaddr *)&address, sizeof address) < 0)
		return error_errno(error, "connecting to the broker at %s", path);
	/* Before a byte is sent. Root, for one, can put a socket anywhere. */
	struct ucred peer;
	socklen_t size = sizeof peer;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0) return error_errno(error, "asking who listens");
	if (peer.uid != geteuid())
		return error_set(error, EPERM, "what listens at %s belongs to user %u, not to you", path, peer.uid);
	return fd_steal(&fd);
}

/* What another protocol's hello may look like nobody knows; its number says enough. */
static int take_greeting(struct channel *channel, const json_t *reply, struct error *error) {
	const char *version = json_string_value(json_object_get(reply, "version"));
	json_int_t protocol = json_integer_value(json_object_get(reply, "protocol"));
	channel->broker_version = text_visible_cut(version ? version : "?", VERSION_COLUMNS);
	channel->broker_pid = (pid_t)json_integer_value(json_object_get(reply, "pid"));
	if (protocol == PROTOCOL_VERSION) return 0;
	return error_set(error, EPROTONOSUPPORT, "sbxd %s (process %d) speaks protocol %lld, this program %d: %s",
			 channel->broker_version, (int)channel->broker_pid, (long long)protocol, PROTOCOL_VERSION,
			 protocol < PROTOCOL_VERSION
				 ? "end sbxd (kill that process), the next command starts the new one"
				 : "start this program again, it is the older one");
}

int channel_begin(const char *path, struct channel **ret_channel, struct error *error) {
	int fd = connect_socket(path, error);
	if (fd < 0) return fd;
	CLEANUP_CHANNEL struct channel *channel = mem_new(struct channel);
	channel->fd = fd;
	channel->next_id = 1;
	channel->kept = json_array();
	int r = channel_send(channel, "hello",
			     json_pack("{s:i, s:s}", "protocol", PROTOCOL_VERSION, "version", SBX_VERSION),
			     &channel->hello, error);
	if (r < 0) return error_prefix(error, "greeting the broker");
	*ret_channel = STEAL(channel);
	return 0;
}

int channel_greet(struct channel *channel, struct error *error) {
	json_t *reply = NULL;
	int r = channel_wait(channel, channel->hello, &reply, error);
	if (r == 0) r = take_greeting(channel, reply, error);
	json_decref(reply);
	return r < 0 ? error_prefix(error, "greeting the broker") : 0;
}

int channel_connect(const char *path, struct channel **ret_channel, struct error *error) {
	CLEANUP_CHANNEL struct channel *channel = NULL;
	int r = channel_begin(path, &channel, error);
	if (r == 0) r = channel_greet(channel, error);
	if (r == 0) *ret_channel = STEAL(channel);
	return r;
}

void channel_free(struct channel *channel) {
	if (!channel) return;
	fd_close(channel->fd);
	json_decref(channel->kept);
	free(channel->broker_version);
	free(channel);
}

const char *channel_broker_version(const struct channel *channel) {
	return channel->broker_version;
}

pid_t channel_broker_pid(const struct channel *channel) {
	return channel->broker_pid;
}

int channel_fd(const struct channel *channel) {
	return channel->fd;
}

int channel_send(struct channel *channel, const char *type, json_t *body, int64_t *ret_id, struct error *error) {
	CLEANUP_FREE char *text = NULL;
	size_t size;
	json_t *message = body ? body : json_object();
	int64_t id = channel->next_id++;
	json_object_set_new(message, "type", json_string(type));
	json_object_set_new(message, "id", json_integer(id));
	int r = message_encode(message, &text, &size, error);
	json_decref(message);
	if (r < 0) return error_prefix(error, "sending '%s' to the broker", type);
	r = fd_send(channel->fd, text, size, error);
	if (r < 0) {
		shutdown(channel->fd, SHUT_RDWR); /* whoever waits for the broker hears of it */
		return error_prefix(error, "sending '%s' to the broker", type);
	}
	if (ret_id) *ret_id = id;
	return 0;
}

/* From the socket; descriptors are not part of the protocol, and fd_receive takes none. */
static int receive_fresh(struct channel *channel, bool block, json_t **ret_message, struct error *error) {
	struct pollfd ready = {.fd = channel->fd, .events = POLLIN};
	int polled;
	do polled = poll(&ready, 1, block ? -1 : 0);
	while (polled < 0 && errno == EINTR);
	if (polled == 0) return -EAGAIN;
	ssize_t size = fd_receive(channel->fd, channel->buffer, sizeof channel->buffer, error);
	if (size < 0) return (int)size;
	if (size == 0) return error_set(error, ECONNRESET, "the broker has closed the connection");
	return message_decode(channel->buffer, (size_t)size, ret_message, error);
}

int channel_receive(struct channel *channel, bool block, json_t **ret_message, struct error *error) {
	if (json_array_size(channel->kept) == 0) return receive_fresh(channel, block, ret_message, error);
	*ret_message = json_incref(json_array_get(channel->kept, 0));
	json_array_remove(channel->kept, 0);
	return 0;
}

int channel_error(const json_t *reply, struct error *error) {
	const char *message = json_string_value(json_object_get(reply, "message"));
	const char *code = json_string_value(json_object_get(reply, "code"));
	static const struct {
		const char *name;
		int code;
	} codes[] = {{"ENOENT", ENOENT},
		     {"EPERM", EPERM},
		     {"EACCES", EACCES},
		     {"EEXIST", EEXIST},
		     {"EBUSY", EBUSY},
		     {"E2BIG", E2BIG},
		     {"ESTALE", ESTALE},
		     {"EPROTO", EPROTO},
		     {"EIO", EIO},
		     {"ENOSPC", ENOSPC},
		     {"EAGAIN", EAGAIN},
		     {"EALREADY", EALREADY},
		     {"EADDRINUSE", EADDRINUSE},
		     {"ETIMEDOUT", ETIMEDOUT},
		     {"ESRCH", ESRCH},
		     {"EPROTONOSUPPORT", EPROTONOSUPPORT}};
	int number = EINVAL;
	for (size_t i = 0; code && i < ARRAY_LENGTH(codes); i++)
		if (strcmp(codes[i].name, code) == 0) number = codes[i].code;
	return error_set(error, number, "%s", message ? message : "the broker refused without saying why");
}

/* The "id" of a `prompt` push is the prompt's own. */
static bool is_reply(const json_t *message, int64_t id) {
	enum message_type type;
	const char *name = json_string_value(json_object_get(message, "type"));
	return json_integer_value(json_object_get(message, "id")) == id && name &&
	       message_type_parse(name, &type, NULL) == 0 && message_info(type)->flow != MESSAGE_PUSH;
}

int channel_wait(struct channel *channel, int64_t id, json_t **ret_reply, struct error *error) {
	int r = 0;
	while (r == 0) {
		json_t *message = NULL;
		r = receive_fresh(channel, true, &message, error);
		if (r == -EAGAIN) {
			r = 0;
			continue;
		}
		if (r < 0) break;
		if (!is_reply(message, id)) {
			json_array_append_new(channel->kept, message);
			continue;
		}
		if (string_equal(json_string_value(json_object_get(message, "type")), "error")) {
			r = channel_error(message, error);
			json_decref(message);
			return r;
		}
		*ret_reply = message;
		return 0;
	}
	return r;
}

int channel_call(struct channel *channel, const char *type, json_t *body, json_t **ret_reply, struct error *error) {
	int64_t id;
	int r = channel_send(channel, type, body, &id, error);
	return r < 0 ? r : channel_wait(channel, id, ret_reply, error);
}
