#include "resolve.h"

#include <errno.h>
#include <sys/queue.h>

#include "base/memory.h"
#include "base/string.h"
#include "schema/limits.h"

TAILQ_HEAD(searches, search);

struct resolver {
	struct workers *workers;
	struct lookup lookup;
	struct searches searches;
};

/* A name that is being looked up, and who wants to know. */
struct search {
	TAILQ_ENTRY(search) entry;
	struct resolver *resolver;
	char *name;
	struct worker_job *work; /* NULL: they are told right now */
	struct resolve_job *jobs;
};

struct resolve_job {
	struct resolve_job *next; /* of the search */
	struct search *search;
	resolve_done *done;
	void *argument;
};

struct resolve_work {
	struct lookup lookup; /* a copy: the thread may outlive the resolver */
	char *name;
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

/* One that is in no list any more. */
static void search_free(struct search *search) {
	free(search->name);
	free(search);
}

static bool search_take(struct search *search, struct resolve_job *ret_job) {
	struct resolve_job *job = search->jobs;

	if (!job) return false;
	*ret_job = *job;
	search->jobs = job->next;
	free(job);
	return true;
}

/* One at a time, since `done` may cancel others, or end the resolver with all of them. */
static void tell(void *argument, void *found) {
	const struct resolve_work *work = argument;
	struct search *search = found;

	search->work = NULL;
	TAILQ_REMOVE(&search->resolver->searches, search, entry);
	for (struct resolve_job own; search_take(search, &own);)
		own.done(own.argument, work->code, work->system_code, &work->addresses);
	search_free(search);
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
	TAILQ_INIT(&resolver->searches);
	return resolver;
}

void resolve_cancel(struct resolve_job *job) {
	struct search *search = job->search;

	for (struct resolve_job **at = &search->jobs; *at; at = &(*at)->next) {
		if (*at != job) continue;
		*at = job->next;
		break;
	}
	free(job);
	if (!search->work || search->jobs) return;
	worker_cancel(search->work);
	TAILQ_REMOVE(&search->resolver->searches, search, entry);
	search_free(search);
}

void resolver_free(struct resolver *resolver) {
	struct search *search;

	if (!resolver) return;
	while ((search = TAILQ_FIRST(&resolver->searches))) {
		TAILQ_REMOVE(&resolver->searches, search, entry);
		for (struct resolve_job job; search_take(search, &job);) continue;
		search_free(search);
	}
	workers_free(resolver->workers);
	free(resolver);
}

static struct search *search_start(struct resolver *resolver, const char *name) {
	static const struct worker_task task = {.run = look_up, .done = tell, .fail = fail, .drop = drop};
	struct resolve_work *work = mem_new(struct resolve_work);
	struct search *search = mem_new(struct search);

	*work = (struct resolve_work){.lookup = resolver->lookup, .name = string_copy(name)};
	*search = (struct search){.resolver = resolver, .name = string_copy(name)};
	TAILQ_INSERT_TAIL(&resolver->searches, search, entry);
	search->work = workers_start(resolver->workers, &task, work, search);
	return search;
}

static struct search *search_find(const struct resolver *resolver, const char *name) {
	struct search *search;

	TAILQ_FOREACH(search, &resolver->searches, entry) {
		if (string_equal(search->name, name)) return search;
	}
	return NULL;
}

struct resolve_job *resolver_start(struct resolver *resolver, const char *name, resolve_done *done, void *argument) {
	struct search *search = search_find(resolver, name);
	struct resolve_job *job = mem_new(struct resolve_job);

	if (!search) search = search_start(resolver, name);
	*job = (struct resolve_job){.next = search->jobs, .search = search, .done = done, .argument = argument};
	search->jobs = job;
	return job;
}
