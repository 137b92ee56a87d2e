#include "pagers.h"

#include <signal.h>
#include <stdlib.h>

#include "base/memory.h"

struct pagers {
	struct pagers_options options;
	struct event *reads, *writes;
	bool watched_since; /* pagers_continue was called last: some of our group may have been stopped */
	bool stopped;       /* some of it has been */
};

static void stop_by(int number) {
	struct sigaction standard = {.sa_handler = SIG_DFL}, old;
	sigaction(number, &standard, &old);
	raise(number);
	sigaction(number, &old, NULL);
}

static void on_signal(evutil_socket_t number, short what, void *argument) {
	struct pagers *pagers = argument;
	const struct pagers_options *options = &pagers->options;
	(void)what;
	if (!options->beside(options->context)) {
		options->stopping(options->context);
		stop_by(number);
	} else if (!pagers->stopped) {
		pagers->stopped = true;
		options->stopped(options->context);
	}
}

struct pagers *pagers_new(const struct pagers_options *options) {
	struct pagers *pagers = mem_new(struct pagers);
	pagers->options = *options;
	pagers->reads = mem_expect(evsignal_new(options->base, SIGTTIN, on_signal, pagers));
	pagers->writes = mem_expect(evsignal_new(options->base, SIGTTOU, on_signal, pagers));
	return pagers;
}

void pagers_watch(struct pagers *pagers, bool watched) {
	struct event *const events[] = {pagers->reads, pagers->writes};
	pagers->watched_since |= watched;
	for (size_t i = 0; i < ARRAY_LENGTH(events); i++) {
		if (watched)
			event_add(events[i], NULL);
		else
			event_del(events[i]);
	}
}

void pagers_continue(struct pagers *pagers) {
	struct sigaction ignored = {.sa_handler = SIG_IGN}, old;
	if (!pagers->watched_since) return;
	pagers->watched_since = pagers->stopped = false;
	sigaction(SIGCONT, &ignored, &old); /* we haven't stopped */
	kill(0, SIGCONT);
	sigaction(SIGCONT, &old, NULL);
}

bool pagers_went_on(struct pagers *pagers) {
	const bool stopped = pagers->stopped;
	pagers->stopped = false;
	return stopped;
}

void pagers_free(struct pagers *pagers) {
	if (!pagers) return;
	event_free(pagers->reads);
	event_free(pagers->writes);
	free(pagers);
}
