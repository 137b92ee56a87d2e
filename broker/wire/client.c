#include "client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/string.h"
#include "core/hooks.h"
#include "core/peer.h"
#include "schema/limits.h"
#include "schema/message.h"

enum { MESSAGES_A_TURN = 4 }; /* of one client, before the others have theirs */

static void drop_first(struct client *client) {
	struct client_datagram *first = STAILQ_FIRST(&client->queue);
	STAILQ_REMOVE_HEAD(&client->queue, link);
	client->queued -= first->size;
	client->broker->queued -= first->size;
	free(first->bytes);
	free(first);
}

static void drop_queue(struct client *client) {
	while (!STAILQ_EMPTY(&client->queue)) drop_first(client);
}

static void client_die(struct client *client) {
	if (client->dead) return;
	client->dead = true;
	drop_queue(client);
	event_del(client->readable);
	event_del(client->writable);
	event_active(client->broker->reap, EV_TIMEOUT, 0);
}

/* Writing */

/* False: not now. What fails for good ends the client. */
static bool send_now(struct client *client, const char *bytes, size_t size) {
	while (send(client->fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
		if (errno == EINTR) continue;
		if (errno == EAGAIN || errno == EWOULDBLOCK) return false;
		client_die(client);
		break;
	}
	return true;
}

static void flush(struct client *client) {
	while (!STAILQ_EMPTY(&client->queue)) {
		const struct client_datagram *first = STAILQ_FIRST(&client->queue);
		if (!send_now(client, first->bytes, first->size)) {
			event_add(client->writable, NULL);
			return;
		}
		if (client->dead) return;
		drop_first(client);
	}
	if (client->leaving) client_die(client);
}

static void on_writable(evutil_socket_t fd, short what, void *argument) {
	(void)fd;
	(void)what;
	flush(argument);
}

static void client_give_up(struct client *client) {
	client->deaf = true;
	client_die(client);
}

/* What waits for one can be much, what waits for all is bounded too: then it is the slowest reader who goes. */
static void make_room(struct broker *broker) {
	while (broker->queued > LIMIT_QUEUES) {
		struct client *slowest = NULL, *other;
		TAILQ_FOREACH(other, &broker->clients, link) {
			if (!slowest || other->queued > slowest->queued) slowest = other;
		}
		if (!slowest || slowest->queued == 0) return;
		client_give_up(slowest);
	}
}

/* Takes the text. What can't be sent at once waits in the queue, and what comes behind it, too. */
static void send_text(struct client *client, char *text, size_t size) {
	CLEANUP_FREE char *own = text;
	bool waiting = !STAILQ_EMPTY(&client->queue);
	if (!waiting && send_now(client, own, size)) return;
	struct client_datagram *datagram = mem_new(struct client_datagram);
	*datagram = (struct client_datagram){.bytes = STEAL(own), .size = size};
	STAILQ_INSERT_TAIL(&client->queue, datagram, link);
	client->queued += size;
	client->broker->queued += size;
	if (client->queued > LIMIT_QUEUE)
		client_give_up(client);
	else if (!waiting)
		event_add(client->writable, NULL);
	make_room(client->broker);
}

static void client_send(struct client *client, json_t *message) {
	struct error error = ERROR_NONE;
	char *text;
	size_t size;
	int r = client->dead ? -EPIPE : message_encode(message, &text, &size, &error);
	json_decref(message);
	if (r == 0) {
		send_text(client, text, size);
	} else if (!client->dead) {
		/* Whoever built it broke a bound: better no client than one that waits for ever. */
		log_error("a message for process %d: %s", (int)client->pid, error.message);
		client_die(client);
	}
}

void client_reply(struct client *client, const char *type, int64_t id, json_t *reply) {
	if (!reply) reply = json_object();
	json_object_set_new(reply, "type", json_string(type));
	json_object_set_new(reply, "id", json_integer(id));
	client_send(client, reply);
}

void client_reply_verdict(struct client *client, int64_t id, const struct verdict *verdict) {
	struct string text = {0};
	if (client->dead) return;
	string_append(&text, "{\"type\":\"check\",\"id\":");
	string_append_integer(&text, id);
	string_append(&text, ",\"verdict\":");
	verdict_write(verdict, &text);
	string_append_char(&text, '}');
	if (text.size > LIMIT_MESSAGE) {
		log_error("a verdict for process %d is too long", (int)client->pid);
		client_die(client);
		string_finish(&text);
		return;
	}
	send_text(client, text.data, text.size);
}

void client_reply_error(struct client *client, int64_t id, const struct error *error) {
	json_t *reply = json_object();
	const char *name = strerrorname_np(error->code);
	json_object_set_new(reply, "code", json_string(name ? name : "EIO"));
	json_object_set_new(reply, "message", message_bytes(error->message));
	client_reply(client, "error", id, reply);
}

void client_push(struct client *client, const char *type, json_t *push) {
	json_object_set_new(push, "type", json_string(type));
	client_send(client, push);
}

void client_leave(struct client *client) {
	client->leaving = true;
	event_del(client->readable);
	if (STAILQ_EMPTY(&client->queue)) client_die(client);
}

/* Reading */

/* Who sent the datagram must be who connected, and lives: a descriptor that leaked elsewhere is of no use (attack B11),
 * nor to who has been given the number since (B1). */
static bool is_peer(const struct client *client, pid_t sender) {
	return sender > 0 && sender == client->pid && !peer_has_ended(client->pidfd);
}

static ssize_t receive(struct client *client, char *bytes, size_t size, struct error *error) {
	pid_t sender;
	int flags;
	const ssize_t got = fd_receive_from(client->fd, bytes, size, &sender, &flags);
	if (got < 0) return got;
	if (got == 0 || !is_peer(client, sender)) return -ECONNRESET;
	if (flags & MSG_TRUNC)
		return error_set(error, EMSGSIZE, "malformed message: over the limit of %d bytes", LIMIT_MESSAGE);
	if (flags & MSG_CTRUNC) return error_set(error, EPROTO, "malformed message: descriptors in it");
	return got;
}

static void on_readable(evutil_socket_t fd, short what, void *argument) {
	(void)fd;
	(void)what;
	struct client *client = argument;
	char bytes[LIMIT_MESSAGE];
	for (int i = 0; i < MESSAGES_A_TURN && !client->dead && !client->leaving; i++) {
		struct error error = ERROR_NONE;
		ssize_t size = receive(client, bytes, sizeof bytes, &error);
		if (size == -EAGAIN || size == -EWOULDBLOCK || size == -EINTR) return;
		if (size > 0) {
			client->broker->hooks->message(client, bytes, (size_t)size);
		} else if (error.code != 0) {
			client_reply_error(client, 0, &error);
			client_leave(client);
		} else {
			client_die(client);
		}
	}
}

static void on_deadline(evutil_socket_t fd, short what, void *argument) {
	(void)fd;
	(void)what;
	struct client *client = argument;
	if (!client->greeted) client_die(client);
}

/* Coming and going */

/* When all places are taken: who was let in first of those that have not said a word makes room. */
static bool make_place(struct broker *broker) {
	struct client *silent;
	if (broker->client_count < LIMIT_CLIENTS) return true;
	TAILQ_FOREACH(silent, &broker->clients, link) {
		if (silent->greeted || silent->dead) continue;
		client_free(silent);
		return true;
	}
	return false;
}

static bool has_room(const struct broker *broker, pid_t pid) {
	size_t same = 0;
	const struct client *other;
	TAILQ_FOREACH(other, &broker->clients, link) {
		if (other->pid == pid && !other->dead) same++;
	}
	return same < LIMIT_CLIENTS_PROCESS;
}

void client_accept(struct broker *broker, int fd) {
	CLEANUP_FD int socket = fd;
	struct error error = ERROR_NONE;
	pid_t pid;
	CLEANUP_FD int pidfd = -1;
	if (peer_check(socket, &pid, &pidfd, &error) < 0) {
		log_debug("refused: %s", error.message);
		return;
	}
	if (!has_room(broker, pid) || !make_place(broker)) return;
	struct client *client = mem_new(struct client);
	client->broker = broker;
	client->pid = pid;
	client->pidfd = fd_steal(&pidfd);
	client->fd = fd_steal(&socket);
	STAILQ_INIT(&client->queue);
	client->readable = event_new(broker->base, client->fd, EV_READ | EV_PERSIST, on_readable, client);
	client->writable = event_new(broker->base, client->fd, EV_WRITE, on_writable, client);
	client->deadline = evtimer_new(broker->base, on_deadline, client);
	if (!client->readable || !client->writable || !client->deadline) mem_exhausted();
	static const struct timeval hello = {.tv_sec = LIMIT_HELLO_MS / 1000};
	event_add(client->readable, NULL);
	event_add(client->deadline, &hello);
	TAILQ_INSERT_TAIL(&broker->clients, client, link);
	broker->client_count++;
}

void client_free(struct client *client) {
	if (!client) return;
	client->dead = true;
	client->broker->hooks->client_gone(client);
	TAILQ_REMOVE(&client->broker->clients, client, link);
	client->broker->client_count--;
	drop_queue(client);
	event_free(client->readable);
	event_free(client->writable);
	event_free(client->deadline);
	fd_close(client->fd);
	fd_close(client->pidfd);
	free(client);
}
