#include "endings.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/clock.h"
#include "base/memory.h"

enum { LOOK_MS = 2 };

struct ending {
	STAILQ_ENTRY(ending) link;
	struct session_ended ended;
	int64_t *grants;
};

struct endings {
	struct endings_options options;
	STAILQ_HEAD(, ending) list;
	struct event *look;
};

static void hand_on(struct endings *endings) {
	struct ending *first;
	while ((first = STAILQ_FIRST(&endings->list))) {
		STAILQ_REMOVE_HEAD(&endings->list, link);
		keeper_ended(endings->options.keeper, &first->ended);
		free(first->grants);
		free(first);
	}
}

static void consider(struct endings *endings) {
	const struct timeval soon = clock_timeval(LOOK_MS);
	if (network_is_cut(endings->options.network))
		hand_on(endings);
	else
		evtimer_add(endings->look, &soon);
}

static void on_look(evutil_socket_t fd, short what, void *argument) {
	(void)fd, (void)what;
	consider(argument);
}

struct endings *endings_new(const struct endings_options *options) {
	struct endings *endings = mem_new(struct endings);
	endings->options = *options;
	endings->look = mem_expect(evtimer_new(options->base, on_look, endings));
	STAILQ_INIT(&endings->list);
	return endings;
}

void endings_add(struct endings *endings, const struct session_ended *ended) {
	struct ending *ending = mem_new(struct ending);
	ending->ended = *ended;
	ending->ended.grants = ending->grants = mem_array(int64_t, ended->count + 1);
	memcpy(ending->grants, ended->grants, ended->count * sizeof *ending->grants);
	STAILQ_INSERT_TAIL(&endings->list, ending, link);
	consider(endings);
}

void endings_flush(struct endings *endings) {
	event_del(endings->look);
	hand_on(endings);
}

void endings_free(struct endings *endings) {
	struct ending *first;
	if (!endings) return;
	while ((first = STAILQ_FIRST(&endings->list))) {
		STAILQ_REMOVE_HEAD(&endings->list, link);
		free(first->grants);
		free(first);
	}
	event_free(endings->look);
	free(endings);
}
