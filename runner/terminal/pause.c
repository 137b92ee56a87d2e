#include "pause.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"

enum { PAUSE_LOOK_MS = 5 };

struct pause {
	struct pause_options options;
	int64_t number; /* 0: there is none */
	struct event *look;
};

static void tell_when_read(struct pause *pause) {
	const struct timeval later = clock_timeval(PAUSE_LOOK_MS);
	if (pause->number == 0) return;
	if (output_is_read(pause->options.outlets->output))
		session_held(pause->options.session, pause->number);
	else
		event_add(pause->look, &later);
}

static void on_look(evutil_socket_t fd, short what, void *argument) {
	(void)fd, (void)what;
	tell_when_read(argument);
}

struct pause *pause_new(const struct pause_options *options) {
	struct pause *pause = mem_new(struct pause);
	pause->options = *options;
	pause->look = mem_expect(evtimer_new(options->base, on_look, pause));
	return pause;
}

void pause_set(struct pause *pause, int64_t number) {
	const struct pause_options *options = &pause->options;
	const bool paused = number != 0;
	pause->number = number;
	event_del(pause->look);
	outlets_pause(options->outlets, paused);
	asker_pause(options->asker, paused);
	tell_when_read(pause);
}

void pause_without_asker(struct pause *pause) {
	if (pause) pause->options.asker = NULL;
}

bool pause_is_on(const struct pause *pause) {
	return pause->number != 0;
}

void pause_free(struct pause *pause) {
	if (!pause) return;
	event_free(pause->look);
	free(pause);
}
