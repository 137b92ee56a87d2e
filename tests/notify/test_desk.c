/* Which questions are on the screen, and what counts as an answer; against a server and a clock of the test's own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/string.h"
#include "desk.h"
#include "support/cmocka.h"
#include "ui/prompt_terminal.h"

enum { SHOWN_MAX = 4096, ID_FIRST = 100 };

struct shown {
	uint64_t popup;
	uint32_t replaces;
	char *summary, *body;
	size_t buttons;
	char token[RANDOM_TOKEN_SIZE];
};

struct screen {
	struct clock clock; /* first: read_clock finds the rest */
	int64_t now_ms;
	struct desk *desk;
	struct shown shown[SHOWN_MAX]; /* every Notify there was */
	size_t shown_count, acknowledged;
	uint32_t last_id;
	uint32_t closed[SHOWN_MAX];
	size_t closed_count;
	struct string answers; /* "12 allow until\n" */
	struct string said;    /* "+" and "-" of shows */
	size_t reviews;
};

static void read_clock(const struct clock *clock, struct moment *ret_now) {
	const struct screen *screen = (const struct screen *)clock;
	*ret_now = (struct moment){.wall_ms = 1000000 + screen->now_ms, .boot_ms = screen->now_ms};
}

static void do_show(void *context, uint64_t popup, uint32_t replaces, const struct notice *notice, const char *token) {
	struct screen *screen = context;
	assert_true(screen->shown_count < SHOWN_MAX);
	struct shown *shown = &screen->shown[screen->shown_count++];
	*shown = (struct shown){.popup = popup,
				.replaces = replaces,
				.summary = string_copy(notice->summary),
				.body = string_copy(notice->body),
				.buttons = notice->button_count};
	memcpy(shown->token, token, sizeof shown->token);
}

static void do_close(void *context, uint32_t id) {
	struct screen *screen = context;
	screen->closed[screen->closed_count++] = id;
}

static void do_answer(void *context, const struct prompt *prompt, const struct notice_button *button) {
	struct screen *screen = context;
	string_appendf(&screen->answers, "%lld %s %s\n", (long long)prompt->id, effect_name(button->effect),
		       lifetime_name(button->lifetime));
}

static void do_review(void *context) {
	struct screen *screen = context;
	screen->reviews++;
}

static void do_say(void *context, bool shows) {
	struct screen *screen = context;
	string_append_char(&screen->said, shows ? '+' : '-');
}

static const struct desk_server good = {.present = true, .buttons = true};

static int setup(void **state) {
	struct screen *screen = mem_new(struct screen);
	*screen = (struct screen){.clock = {.read = read_clock}, .now_ms = 50000, .last_id = ID_FIRST};
	const struct desk_deeds deeds = {.clock = &screen->clock,
					 .show = do_show,
					 .close = do_close,
					 .answer = do_answer,
					 .review = do_review,
					 .shows = do_say,
					 .context = screen};
	screen->desk = desk_new(&deeds);
	desk_server_is(screen->desk, &good);
	string_append(&screen->answers, "");
	string_append(&screen->said, "");
	*state = screen;
	return 0;
}

static int teardown(void **state) {
	struct screen *screen = *state;
	desk_free(screen->desk);
	for (size_t i = 0; i < screen->shown_count; i++) {
		free(screen->shown[i].summary);
		free(screen->shown[i].body);
	}
	string_finish(&screen->answers);
	string_finish(&screen->said);
	free(screen);
	return 0;
}

static void put_in(struct screen *screen, int64_t id, int64_t session, bool confirm) {
	struct prompt prompt = {.id = id,
				.session = session,
				.permission = permission_of(PERMISSION_FS_READ),
				.confirm_terminal = confirm,
				.deadline_ms = 1000000 + screen->now_ms + 60000,
				.lifetime_ms = 3600000,
				.profile = string_copy("npm"),
				.project = string_copy("/p"),
				.command = string_copy("npm install"),
				.why = string_copy("w")};
	prompt.target = string_format("/t/%lld", (long long)id);
	desk_prompt(screen->desk, &prompt);
}

/* Time goes on, turns are made when they are due, and the server acknowledges. */
static void go_on(struct screen *screen, int64_t ms) {
	int64_t until_ms = screen->now_ms + ms;
	desk_turn(screen->desk);
	for (;;) {
		while (screen->acknowledged < screen->shown_count) {
			const struct shown *shown = &screen->shown[screen->acknowledged++];
			desk_shown(screen->desk, shown->popup, shown->replaces ? shown->replaces : ++screen->last_id);
			desk_turn(screen->desk);
		}
		int wait_ms = desk_wait_ms(screen->desk);
		if (wait_ms < 0 || screen->now_ms + wait_ms > until_ms) break;
		screen->now_ms += wait_ms;
		desk_turn(screen->desk);
	}
	screen->now_ms = until_ms;
}

static const struct shown *last_shown(const struct screen *screen) {
	assert_true(screen->shown_count > 0);
	return &screen->shown[screen->shown_count - 1];
}

static void click_token(struct screen *screen, uint32_t id, const char *verb, const char *token) {
	CLEANUP_FREE char *key = string_format("%s-%s", verb, token);
	desk_action(screen->desk, id, key);
	desk_turn(screen->desk);
}

static void click(struct screen *screen, const char *verb) {
	click_token(screen, screen->last_id, verb, last_shown(screen)->token);
}

static void a_question_is_shown_and_a_click_answers_it(void **state) {
	struct screen *screen = *state;
	put_in(screen, 12, 1, false);
	go_on(screen, 1000);
	assert_int_equal(screen->shown_count, 1);
	assert_string_equal(screen->said.data, "+");
	click(screen, "allow");
	assert_string_equal(screen->answers.data, "12 allow until\n");
	go_on(screen, 1000);
	desk_gone(screen->desk, 12, false);
	go_on(screen, 1000);
	assert_int_equal(screen->shown_count, 1);
	assert_true(desk_is_empty(screen->desk));
}

static void attack_broker_10_a_click_at_once_does_not_count_and_it_is_shown_again(void **state) {
	struct screen *screen = *state;
	put_in(screen, 12, 1, false);
	go_on(screen, DESK_GATHER_MS);
	assert_int_equal(screen->shown_count, 1);
	screen->now_ms += PROMPT_DELAY_MS - 1;
	click(screen, "allow");
	desk_closed(screen->desk, screen->last_id); /* servers do that */
	assert_string_equal(screen->answers.data, "");
	go_on(screen, 10);
	assert_int_equal(screen->shown_count, 2);
	assert_string_not_equal(screen->shown[0].token, screen->shown[1].token);
	screen->now_ms += PROMPT_DELAY_MS;
	click(screen, "deny");
	assert_string_equal(screen->answers.data, "12 deny once\n");
}

/* A server puts the others at its place, or the next one that it has queued. */
static void attack_broker_10_a_click_at_once_after_another_popup_left_does_not_count(void **state) {
	struct screen *screen = *state;
	put_in(screen, 12, 1, false);
	put_in(screen, 13, 2, false);
	put_in(screen, 14, 3, false);
	go_on(screen, 2000);
	assert_int_equal(screen->shown_count, 3);
	desk_gone(screen->desk, 12, false); /* its tool has ended itself */
	go_on(screen, PROMPT_DELAY_MS - 1);
	click_token(screen, ID_FIRST + 2, "allow", screen->shown[1].token);
	assert_string_equal(screen->answers.data, "");
	go_on(screen, 2000);
	assert_int_equal(screen->shown_count, 4); /* again */
	desk_closed(screen->desk, ID_FIRST + 3);
	go_on(screen, PROMPT_DELAY_MS - 1);
	click(screen, "allow");
	assert_string_equal(screen->answers.data, "");
	go_on(screen, PROMPT_DELAY_MS);
	click(screen, "allow");
	assert_string_equal(screen->answers.data, "13 allow until\n");
}

/* A double click answers one of two. */
static void attack_broker_10_a_click_at_once_after_an_answer_does_not_count(void **state) {
	struct screen *screen = *state;
	put_in(screen, 12, 1, false);
	put_in(screen, 13, 2, false);
	go_on(screen, 2000);
	click_token(screen, ID_FIRST + 1, "allow", screen->shown[0].token);
	click_token(screen, ID_FIRST + 2, "allow", screen->shown[1].token);
	assert_string_equal(screen->answers.data, "12 allow until\n");
}

/* One that comes moves the others, too; how many more wait does only when that comes or leaves. */
static void attack_broker_10_a_click_at_once_after_another_popup_came_does_not_count(void **state) {
	struct screen *screen = *state;
	put_in(screen, 12, 1, false);
	go_on(screen, 2000);
	put_in(screen, 13, 2, false);
	go_on(screen, DESK_GATHER_MS);
	click_token(screen, ID_FIRST + 1, "allow", screen->shown[0].token);
	assert_string_equal(screen->answers.data, "");
	for (int64_t id = 14; id < 16; id++) put_in(screen, id, id, false);
	go_on(screen, 5000);
	put_in(screen, 16, 16, false);
	go_on(screen, DESK_GATHER_MS);
	assert_string_equal(last_shown(screen)->summary, "sbx: 2 more questions wait");
	click_token(screen, ID_FIRST + 2, "deny", screen->shown[1].token);
	assert_string_equal(screen->answers.data, "13 deny once\n");
}

static void attack_broker_08_only_this_showings_key_with_its_id_answers(void **state) {
	struct screen *screen = *state;
	put_in(screen, 12, 1, false);
	put_in(screen, 13, 2, false);
	go_on(screen, 2000);
	assert_int_equal(screen->shown_count, 2);
	const char *first = screen->shown[0].token, *second = screen->shown[1].token;
	click_token(screen, ID_FIRST + 1, "allow", second); /* another's token */
	click_token(screen, ID_FIRST + 2, "allow", first);
	click_token(screen, ID_FIRST + 3, "allow", first); /* no such id */
	click_token(screen, 0, "allow", first);
	click_token(screen, ID_FIRST + 1, "default", first);
	desk_action(screen->desk, ID_FIRST + 1, "default");
	desk_action(screen->desk, ID_FIRST + 1, "allow");
	desk_action(screen->desk, ID_FIRST + 1, "");
	assert_string_equal(screen->answers.data, "");
	click_token(screen, ID_FIRST + 1, "always", first);
	click_token(screen, ID_FIRST + 1, "always", first); /* once more */
	go_on(screen, 2000);
	click_token(screen, ID_FIRST + 2, "always", first);
	assert_string_equal(screen->answers.data, "12 allow always\n");
}

static void attack_broker_08_closed_dismissed_or_expired_is_no_answer_and_the_terminal_asks(void **state) {
	struct screen *screen = *state;
	put_in(screen, 12, 1, false);
	go_on(screen, 1000);
	const char *token = screen->shown[0].token;
	desk_closed(screen->desk, screen->last_id);
	go_on(screen, 5000);
	assert_int_equal(screen->shown_count, 1); /* not popped up again */
	assert_string_equal(screen->answers.data, "");
	assert_string_equal(screen->said.data, "+-");
	click_token(screen, screen->last_id, "allow", token);
	assert_string_equal(screen->answers.data, "");
	desk_gone(screen->desk, 12, false);
	go_on(screen, 10);
	assert_string_equal(screen->said.data, "+-+");
}

static void attack_broker_08_another_server_has_none_of_the_old_ones_ids(void **state) {
	struct screen *screen = *state;
	put_in(screen, 12, 1, false);
	go_on(screen, 1000);
	CLEANUP_FREE char *old = string_copy(screen->shown[0].token);
	desk_server_lost(screen->desk);
	go_on(screen, 100);
	click_token(screen, ID_FIRST + 1, "allow", old);
	assert_string_equal(screen->answers.data, "");
	assert_string_equal(screen->said.data, "+-");
	screen->last_id = ID_FIRST; /* it counts anew */
	desk_server_is(screen->desk, &good);
	go_on(screen, 1000);
	assert_int_equal(screen->shown_count, 2);
	assert_int_equal(screen->shown[1].replaces, 0);
	click_token(screen, ID_FIRST + 1, "allow", old);
	assert_string_equal(screen->answers.data, "");
	click(screen, "allow");
	assert_string_equal(screen->answers.data, "12 allow until\n");
}

static void what_is_answered_elsewhere_is_taken_down(void **state) {
	struct screen *screen = *state;
	put_in(screen, 12, 1, false);
	go_on(screen, 1000);
	desk_gone(screen->desk, 12, false);
	go_on(screen, 10);
	assert_int_equal(screen->closed_count, 1);
	assert_int_equal(screen->closed[0], ID_FIRST + 1);
	/* Also what isn't shown yet: its id comes late. */
	put_in(screen, 13, 1, false);
	screen->now_ms += DESK_GATHER_MS;
	desk_turn(screen->desk);
	assert_int_equal(screen->shown_count, 2);
	desk_gone(screen->desk, 13, false);
	desk_turn(screen->desk);
	assert_int_equal(screen->closed_count, 1);
	go_on(screen, 10);
	assert_int_equal(screen->closed_count, 2);
	assert_int_equal(screen->closed[1], ID_FIRST + 2);
}

static void what_comes_together_is_one_notification(void **state) {
	struct screen *screen = *state;
	for (int64_t id = 12; id < 16; id++) put_in(screen, id, 1, false);
	put_in(screen, 16, 1, true); /* needs a terminal */
	go_on(screen, 1000);
	assert_int_equal(screen->shown_count, 2);
	assert_string_equal(screen->shown[0].summary, "npm wants 4 things");
	assert_int_equal(screen->shown[0].buttons, 2);
	assert_int_equal(screen->shown[1].buttons, 0);
	assert_non_null(strstr(screen->shown[0].body, "Not among these: 1 more"));
	click_token(screen, ID_FIRST + 1, "allow", screen->shown[0].token);
	assert_string_equal(screen->answers.data, "12 allow until\n13 allow until\n14 allow until\n15 allow until\n");
}

/* One of four is answered elsewhere: the others stay, with a text and a token of their own, and a new delay. */
static void a_notification_only_becomes_less(void **state) {
	struct screen *screen = *state;
	for (int64_t id = 12; id < 16; id++) put_in(screen, id, 1, false);
	go_on(screen, 1000);
	put_in(screen, 20, 1, false);
	desk_gone(screen->desk, 13, false);
	desk_turn(screen->desk);
	assert_int_equal(screen->shown_count, 2);
	assert_string_equal(last_shown(screen)->summary, "npm wants 3 things");
	assert_int_equal(last_shown(screen)->replaces, ID_FIRST + 1);
	click_token(screen, ID_FIRST + 1, "allow", screen->shown[0].token); /* the text of before */
	click(screen, "allow");                                             /* not there yet */
	go_on(screen, 10);
	click(screen, "allow"); /* at once */
	assert_string_equal(screen->answers.data, "");
	go_on(screen, 1000);
	assert_int_equal(screen->shown_count, 4); /* again, and the one that came later alone */
	assert_string_equal(screen->shown[2].summary, "npm wants 3 things");
	assert_string_equal(screen->shown[3].summary, "npm wants to read a file");
}

static void attack_broker_12_1001_questions_are_few_notifications(void **state) {
	struct screen *screen = *state;
	for (int64_t id = 1; id <= 1001; id++) {
		put_in(screen, id, 1 + id % 40, false);
		go_on(screen, 1);
	}
	go_on(screen, 5000);
	assert_true(screen->shown_count <= DESK_POPUPS + 5); /* one a second says how many more */
	assert_true(string_ends(last_shown(screen)->summary, " more questions wait"));
	size_t before = screen->shown_count;
	for (int64_t id = 1; id <= 1001; id++) desk_gone(screen->desk, id, false);
	go_on(screen, 5000);
	assert_int_equal(screen->shown_count, before);
	assert_int_equal(screen->closed_count, DESK_POPUPS + 1);
	assert_true(desk_is_empty(screen->desk));
	assert_int_equal(desk_wait_ms(screen->desk), -1);
}

static void attack_broker_12_one_session_does_not_take_all_the_places(void **state) {
	struct screen *screen = *state;
	for (int64_t id = 1; id <= 5; id++) {
		put_in(screen, id, 7, false);
		go_on(screen, 500);
	}
	go_on(screen, 2000);
	assert_string_equal(last_shown(screen)->summary, "sbx: 3 more questions wait");
	put_in(screen, 6, 8, false);
	go_on(screen, DESK_GATHER_MS);
	assert_string_equal(last_shown(screen)->summary, "npm wants to read a file");
	click(screen, "allow"); /* not in the first moment */
	go_on(screen, 1000);
	click(screen, "allow");
	assert_string_equal(screen->answers.data, "6 allow until\n");
	desk_gone(screen->desk, 1, false); /* room for the others of its session, in one */
	go_on(screen, 1000);
	assert_true(desk_wait_ms(screen->desk) != 0);
	assert_string_equal(last_shown(screen)->summary, "npm wants 3 things");
}

static void room_that_is_made_is_used(void **state) {
	struct screen *screen = *state;
	for (int64_t id = 1; id <= 5; id++) put_in(screen, id, id, false);
	go_on(screen, 2000);
	assert_int_equal(screen->shown_count, DESK_POPUPS + 1);
	assert_string_equal(last_shown(screen)->summary, "sbx: 2 more questions wait");
	desk_gone(screen->desk, 1, false);
	go_on(screen, 2000);
	assert_string_equal(screen->shown[DESK_POPUPS + 1].summary, "npm wants to read a file");
	assert_string_equal(last_shown(screen)->summary, "sbx: 1 more question waits");
	desk_gone(screen->desk, 2, false);
	go_on(screen, 2000);
	assert_int_equal(screen->shown_count, DESK_POPUPS + 4);
	assert_int_equal(screen->closed_count, 3);
}

static void attack_broker_13_while_the_server_hangs_the_terminal_asks(void **state) {
	struct screen *screen = *state;
	struct desk_server hung = good;
	hung.hung = true;
	put_in(screen, 12, 1, false);
	go_on(screen, 1000);
	desk_server_is(screen->desk, &hung);
	put_in(screen, 13, 2, false);
	screen->now_ms += 1000;
	desk_turn(screen->desk);
	assert_string_equal(screen->said.data, "+-");
	desk_gone(screen->desk, 13, false); /* answered there */
	desk_turn(screen->desk);
	desk_server_is(screen->desk, &good); /* it wakes, and shows what was sent to it */
	go_on(screen, 1000);
	assert_string_equal(screen->said.data, "+-+");
	assert_int_equal(screen->closed_count, 1);
	assert_int_equal(screen->closed[0], ID_FIRST + 2);
	click_token(screen, ID_FIRST + 1, "allow", screen->shown[0].token);
	assert_string_equal(screen->answers.data, "12 allow until\n");
}

static void quiet_hours_queue_and_one_tells_of_the_rest(void **state) {
	struct screen *screen = *state;
	desk_quiet(screen->desk, true);
	for (int64_t id = 1; id <= 9; id++) put_in(screen, id, id, false);
	go_on(screen, 5000);
	assert_int_equal(screen->shown_count, 0);
	assert_string_equal(screen->said.data, "-");
	for (int64_t id = 1; id <= 6; id++) desk_gone(screen->desk, id, true);
	desk_gone(screen->desk, 7, false); /* answered in a terminal */
	desk_quiet(screen->desk, false);
	go_on(screen, 2000);
	assert_int_equal(screen->shown_count, 2);
	assert_string_equal(screen->shown[0].summary, "npm wants 2 things");
	assert_string_equal(screen->shown[1].summary, "sbx: 6 questions expired while you were not disturbed");
	assert_non_null(strstr(screen->shown[1].body, "and 1 more"));
	assert_string_equal(screen->said.data, "-+");
}

static void what_came_just_before_a_silence_ends_is_asked_together_too(void **state) {
	struct screen *screen = *state;
	struct desk_server inhibited = good;
	inhibited.inhibited = true;
	desk_server_is(screen->desk, &inhibited);
	put_in(screen, 1, 1, false);
	go_on(screen, 1000);
	put_in(screen, 2, 2, false);
	go_on(screen, DESK_GATHER_MS / 2);
	desk_server_is(screen->desk, &good);
	go_on(screen, 10);
	put_in(screen, 3, 3, false);
	go_on(screen, 1000);
	assert_int_equal(screen->shown_count, 1);
	assert_string_equal(screen->shown[0].summary, "npm wants 3 things");
}

static void do_not_disturb_takes_down_what_is_shown(void **state) {
	struct screen *screen = *state;
	struct desk_server inhibited = good;
	inhibited.inhibited = true;
	put_in(screen, 12, 1, false);
	go_on(screen, 1000);
	desk_server_is(screen->desk, &inhibited);
	go_on(screen, 1000);
	assert_int_equal(screen->closed_count, 1);
	assert_string_equal(screen->said.data, "+-");
	desk_server_is(screen->desk, &good);
	go_on(screen, 1000);
	assert_int_equal(screen->shown_count, 2);
	click(screen, "deny");
	assert_string_equal(screen->answers.data, "12 deny once\n");
}

static void an_answer_that_was_refused_is_asked_again_with_why(void **state) {
	struct screen *screen = *state;
	put_in(screen, 12, 1, false);
	go_on(screen, 1000);
	click(screen, "allow");
	go_on(screen, 1000);
	assert_int_equal(screen->shown_count, 1);
	desk_refused(screen->desk, 12, "the disk is full");
	go_on(screen, 1000);
	assert_int_equal(screen->shown_count, 2);
	assert_non_null(strstr(last_shown(screen)->body, "The answer could not be given: the disk is full\n"));
}

static void what_a_server_cannot_show_is_the_terminals(void **state) {
	struct screen *screen = *state;
	put_in(screen, 12, 1, false);
	screen->now_ms += DESK_GATHER_MS;
	desk_turn(screen->desk);
	desk_shown(screen->desk, screen->shown[0].popup, 0);
	screen->acknowledged = 1;
	go_on(screen, 5000);
	assert_int_equal(screen->shown_count, 1);
	assert_string_equal(screen->said.data, "+-");
}

static void a_server_without_buttons_shows_but_is_not_relied_on(void **state) {
	struct screen *screen = *state;
	const struct desk_server dunst = {.present = true};
	desk_server_is(screen->desk, &dunst);
	put_in(screen, 12, 1, false);
	go_on(screen, 1000);
	assert_int_equal(screen->shown_count, 1);
	assert_int_equal(screen->shown[0].buttons, 0);
	assert_string_equal(screen->said.data, "-");
	click(screen, "allow");
	assert_string_equal(screen->answers.data, "");
}

/* Of that many at least one is not seen: the last line says where, and until when. */
static void put_in_too_many(struct screen *screen) {
	for (int64_t id = 12; id < 12 + NOTICE_LISTED_MAX; id++) put_in(screen, id, 1, false);
	go_on(screen, 1000);
	assert_int_equal(last_shown(screen)->buttons, 2);
}

/* It answers nothing: the terminal that it opens does, and the one that the tool runs in is told that it may. */
static void attack_r_16_review_opens_a_terminal_and_answers_nothing(void **state) {
	struct screen *screen = *state;
	put_in_too_many(screen);
	click(screen, "allow"); /* there is no such button */
	assert_string_equal(screen->answers.data, "");
	click(screen, "review");
	assert_int_equal(screen->reviews, 1);
	assert_string_equal(screen->answers.data, "");
	assert_int_equal(screen->closed_count, 1);
	go_on(screen, 5000);
	assert_int_equal(screen->shown_count, 1);
	assert_string_equal(screen->said.data, "+-");
	click(screen, "review"); /* it is gone */
	assert_int_equal(screen->reviews, 1);
}

static void where_no_terminal_can_be_opened_it_is_shown_again_with_what_to_type(void **state) {
	struct screen *screen = *state;
	put_in_too_many(screen);
	click(screen, "review");
	desk_review_failed(screen->desk, "No terminal could be opened. Type in one: sbx monitor");
	go_on(screen, 1000);
	assert_int_equal(screen->shown_count, 2);
	assert_true(string_starts(last_shown(screen)->body, "No terminal could be opened. Type in one: sbx monitor\n"));
	assert_string_equal(screen->said.data, "+-+");
	click_token(screen, screen->last_id, "deny", last_shown(screen)->token);
	assert_true(string_starts(screen->answers.data, "12 deny once\n"));
}

/* What waits behind the only one that it shows is seen by nobody. */
static void a_server_that_shows_one_at_a_time_is_relied_on_for_that_one(void **state) {
	struct screen *screen = *state;
	struct desk_server single = good;
	single.places = 1;
	desk_server_is(screen->desk, &single);
	put_in(screen, 12, 1, false);
	go_on(screen, 1000);
	assert_string_equal(screen->said.data, "+");
	put_in(screen, 13, 2, false);
	go_on(screen, 5000);
	assert_int_equal(screen->shown_count, 1);
	assert_string_equal(screen->said.data, "+-");
	click(screen, "allow");
	desk_gone(screen->desk, 12, false);
	go_on(screen, 2000);
	assert_int_equal(screen->shown_count, 2);
	assert_string_equal(screen->said.data, "+-+");
	click(screen, "deny");
	assert_string_equal(screen->answers.data, "12 allow until\n13 deny once\n");
}

/* It says that the second is shown while the first still leaves. */
static void attack_broker_10_a_server_that_shows_one_at_a_time_has_a_longer_first_moment(void **state) {
	struct screen *screen = *state;
	struct desk_server single = good;
	single.places = 1;
	desk_server_is(screen->desk, &single);
	put_in(screen, 12, 1, false);
	put_in(screen, 13, 2, false);
	go_on(screen, 5000);
	desk_gone(screen->desk, 12, false);
	go_on(screen, DESK_QUEUED_MS - 1);
	assert_int_equal(screen->shown_count, 2);
	click(screen, "allow");
	assert_string_equal(screen->answers.data, "");
	go_on(screen, DESK_QUEUED_MS);
	assert_int_equal(screen->shown_count, 3);
	click(screen, "allow");
	assert_string_equal(screen->answers.data, "13 allow until\n");
}

static void a_server_that_shows_three_is_never_shown_a_fourth(void **state) {
	struct screen *screen = *state;
	struct desk_server three = good;
	three.places = 3;
	three.inhibited = true;
	desk_server_is(screen->desk, &three);
	for (int64_t id = 1; id <= 2; id++) put_in(screen, id, id, true);
	go_on(screen, 1000);
	for (int64_t id = 1; id <= 2; id++) desk_gone(screen->desk, id, true);
	for (int64_t id = 11; id <= 15; id++) put_in(screen, id, 1, false);
	three.inhibited = false;
	desk_server_is(screen->desk, &three);
	go_on(screen, 1000);
	for (int64_t id = 21; id <= 25; id++) put_in(screen, id, id, false);
	go_on(screen, 5000);
	size_t there = 0;
	for (size_t i = 0; i < screen->shown_count; i++) there += screen->shown[i].replaces == 0;
	assert_int_equal(there - screen->closed_count, 3);
	assert_string_equal(last_shown(screen)->summary, "sbx: 4 more questions wait");
	for (int64_t id = 11; id <= 25; id++) desk_gone(screen->desk, id, false);
	go_on(screen, 5000);
	assert_string_equal(screen->said.data, "-+");
}

static void a_server_that_keeps_what_is_taken_down_is_not_relied_on_any_more(void **state) {
	struct screen *screen = *state;
	struct desk_server stuck = good;
	stuck.stuck = true;
	put_in(screen, 12, 1, false);
	go_on(screen, 1000);
	desk_gone(screen->desk, 12, false);
	go_on(screen, 10);
	desk_server_is(screen->desk, &stuck);
	put_in(screen, 13, 1, false);
	go_on(screen, 1000);
	assert_string_equal(screen->said.data, "+-");
	assert_int_equal(screen->shown_count, 2); /* it may be seen all the same */
	desk_server_lost(screen->desk);           /* another one */
	desk_server_is(screen->desk, &good);
	go_on(screen, 1000);
	assert_string_equal(screen->said.data, "+-+");
}

/* A new broker knows nothing of the old one's questions, and not what this agent can. */
static void a_new_broker_is_told_anew(void **state) {
	struct screen *screen = *state;
	put_in(screen, 12, 1, false);
	go_on(screen, 1000);
	desk_forget(screen->desk);
	go_on(screen, 10);
	assert_int_equal(screen->closed_count, 1);
	assert_string_equal(screen->said.data, "++");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
	const struct CMUnitTest tests[] = {
		TEST(a_question_is_shown_and_a_click_answers_it),
		TEST(attack_broker_10_a_click_at_once_does_not_count_and_it_is_shown_again),
		TEST(attack_broker_10_a_click_at_once_after_another_popup_left_does_not_count),
		TEST(attack_broker_10_a_click_at_once_after_an_answer_does_not_count),
		TEST(attack_broker_10_a_click_at_once_after_another_popup_came_does_not_count),
		TEST(attack_broker_08_only_this_showings_key_with_its_id_answers),
		TEST(attack_broker_08_closed_dismissed_or_expired_is_no_answer_and_the_terminal_asks),
		TEST(attack_broker_08_another_server_has_none_of_the_old_ones_ids),
		TEST(what_is_answered_elsewhere_is_taken_down),
		TEST(what_comes_together_is_one_notification),
		TEST(a_notification_only_becomes_less),
		TEST(attack_broker_12_1001_questions_are_few_notifications),
		TEST(attack_broker_12_one_session_does_not_take_all_the_places),
		TEST(room_that_is_made_is_used),
		TEST(attack_broker_13_while_the_server_hangs_the_terminal_asks),
		TEST(quiet_hours_queue_and_one_tells_of_the_rest),
		TEST(what_came_just_before_a_silence_ends_is_asked_together_too),
		TEST(do_not_disturb_takes_down_what_is_shown),
		TEST(an_answer_that_was_refused_is_asked_again_with_why),
		TEST(what_a_server_cannot_show_is_the_terminals),
		TEST(a_server_without_buttons_shows_but_is_not_relied_on),
		TEST(attack_r_16_review_opens_a_terminal_and_answers_nothing),
		TEST(where_no_terminal_can_be_opened_it_is_shown_again_with_what_to_type),
		TEST(a_server_that_shows_one_at_a_time_is_relied_on_for_that_one),
		TEST(attack_broker_10_a_server_that_shows_one_at_a_time_has_a_longer_first_moment),
		TEST(a_server_that_shows_three_is_never_shown_a_fourth),
		TEST(a_server_that_keeps_what_is_taken_down_is_not_relied_on_any_more),
		TEST(a_new_broker_is_told_anew),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
