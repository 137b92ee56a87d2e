#include "portal.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "portal_child.h"

struct portal {
	pid_t pid;
	int socket;
};

int portal_start(const struct plan *plan, struct portal **ret_portal, struct error *error) {
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return error_errno(error, "making a socket pair");
	const pid_t parent = getpid();
	pid_t pid = fork();
	if (pid == 0) portal_child_run(pair[1], plan, parent);
	fd_close(pair[1]);
	if (pid < 0) {
		int r = error_errno(error, "starting the portal");
		fd_close(pair[0]);
		return r;
	}
	struct portal *portal = mem_new(struct portal);
	*portal = (struct portal){.pid = pid, .socket = pair[0]};
	*ret_portal = portal;
	return 0;
}

static int call(struct portal *portal, const struct portal_request *request, int *ret_fd, struct error *error) {
	int r = fd_send(portal->socket, request, sizeof *request, NULL, 0, error);
	if (r < 0) return error_prefix(error, "the portal");
	struct portal_reply reply;
	int fds[FD_PASS_MAX];
	size_t count;
	ssize_t size = fd_receive(portal->socket, &reply, sizeof reply, fds, &count, error);
	if (size < 0) return error_prefix(error, "the portal");
	if (size != sizeof reply) return error_set(error, EPIPE, "the portal ended");
	if (reply.code != 0) return error_set(error, reply.code, "%s", reply.text);
	if (!ret_fd || count != 1) {
		for (size_t i = 0; i < count; i++) fd_close(fds[i]);
		return ret_fd ? error_set(error, EPROTO, "the portal sent no socket") : 0;
	}
	*ret_fd = fds[0];
	return 0;
}

int portal_enter(struct portal *portal, pid_t init, bool again, struct error *error) {
	const struct portal_request request = {.verb = PORTAL_ENTER, .number = init, .again = again};
	return call(portal, &request, NULL, error);
}

int portal_listen_port(struct portal *portal, uint16_t port, int *ret_fd, struct error *error) {
	const struct portal_request request = {.verb = PORTAL_LISTEN_PORT, .number = port};
	return call(portal, &request, ret_fd, error);
}

static int call_path(struct portal *portal, enum portal_verb verb, const char *path, int *ret_fd, struct error *error) {
	struct portal_request request = {.verb = verb};
	size_t size = strlen(path);
	if (size >= sizeof request.path) return error_set(error, ENAMETOOLONG, "%s is too long", path);
	memcpy(request.path, path, size);
	return call(portal, &request, ret_fd, error);
}

int portal_listen_path(struct portal *portal, const char *path, int *ret_fd, struct error *error) {
	return call_path(portal, PORTAL_LISTEN_PATH, path, ret_fd, error);
}

int portal_seal(struct portal *portal, const char *path, struct error *error) {
	return call_path(portal, PORTAL_SEAL, path, NULL, error);
}

int portal_restore_mount(struct portal *portal, size_t index, struct error *error) {
	const struct portal_request request = {.verb = PORTAL_RESTORE_MOUNT, .number = (int32_t)index};
	return call(portal, &request, NULL, error);
}

int portal_fd(const struct portal *portal) {
	return portal->socket;
}

void portal_free(struct portal *portal) {
	if (!portal) return;
	fd_close(portal->socket);
	kill(portal->pid, SIGKILL);
	while (waitpid(portal->pid, NULL, 0) < 0 && errno == EINTR) {
	}
	free(portal);
}
