#include "datagrams.h"

#include <stdlib.h>

#include "base/clock.h"
#include "finds/sockets.h"
#include "schema/limits.h"

struct datagrams {
	struct datagrams_options options;
	struct event *tick;
	struct strings told;
};

static void on_tick(evutil_socket_t fd, short what, void *argument) {
	struct datagrams *datagrams = argument;
	const struct datagrams_options *options = &datagrams->options;
	CLEANUP_STRINGS struct strings all = {0};
	struct strings told = {0};
	bool found = false;
	(void)fd, (void)what;
	sockets_list_datagrams(&all);
	for (size_t i = 0; i < all.count; i++) {
		const char *path = all.items[i];
		const bool known = strings_contain(&datagrams->told, path);
		if (!known && (!options->seen(options->context, path) || !socket_is_at(path))) continue;
		strings_add(&told, path);
		found |= !known;
	}
	strings_finish(&datagrams->told);
	datagrams->told = told;
	if (found) options->found(options->context);
}

struct datagrams *datagrams_new(const struct datagrams_options *options) {
	const struct timeval interval = clock_timeval(LIMIT_IPC_LOOK_MS);
	struct datagrams *datagrams = mem_new(struct datagrams);
	*datagrams = (struct datagrams){.options = *options};
	datagrams->tick = event_new(options->base, -1, EV_PERSIST, on_tick, datagrams);
	event_add(datagrams->tick, &interval);
	return datagrams;
}

void datagrams_free(struct datagrams *datagrams) {
	if (!datagrams) return;
	event_free(datagrams->tick);
	strings_finish(&datagrams->told);
	free(datagrams);
}
