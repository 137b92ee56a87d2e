/*
 * Theory of operation
 *
 * A question (struct item) waits until the broker says that it is gone. A popup is a notification; while it lives, it
 * and its items know each other, and its items only become fewer. A turn makes the screen what it should be: popups
 * whose items have gone are closed or shown anew with what is left, and new ones are made of items that have none.
 *
 * A popup is shown asynchronously: from `show` to desk_shown it is `awaited`. Till then it has no id, so no signal of
 * the server can be about it, and what must be changed is put off (`stale`). Each showing has a new token, which is
 * part of the keys of its buttons, so a click that was meant for what stood there before finds nothing.
 *
 * A click in the first moment may have been meant for something else that was at that place. It is thrown away, and
 * since servers take a notification off the screen when it is clicked, it is shown again. The moment begins anew for
 * all popups whenever one of them comes or leaves, for servers move the others then. It is longer on a server that
 * shows one at a time: that says that a popup is shown when it has only queued it, behind one that still leaves.
 */
#include "desk.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/string.h"
#include "ui/prompt_terminal.h"

enum popup_kind { POPUP_ASKS, POPUP_MORE, POPUP_MISSED };

struct popup {
	TAILQ_ENTRY(popup) link;
	uint64_t number;
	enum popup_kind kind;
	char token[RANDOM_TOKEN_SIZE];
	uint32_t id;     /* the server's; 0: not known yet */
	bool awaited;    /* the server hasn't said yet that it is shown */
	bool stale;      /* to be shown anew when it has */
	size_t count;    /* of the questions that it asks, or tells of */
	int64_t session; /* that asks them; 0: several, or none */
	struct notice notice;
};

struct item {
	TAILQ_ENTRY(item) link;
	struct prompt prompt;
	int64_t came_ms;
	struct popup *popup;
	bool answered;  /* the broker hasn't said yet that it is gone */
	bool dismissed; /* by the user: it isn't popped up again */
	bool reviewed;  /* likewise, to answer it in a terminal */
	char *note;     /* why its answer wasn't taken */
};

struct desk {
	struct desk_deeds deeds;
	TAILQ_HEAD(, item) items;
	TAILQ_HEAD(, popup) popups;
	uint64_t last_number;
	int64_t moved_ms; /* when a popup last came, changed or left */
	struct desk_server server;
	bool quiet;
	bool silent;       /* what the last turn made of it and the server's own word */
	bool together;     /* it was silent: what waits is asked at once */
	int64_t silent_ms; /* when that ended; 0: it never was */
	bool shows, told;  /* what was said last, and that it was */
	bool more_is_gone; /* the user has closed the popup that tells how many more wait */
	int64_t more_ms;   /* when it was last shown */
	size_t missed_count;
	struct strings missed;
};

static void read_clock(const struct desk *desk, struct moment *ret_now) {
	clock_read(desk->deeds.clock, ret_now);
}

static int64_t boot_ms(const struct desk *desk) {
	struct moment now;
	read_clock(desk, &now);
	return now.boot_ms;
}

struct desk *desk_new(const struct desk_deeds *deeds) {
	struct desk *desk = mem_new(struct desk);
	desk->deeds = *deeds;
	TAILQ_INIT(&desk->items);
	TAILQ_INIT(&desk->popups);
	return desk;
}

static void item_free(struct desk *desk, struct item *item) {
	TAILQ_REMOVE(&desk->items, item, link);
	prompt_finish(&item->prompt);
	free(item->note);
	free(item);
}

static void popup_free(struct desk *desk, struct popup *popup) {
	struct item *item;
	TAILQ_FOREACH(item, &desk->items, link) {
		if (item->popup == popup) item->popup = NULL;
	}
	TAILQ_REMOVE(&desk->popups, popup, link);
	notice_finish(&popup->notice);
	free(popup);
}

static void forget_popups(struct desk *desk) {
	for (struct popup *popup = TAILQ_FIRST(&desk->popups), *next; popup; popup = next) {
		next = TAILQ_NEXT(popup, link);
		popup_free(desk, popup);
	}
}

static void forget_items(struct desk *desk) {
	for (struct item *item = TAILQ_FIRST(&desk->items), *next; item; item = next) {
		next = TAILQ_NEXT(item, link);
		item_free(desk, item);
	}
}

void desk_free(struct desk *desk) {
	if (!desk) return;
	forget_popups(desk);
	forget_items(desk);
	strings_finish(&desk->missed);
	free(desk);
}

static struct item *item_find(const struct desk *desk, int64_t prompt) {
	struct item *item;
	TAILQ_FOREACH(item, &desk->items, link) {
		if (item->prompt.id == prompt) return item;
	}
	return NULL;
}

/* One that is on the screen. */
static struct popup *popup_find(const struct desk *desk, uint32_t id) {
	struct popup *popup;
	TAILQ_FOREACH(popup, &desk->popups, link) {
		if (popup->id == id && id != 0 && !popup->awaited) return popup;
	}
	return NULL;
}

static struct popup *popup_of_kind(const struct desk *desk, enum popup_kind kind) {
	struct popup *popup;
	TAILQ_FOREACH(popup, &desk->popups, link) {
		if (popup->kind == kind) return popup;
	}
	return NULL;
}

static void take_down(struct desk *desk, uint32_t id) {
	desk->deeds.close(desk->deeds.context, id);
	desk->moved_ms = boot_ms(desk);
}

/* Off the screen. One that is awaited has no id yet, and is closed when it has (desk_shown). */
static void popup_withdraw(struct desk *desk, struct popup *popup) {
	if (!popup->awaited && popup->id != 0) take_down(desk, popup->id);
	popup_free(desk, popup);
}

/* What happened */

void desk_prompt(struct desk *desk, struct prompt *prompt) {
	struct item *item = item_find(desk, prompt->id);
	if (item) { /* news of it: its words never change, who else shows it may */
		item->prompt.desktop = prompt->desktop;
		memcpy(item->prompt.token, prompt->token, sizeof item->prompt.token);
		prompt_finish(prompt);
		return;
	}
	item = mem_new(struct item);
	item->prompt = *prompt;
	item->came_ms = boot_ms(desk);
	*prompt = (struct prompt){0};
	TAILQ_INSERT_TAIL(&desk->items, item, link);
}

void desk_gone(struct desk *desk, int64_t prompt, bool expired) {
	struct item *item = item_find(desk, prompt);
	if (!item) return;
	if (expired && desk->silent) {
		desk->missed_count++;
		if (desk->missed.count < DESK_NAMED) strings_take(&desk->missed, notice_line(&item->prompt));
	}
	item_free(desk, item);
}

void desk_refused(struct desk *desk, int64_t prompt, const char *why) {
	struct item *item = item_find(desk, prompt);
	if (!item) return;
	item->answered = false;
	free(item->note);
	item->note = string_format("The answer could not be given: %s", why);
}

void desk_review_failed(struct desk *desk, const char *why) {
	struct item *item;
	TAILQ_FOREACH(item, &desk->items, link) {
		if (!item->reviewed) continue;
		item->reviewed = item->dismissed = false;
		free(item->note);
		item->note = string_copy(why);
	}
}

void desk_forget(struct desk *desk) {
	forget_items(desk);
	desk->quiet = false;
	desk->told = false;
}

void desk_quiet(struct desk *desk, bool quiet) {
	desk->quiet = quiet;
}

void desk_server_is(struct desk *desk, const struct desk_server *server) {
	desk->server = *server;
}

void desk_server_lost(struct desk *desk) {
	forget_popups(desk);
	desk->server = (struct desk_server){0};
}

static void show(struct desk *desk, struct popup *popup) {
	uint32_t replaces = popup->id;
	random_token(popup->token);
	popup->awaited = true;
	popup->stale = false;
	desk->deeds.show(desk->deeds.context, popup->number, replaces, &popup->notice, popup->token);
}

/* Not shown by this server, for whatever reason: as if the user had dismissed it, so that others ask. */
static void give_up(struct desk *desk, struct popup *popup) {
	struct item *item;
	TAILQ_FOREACH(item, &desk->items, link) {
		if (item->popup == popup) item->dismissed = true;
	}
	if (popup->kind == POPUP_MORE) desk->more_is_gone = true;
	popup_free(desk, popup);
}

void desk_shown(struct desk *desk, uint64_t number, uint32_t id) {
	struct popup *popup;
	TAILQ_FOREACH(popup, &desk->popups, link) {
		if (popup->number == number && popup->awaited) break;
	}
	if (!popup) { /* it was taken down meanwhile */
		if (id != 0) take_down(desk, id);
		return;
	}
	if (id == 0) {
		give_up(desk, popup);
		return;
	}
	/* How many more wait changes often in a flood, and moves nothing. */
	if (popup->kind != POPUP_MORE || popup->id == 0) desk->moved_ms = boot_ms(desk);
	popup->awaited = false;
	popup->id = id;
}

static size_t places_of(const struct desk *desk) {
	return desk->server.places > 0 ? desk->server.places : DESK_PLACES;
}

static bool shows_one(const struct desk *desk) {
	return places_of(desk) == 1;
}

static bool clicks_count(const struct desk *desk) {
	return boot_ms(desk) - desk->moved_ms >= (shows_one(desk) ? DESK_QUEUED_MS : PROMPT_DELAY_MS);
}

void desk_action(struct desk *desk, uint32_t id, const char *key) {
	struct popup *popup = popup_find(desk, id);
	const struct notice_button *button = popup ? notice_find(&popup->notice, popup->token, key) : NULL;
	if (!button || popup->stale) return;
	if (!clicks_count(desk)) {
		log_debug("a click at once after a notification came or left doesn't count: it is shown again");
		take_down(desk, id);
		popup->id = 0;
		show(desk, popup);
		return;
	}
	const bool reviews = button->reviews;
	struct item *item;
	TAILQ_FOREACH(item, &desk->items, link) {
		if (item->popup != popup || item->answered) continue;
		item->dismissed = item->reviewed = reviews;
		item->answered = !reviews;
		if (!reviews) desk->deeds.answer(desk->deeds.context, &item->prompt, button);
	}
	popup_withdraw(desk, popup);
	if (reviews) desk->deeds.review(desk->deeds.context);
}

void desk_closed(struct desk *desk, uint32_t id) {
	struct popup *popup = popup_find(desk, id);
	desk->moved_ms = boot_ms(desk);
	if (popup) give_up(desk, popup);
}

/* The screen */

static bool is_waiting(const struct item *item) {
	return !item->popup && !item->answered && !item->dismissed;
}

/* The end of a silence counts as a question's coming, so that those of its last and first moments are gathered, too. */
static int64_t due_ms(const struct desk *desk, const struct item *item) {
	return (item->came_ms > desk->silent_ms ? item->came_ms : desk->silent_ms) + DESK_GATHER_MS;
}

static bool is_due(const struct desk *desk, const struct item *item, int64_t now_ms) {
	return is_waiting(item) && now_ms >= due_ms(desk, item);
}

/* May they be asked in one notification? */
static bool go_together(const struct desk *desk, const struct prompt *a, const struct prompt *b) {
	return a->confirm_terminal == b->confirm_terminal && !permission_is_ask(&a->permission) &&
	       !permission_is_ask(&b->permission) && (desk->together || (a->session == b->session && a->session != 0));
}

static void collect(const struct desk *desk, const struct popup *popup, struct notice_questions *ret) {
	const struct item *item;
	*ret = (struct notice_questions){0};
	TAILQ_FOREACH(item, &desk->items, link) {
		if (item->popup != popup || item->answered || ret->count == NOTICE_LISTED_MAX) continue;
		ret->prompts[ret->count++] = &item->prompt;
		if (item->note) ret->note = item->note;
	}
	TAILQ_FOREACH(item, &desk->items, link) {
		const struct prompt *first = ret->prompts[0];
		ret->terminal_only += first && !first->confirm_terminal && item->prompt.confirm_terminal &&
				      item->prompt.session == first->session && first->session != 0;
	}
}

static struct notice_manner manner_of(const struct desk *desk) {
	struct moment now;
	read_clock(desk, &now);
	return (struct notice_manner){.buttons = desk->server.buttons,
				      .markup = desk->server.markup,
				      .narrow = desk->server.narrow,
				      .now_ms = now.wall_ms};
}

static void word_questions(struct desk *desk, struct popup *popup, const struct notice_questions *questions) {
	const struct notice_manner manner = manner_of(desk);
	notice_finish(&popup->notice);
	notice_ask(questions, &manner, &popup->notice);
	popup->count = questions->count;
}

/* What is left of it: nothing, or fewer than it says. */
static void update(struct desk *desk, struct popup *popup) {
	struct notice_questions questions;
	if (popup->kind != POPUP_ASKS) return;
	collect(desk, popup, &questions);
	if (questions.count == 0) {
		popup_withdraw(desk, popup);
		return;
	}
	if (questions.count != popup->count) popup->stale = true;
	if (!popup->stale || popup->awaited) return;
	word_questions(desk, popup, &questions);
	show(desk, popup);
}

static size_t count_popups(const struct desk *desk) {
	const struct popup *popup;
	size_t count = 0;
	TAILQ_FOREACH(popup, &desk->popups, link) {
		count++;
	}
	return count;
}

/* What was missed is in the history, too: it gives its place to what asks, or tells of that. */
static struct popup *popup_new(struct desk *desk, enum popup_kind kind) {
	struct popup *missed = popup_of_kind(desk, POPUP_MISSED);
	if (missed && count_popups(desk) >= places_of(desk)) popup_withdraw(desk, missed);
	struct popup *popup = mem_new(struct popup);
	popup->kind = kind;
	popup->number = ++desk->last_number;
	TAILQ_INSERT_TAIL(&desk->popups, popup, link);
	return popup;
}

static void ask(struct desk *desk, struct item *first) {
	struct popup *popup = popup_new(desk, POPUP_ASKS);
	popup->session = desk->together ? 0 : first->prompt.session;
	struct notice_questions questions;
	size_t count = 0;
	for (struct item *item = first; item && count < NOTICE_LISTED_MAX; item = TAILQ_NEXT(item, link)) {
		if (!is_waiting(item) || (item != first && !go_together(desk, &first->prompt, &item->prompt))) continue;
		item->popup = popup;
		count++;
	}
	collect(desk, popup, &questions);
	word_questions(desk, popup, &questions);
	show(desk, popup);
}

static bool has_room(const struct desk *desk, const struct item *item) {
	const struct popup *popup;
	const size_t most = shows_one(desk) ? 1 : places_of(desk) - 1, most_of_one = most > 1 ? most - 1 : 1;
	size_t all = 0, own = 0;
	TAILQ_FOREACH(popup, &desk->popups, link) {
		all += popup->kind == POPUP_ASKS;
		own += popup->session == item->prompt.session && popup->session != 0;
	}
	return all < most && own < most_of_one;
}

static void ask_those_that_wait(struct desk *desk, int64_t now_ms) {
	struct item *item;
	bool all = true;
	TAILQ_FOREACH(item, &desk->items, link) {
		if (!is_waiting(item)) continue;
		if (is_due(desk, item, now_ms) && has_room(desk, item))
			ask(desk, item);
		else
			all = false;
	}
	if (all) desk->together = false;
}

static size_t count_due(const struct desk *desk, int64_t now_ms) {
	const struct item *item;
	size_t count = 0;
	TAILQ_FOREACH(item, &desk->items, link) {
		count += is_due(desk, item, now_ms);
	}
	return count;
}

static void tell_how_many_more(struct desk *desk, int64_t now_ms) {
	struct popup *popup = popup_of_kind(desk, POPUP_MORE);
	size_t count = shows_one(desk) ? 0 : count_due(desk, now_ms);
	if (count == 0) {
		desk->more_is_gone = false;
		if (popup) popup_withdraw(desk, popup);
		return;
	}
	if (desk->more_is_gone || (popup && (popup->awaited || popup->count == count)) ||
	    (desk->more_ms != 0 && now_ms - desk->more_ms < DESK_MORE_MS))
		return;
	if (!popup) popup = popup_new(desk, POPUP_MORE);
	notice_finish(&popup->notice);
	notice_more(count, &popup->notice);
	popup->count = count;
	desk->more_ms = now_ms;
	show(desk, popup);
}

/* Behind what is asked at the silence's end, which comes first to the places. */
static bool has_missed(const struct desk *desk, int64_t now_ms) {
	return desk->missed_count > 0 && now_ms >= desk->silent_ms + DESK_GATHER_MS;
}

static void tell_what_was_missed(struct desk *desk, int64_t now_ms) {
	if (!has_missed(desk, now_ms)) return;
	struct popup *before = popup_of_kind(desk, POPUP_MISSED);
	if (before) popup_withdraw(desk, before);
	if (count_popups(desk) >= places_of(desk)) return;
	const struct notice_manner manner = manner_of(desk);
	struct popup *popup = popup_new(desk, POPUP_MISSED);
	notice_missed(desk->missed_count, &desk->missed, &manner, &popup->notice);
	desk->missed_count = 0;
	strings_finish(&desk->missed);
	desk->missed = (struct strings){0};
	show(desk, popup);
}

static void silence(struct desk *desk) {
	for (struct popup *popup = TAILQ_FIRST(&desk->popups), *next; popup; popup = next) {
		next = TAILQ_NEXT(popup, link);
		popup_withdraw(desk, popup);
	}
}

/* One that the user dismissed is the terminal's, so as long as one waits the desktop can't be relied on; nor where one
 * waits behind the only one that the server shows. */
static bool can_show(const struct desk *desk, int64_t now_ms) {
	const struct item *item;
	TAILQ_FOREACH(item, &desk->items, link) {
		if (item->dismissed) return false;
	}
	if (shows_one(desk) && count_due(desk, now_ms) > 0) return false;
	return desk->server.present && !desk->server.hung && !desk->server.stuck && desk->server.buttons &&
	       !desk->silent;
}

static void tell_shows(struct desk *desk, int64_t now_ms) {
	bool shows = can_show(desk, now_ms);
	if (desk->told && desk->shows == shows) return;
	desk->told = true;
	desk->shows = shows;
	desk->deeds.shows(desk->deeds.context, shows);
}

void desk_turn(struct desk *desk) {
	int64_t now_ms = boot_ms(desk);
	bool silent = desk->quiet || desk->server.inhibited;
	if (silent && !desk->silent) silence(desk);
	if (!silent && desk->silent) {
		desk->together = true;
		desk->silent_ms = now_ms;
	}
	desk->silent = silent;
	for (struct popup *popup = TAILQ_FIRST(&desk->popups), *next; popup; popup = next) {
		next = TAILQ_NEXT(popup, link);
		update(desk, popup);
	}
	if (!silent && desk->server.present) {
		ask_those_that_wait(desk, now_ms);
		tell_how_many_more(desk, now_ms);
		tell_what_was_missed(desk, now_ms);
	}
	tell_shows(desk, now_ms);
}

static int64_t sooner(int64_t wait_ms, int64_t other_ms) {
	if (other_ms < 0) other_ms = 0;
	return wait_ms < 0 || other_ms < wait_ms ? other_ms : wait_ms;
}

int desk_wait_ms(const struct desk *desk) {
	if (desk->silent || !desk->server.present) return -1;
	int64_t now_ms = boot_ms(desk), wait_ms = -1;
	const struct item *item;
	TAILQ_FOREACH(item, &desk->items, link) {
		if (is_waiting(item) && (has_room(desk, item) || !is_due(desk, item, now_ms)))
			wait_ms = sooner(wait_ms, due_ms(desk, item) - now_ms);
	}
	if (desk->missed_count > 0 && !has_missed(desk, now_ms))
		wait_ms = sooner(wait_ms, desk->silent_ms + DESK_GATHER_MS - now_ms);
	const struct popup *more = popup_of_kind(desk, POPUP_MORE);
	size_t due = count_due(desk, now_ms);
	if (due > 0 && !shows_one(desk) && !desk->more_is_gone && !(more && (more->awaited || more->count == due)))
		wait_ms = sooner(wait_ms, desk->more_ms + DESK_MORE_MS - now_ms);
	return (int)wait_ms;
}

bool desk_is_empty(const struct desk *desk) {
	return TAILQ_EMPTY(&desk->popups);
}
