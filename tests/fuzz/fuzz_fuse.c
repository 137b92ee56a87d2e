/*
 * What comes from /dev/fuse: whatever the bytes are, the parser keeps to them, and a server that is fed with them
 * answers what asks for an answer, exactly once, with a whole message.
 *
 * The input is requests, each behind two bytes with its length. The device is a socket that keeps messages apart, as
 * /dev/fuse does. "now" answers are given, one of each kind in turn, when the input has been read.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fuse.h>
#include <stdalign.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"
#include "base/path.h"
#include "curtain/curtain.h"
#include "curtain_wire.h"
#include "fuzz.h"

enum { HELD_MAX = 256, REQUESTS_MAX = 200 };

struct answerer {
	struct {
		held_done *done;
		void *argument;
	} held[HELD_MAX];
	size_t count;
};

static struct sight sight_of(void *context, const char *path) {
	(void)context;
	demand(path[0] == '/' && strlen(path) < PATH_MAX, "no path: %s", path);
	demand(!strstr(path, "//") && !strstr(path, "/../") && !strstr(path, "/./"), "not normal: %s", path);
	/* what is asked about, hidden, a way, a program, granted: by the first name's length */
	const size_t size = strcspn(path + 1, "/");
	return (struct sight){.mode = size % 5 == 1   ? VIEW_ABSENT
				      : size % 5 == 4 ? VIEW_READ
						      : VIEW_ASK,
			      .leads = size % 2 == 0,
			      .program = size % 7 == 3,
			      .visible = size % 7 == 3};
}

static uint64_t hold(void *context, pid_t thread, const struct need *need, held_done *done, void *argument) {
	struct answerer *answerer = context;
	(void)thread;
	demand(need->path[0] == '/', "no path");
	if (answerer->count == HELD_MAX) return 0;
	answerer->held[answerer->count].done = done;
	answerer->held[answerer->count++].argument = argument;
	return answerer->count;
}

static void interrupted(void *context, uint64_t ticket) {
	const struct answerer *answerer = context;
	demand(ticket > 0 && ticket <= answerer->count && answerer->held[ticket - 1].done, "interrupts nothing");
}

static void drop(void *context, uint64_t ticket) {
	struct answerer *answerer = context;
	demand(answerer->held[ticket - 1].done, "dropped twice");
	answerer->held[ticket - 1].done = NULL;
}

static void ended(void *context) {
	(void)context;
}

static size_t read_replies(int device) {
	alignas(struct fuse_out_header) char bytes[256 * 1024];
	size_t count = 0;
	ssize_t size;
	while ((size = recv(device, bytes, sizeof bytes, MSG_DONTWAIT)) > 0) {
		const struct fuse_out_header *header = (const void *)bytes;
		demand((size_t)size >= sizeof *header && header->len == (size_t)size, "a reply is cut");
		if (header->unique == 0) continue; /* a notice */
		demand(header->error <= 0 && header->error > -512, "error %d", header->error);
		demand(header->error == 0 || (size_t)size == sizeof *header, "an error with something behind it");
		count++;
	}
	return count;
}

static bool wants_reply(const char *bytes, size_t size) {
	struct wire_request request;
	int code = wire_parse(bytes, size, &request);
	const char *end = bytes + size;
	if (code == 0 && request.name)
		demand(request.name > bytes && request.name + strlen(request.name) < end, "a name past the end");
	if (code == 0 && request.forgets)
		demand((const char *)(request.forgets + request.count) <= end, "forgets past the end");
	/* Other threads of this process would be others' requests: all are ours, so that they are served. */
	return wire_wants_reply(&request);
}

static void feed(int device, struct event_base *base, const uint8_t *data, size_t size, size_t *wanted) {
	for (size_t i = 0; i < REQUESTS_MAX && size >= 2; i++) {
		size_t length = (size_t)(data[0] | data[1] << 8) % (WIRE_REQUEST_MAX + 1);
		data += 2;
		size -= 2;
		if (length > size) length = size;
		if (length == 0) return;
		/* Of exactly this size, and aligned. */
		char *request = mem_copy(data, length);
		if (length >= sizeof(struct fuse_in_header)) {
			struct fuse_in_header *header = (void *)request;
			header->pid = header->pid % 3 == 0 ? 0 : header->pid % 3 == 1 ? (uint32_t)getpid() : 1;
			if (data[4] & 1) header->len = (uint32_t)length; /* most are to be parsed further */
		}
		*wanted += wants_reply(request, length);
		demand(send(device, request, length, 0) == (ssize_t)length, "send: %s", strerror(errno));
		free(request);
		event_base_loop(base, EVLOOP_NONBLOCK);
		data += length;
		size -= length;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	struct answerer answerer = {0};
	struct curtain *curtain;
	int sockets[2], room = 1024 * 1024;
	size_t wanted = 0, got = 0;

	if (size == 0) return 0;
	struct event_base *base = loop_new();
	demand(base && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) == 0, "socketpair");
	setsockopt(sockets[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
	const struct curtain_options options = {.base = base,
						.portal = data[0] & 1 ? getpid() : 0,
						.init = getpid(),
						.sight = sight_of,
						.hold = hold,
						.interrupted = interrupted,
						.drop = drop,
						.ended = ended,
						.context = &answerer};
	demand(curtain_new(sockets[1], &options, &curtain, NULL) == 0, "curtain_new");
	feed(sockets[0], base, data + 1, size - 1, &wanted);
	got = read_replies(sockets[0]);
	for (size_t i = 0; i < answerer.count; i += 2) {
		held_done *done = answerer.held[i].done;
		answerer.held[i].done = NULL;
		done(answerer.held[i].argument, (enum held_end)(i / 2 % 4));
	}
	got += read_replies(sockets[0]);
	curtain_free(curtain); /* refuses the rest */
	got += read_replies(sockets[0]);
	demand(got == wanted, "%zu requests, %zu replies", wanted, got);
	close(sockets[0]);
	event_base_free(base);
	return 0;
}
