#include "packet.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/memory.h"

int packet_send(int fd, json_t *object) {
	if (!object) return -EBADMSG;
	CLEANUP_FREE char *text = json_dumps(object, JSON_COMPACT);
	json_decref(object);
	const size_t size = text ? strlen(text) : 0;
	if (size == 0 || size > PACKET_MAX) return -EBADMSG;
	return send(fd, text, size, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

int packet_receive(int fd, json_t **ret_object) {
	CLEANUP_FREE char *text = mem_alloc(PACKET_MAX + 1, 1);
	const ssize_t size = recv(fd, text, PACKET_MAX + 1, MSG_DONTWAIT);
	if (size < 0) return errno == EINTR ? -EAGAIN : -errno;
	if (size == 0) return -ECONNRESET;
	json_t *object = size > PACKET_MAX ? NULL : json_loadb(text, (size_t)size, 0, NULL);
	if (!json_is_object(object)) {
		json_decref(object);
		return -EBADMSG;
	}
	*ret_object = object;
	return 0;
}
