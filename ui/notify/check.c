#include "check.h"

#include <event2/event.h>
#include <stdio.h>

#include "base/loop.h"
#include "base/memory.h"
#include "base/string.h"
#include "server.h"
#include "ui/notify_lock.h"
#include "ui/output.h"

enum { CHECK_MS = 3000 };

struct check {
	struct event_base *base;
	struct server *server;
};

/* All that can be known is. */
static void on_changed(void *context) {
	const struct check *check = context;
	const struct server_info *info = server_info(check->server);
	bool nobody = server_fault(check->server) && !info->found;
	if (nobody || (info->present && info->settled)) event_base_loopbreak(check->base);
}

static void on_lost(void *context) {
	(void)context;
}

static void print_json(const struct server_info *info, const char *problem) {
	json_t *json = json_pack("{s:b, s:s?, s:s?, s:s?, s:b, s:b, s:b, s:o, s:b, s:s?}", "bus", (int)info->bus,
				 "server", info->name, "vendor", info->vendor, "version", info->version, "actions",
				 (int)info->actions, "buttons", (int)info->buttons, "markup", (int)info->markup,
				 "inhibited", info->knows_inhibited ? json_boolean(info->inhibited) : json_null(),
				 "agent", (int)notify_lock_is_taken(), "problem", problem);
	json_line(stdout, json);
	json_decref(json);
}

static void print_words(const struct server_info *info, const char *problem) {
	printf("session bus          %s\n", info->bus ? "yes" : "no");
	if (info->present)
		printf("notification server  %s %s (%s)\n", info->name ? info->name : "one that doesn't say its name",
		       info->version ? info->version : "", info->vendor ? info->vendor : "");
	else
		printf("notification server  no\n");
	printf("buttons              %s\n", info->buttons ? "yes" : "no");
	printf("do not disturb       %s\n", !info->knows_inhibited ? "not told by this server"
					    : info->inhibited      ? "on: prompts wait"
								   : "off");
	printf("sbx-notify           %s\n", notify_lock_is_taken() ? "runs" : "doesn't run: 'sbx run' starts it");
	if (problem) printf("%s\n", problem);
}

/* What keeps prompts from being answered on the desktop; NULL: nothing does. */
static const char *find_problem(const struct check *check) {
	const struct server_info *info = server_info(check->server);
	const char *fault = server_fault(check->server);
	if (!info->present) return fault ? fault : "the session bus does not answer";
	if (info->buttons) return NULL;
	return "this server has no buttons: notifications say how to answer in a terminal (sbx allow ID)";
}

int check_print(bool json) {
	struct check check = {.base = loop_new()};
	const struct server_events events = {.changed = on_changed, .lost = on_lost, .context = &check};
	const struct timeval wait = {.tv_sec = CHECK_MS / 1000};
	check.server = server_new(check.base, &events);
	event_base_loopexit(check.base, &wait);
	event_base_dispatch(check.base);
	const char *problem = find_problem(&check);
	if (json)
		print_json(server_info(check.server), problem);
	else
		print_words(server_info(check.server), problem);
	int status = problem ? 1 : 0;
	server_free(check.server);
	event_base_free(check.base);
	return status;
}
