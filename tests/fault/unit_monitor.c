/* ui/monitor: what it knows, what its keys do, how it is drawn; a broker that isn't there. Its terminal: questions.py.
 */
#include <curses.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "base/string.h"
#include "keys.h"
#include "link.h"
#include "model.h"
#include "schema/grant.h"
#include "ui/prompt_terminal.h"
#include "unit.h"
#include "view.h"
#include "words.h"

enum { NOW_MS = 1000000, HEIGHT = 30, WIDTH = 90 };

static void push_prompt(struct monitor_model *model, int64_t id, int64_t bundle, bool confirm) {
	struct prompt prompt = {.id = id,
				.session = 9,
				.bundle = bundle,
				.permission = permission_of(PERMISSION_NET_ACCESS),
				.profile = (char *)"npm",
				.project = (char *)"/app",
				.target = (char *)"svc.test:443\x1b[2J",
				.process = (char *)"curl (412)",
				.why = (char *)"policy.yaml:7",
				.confirm_terminal = confirm,
				.deadline_ms = NOW_MS + 42000,
				.lifetime_ms = 3600 * 1000,
				.token = "0123456789abcdef0123456789abcdef"};
	struct error error = ERROR_NONE;
	strings_add(&prompt.scopes, "exact");
	strings_add(&prompt.scopes, "host");
	json_t *push = prompt_to_json(&prompt);
	json_object_set_new(push, "type", json_string("prompt"));
	unit_failed(model_push(model, push, &error), &error);
	json_decref(push);
	strings_finish(&prompt.scopes);
}

static void answer_page(struct monitor_model *model, enum monitor_pane pane, json_t *items) {
	json_t *body = rows_ask(&model->rows[pane], true), *reply = json_pack("{s:o, s:n}", "items", items, "next");
	CLEANUP_FREE char *asked = body ? json_dumps(body, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
	unit_tell("asks for %s", asked ? asked : "nothing");
	if (body) rows_take(&model->rows[pane], reply);
	json_decref(body);
	json_decref(reply);
}

static json_t *some_grants(void) {
	json_t *items = json_array();
	for (int i = 3; i > 0; i--) {
		const struct grant grant = {.id = i,
					    .permission = permission_of(PERMISSION_NET_ACCESS),
					    .pattern = (char *)"*.example.org",
					    .effect = EFFECT_ALLOW,
					    .profile = (char *)"npm",
					    .project = (char *)"/app",
					    .lifetime = LIFETIME_UNTIL,
					    .created_ms = NOW_MS,
					    .expires_ms = NOW_MS + 1800 * 1000,
					    .origin = GRANT_ORIGIN_CLI,
					    .uses = 3};
		json_array_append_new(items, grant_to_json(&grant));
	}
	return items;
}

static void start(struct monitor_model *model) {
	model_init(model);
	model->wall_ms = model->boot_ms = NOW_MS;
	model_connected(model);
	model->counts = (struct monitor_counts){.known = true, .today = {41, 2, 1}};
}

/* One after the other, each when it counts. */
static void press(struct monitor_model *model, const char *keys) {
	for (; *keys; keys++) {
		model->others_hold = true;
		model->redraw = false;
		model->boot_ms += PROMPT_DELAY_MS;
		keys_press(model, *keys);
	}
}

static void tell_sent(struct monitor_model *model) {
	struct monitor_request request;
	while (model_take_request(model, &request)) {
		CLEANUP_FREE char *body = json_dumps(request.body, JSON_COMPACT | JSON_SORT_KEYS);
		unit_tell("%s %s", request.type, body);
		json_decref(request.body);
	}
}

static void tell_words(const struct monitor_model *model) {
	CLEANUP_STRING struct string details = {0}, help = {0};
	CLEANUP_FREE char *state = words_state(model);
	words_details(model, WIDTH, &details);
	words_help(WIDTH, &help);
	unit_tell("%s: %s, %s: %s", state, model->message ? model->message : "", details.data ? details.data : "",
		  help.data);
}

/* What is sent is what was typed for, and the whole of it. */
static void use_model(void) {
	struct monitor_model model;
	start(&model);
	push_prompt(&model, 3, 0, false);
	tell_words(&model);
	press(&model, "ay");
	tell_sent(&model);
	push_prompt(&model, 4, 0, true);
	push_prompt(&model, 5, 5, false);
	push_prompt(&model, 6, 5, false);
	press(&model, "jaallow\ry");
	tell_sent(&model);
	press(&model, "jdy");
	tell_sent(&model);
	tell_words(&model);
	answer_page(&model, PANE_GRANTS, some_grants());
	press(&model, "3jrevoke");
	tell_words(&model);
	press(&model, "y\r");
	tell_sent(&model);
	model_failed(&model, "it is gone");
	tell_words(&model);
	model_lost(&model, "the broker is gone");
	tell_words(&model);
	model_finish(&model);
}

static void tell_drawn(struct monitor_model *model) {
	CLEANUP_STRING struct string out = {0};
	WINDOW *pad = newpad(HEIGHT, WIDTH);
	if (!pad) {
		unit_tell_error("there is no window");
		return;
	}
	view_draw(pad, model);
	for (int y = 0; y < HEIGHT; y++) {
		wchar_t line[WIDTH + 1] = {0};
		char bytes[WIDTH * 4 + 1] = "";
		mvwinnwstr(pad, y, 0, line, WIDTH);
		wcstombs(bytes, line, sizeof bytes - 1);
		string_appendf(&out, "%s\n", bytes);
	}
	unit_tell("%s", out.data);
	delwin(pad);
}

static void use_view(void) {
	FILE *nowhere = fopen("/dev/null", "r+e");
	setlocale(LC_CTYPE, "C.UTF-8");
	SCREEN *screen = nowhere ? newterm("xterm-256color", nowhere, nowhere) : NULL;
	if (!screen) _exit(1);
	view_colours(true);
	/* The C library loads what it knows of letters with the first one, and without memory has question marks for
	 * all. */
	if (mbrtowc(NULL, "\xe2\x80\xa6", 3, NULL) != 3) _exit(1);
	unit_strike();
	struct monitor_model model;
	start(&model);
	tell_drawn(&model);
	push_prompt(&model, 3, 0, false);
	tell_drawn(&model);
	press(&model, "a");
	tell_drawn(&model);
	press(&model, "\x1b?");
	tell_drawn(&model);
	answer_page(&model, PANE_GRANTS, some_grants());
	press(&model, "\x1b"
		      "3");
	tell_drawn(&model);
	model_finish(&model);
}

/* A broker that isn't there is told, and looked for again. */
static void use_link(void) {
	CLEANUP_LINK struct monitor_link *link = link_new();
	struct pollfd fds[LINK_FDS];
	struct monitor_model model;
	start(&model);
	unit_tell("again later: %d", link_turn(link, &model) > 0);
	unit_tell("%s", model.trouble);
	link_poll(link, fds);
	link_read(link, &model, fds);
	link_rest(link, &model);
	model_finish(&model);
}

static const struct unit units[] = {
	{.what = "what the monitor knows", .use = use_model},
	{.what = "the monitor's screen", .use = use_view, .late = true},
	{.what = "the monitor's link", .use = use_link},
};

const struct unit_room units_monitor = UNIT_ROOM("ui/monitor: questions, answers, lists, the screen, no broker", units);
