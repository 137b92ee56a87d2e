/*
 * Theory of operation. A call is sent as soon as the socket takes it, so that several are under way at once and the
 * portal never waits for us between two; replies come in the same order, so the oldest call is the one a reply is for.
 * What has failed before it was sent, and all that is pending when the portal has died, is told from the loop (`turn`),
 * never from within the call.
 */
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
#include "portal_wire.h"
#include "undone.h"

struct errand {
	struct errand *next;
	struct portal_request request;
	int fd; /* goes with the request, -1 = none or sent */
	bool sent;
	int code; /* it failed before it was sent */
	char text[sizeof((struct portal_reply){0}).text];
	portal_done *done;
	void *argument;
};

/* portal_apply_again, while it asks what there is */
struct again {
	struct plan *plan;
	const struct steps *under_way;
	portal_done *done;
	void *argument;
};

struct portal {
	pid_t pid;
	int socket; /* -1: it has died */
	struct event_base *base;
	struct event *readable, *writable, *turn;
	struct errand *first, **end;
	struct error failed; /* the first since the last portal_wait */
	void (*ended)(void *argument);
	void *ended_argument;
	bool *freed; /* set by portal_free in a callback */
	struct again again;
};

static void errand_free(struct errand *errand) {
	fd_close(errand->fd);
	free(errand);
}

/* Take the oldest call out and tell. False when the portal was freed meanwhile. */
static bool finish_first(struct portal *portal, int code, const char *text, int *fds, size_t fd_count) {
	struct errand *errand = portal->first;
	bool freed = false;
	portal->first = errand->next;
	if (!portal->first) portal->end = &portal->first;
	if (code != 0 && portal->failed.code == 0) error_set(&portal->failed, code, "%s", text);
	if (errand->done) {
		portal->freed = &freed;
		errand->done(errand->argument, code, text, fds, fd_count);
	} else {
		for (size_t i = 0; i < fd_count; i++) fd_close(fds[i]);
	}
	errand_free(errand);
	if (!freed) portal->freed = NULL;
	return !freed;
}

static void send_errands(struct portal *portal) {
	for (struct errand *errand = portal->first; errand; errand = errand->next) {
		if (errand->sent || errand->code != 0) continue;
		struct error error = ERROR_NONE;
		int r = fd_send(portal->socket, &errand->request, sizeof errand->request, &errand->fd, errand->fd >= 0,
				&error);
		if (r == -EAGAIN) {
			event_add(portal->writable, NULL);
			return;
		}
		if (r < 0) return; /* it has died: the loop will see it */
		errand->sent = true;
		fd_close_p(&errand->fd);
	}
}

/* Calls at the head that failed before they were sent. */
static bool finish_unsent(struct portal *portal) {
	while (portal->first && (portal->first->code != 0 || portal->socket < 0)) {
		const struct errand *errand = portal->first;
		int code = errand->code ? errand->code : EPIPE;
		const char *text = errand->code ? errand->text : "the portal has ended";
		if (!finish_first(portal, code, text, NULL, 0)) return false;
	}
	return true;
}

static void end(struct portal *portal) {
	event_del(portal->readable);
	event_del(portal->writable);
	fd_close_p(&portal->socket);
	if (finish_unsent(portal) && portal->ended) portal->ended(portal->ended_argument);
}

static void on_readable(evutil_socket_t fd, short what, void *argument) {
	struct portal *portal = argument;
	(void)fd, (void)what;
	for (;;) {
		struct portal_reply reply;
		int fds[FD_PASS_MAX];
		size_t count = 0;
		ssize_t size = fd_receive(portal->socket, &reply, sizeof reply, fds, &count, NULL);
		if (size == -EAGAIN) return;
		if (size != sizeof reply || !portal->first || !portal->first->sent) {
			for (size_t i = 0; size >= 0 && i < count; i++) fd_close(fds[i]);
			end(portal);
			return;
		}
		reply.text[sizeof reply.text - 1] = '\0';
		if (!finish_first(portal, reply.code, reply.text, fds, count) || !finish_unsent(portal)) return;
	}
}

static void on_writable(evutil_socket_t fd, short what, void *argument) {
	(void)fd, (void)what;
	send_errands(argument);
}

static void on_turn(evutil_socket_t fd, short what, void *argument) {
	struct portal *portal = argument;
	(void)fd, (void)what;
	finish_unsent(portal);
}

int portal_start(struct event_base *base, struct portal **ret_portal, struct error *error) {
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return error_errno(error, "making a socket pair");
	const pid_t parent = getpid();
	pid_t pid = fork();
	if (pid == 0) portal_child_run(pair[1], parent);
	fd_close(pair[1]);
	int r = pid < 0 ? error_errno(error, "starting the portal") : fd_nonblocking(pair[0], true, error);
	if (r < 0) {
		fd_close(pair[0]);
		return r;
	}
	struct portal *portal = mem_new(struct portal);
	*portal = (struct portal){.pid = pid, .socket = pair[0], .base = base, .end = &portal->first};
	portal->readable = event_new(base, pair[0], EV_READ | EV_PERSIST, on_readable, portal);
	portal->writable = event_new(base, pair[0], EV_WRITE, on_writable, portal);
	portal->turn = evtimer_new(base, on_turn, portal);
	event_add(portal->readable, NULL);
	*ret_portal = portal;
	return 0;
}

static struct errand *add_errand(struct portal *portal, enum portal_verb verb, portal_done *done, void *argument) {
	struct errand *errand = mem_new(struct errand);
	*errand = (struct errand){.request = {.verb = verb}, .fd = -1, .done = done, .argument = argument};
	*portal->end = errand;
	portal->end = &errand->next;
	return errand;
}

static void refuse(struct errand *errand, int code, const char *text) {
	errand->code = code;
	snprintf(errand->text, sizeof errand->text, "%.*s", (int)sizeof errand->text - 1, text);
}

static void post(struct portal *portal) {
	if (portal->socket >= 0) send_errands(portal);
	if (portal->socket < 0 || portal->first->code != 0) event_active(portal->turn, EV_TIMEOUT, 1);
}

static void post_number(struct portal *portal, enum portal_verb verb, int32_t number, portal_done *done,
			void *argument) {
	add_errand(portal, verb, done, argument)->request.number = number;
	post(portal);
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
	post(portal);
}

void portal_join(struct portal *portal, pid_t init, portal_done *done, void *argument) {
	post_number(portal, PORTAL_JOIN, init, done, argument);
}

void portal_curtain(struct portal *portal, portal_done *done, void *argument) {
	post_number(portal, PORTAL_CURTAIN, 0, done, argument);
}

void portal_adopt(struct portal *portal, int spare, portal_done *done, void *argument) {
	add_errand(portal, PORTAL_ADOPT, done, argument)->fd = spare;
	post(portal);
}

void portal_enter(struct portal *portal, bool again, portal_done *done, void *argument) {
	post_number(portal, PORTAL_ENTER, again, done, argument);
}

static void post_steps(struct portal *portal, enum portal_verb verb, const struct steps *steps, portal_done *done,
		       void *argument) {
	struct error error = ERROR_NONE;
	struct errand *errand = add_errand(portal, verb, done, argument);
	if (portal_steps_pack(steps, &errand->fd, &error) < 0) refuse(errand, error.code, error.message);
	post(portal);
}

void portal_apply(struct portal *portal, const struct steps *steps, portal_done *done, void *argument) {
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

static void lose(struct plan *plan, int fd) {
	CLEANUP_STEPS struct steps known = {0};
	CLEANUP_PORTAL_APPLIED struct portal_applied applied = {0};
	if (portal_applied_read(fd, &applied, NULL) < 0) return;
	all_of(plan, &known);
	for (size_t i = 0; i < applied.failed_count; i++)
		if (applied.failed[i] < known.count) plan_lose(plan, known.items[applied.failed[i]].mount.id);
}

static void on_known(void *argument, int code, const char *text, int *fds, size_t fd_count) {
	struct portal *portal = argument;
	const struct again *again = &portal->again;
	struct plan *plan = again->plan;
	(void)code, (void)text; /* portal_wait tells it; what there is to put is put even so */
	if (fd_count > 0) lose(plan, fds[0]);
	for (size_t i = 0; i < fd_count; i++) fd_close(fds[i]);

	const size_t under_way = again->under_way ? again->under_way->count : 0;
	CLEANUP_STEPS struct steps steps = {.items = mem_array(struct step, plan->count + under_way + 1)};
	for (size_t i = 0; i < under_way; i++) {
		const struct step *step = &again->under_way->items[i];
		if (step->kind == STEP_PUT && step->mount.kind != MOUNT_LINK)
			add_steps(&steps, STEP_TAKE, &step->mount, 1);
	}
	add_steps(&steps, STEP_PUT, plan->mounts, plan->count);
	post_steps(portal, PORTAL_APPLY, &steps, again->done, again->argument);
}

void portal_apply_again(struct portal *portal, struct plan *plan, const struct steps *under_way, portal_done *done,
			void *argument) {
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
	post(portal);
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
	return failed.code ? error_set(error, failed.code, "%s", failed.message) : 0;
}

pid_t portal_pid(const struct portal *portal) {
	return portal->pid;
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
	fd_close(portal->socket);
	kill(portal->pid, SIGKILL);
	while (waitpid(portal->pid, NULL, wait_flags) < 0 && errno == EINTR) {
	}
	for (struct errand *errand = portal->first, *next; errand; errand = next) {
		next = errand->next;
		errand_free(errand);
	}
	free(portal);
}

void portal_free(struct portal *portal) {
	finish(portal, 0);
}

void portal_leave(struct portal *portal) {
	finish(portal, WNOHANG);
}
