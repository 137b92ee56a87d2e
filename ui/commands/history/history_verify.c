#include "history_verify.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "ui/broker.h"
#include "ui/command.h"
#include "ui/output.h"

enum { PROGRESS_AFTER_MS = 500 };

struct progress {
	int64_t started_ms;
	bool shown;
};

static void progress_show(struct progress *progress, const json_t *reply) {
	if (!isatty(STDERR_FILENO) || clock_ms(CLOCK_BOOTTIME) - progress->started_ms < PROGRESS_AFTER_MS) return;
	fprintf(stderr, "\rchecked %lld rows ...", (long long)json_integer_value(json_object_get(reply, "checked")));
	progress->shown = true;
}

static long long number_of(const json_t *object, const char *key) {
	return json_integer_value(json_object_get(object, key));
}

/* What was mended on the way. */
static bool print_mended(struct progress *progress, const json_t *reply) {
	const json_t *rebuilt = json_object_get(reply, "rebuilt");
	bool recounted = json_is_true(json_object_get(reply, "recounted"));
	if (!json_is_object(rebuilt) && !recounted) return false;
	if (progress->shown) fputs("\r\033[K", stderr);
	progress->shown = false;
	if (json_is_object(rebuilt))
		printf("The index of rows %lld to %lld was changed: it hid some of them. It was made anew.\n",
		       number_of(rebuilt, "first"), number_of(rebuilt, "last"));
	if (recounted) puts("The tallies of --summary were changed: they are counted anew.");
	return true;
}

static int print_result(const json_t *reply, const char *head, bool mended) {
	const json_t *bad = json_object_get(reply, "bad");
	long long checked = number_of(reply, "checked");
	CLEANUP_FREE char *hash = json_visible(reply, "head");
	if (json_is_object(bad)) {
		CLEANUP_FREE char *what = json_visible(bad, "what");
		printf("The history was changed: row %lld: %s.", number_of(bad, "seq"), what);
		if (checked > 0) printf(" What is before it (%lld row%s) is intact.", checked, checked == 1 ? "" : "s");
		putchar('\n');
		return EXIT_NO;
	}
	printf("The history is intact: %lld row%s, head %lld:%s.\n", checked, checked == 1 ? "" : "s",
	       number_of(reply, "head_seq"), hash);
	if (head) printf("It holds the row %s.\n", head);
	return mended ? EXIT_NO : EXIT_DONE;
}

int history_verify(const char *head, struct error *error) {
	CLEANUP_CHANNEL struct channel *channel = NULL;
	struct progress progress = {.started_ms = clock_ms(CLOCK_BOOTTIME)};
	json_t *reply = NULL;
	bool mended = false;
	int r = broker_connect(NULL, &channel, error);
	while (r == 0) {
		json_t *body = json_object(), *next = json_object_get(reply, "next");
		if (next) json_object_set(body, "cursor", next);
		/* Asked with the first page, which is where a bad one ends it. */
		if (!next) json_put_text(body, "head", head);
		json_decref(reply);
		reply = NULL;
		r = channel_call(channel, "verify", body, &reply, error);
		if (r < 0) break;
		mended |= print_mended(&progress, reply);
		progress_show(&progress, reply);
		next = json_object_get(reply, "next");
		if (json_is_object(json_object_get(reply, "bad")) || !next || json_is_null(next)) break;
	}
	if (progress.shown) fputs("\r\033[K", stderr);
	if (r == 0) {
		r = print_result(reply, head, mended);
	} else if (r != -EINVAL) {
		log_error("history: %s", error->message); /* that is not "changed" */
		r = EXIT_FAILED;
	}
	json_decref(reply);
	return r;
}
