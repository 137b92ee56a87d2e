/* ui/notify: which questions are on the screen and what a click means, what notifications say. Its bus: questions.py.
 */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/string.h"
#include "desk.h"
#include "notice.h"
#include "unit.h"

enum { NOW_MS = 1000000, LONG_MS = 1000 };

/* A server that shows what it is to show at once, and a clock of its own. */
struct room {
	struct clock clock; /* first: read_clock finds the rest */
	int64_t now_ms;
	struct desk *desk;
	uint64_t popup;
	uint32_t id, shown; /* of the last that was shown; acknowledged */
	char *key;          /* of its last button */
};

static void read_clock(const struct clock *clock, struct moment *ret_now) {
	const struct room *room = (const struct room *)clock;
	*ret_now = (struct moment){.wall_ms = room->now_ms, .boot_ms = room->now_ms};
}

static void tell_notice(const struct notice *notice) {
	unit_tell("%s: %s, urgency %d", notice->summary, notice->body, notice->urgency);
	for (size_t i = 0; i < notice->button_count; i++)
		unit_tell("%s: %s %s", notice->buttons[i].label, effect_name(notice->buttons[i].effect),
			  lifetime_name(notice->buttons[i].lifetime));
}

static void do_show(void *context, uint64_t popup, uint32_t replaces, const struct notice *notice, const char *token) {
	struct room *room = context;
	tell_notice(notice);
	room->popup = popup;
	room->id = replaces ? replaces : room->id + 1;
	free(STEAL(room->key));
	if (notice->button_count > 0) room->key = notice_key(&notice->buttons[notice->button_count - 1], token);
}

static void do_close(void *context, uint32_t id) {
	(void)context;
	unit_tell("closed %u", id);
}

static void do_answer(void *context, const struct prompt *prompt, const struct notice_button *button) {
	(void)context;
	unit_tell("answered %lld: %s %s", (long long)prompt->id, effect_name(button->effect),
		  lifetime_name(button->lifetime));
}

static void do_review(void *context) {
	(void)context;
	unit_tell("a terminal");
}

static void do_say(void *context, bool shows) {
	(void)context;
	unit_tell("shows %d", shows);
}

static void put_in(struct desk *desk, int64_t id, int64_t session, const char *target) {
	struct prompt prompt = {.id = id,
				.session = session,
				.permission = permission_of(PERMISSION_FS_READ),
				.deadline_ms = NOW_MS + 60000,
				.lifetime_ms = 3600000,
				.profile = string_copy("npm"),
				.project = string_copy("/p"),
				.target = string_copy(target),
				.process = string_copy("curl (412)\x1b[2J"),
				.why = string_copy("a rule")};
	strings_add(&prompt.parents, "npm (3)");
	desk_prompt(desk, &prompt);
}

static void go_on(struct room *room) {
	for (int i = 0; i < 4; i++) {
		desk_turn(room->desk);
		if (room->shown != room->popup) desk_shown(room->desk, room->popup, room->id);
		room->shown = (uint32_t)room->popup;
		room->now_ms += LONG_MS;
	}
}

/* A click counts for what is on the screen, and for nothing else. */
static void use_desk(void) {
	static const struct desk_server good = {.present = true, .buttons = true, .markup = true};
	struct room room = {.clock = {.read = read_clock}, .now_ms = NOW_MS};
	const struct desk_deeds deeds = {.clock = &room.clock,
					 .show = do_show,
					 .close = do_close,
					 .answer = do_answer,
					 .review = do_review,
					 .shows = do_say,
					 .context = &room};
	room.desk = desk_new(&deeds);
	desk_server_is(room.desk, &good);
	go_on(&room);
	put_in(room.desk, 12, 1, "/t/<one>");
	go_on(&room);
	desk_action(room.desk, room.id, room.key);
	go_on(&room);
	desk_refused(room.desk, 12, "it is too late");
	go_on(&room);
	desk_gone(room.desk, 12, false);
	for (int i = 0; i < 6; i++) put_in(room.desk, 20 + i, 2 + i / 2, i % 2 ? "/a" : "/b");
	go_on(&room);
	desk_action(room.desk, room.id, "allow-0123456789abcdef0123456789abcdef");
	desk_quiet(room.desk, true);
	for (int i = 0; i < 6; i++) desk_gone(room.desk, 20 + i, true);
	go_on(&room);
	desk_quiet(room.desk, false);
	go_on(&room);
	desk_server_lost(room.desk);
	desk_forget(room.desk);
	desk_turn(room.desk);
	unit_tell("nothing is shown: %d", desk_is_empty(room.desk));
	desk_free(room.desk);
	free(room.key);
}

static void use_notice(void) {
	static const char token[] = "0123456789abcdef0123456789abcdef";
	struct prompt prompts[NOTICE_LISTED_MAX];
	CLEANUP_STRINGS struct strings lines = {0};
	struct notice_questions questions = {.terminal_only = 1, .note = "it is too late"};
	for (size_t i = 0; i < NOTICE_LISTED_MAX; i++) {
		prompts[i] = (struct prompt){.id = (int64_t)i + 1,
					     .session = 9,
					     .permission = permission_of(PERMISSION_NET_ACCESS),
					     .deadline_ms = 60000,
					     .lifetime_ms = 3600000,
					     .profile = (char *)"npm",
					     .project = (char *)"/home/ada/app",
					     .target = (char *)"a<b.test:443\x1b[2J",
					     .reason = (char *)"&please",
					     .why = (char *)"a rule"};
		questions.prompts[questions.count++] = &prompts[i];
		strings_take(&lines, notice_line(&prompts[i]));
		const struct notice_manner manner = {.buttons = i % 2 == 0, .markup = i < 3, .now_ms = 2000};
		CLEANUP_NOTICE struct notice notice = {0};
		notice_ask(&questions, &manner, &notice);
		tell_notice(&notice);
		for (size_t button = 0; button < notice.button_count; button++) {
			CLEANUP_FREE char *key = notice_key(&notice.buttons[button], token);
			const struct notice_button *found = notice_find(&notice, token, key);
			unit_tell("%s finds %s", key, found ? found->label : "none");
		}
	}
	CLEANUP_NOTICE struct notice more = {0};
	CLEANUP_NOTICE struct notice missed = {0};
	notice_more(17, &more);
	tell_notice(&more);
	notice_missed(9, &lines, &(struct notice_manner){.markup = true, .now_ms = 2000}, &missed);
	tell_notice(&missed);
}

static const struct unit units[] = {
	{.what = "the desk", .use = use_desk},
	{.what = "notices", .use = use_notice},
};

const struct unit_room units_notify = UNIT_ROOM("ui/notify: questions on the screen, clicks, what is said", units);
