#include "hearing.h"

#include <sys/socket.h>

#include "base/memory.h"
#include "net/parse/hello.h"

enum { LOOK_MS = 5 };

struct hearing {
	struct event *look;
	int near, looks;
	struct host host;
	hearing_done *done;
	void *argument;
};

void hearing_cancel(struct hearing *hearing) {
	event_free(hearing->look);
	free(hearing);
}

static void hearing_finish(struct hearing *hearing, const char *says) {
	hearing_done *done = hearing->done;
	void *argument = hearing->argument;

	hearing_cancel(hearing);
	done(argument, says);
}

static void hearing_wait(struct hearing *hearing) {
	const struct timeval after = {.tv_usec = LOOK_MS * 1000};

	event_add(hearing->look, &after);
}

/* The socket is somebody else's to watch; a look now and then needs no event of it. */
static void hearing_look(evutil_socket_t fd, short what, void *argument) {
	struct hearing *hearing = argument;
	char bytes[LIMIT_HEADER];
	struct host says;
	ssize_t size = recv(hearing->near, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
	enum hello_state state = hello_read(bytes, size > 0 ? (size_t)size : 0, &says, NULL);

	(void)fd, (void)what;
	if (state == HELLO_MORE && size != 0 && ++hearing->looks <= LIMIT_HEAR_MS / LOOK_MS)
		hearing_wait(hearing);
	else
		hearing_finish(hearing, state == HELLO_NAME && !host_equal(&says, &hearing->host) ? says.name : NULL);
}

struct hearing *hearing_start(struct event_base *base, int near, const struct host *host, hearing_done *done,
			      void *argument) {
	struct hearing *hearing = mem_new(struct hearing);

	*hearing = (struct hearing){.near = near, .host = *host, .done = done, .argument = argument};
	if (!(hearing->look = evtimer_new(base, hearing_look, hearing))) mem_exhausted();
	event_active(hearing->look, EV_TIMEOUT, 0);
	return hearing;
}
