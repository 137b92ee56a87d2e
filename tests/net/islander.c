#include "islander.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"
#include "base/string.h"
#include "calls/socket_calls.h"
#include "net/dns/standins.h"
#include "net/sockets/connects.h"
#include "net/sockets/diag.h"
#include "net/sockets/flows.h"
#include "net/sockets/native.h"
#include "support/held_calls.h"
#include "support/passing.h"
#include "support/patience.h"

/* The judge */

static void settle(const struct islander_question *question, enum effect effect) {
	struct verdict verdict = {.effect = effect, .grant = 7, .private_allowed = true};
	snprintf(verdict.module, sizeof verdict.module, "test");
	question->done(question->argument, &verdict);
}

static uint64_t check(void *context, const char *target, const struct gate_caller *caller,
		      void (*done)(void *argument, const struct verdict *verdict), void *argument) {
	struct islander *islander = context;
	const struct islander_question question = {done, argument, ++islander->asked};

	(void)caller;
	snprintf(islander->target, sizeof islander->target, "%s", target);
	const bool allowed = islander->allowed && strcmp(islander->allowed, target) == 0;
	if (!allowed && islander->answer == ISLANDER_HOLD) {
		assert_true(islander->held_count < ARRAY_LENGTH(islander->held));
		islander->held[islander->held_count++] = question;
		return question.ticket;
	}
	settle(&question, allowed || islander->answer == ISLANDER_ALLOW ? EFFECT_ALLOW : EFFECT_DENY);
	return 0;
}

static uint64_t check_unasked(void *context, const char *target,
			      void (*done)(void *argument, const struct verdict *verdict), void *argument) {
	return check(context, target, NULL, done, argument);
}

static uint64_t check_again(void *context, const char *target,
			    void (*done)(void *argument, const struct verdict *verdict), void *argument) {
	const struct islander *islander = context;
	const struct islander_question question = {done, argument, 0};

	(void)target;
	settle(&question, islander->answer == ISLANDER_ALLOW ? EFFECT_ALLOW : EFFECT_DENY);
	return 0;
}

static uint64_t check_address(void *context, const char *target,
			      void (*done)(void *argument, const struct verdict *verdict), void *argument) {
	const struct islander_question question = {done, argument, 0};

	(void)context, (void)target;
	settle(&question, EFFECT_ALLOW);
	return 0;
}

static void cancel(void *context, uint64_t ticket) {
	struct islander *islander = context;

	islander->cancelled++;
	for (size_t i = 0; i < islander->held_count; i++)
		if (islander->held[i].ticket == ticket) islander->held[i] = islander->held[--islander->held_count];
}

static void report(void *context, const char *target, int64_t grant, const char *door, uint64_t sent, uint64_t received,
		   int64_t duration_ms, const char *error) {
	struct islander *islander = context;

	(void)target, (void)grant, (void)duration_ms;
	islander->reports++;
	islander->sent = sent;
	islander->received = received;
	snprintf(islander->door, sizeof islander->door, "%s", door);
	snprintf(islander->error, sizeof islander->error, "%s", error ? error : "");
}

void islander_judge(struct islander *islander, enum effect effect) {
	while (islander->held_count > 0) {
		const struct islander_question question = islander->held[--islander->held_count];
		settle(&question, effect);
	}
}

/* Its parts */

static void describe(void *context, pid_t thread, char **ret_process, struct strings *ret_parents) {
	(void)context, (void)ret_parents;
	*ret_process = string_format("tool (%d)", thread);
}

static void handle(void *context, struct socket_call *call) {
	struct islander *islander = context;

	if (call->domain != AF_UNIX)
		connects_call(islander->connects, call);
	else
		socket_call_answer(call, -EACCES);
}

static struct diag *outside(void *context) {
	const struct islander *islander = context;
	return islander->outside;
}

/* `process`: one of the network that `netlink` was made in. */
static struct diag *make_diag(int netlink, pid_t process) {
	struct diag *diag = NULL;
	CLEANUP_FREE char *path = string_format("/proc/%d/net", (int)process);
	int folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(diag_new(netlink, folder, &diag, NULL), 0);
	return diag;
}

void islander_make(struct islander *islander) {
	struct rlimit files;

	*islander = (struct islander){.listener = -1, .output = -1, .input = -1, .handed = -1};
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	island_make(&islander->island);
	islander->base = loop_new();
	islander->store.island = &islander->island;
	const struct spares_options spares = {
		.base = islander->base, .fetch = island_fetch, .context = &islander->store};
	islander->store.spares = spares_new(&spares);
	spares_take(islander->store.spares, SPARE_TCP4);
	const struct gate_judge judge = {.context = islander,
					 .check = check,
					 .check_unasked = check_unasked,
					 .check_again = check_again,
					 .check_address = check_address,
					 .cancel = cancel,
					 .report = report};
	islander->gate = gate_new(islander->base, &judge);
	islander->standins = standins_new();
	islander->inside =
		make_diag(island_socket(&islander->island, AF_NETLINK, SOCK_DGRAM | SOCK_NONBLOCK, NETLINK_SOCK_DIAG),
			  islander->island.pid);
	islander->outside =
		make_diag(socket(AF_NETLINK, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_SOCK_DIAG), getpid());
	const struct native_options native = {.base = islander->base,
					      .gate = islander->gate,
					      .spares = islander->store.spares,
					      .describe = describe,
					      .context = islander};
	islander->native = native_new(&native);
	const struct flows_options flows = {.base = islander->base,
					    .gate = islander->gate,
					    .spares = islander->store.spares,
					    .diag = islander->inside};
	islander->flows = flows_new(&flows);
	const struct connects_options connects = {.base = islander->base,
						  .native = islander->native,
						  .flows = islander->flows,
						  .spares = islander->store.spares,
						  .standins = islander->standins,
						  .inside = islander->inside,
						  .outside = outside,
						  .describe = describe,
						  .context = islander};
	islander->connects = connects_new(&connects);
}

void islander_remove(struct islander *islander) {
	connects_free(islander->connects);
	native_free(islander->native);
	flows_free(islander->flows);
	gate_free(islander->gate);
	spares_free(islander->store.spares);
	standins_free(islander->standins);
	diag_free(islander->inside);
	diag_free(islander->outside);
	event_base_free(islander->base);
	island_remove(&islander->island);
}

const char *islander_name(struct islander *islander, const char *name, const char *address, int family) {
	static char text[INET6_ADDRSTRLEN];
	const struct view_pair pair = {.name = (char *)name, .value = (char *)address};
	struct sockaddr_storage standin;
	struct host host;
	uint32_t index;

	gate_set_hosts(islander->gate, &pair, 1);
	assert_int_equal(host_parse(name, strlen(name), &host, NULL), 0);
	assert_int_equal(standins_find_or_add(islander->standins, &host, &index), 0);
	standin_address(index, family, &standin);
	const void *bytes = family == AF_INET ? (void *)&((struct sockaddr_in *)&standin)->sin_addr
					      : &((struct sockaddr_in6 *)&standin)->sin6_addr;
	assert_non_null(inet_ntop(family, bytes, text, sizeof text));
	return text;
}

/* The tool */

void say(const char *what, long result) {
	if (result < 0)
		printf("%s: %s\n", what, strerrorname_np(errno));
	else
		printf("%s: %ld\n", what, result);
	fflush(stdout);
}

void hear(void) {
	char byte;

	while (read(0, &byte, 1) == 1 && byte != '\n') {
	}
}

static int enter(pid_t pid, const char *name, int kind) {
	CLEANUP_FREE char *path = string_format("/proc/%d/ns/%s", pid, name);
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -1 : setns(fd, kind);
}

static _Noreturn void live(const struct islander *islander, int channel, int input, int output, void (*tool)(void)) {
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (enter(islander->island.pid, "user", CLONE_NEWUSER) < 0 ||
	    enter(islander->island.pid, "net", CLONE_NEWNET) < 0)
		_exit(101);
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	signal(SIGPIPE, SIG_IGN);
	dup2(input, 0);
	dup2(output, 1);
	int listener = held_calls_filter();
	if (listener < 0 || passing_send(channel, "", 1, &listener, 1) < 0) _exit(102);
	close(listener);
	close(channel);
	if (islander->handed >= 0) dup2(islander->handed, ISLANDER_HANDED);
	close_range(ISLANDER_HANDED + 1, ~0U, 0);
	tool();
	fflush(stdout);
	_exit(0);
}

static void on_notified(evutil_socket_t fd, short what, void *argument) {
	struct islander *islander = argument;
	char bytes[1024] = {0}; /* whatever the kernel's size */
	struct seccomp_notif *notified = (struct seccomp_notif *)bytes;
	struct pollfd polled = {.fd = fd, .events = POLLIN};
	enum socket_call_kind kind;
	uint64_t arguments[CALL_ARGUMENTS];

	(void)what;
	if (poll(&polled, 1, 0) == 1 && !(polled.revents & POLLIN)) event_del(islander->notified);
	if (!(polled.revents & POLLIN) || ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, notified) < 0) return;
	memcpy(arguments, notified->data.args, sizeof arguments);
	assert_true(socket_call_kind(notified->data.nr, &kind));
	struct socket_taken taken;
	assert_true(socket_take(&islander->caller, kind, (pid_t)notified->pid, arguments, &taken));
	socket_calls_add(islander->calls, notified->id, &taken);
}

static void on_heard(evutil_socket_t fd, short what, void *argument) {
	struct islander *islander = argument;
	ssize_t size = read(fd, islander->said + islander->said_size, sizeof islander->said - 1 - islander->said_size);

	(void)what;
	if (size <= 0) {
		islander->ended = true;
		event_del(islander->heard);
		return;
	}
	islander->said_size += (size_t)size;
	islander->said[islander->said_size] = '\0';
}

void islander_start(struct islander *islander, void (*tool)(void)) {
	int channel[2], input[2], output[2], fds[PASSING_MAX];
	size_t count;
	char byte;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel), 0);
	assert_int_equal(pipe2(input, O_CLOEXEC) | pipe2(output, O_CLOEXEC), 0);
	islander->tool = fork();
	assert_true(islander->tool >= 0);
	if (islander->tool == 0) live(islander, channel[1], input[0], output[1], tool);
	close(channel[1]);
	close(input[0]);
	close(output[1]);
	islander->input = input[1];
	islander->output = output[0];
	if (passing_receive(channel[0], &byte, 1, fds, &count) != 1) fail_msg("no tool on the island");
	close(channel[0]);
	islander->listener = fds[0];
	islander->ended = false;
	islander->said_size = islander->held_count = 0;
	islander->asked = islander->cancelled = islander->reports = 0;
	islander->said[0] = islander->target[0] = islander->error[0] = '\0';
	islander->answer = ISLANDER_ALLOW;
	islander->allowed = NULL;
	const struct socket_calls_options options = {.base = islander->base,
						     .listener = islander->listener,
						     .cookie = spares_cookie(islander->store.spares),
						     .handle = handle,
						     .context = islander};
	islander->calls = socket_calls_new(&options);
	islander->notified = event_new(islander->base, islander->listener, EV_READ | EV_PERSIST, on_notified, islander);
	islander->heard = event_new(islander->base, islander->output, EV_READ | EV_PERSIST, on_heard, islander);
	event_add(islander->notified, NULL);
	event_add(islander->heard, NULL);
}

void islander_tell(struct islander *islander, const char *line) {
	dprintf(islander->input, "%s\n", line);
}

static void turn(struct islander *islander, int64_t until_ms, const char *what) {
	static const struct timeval tick = {.tv_usec = 10000};
	event_base_loopexit(islander->base, &tick);
	event_base_loop(islander->base, EVLOOP_ONCE);
	if (now_ms() > until_ms) fail_msg("never: %s; it said: %s", what, islander->said);
}

void islander_until(struct islander *islander, const char *text) {
	const int64_t until_ms = now_ms() + PATIENCE_MS;
	while (!strstr(islander->said, text)) {
		turn(islander, until_ms, text);
		if (islander->ended && !strstr(islander->said, text))
			fail_msg("it ended without '%s': %s", text, islander->said);
	}
}

void islander_until_true(struct islander *islander, bool (*holds)(const struct islander *islander)) {
	const int64_t until_ms = now_ms() + PATIENCE_MS;
	while (!holds(islander)) turn(islander, until_ms, "what was waited for");
}

void islander_end(struct islander *islander) {
	const int64_t until_ms = now_ms() + PATIENCE_MS;
	while (!islander->ended) turn(islander, until_ms, "its end");
	while (native_count(islander->native) > 0) turn(islander, until_ms, "the end of its connections");
	if (islander->tool > 0) assert_int_equal(waitpid(islander->tool, NULL, 0), islander->tool);
	socket_calls_free(islander->calls);
	socket_caller_finish(&islander->caller);
	event_free(islander->notified);
	event_free(islander->heard);
	close(islander->listener);
	close(islander->input);
	close(islander->output);
}

void islander_expect(struct islander *islander, const char *output) {
	islander_end(islander);
	if (strcmp(islander->said, output) != 0) fail_msg("said '%s', not '%s'", islander->said, output);
}
