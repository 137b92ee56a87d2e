/* Requests that aren't answered at once, and what replies tell of a node. */
#include <errno.h>
#include <sched.h>
#include <unistd.h>

#include "curtain_private.h"

enum {
	LOOKS = 8,           /* at a thread that is on its way to sleep, before others have their turn */
	LOOK_AGAIN_US = 500, /* and then, ever more rarely, */
	TURNS = 100,
	TURNS_STARVED = 2000, /* ten seconds */
};

static struct exchange **bucket_of(struct curtain *curtain, uint64_t unique) {
	return &curtain->exchanges[unique / 2 % EXCHANGE_BUCKETS]; /* odd ones are interrupts */
}

struct exchange *exchange_new(struct curtain *curtain, const struct wire_request *request, const char *path) {
	struct exchange *exchange = mem_new(struct exchange);
	struct exchange **bucket = bucket_of(curtain, request->unique);
	*exchange = (struct exchange){
		.next = *bucket,
		.curtain = curtain,
		.unique = request->unique,
		.node = request->node,
		.opcode = request->opcode,
		.thread = request->thread,
		.path = string_copy(path),
		.name = string_copy_or_null(request->name),
	};
	*bucket = exchange;
	return exchange;
}

static void discard(struct exchange *exchange) {
	if (exchange->timer) event_free(exchange->timer);
	free(exchange->path);
	free(exchange->name);
	free(exchange);
}

void exchange_free(struct exchange *exchange) {
	struct exchange **at = bucket_of(exchange->curtain, exchange->unique);
	while (*at != exchange) at = &(*at)->next;
	*at = exchange->next;
	discard(exchange);
}

void exchange_refuse(struct exchange *exchange, int code) {
	wire_reply(exchange->curtain->device, exchange->unique, code, NULL, 0);
	exchange_free(exchange);
}

/* A folder that is only a way, or that many walk through to what is granted, stays as it is for a while. */
static uint32_t validity(const struct curtain *curtain, struct node *node) {
	char path[PATH_MAX];
	if (!S_ISDIR(node->type) || node_path(node, path) < 0) return 0;
	const struct sight sight = curtain->options.sight(curtain->options.context, path);
	return node_tell(node, sight.mode == VIEW_ABSENT);
}

struct wire_object curtain_object(const struct curtain *curtain, struct node *node, const struct stat *status) {
	const uid_t nobody = 65534; /* user_namespaces(7): who has no name there */
	const bool ours = !status || status->st_uid == getuid();
	return (struct wire_object){.node = node->number,
				    .type = node->type,
				    .uid = ours ? curtain->options.uid : nobody,
				    .gid = ours ? curtain->options.gid : nobody,
				    .status = status,
				    .valid_ms = validity(curtain, node)};
}

void exchange_tell(struct exchange *exchange, const struct stat *status) {
	struct node *node = nodes_find(exchange->curtain->nodes, exchange->node);
	if (!node) {
		exchange_refuse(exchange, -ESTALE);
		return;
	}
	const struct wire_object object = curtain_object(exchange->curtain, node, status);
	wire_reply_attributes(exchange->curtain->device, exchange->unique, &object);
	exchange_free(exchange);
}

static const int end_codes[] = {
	[HELD_AGAIN] = -ESTALE,
	[HELD_ABSENT] = -ENOENT,
	[HELD_REFUSED] = -EACCES,
	[HELD_INTERRUPTED] = -EINTR,
};

static void looked(void *argument, int code, const struct stat *status, struct host_names *names) {
	struct exchange *exchange = argument;
	(void)names;
	if (code < 0)
		exchange_refuse(exchange, -ESTALE);
	else
		exchange_tell(exchange, status);
}

void exchange_look(struct exchange *exchange) {
	host_look(exchange->curtain->host, exchange->path, looked, exchange);
}

static void on_end(void *argument, enum held_end end) {
	struct exchange *exchange = argument;
	struct curtain *curtain = exchange->curtain;
	exchange->ticket = 0;
	if (end != HELD_AGAIN) callers_drop(curtain->callers, exchange->thread); /* its call is over */
	if (end == HELD_AGAIN && exchange->by_descriptor &&
	    curtain->options.sight(curtain->options.context, exchange->path).mode >= VIEW_READ)
		exchange_look(exchange);
	else
		exchange_refuse(exchange, end_codes[end]);
}

void exchange_hold(struct exchange *exchange, const struct need *need) {
	const struct curtain_options *options = &exchange->curtain->options;
	exchange->ticket = options->hold(options->context, exchange->thread, need, on_end, exchange);
	if (exchange->ticket == 0)
		exchange_refuse(exchange, -EACCES);
	else if (exchange->interrupted)
		options->interrupted(options->context, exchange->ticket);
}

void exchange_interrupt(struct curtain *curtain, uint64_t unique) {
	struct exchange *exchange = *bucket_of(curtain, unique);
	while (exchange && exchange->unique != unique) exchange = exchange->next;
	if (!exchange) return;
	exchange->interrupted = true;
	if (exchange->ticket) curtain->options.interrupted(curtain->options.context, exchange->ticket);
}

void exchanges_refuse(struct curtain *curtain) {
	for (size_t i = 0; i < EXCHANGE_BUCKETS; i++) {
		for (struct exchange *exchange = curtain->exchanges[i], *next; exchange; exchange = next) {
			next = exchange->next;
			if (exchange->ticket) curtain->options.drop(curtain->options.context, exchange->ticket);
			wire_reply(curtain->device, exchange->unique, -EACCES, NULL, 0);
			discard(exchange);
		}
		curtain->exchanges[i] = NULL;
	}
}

/* The thread's call */

static int read_call(const struct exchange *exchange, struct call_raw *ret_raw) {
	int code = -EAGAIN;
	for (int i = 0; i < LOOKS && (code == -EAGAIN || code == -ESRCH); i++) {
		if (i > 0) sched_yield();
		code = call_raw_read(exchange->thread, ret_raw);
	}
	return code;
}

/* How often, where it ends so. A thread that has no processor comes to rest when it has one again. */
static unsigned turns_for(int code) {
	if (code == -EAGAIN) return TURNS_STARVED;
	return code == -ESRCH ? TURNS : 0;
}

static void try_call(evutil_socket_t fd, short what, void *argument) {
	struct exchange *exchange = argument;
	struct call_raw raw;
	(void)fd;
	(void)what;
	const int code = read_call(exchange, &raw);
	if (code == 0 || ++exchange->tries > turns_for(code)) {
		exchange->with_call(exchange, code == 0 ? &raw : NULL);
		return;
	}
	const struct timeval soon = {.tv_usec = LOOK_AGAIN_US * (1 + (suseconds_t)(exchange->tries / TURNS))};
	if (!exchange->timer) exchange->timer = evtimer_new(exchange->curtain->options.base, try_call, exchange);
	if (!exchange->timer || event_add(exchange->timer, &soon) < 0) mem_exhausted();
}

void exchange_with_call(struct exchange *exchange,
			void (*with_call)(struct exchange *exchange, const struct call_raw *raw)) {
	exchange->with_call = with_call;
	try_call(-1, 0, exchange);
}
