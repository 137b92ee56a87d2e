#include "resolve.h"

#include <errno.h>

#include "base/memory.h"
#include "base/string.h"
#include "schema/limits.h"

struct resolver {
	struct workers *workers;
	struct lookup lookup;
};

struct resolve_work {
	struct lookup lookup; /* a copy: the thread may outlive the resolver */
	char *name;
	resolve_done *done;
	int code, system_code;
	struct addresses addresses;
};

static int system_find(void *context, const char *name, struct addrinfo **ret_list) {
	const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};

	(void)context;
	return getaddrinfo(name, NULL, &hints, ret_list);
}

const struct lookup *lookup_system(void) {
	static const struct lookup system_lookup = {.find = system_find, .release = freeaddrinfo};

	return &system_lookup;
}

static void look_up(void *argument) {
	struct resolve_work *work = argument;
	struct addrinfo *list = NULL;

	work->code = work->lookup.find(work->lookup.context, work->name, &list);
	work->system_code = work->code == EAI_SYSTEM ? errno : 0;
	if (work->code != 0) return;
	for (const struct addrinfo *item = list; item; item = item->ai_next)
		addresses_add(&work->addresses, item->ai_addr, item->ai_addrlen);
	work->lookup.release(list);
}

static void tell(void *argument, void *asker) {
	const struct resolve_work *work = argument;

	work->done(asker, work->code, work->system_code, &work->addresses);
}

static void fail(void *argument) {
	struct resolve_work *work = argument;

	work->code = EAI_AGAIN;
}

static void drop(void *argument) {
	struct resolve_work *work = argument;

	free(work->name);
	free(work);
}

struct resolver *resolver_new(struct event_base *base, const struct lookup *lookup) {
	struct resolver *resolver = mem_new(struct resolver);

	*resolver = (struct resolver){.workers = workers_new(base, LIMIT_RESOLVERS), .lookup = *lookup};
	return resolver;
}

void resolver_free(struct resolver *resolver) {
	if (!resolver) return;
	workers_free(resolver->workers);
	free(resolver);
}

struct worker_job *resolver_start(struct resolver *resolver, const char *name, resolve_done *done, void *argument) {
	static const struct worker_task task = {.run = look_up, .done = tell, .fail = fail, .drop = drop};
	struct resolve_work *work = mem_new(struct resolve_work);

	*work = (struct resolve_work){.lookup = resolver->lookup, .name = string_copy(name), .done = done};
	return workers_start(resolver->workers, &task, work, argument);
}
