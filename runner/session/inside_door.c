/*
 * Theory of operation. Where connect(2) is held, it is this process that carries it out (ipc.c), and so would be the
 * peer by SO_PEERCRED. What is sent is sent by the tool itself, and the kernel says with each datagram which process
 * that was (SO_PASSCRED, unix(7)); who has no right to give another number can't.
 *
 *     accept ──► READING ──datagram──► SERVING ──reply──► closed
 *                   │ LIMIT_DOOR_MS        │ hangs up, or says more: cancelled
 *                   └► closed              └► closed
 *
 * The listener rests while LIMIT_DOOR_RATE connections have come in a second: what waits then is the tool's own.
 */
#include "inside_door.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/fd.h"
#include "schema/limits.h"
#include "schema/message.h"

struct guest {
	TAILQ_ENTRY(guest) entry; /* who came first is first */
	struct inside_door *door;
	int fd;
	struct event *readable, *late;
	bool serving;
	uint64_t ticket; /* when serving */
};

struct inside_door {
	struct inside_door_options options;
	int listener;
	struct event *coming, *resume;
	int64_t second_ms; /* when the second began that `came` counts in */
	unsigned came;
	TAILQ_HEAD(, guest) guests;
	size_t count, serving;
};

/* Guests */

static void guest_free(struct guest *guest) {
	struct inside_door *door = guest->door;
	if (guest->serving) door->serving--;
	if (guest->ticket > 0) door->options.cancel(door->options.context, guest->ticket);
	TAILQ_REMOVE(&door->guests, guest, entry);
	door->count--;
	event_free(guest->readable);
	event_free(guest->late);
	fd_close(guest->fd);
	free(guest);
}

/* Takes the reply over. Who doesn't read it has had it all the same: it is one datagram. */
static void guest_tell(struct guest *guest, json_t *reply) {
	CLEANUP_FREE char *text = NULL;
	size_t size;
	if (message_encode(reply, &text, &size, NULL) == 0)
		(void)send(guest->fd, text, size, MSG_DONTWAIT | MSG_NOSIGNAL);
	json_decref(reply);
	guest_free(guest);
}

static void on_done(void *argument, json_t *reply) {
	struct guest *guest = argument;
	guest->ticket = 0;
	guest_tell(guest, reply);
}

static void guest_serve(struct guest *guest, const struct inside_wish *wish) {
	struct inside_door *door = guest->door;
	if (door->serving >= LIMIT_DOOR_SERVING) {
		guest_tell(guest, inside_reply_error("too many requests wait for an answer"));
		return;
	}
	event_del(guest->late);
	guest->serving = true;
	door->serving++;
	const uint64_t ticket = door->options.serve(door->options.context, wish, on_done, guest);
	if (ticket > 0) guest->ticket = ticket; /* else it is answered, and gone */
}

/* The size; 0 when there is nothing to answer. */
static ssize_t receive(const struct guest *guest, char *bytes, size_t size, pid_t *ret_sender, struct error *error) {
	int flags;
	const ssize_t got = fd_receive_from(guest->fd, bytes, size, ret_sender, &flags);
	if (got < 0) return got;
	if (flags & MSG_TRUNC) return error_set(error, EMSGSIZE, "a message is over the limit of %zu bytes", size);
	if (flags & MSG_CTRUNC) return error_set(error, EINVAL, "a message comes without descriptors");
	return got;
}

static void guest_hear(struct guest *guest, pid_t sender, const char *bytes, size_t size) {
	const struct inside_door_options *options = &guest->door->options;
	CLEANUP_INSIDE_MESSAGE struct inside_message message = {0};
	CLEANUP_FREE char *process = NULL;
	CLEANUP_STRINGS struct strings parents = {0};
	struct error error = ERROR_NONE;
	if (sender <= 0 || !options->caller(options->context, sender, &process, &parents)) {
		guest_free(guest);
	} else if (inside_message_parse(bytes, size, &message, &error) < 0) {
		guest_tell(guest, inside_reply_error(error.message));
	} else {
		const struct inside_wish wish = {.message = &message, .process = process, .parents = &parents};
		guest_serve(guest, &wish);
	}
}

static void on_readable(evutil_socket_t fd, short what, void *argument) {
	struct guest *guest = argument;
	struct error error = ERROR_NONE;
	char bytes[LIMIT_DOOR_MESSAGE];
	pid_t sender = 0;
	(void)fd, (void)what;
	const ssize_t size = receive(guest, bytes, sizeof bytes, &sender, &error);
	if (size == -EAGAIN || size == -EINTR) return;
	if (size <= 0 && error.code == 0)
		guest_free(guest);
	else if (guest->serving || size <= 0)
		guest_tell(guest, inside_reply_error(error.code != 0 ? error.message : "one message a connection"));
	else
		guest_hear(guest, sender, bytes, (size_t)size);
}

static void on_late(evutil_socket_t fd, short what, void *argument) {
	(void)fd, (void)what;
	guest_free(argument);
}

static void guest_new(struct inside_door *door, int fd) {
	static const struct timeval patience = {.tv_sec = LIMIT_DOOR_MS / 1000};
	const int on = 1;
	struct guest *guest = mem_new(struct guest);
	*guest = (struct guest){.door = door, .fd = fd};
	setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
	guest->readable = event_new(door->options.base, fd, EV_READ | EV_PERSIST, on_readable, guest);
	guest->late = evtimer_new(door->options.base, on_late, guest);
	event_add(guest->readable, NULL);
	event_add(guest->late, &patience);
	TAILQ_INSERT_TAIL(&door->guests, guest, entry);
	door->count++;
}

/* Coming */

/* Who came first of those that have not said a word goes. */
static bool make_room(struct inside_door *door) {
	struct guest *silent;
	TAILQ_FOREACH(silent, &door->guests, entry) {
		if (silent->serving) continue;
		guest_free(silent);
		return true;
	}
	return false;
}

static void rest(struct inside_door *door, int ms) {
	const struct timeval delay = clock_timeval(ms);
	event_del(door->coming);
	evtimer_add(door->resume, &delay);
}

static void on_resume(evutil_socket_t fd, short what, void *argument) {
	struct inside_door *door = argument;
	(void)fd, (void)what;
	event_add(door->coming, NULL);
}

/* Past the rate, until the second is over. */
static bool is_too_fast(struct inside_door *door) {
	enum { SECOND_MS = 1000 };
	const int64_t now = clock_ms(CLOCK_MONOTONIC);
	if (now - door->second_ms >= SECOND_MS) {
		door->second_ms = now;
		door->came = 0;
	}
	if (door->came < LIMIT_DOOR_RATE) return false;
	rest(door, (int)(door->second_ms + SECOND_MS - now));
	return true;
}

static void on_coming(evutil_socket_t listener, short what, void *argument) {
	enum { PAUSE_MS = 50 };
	struct inside_door *door = argument;
	(void)what;
	if (is_too_fast(door)) return;
	const int fd = accept4((int)listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0) {
		/* Out of descriptors, most likely: don't spin on a listener that stays readable. */
		if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) rest(door, PAUSE_MS);
		return;
	}
	door->came++;
	if (door->count < LIMIT_DOOR_GUESTS || make_room(door))
		guest_new(door, fd);
	else
		fd_close(fd);
}

int inside_door_new(int listener, const struct inside_door_options *options, struct inside_door **ret_door,
		    struct error *error) {
	CLEANUP_FD int fd = listener;
	const int on = 1;
	int r = fd_nonblocking(fd, true, error);
	if (r < 0) return r;
	/* What is sent before it is accepted, too. */
	if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) < 0)
		return error_errno(error, "asking who speaks at " INSIDE_DOOR);
	/* What waits is taken slowly: few do. */
	if (listen(fd, LIMIT_DOOR_GUESTS) < 0) return error_errno(error, "listening at " INSIDE_DOOR);
	struct inside_door *door = mem_new(struct inside_door);
	*door = (struct inside_door){.options = *options, .listener = fd_steal(&fd)};
	TAILQ_INIT(&door->guests);
	door->coming = event_new(options->base, door->listener, EV_READ | EV_PERSIST, on_coming, door);
	door->resume = evtimer_new(options->base, on_resume, door);
	event_add(door->coming, NULL);
	*ret_door = door;
	return 0;
}

size_t inside_door_count(const struct inside_door *door) {
	return door->count;
}

void inside_door_free(struct inside_door *door) {
	if (!door) return;
	for (struct guest *guest = TAILQ_FIRST(&door->guests), *next; guest; guest = next) {
		next = TAILQ_NEXT(guest, entry);
		guest_free(guest);
	}
	event_free(door->coming);
	event_free(door->resume);
	fd_close(door->listener);
	free(door);
}
