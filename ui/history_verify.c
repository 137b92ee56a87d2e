#include "history_verify.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "ui/broker.h"
#include "ui/command.h"
#include "ui/output.h"

enum { PROGRESS_AFTER_MS = 500 };

struct progress {
	int64_t started_ms;
	bool shown;
};

static int64_t now_ms(void) {
	struct moment now;
	clock_read(clock_system(), &now);
	return now.boot_ms;
}

static void progress_show(struct progress *progress, const json_t *reply) {
	if (!isatty(STDERR_FILENO) || now_ms() - progress->started_ms < PROGRESS_AFTER_MS) return;
	fprintf(stderr, "\rchecked %lld rows ...", (long long)json_integer_value(json_object_get(reply, "checked")));
	progress->shown = true;
}

static int print_result(const json_t *reply) {
	const json_t *bad = json_object_get(reply, "bad");
	long long checked = json_integer_value(json_object_get(reply, "checked"));
	CLEANUP_FREE char *head = json_visible(reply, "head");
	if (!json_is_object(bad)) {
		printf("The history is intact: %lld row%s, head %s.\n", checked, checked == 1 ? "" : "s", head);
		return EXIT_DONE;
	}
	CLEANUP_FREE char *what = json_visible(bad, "what");
	printf("The history was changed: row %lld: %s. The %lld rows before it are intact.\n",
	       (long long)json_integer_value(json_object_get(bad, "seq")), what, checked);
	return EXIT_NO;
}

int history_verify(struct error *error) {
	CLEANUP_CHANNEL struct channel *channel = NULL;
	struct progress progress = {.started_ms = now_ms()};
	json_t *reply = NULL;
	int r = broker_connect(NULL, &channel, error);
	while (r == 0) {
		json_t *body = json_object(), *next = json_object_get(reply, "next");
		if (next) json_object_set(body, "cursor", next);
		json_decref(reply);
		reply = NULL;
		r = channel_call(channel, "verify", body, &reply, error);
		if (r < 0) break;
		progress_show(&progress, reply);
		next = json_object_get(reply, "next");
		if (json_is_object(json_object_get(reply, "bad")) || !next || json_is_null(next)) break;
	}
	if (progress.shown) fputs("\r\033[K", stderr);
	if (r == 0) r = print_result(reply);
	json_decref(reply);
	return r;
}
