/*
 * Theory of operation. A call is sent as soon as the socket takes it, so that several are under way at once and the
 * portal never waits for us between two; replies come in the same order, so the oldest call is the one a reply is for.
 * What has failed before it was sent, and all that is pending when the portal has died, is told from the loop (`turn`),
 * never from within the call. A socket that takes nothing for any reason but being full is the end of the portal.
 *
 * A reply names descriptors by the portal's numbers. We take them by our pidfd of it, which stands for this process and
 * no later one, since we are its parent and reap it last of all.
 */
#include "portal.h"

#include <errno.h>
#include <event2/buffer.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "calls/used_up.h"
#include "plan/undone.h"
#include "portal_child.h"
#include "portal_wire.h"

struct errand {
	struct errand *next;
	struct portal_request request;
	int code; /* it failed before it was sent */
	char text[sizeof((struct portal_reply){0}).text];
	portal_done *done;
	portal_applied_done *applied; /* of steps, in place of done */
	void *argument;
};

/* portal_apply_again, while it asks what there is */
struct again {
	struct plan *plan;
	const struct steps *under_way;
	portal_applied_done *done;
	void *argument;
};

struct portal {
	pid_t pid;
	int process;  /* pidfd */
	int socket;   /* -1: it has died */
	bool refuses; /* the socket takes nothing any more: it is about to be ended */
	struct event_base *base;
	struct event *readable, *writable, *turn;
	struct evbuffer *requests, *replies; /* on their way */
	struct errand *first, **end;
	struct portal_put *puts; /* by id */
	size_t put_count;
	struct error failed; /* the first since the last portal_wait */
	void (*ended)(void *argument);
	void *ended_argument;
	bool *freed; /* set by portal_free in a callback */
	struct again again;
};

/* The contents of a reply. */
struct brought {
	int code;
	const char *text;
	int *fds; /* ours by now */
	size_t fd_count;
	const struct portal_applied *applied; /* NULL: none */
};

/* Take the oldest call out and tell. False when the portal was freed meanwhile. */
static bool finish_first(struct portal *portal, const struct brought *brought) {
	CLEANUP_FREE struct errand *errand = portal->first;
	bool freed = false;
	portal->first = errand->next;
	if (!portal->first) portal->end = &portal->first;
	if (brought->code != 0 && portal->failed.code == 0)
		error_set(&portal->failed, brought->code, "%s", brought->text);
	portal->freed = &freed;
	if (errand->applied)
		errand->applied(errand->argument, brought->code, brought->text, brought->applied);
	else if (errand->done)
		errand->done(errand->argument, brought->code, brought->text, brought->fds, brought->fd_count);
	for (size_t i = 0; i < brought->fd_count && !errand->done; i++) fd_close(brought->fds[i]);
	if (!freed) portal->freed = NULL;
	return !freed;
}

static void queue(struct portal *portal, const void *bytes, size_t size) {
	if (evbuffer_add(portal->requests, bytes, size) < 0) mem_exhausted();
}

/* Of what is to be sent as much as the socket takes now. */
static void flush(struct portal *portal) {
	if (portal->socket < 0 || portal->refuses || evbuffer_get_length(portal->requests) == 0) return;
	if (evbuffer_write(portal->requests, portal->socket) < 0 && errno != EAGAIN && errno != EINTR) {
		portal->refuses = true;
		event_active(portal->turn, EV_TIMEOUT, 1);
	} else if (evbuffer_get_length(portal->requests) > 0) {
		event_add(portal->writable, NULL);
	}
}

/* Calls at the head that failed before they were sent. */
static bool finish_unsent(struct portal *portal) {
	while (portal->first && (portal->first->code != 0 || portal->socket < 0)) {
		const struct errand *errand = portal->first;
		const struct brought nothing = {.code = errand->code ? errand->code : EPIPE,
						.text = errand->code ? errand->text : "the portal has ended"};
		if (!finish_first(portal, &nothing)) return false;
	}
	return true;
}

static void end(struct portal *portal) {
	event_del(portal->readable);
	event_del(portal->writable);
	fd_close_p(&portal->socket);
	if (finish_unsent(portal) && portal->ended) portal->ended(portal->ended_argument);
}

/* All or none. It closes its own in either case. */
static int take_descriptors(struct portal *portal, const struct portal_reply *reply, int *ret_fds,
			    struct error *error) {
	const struct portal_request taken = {.verb = PORTAL_TAKEN, .number = (int32_t)reply->fd_count};
	int r = 0;
	for (uint32_t i = 0; i < reply->fd_count && r == 0; i++) {
		ret_fds[i] = fd_take(portal->process, reply->fds[i], error);
		if (ret_fds[i] >= 0) continue;
		r = ret_fds[i];
		while (i > 0) fd_close(ret_fds[--i]);
	}
	if (reply->fd_count > 0) queue(portal, &taken, sizeof taken);
	flush(portal);
	return r;
}

static bool finish_replied(struct portal *portal, const struct portal_reply *reply,
			   const struct portal_applied *applied) {
	int fds[PORTAL_FDS_MAX];
	struct error error = ERROR_NONE;
	struct brought brought = {.code = reply->code, .text = reply->text, .applied = applied};
	if (take_descriptors(portal, reply, fds, &error) < 0) {
		brought.code = error.code;
		brought.text = error.message;
	} else {
		brought.fds = fds;
		brought.fd_count = reply->fd_count;
	}
	return finish_first(portal, &brought);
}

/* 1: a whole reply, with what became of steps if it has that; 0: not all of it is here yet; -EPROTO. */
static int read_reply(struct evbuffer *replies, struct portal_reply *ret_reply, struct portal_applied *ret_applied) {
	struct portal_reply *reply = ret_reply;
	if (evbuffer_copyout(replies, reply, sizeof *reply) < (ssize_t)sizeof *reply) return 0;
	reply->text[sizeof reply->text - 1] = '\0';
	if (reply->size > PORTAL_WIRE_MAX || reply->fd_count > PORTAL_FDS_MAX) return -EPROTO;
	const size_t size = sizeof *reply + reply->size;
	if (evbuffer_get_length(replies) < size) return 0;
	const char *bytes = (const char *)evbuffer_pullup(replies, (ssize_t)size);
	if (reply->size > 0 && portal_applied_unpack(bytes + sizeof *reply, reply->size, ret_applied, NULL) < 0)
		return -EPROTO;
	evbuffer_drain(replies, size);
	return 1;
}

static void keep_puts(struct portal *portal, struct portal_applied *applied) {
	free(portal->puts);
	portal->puts = STEAL(applied->puts);
	portal->put_count = applied->put_count;
}

/* True: another may be here. */
static bool serve_reply(struct portal *portal) {
	struct portal_reply reply;
	CLEANUP_PORTAL_APPLIED struct portal_applied applied = {0};
	int r = read_reply(portal->replies, &reply, &applied);
	if (r == 0) return false;
	if (r < 0 || !portal->first || portal->first->code != 0) {
		end(portal);
		return false;
	}
	if (reply.size > 0) keep_puts(portal, &applied);
	return finish_replied(portal, &reply, reply.size > 0 ? &applied : NULL) && finish_unsent(portal);
}

static void on_readable(evutil_socket_t fd, short what, void *argument) {
	struct portal *portal = argument;
	(void)what;
	const int got = evbuffer_read(portal->replies, fd, -1);
	if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
	if (got <= 0) {
		end(portal);
		return;
	}
	while (serve_reply(portal)) {
	}
}

static void on_writable(evutil_socket_t fd, short what, void *argument) {
	(void)fd, (void)what;
	flush(argument);
}

static void on_turn(evutil_socket_t fd, short what, void *argument) {
	struct portal *portal = argument;
	(void)fd, (void)what;
	if (portal->refuses && portal->socket >= 0)
		end(portal);
	else
		finish_unsent(portal);
}

static struct portal *new_portal(struct event_base *base, pid_t pid, int process, int socket) {
	struct portal *portal = mem_new(struct portal);
	*portal =
		(struct portal){.pid = pid, .process = process, .socket = socket, .base = base, .end = &portal->first};
	portal->requests = evbuffer_new();
	portal->replies = evbuffer_new();
	portal->readable = event_new(base, socket, EV_READ | EV_PERSIST, on_readable, portal);
	portal->writable = event_new(base, socket, EV_WRITE, on_writable, portal);
	portal->turn = evtimer_new(base, on_turn, portal);
	event_add(portal->readable, NULL);
	return portal;
}

static void reap(pid_t pid, int wait_flags) {
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, wait_flags) < 0 && errno == EINTR) {
	}
}

int portal_start(struct event_base *base, int spare, struct portal **ret_portal, struct error *error) {
	CLEANUP_FD int taken_over = spare;
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return error_errno(error, "making a socket pair");
	CLEANUP_FD int ours = pair[0], its = pair[1];
	const pid_t parent = getpid();
	const pid_t pid = fork();
	if (pid == 0) portal_child_run(its, taken_over, parent);
	if (pid < 0) return used_up_errno(error, "starting the portal");
	CLEANUP_FD int process = (int)syscall(SYS_pidfd_open, pid, 0U);
	int r = process < 0 ? error_errno(error, "watching the portal") : fd_nonblocking(ours, true, error);
	if (r < 0) {
		reap(pid, 0);
		return r;
	}
	*ret_portal = new_portal(base, pid, fd_steal(&process), fd_steal(&ours));
	return 0;
}

static struct errand *add_errand(struct portal *portal, enum portal_verb verb, portal_done *done, void *argument) {
	struct errand *errand = mem_new(struct errand);
	*errand = (struct errand){.request = {.verb = verb}, .done = done, .argument = argument};
	*portal->end = errand;
	portal->end = &errand->next;
	return errand;
}

static void refuse(struct errand *errand, int code, const char *text) {
	errand->code = code;
	snprintf(errand->text, sizeof errand->text, "%.*s", (int)sizeof errand->text - 1, text);
}

/* `bytes` follow the request, if there are any. */
static void post(struct portal *portal, struct errand *errand, const struct string *bytes) {
	if (errand->code == 0) {
		errand->request.size = bytes ? (uint32_t)bytes->size : 0;
		queue(portal, &errand->request, sizeof errand->request);
		if (bytes) queue(portal, bytes->data, bytes->size);
		flush(portal);
	}
	if (portal->socket < 0 || portal->first->code != 0) event_active(portal->turn, EV_TIMEOUT, 1);
}

static void post_number(struct portal *portal, enum portal_verb verb, int32_t number, portal_done *done,
			void *argument) {
	struct errand *errand = add_errand(portal, verb, done, argument);
	errand->request.number = number;
	post(portal, errand, NULL);
}

static void post_path(struct portal *portal, enum portal_verb verb, const char *path, int number, portal_done *done,
		      void *argument) {
	struct errand *errand = add_errand(portal, verb, done, argument);
	errand->request.number = number;
	size_t size = strlen(path);
	if (size < sizeof errand->request.path)
		memcpy(errand->request.path, path, size);
	else
		refuse(errand, ENAMETOOLONG, "a path that is too long for a socket");
	post(portal, errand, NULL);
}

void portal_join(struct portal *portal, pid_t init, portal_done *done, void *argument) {
	post_number(portal, PORTAL_JOIN, init, done, argument);
}

void portal_curtain(struct portal *portal, portal_done *done, void *argument) {
	post_number(portal, PORTAL_CURTAIN, 0, done, argument);
}

void portal_adopt(struct portal *portal, portal_done *done, void *argument) {
	post_number(portal, PORTAL_ADOPT, 0, done, argument);
}

void portal_enter(struct portal *portal, bool again, portal_done *done, void *argument) {
	post_number(portal, PORTAL_ENTER, again, done, argument);
}

static void post_steps(struct portal *portal, enum portal_verb verb, const struct steps *steps,
		       portal_applied_done *done, void *argument) {
	struct error error = ERROR_NONE;
	CLEANUP_STRING struct string bytes = {0};
	struct errand *errand = add_errand(portal, verb, NULL, argument);
	errand->applied = done;
	if (portal_steps_pack(steps, &bytes, &error) < 0) refuse(errand, error.code, error.message);
	post(portal, errand, &bytes);
}

void portal_apply(struct portal *portal, const struct steps *steps, portal_applied_done *done, void *argument) {
	post_steps(portal, PORTAL_APPLY, steps, done, argument);
}

static int compare_ids(const void *a, const void *b) {
	const struct step *one = a, *two = b;
	return one->mount.id < two->mount.id ? -1 : one->mount.id > two->mount.id;
}

static void add_steps(struct steps *steps, enum step_kind kind, const struct mount *mounts, size_t count) {
	for (size_t i = 0; i < count; i++)
		steps->items[steps->count++] = (struct step){.kind = kind, .mount = mount_copy(&mounts[i])};
}

/* What others lie on comes first. */
static void all_of(const struct plan *plan, struct steps *ret_steps) {
	*ret_steps = (struct steps){.items = mem_array(struct step, plan->count + plan->below_count + 1)};
	add_steps(ret_steps, STEP_PUT, plan->below, plan->below_count);
	add_steps(ret_steps, STEP_PUT, plan->mounts, plan->count);
	qsort(ret_steps->items, ret_steps->count, sizeof *ret_steps->items, compare_ids);
}

static void lose(struct plan *plan, const struct portal_applied *applied) {
	CLEANUP_STEPS struct steps known = {0};
	all_of(plan, &known);
	for (size_t i = 0; i < applied->failed_count; i++)
		if (applied->failed[i] < known.count) plan_lose(plan, known.items[applied->failed[i]].mount.id);
}

static void on_known(void *argument, int code, const char *text, const struct portal_applied *applied) {
	struct portal *portal = argument;
	const struct again *again = &portal->again;
	struct plan *plan = again->plan;
	(void)code, (void)text; /* portal_wait tells it; what there is to put is put even so */
	if (applied) lose(plan, applied);

	const size_t under_way = again->under_way ? again->under_way->count : 0;
	CLEANUP_STEPS struct steps steps = {.items = mem_array(struct step, plan->count + under_way + 1)};
	for (size_t i = 0; i < under_way; i++) {
		const struct step *step = &again->under_way->items[i];
		if ((step->kind == STEP_PUT || step->kind == STEP_PUT_UNDER) && step->mount.kind != MOUNT_LINK)
			add_steps(&steps, STEP_TAKE, &step->mount, 1);
	}
	add_steps(&steps, STEP_PUT, plan->mounts, plan->count);
	post_steps(portal, PORTAL_APPLY, &steps, again->done, again->argument);
}

void portal_apply_again(struct portal *portal, struct plan *plan, const struct steps *under_way,
			portal_applied_done *done, void *argument) {
	CLEANUP_STEPS struct steps known = {0};
	portal->again = (struct again){plan, under_way, done, argument};
	all_of(plan, &known);
	post_steps(portal, PORTAL_KNOW, &known, on_known, portal);
}

void portal_listen_port(struct portal *portal, uint16_t port, portal_done *done, void *argument) {
	post_number(portal, PORTAL_LISTEN_PORT, port, done, argument);
}

void portal_listen_path(struct portal *portal, const char *path, int type, portal_done *done, void *argument) {
	post_path(portal, PORTAL_LISTEN_PATH, path, type, done, argument);
}

void portal_network(struct portal *portal, portal_done *done, void *argument) {
	post_number(portal, PORTAL_NETWORK, 0, done, argument);
}

void portal_sockets(struct portal *portal, enum spare kind, unsigned count, portal_done *done, void *argument) {
	struct errand *errand = add_errand(portal, PORTAL_SOCKETS, done, argument);
	errand->request.kind = kind;
	errand->request.number = (int32_t)count;
	post(portal, errand, NULL);
}

void portal_seal(struct portal *portal, const char *path, portal_done *done, void *argument) {
	post_path(portal, PORTAL_SEAL, path, 0, done, argument);
}

int portal_wait(struct portal *portal, struct error *error) {
	while (portal->first) {
		if (event_base_loop(portal->base, EVLOOP_ONCE) < 0)
			return error_set(error, EIO, "the event loop failed");
	}
	struct error failed = portal->failed;
	portal->failed = ERROR_NONE;
	if (failed.code == 0 && portal->socket < 0) error_set(&failed, EPIPE, "the portal has ended");
	return failed.code ? error_set(error, failed.code, "%s", failed.message) : 0;
}

pid_t portal_pid(const struct portal *portal) {
	return portal->pid;
}

uint64_t portal_number(const struct portal *portal, uint32_t id) {
	const struct portal_put key = {.id = id}, *found = NULL;
	if (portal->put_count > 0)
		found = bsearch(&key, portal->puts, portal->put_count, sizeof *portal->puts, portal_put_compare);
	return found ? found->number : 0;
}

void portal_on_end(struct portal *portal, void (*ended)(void *argument), void *argument) {
	portal->ended = ended;
	portal->ended_argument = argument;
}

static void finish(struct portal *portal, int wait_flags) {
	if (!portal) return;
	if (portal->freed) *portal->freed = true;
	event_free(portal->readable);
	event_free(portal->writable);
	event_free(portal->turn);
	evbuffer_free(portal->requests);
	evbuffer_free(portal->replies);
	fd_close(portal->socket);
	reap(portal->pid, wait_flags);
	fd_close(portal->process);
	for (struct errand *errand = portal->first, *next; errand; errand = next) {
		next = errand->next;
		free(errand);
	}
	free(portal->puts);
	free(portal);
}

void portal_free(struct portal *portal) {
	finish(portal, 0);
}

void portal_leave(struct portal *portal) {
	finish(portal, WNOHANG);
}
