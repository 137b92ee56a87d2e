/*
 * Theory of operation. A call joins the question of its need, or makes it. A question goes through these states:
 *
 *     QUEUED ──► ASKED ──verdict──► ANSWERED ──► PLACING ──► READY ──► done() of each of its calls
 *     (others    (check at           (until no    (allowed: until live      │
 *     first)      the broker)         one is       has carried it out)      └ denied: at once
 *                                     away)
 *
 * A thread whose call a signal's handler interrupts makes the call again a moment later, ten times a second with a
 * timer. Its question keeps a place for it meanwhile, so that the person sees one question, and an answer that comes
 * in between is not lost. A thread that isn't back after LIMIT_HELD_AWAY_MS is no longer waited for. While what was
 * allowed is being placed, a handler waits for it, for LIMIT_HELD_PLACING_MS at most: an answer for one call would be
 * lost with that call.
 *
 * A question shows one of its calls, the one that it was asked for: whose process it is, and the name in the folder.
 * When that call is gone, and its thread doesn't come back with the same name, the question goes back to QUEUED, so
 * that what is answered is never about a call that nobody was shown.
 *
 * done() is called from the loop alone (held->turn), so that a doorbell is never called from within its own call.
 */
#include "held.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/string.h"
#include "calls/looks.h"
#include "schema/limits.h"

struct question;

struct call {
	struct call *next; /* of its question */
	struct question *question;
	uint64_t ticket;
	pid_t thread;
	struct look *look; /* or NULL */
	held_done *done;
	void *argument;
};

enum state { QUEUED, ASKED, ANSWERED, PLACING, READY };

/* Of a thread that runs a signal's handler. */
struct place {
	struct place *next; /* of its question */
	struct question *question;
	pid_t thread;
	bool shown; /* its call was the one that the question shows */
	struct event *over;
};

struct question {
	struct question *next; /* oldest first */
	struct held *held;
	struct need need;
	char *path;     /* need.path */
	char *name;     /* need.name, of the call shown */
	uint64_t shown; /* the ticket of the call that it shows; 0: none, or it is away */
	enum state state;
	int64_t placing_ms; /* when PLACING: since when */
	enum held_end end;  /* when READY, and when ANSWERED with a denial */
	uint64_t check;     /* when ASKED */
	bool allowed, once; /* from ANSWERED on */
	bool alone;         /* with `once`: for one call by the user's word, not by a rule that no view can name */
	bool granted;       /* by a grant for more than one call */
	bool unfolds;       /* nobody is asked: the folder that it is in is opened up */
	bool noted;         /* what it is about (live_note) */
	struct call *calls;
	struct place *places;
};

struct held {
	struct held_options options;
	struct question *questions;
	size_t count, asked, away;
	uint64_t last_ticket;
	struct event *turn;
	struct looks *looks;
};

static void on_turn(evutil_socket_t fd, short what, void *argument);

static void on_frozen(void *context) {
	held_settle_all(context, HELD_INTERRUPTED);
}

struct held *held_new(const struct held_options *options) {
	struct held *held = mem_new(struct held);
	*held = (struct held){.options = *options};
	held->turn = evtimer_new(options->base, on_turn, held);
	held->looks = looks_new(options->base, on_frozen, held);
	return held;
}

/* Questions */

/* Nobody joins what is let through alone, or unasked. */
static bool is_open(const struct question *question) {
	if (question->unfolds) return false;
	return question->state < PLACING || (question->state == PLACING && !question->alone);
}

static struct question *question_find(const struct held *held, const struct need *need) {
	for (struct question *question = held->questions; question; question = question->next)
		if (is_open(question) && question->need.permission == need->permission &&
		    question->need.by_folder == need->by_folder && string_equal(question->path, need->path) &&
		    (need->permission != PERMISSION_FS_LINK || string_equal(question->name, need->name)))
			return question;
	return NULL;
}

static struct question *question_new(struct held *held, const struct need *need) {
	struct question *question = mem_new(struct question), **end = &held->questions;
	*question = (struct question){.held = held, .need = *need, .path = string_copy(need->path)};
	question->need.path = question->path;
	question->name = need->permission == PERMISSION_FS_LINK ? string_copy_or_null(need->name) : NULL;
	question->need.name = question->name;
	while (*end) end = &(*end)->next;
	*end = question;
	return question;
}

static void call_free(struct call *call) {
	look_free(call->look);
	free(call);
}

static void place_free(struct place *place) {
	place->question->held->away--;
	event_free(place->over);
	free(place);
}

static void question_free(struct question *question) {
	for (struct place *place = question->places, *next; place; place = next) {
		next = place->next;
		place_free(place);
	}
	for (struct call *call = question->calls, *next; call; call = next) {
		next = call->next;
		call_free(call);
	}
	if (question->noted) live_forget(question->held->options.live, question->path);
	free(question->path);
	free(question->name);
	free(question);
}

static void turn_soon(struct held *held) {
	event_active(held->turn, EV_TIMEOUT, 1);
}

static void question_end(struct question *question, enum held_end end) {
	question->state = READY;
	question->end = end;
	turn_soon(question->held);
}

/* Nothing but a pattern was in the way: what the mounts show is what was allowed. */
static bool is_in_place(const struct question *question) {
	const struct sight sight = live_sight(question->held->options.live, question->path);
	return question->need.permission == PERMISSION_FS_WRITE && sight.mode == VIEW_WRITE && sight.masked_name;
}

static void question_placed(void *argument);

/* No view has what a grant gives by its pattern alone: once it is known by its path, the next plan has it. */
static bool question_give(struct question *question) {
	const struct held_options *options = &question->held->options;
	if (!question->granted || !options->give || !options->give(options->context, &question->need)) return false;
	question->granted = false;
	live_when(options->live, question_placed, question);
	return true;
}

static void question_placed(void *argument) {
	struct question *question = argument;
	if (question->unfolds) {
		question_end(question, HELD_AGAIN);
		return;
	}
	/* The plan is what counts: what was allowed and can't be shown stays refused. */
	const struct live *live = question->held->options.live;
	bool given = live_gives(live, &question->need) || is_in_place(question);
	/* a program: the view goes on asking about it; what isn't made yet: nothing is there to be mounted */
	if ((question->need.permission == PERMISSION_PROC_SPAWN || question->need.made) && question->calls)
		given |= live_gave_once(live, question->calls->thread, &question->need);
	if (!given && question_give(question)) return;
	question_end(question, given ? HELD_AGAIN : HELD_REFUSED);
}

static void question_place(struct question *question) {
	struct live *live = question->held->options.live;
	for (struct call *call = question->calls; call && question->once; call = call->next)
		live_once(live, call->thread, &question->need, question->alone);
	question->state = PLACING;
	question->placing_ms = clock_ms(CLOCK_MONOTONIC);
	live_when(live, question_placed, question);
}

/* The call is judged anew by what it meets then. */
static bool question_unfold(struct question *question) {
	const struct held_options *options = &question->held->options;
	question->unfolds =
		question->need.unfolds && options->unfolds && options->unfolds(options->context, &question->need);
	if (!question->unfolds) return false;
	question->state = PLACING;
	question->placing_ms = clock_ms(CLOCK_MONOTONIC);
	live_when(options->live, question_placed, question);
	return true;
}

static bool is_rule(const struct verdict *verdict) {
	return !verdict->asked_user &&
	       (strcmp(verdict->module, "rules") == 0 || strcmp(verdict->module, "protect") == 0);
}

/* What a rule denies looks as if it weren't there, unless it is seen already. */
static enum held_end end_of_denial(const struct question *question, const struct verdict *verdict) {
	const enum view_mode mode = live_sight(question->held->options.live, question->path).mode;
	const enum permission_kind kind = question->need.permission;
	const bool seen =
		mode == VIEW_READ || mode == VIEW_WRITE || kind == PERMISSION_PROC_SPAWN || kind == PERMISSION_FS_LINK;
	return is_rule(verdict) && !seen ? HELD_ABSENT : HELD_REFUSED;
}

static struct call **call_at(struct question *question, uint64_t ticket) {
	struct call **at = &question->calls;
	while (*at && (*at)->ticket != ticket) at = &(*at)->next;
	return at;
}

/* What was allowed for one call is for the one shown: the others become a question of their own, which is asked anew.
 */
static void question_part(struct question *question) {
	struct call **at = call_at(question, question->shown), *shown = *at;
	if (!question->alone || !shown) return;
	*at = shown->next;
	struct call *others = question->calls;
	shown->next = NULL;
	question->calls = shown;
	if (!others) return;
	struct question *rest = question_new(question->held, &question->need);
	rest->calls = others;
	for (struct call *call = rest->calls; call; call = call->next) call->question = rest;
	turn_soon(question->held);
}

static void question_settle(struct question *question) {
	if (question->state != ANSWERED || question->places) return;
	question_part(question);
	/* a link is made by the call: nothing has to be mounted */
	if (question->allowed && (question->need.permission == PERMISSION_FS_LINK || is_in_place(question)))
		question_end(question, HELD_AGAIN);
	else if (question->allowed)
		question_place(question);
	else
		question_end(question, question->end);
}

static void on_verdict(void *argument, const struct verdict *verdict) {
	struct question *question = argument;
	const struct held_options *options = &question->held->options;
	question->held->asked--;
	question->check = 0;
	question->state = ANSWERED;
	question->allowed = verdict && verdict->effect == EFFECT_ALLOW;
	/* Nothing of it is in a view: for these calls alone. Nor need it be of a program, which a rule may ask about by
	 * a pattern or another name, whoever allows it. */
	const bool unnamed =
		question->allowed && (question->need.permission == PERMISSION_PROC_SPAWN ||
				      (verdict->grant == 0 && !live_rules_give(options->live, &question->need)));
	question->once = question->allowed && (verdict->once || unnamed);
	question->alone = question->allowed && verdict->once;
	question->granted = question->allowed && verdict->grant != 0 && !question->once;
	question->end = verdict && !question->allowed ? end_of_denial(question, verdict) : HELD_REFUSED;
	if (verdict && !question->allowed && options->refused)
		options->refused(options->context, &question->need, verdict);
	question_settle(question);
}

static char *call_name(const struct held *held, pid_t thread, const struct need *need) {
	const struct held_options *options = &held->options;
	if (need->permission == PERMISSION_FS_LINK) return string_copy_or_null(need->name);
	return options->name ? options->name(options->context, thread, need) : NULL;
}

static void question_note(struct question *question) {
	struct live *live = question->held->options.live;
	if (!question->noted) live_note(live, question->path);
	question->noted = true;
	question->need.folder = live_noted_folder(live, question->path);
}

static void question_ask(struct question *question) {
	const struct held_options *options = &question->held->options;
	const pid_t thread = question->calls->thread;
	question->state = ASKED;
	question->held->asked++;
	question->shown = question->calls->ticket;
	char *name = call_name(question->held, thread, &question->need);
	free(question->name);
	question->need.name = question->name = name;
	if (question->need.permission != PERMISSION_FS_LINK) question_note(question);
	uint64_t check = options->check(options->context, thread, &question->need, on_verdict, question);
	if (question->state == ASKED) question->check = check;
}

/* The next of those that wait for their turn to be asked. */
static void ask_next(struct held *held) {
	for (struct question *question = held->questions; question && held->asked < LIMIT_HELD_ASKED;
	     question = question->next)
		if (question->state == QUEUED && question->calls) question_ask(question);
}

static void question_cancel(struct question *question) {
	struct held *held = question->held;
	if (question->state != ASKED) return;
	held->options.cancel(held->options.context, question->check);
	held->asked--;
}

/* The call that it shows is gone. What was allowed for longer than that call is for the others as well. */
static void question_ask_anew(struct question *question) {
	if (question->state != ASKED && (question->state != ANSWERED || !question->alone)) return;
	question_cancel(question);
	question->state = QUEUED;
	question->shown = 0;
	turn_soon(question->held);
}

/* Nobody waits for it any more. One that is being placed stays until live has said so. */
static void question_leave(struct question *question) {
	struct held *held = question->held;
	if (question->state == PLACING) return;
	question_cancel(question);
	for (struct question **at = &held->questions; *at; at = &(*at)->next) {
		if (*at != question) continue;
		*at = question->next;
		break;
	}
	question_free(question);
}

static bool is_left(const struct question *question) {
	return !question->calls && !question->places;
}

/* Is it about the same name as the call that its question shows? */
static bool call_is_as_shown(const struct call *call) {
	const struct question *question = call->question;
	CLEANUP_FREE char *name = call_name(question->held, call->thread, &question->need);
	return !question->name || string_equal(name, question->name);
}

/* Places */

static void place_give_up(struct place *place) {
	struct question *question = place->question;
	struct place **at = &question->places;
	while (*at != place) at = &(*at)->next;
	*at = place->next;
	if (place->shown && question->calls) question_ask_anew(question);
	place_free(place);
	question_settle(question);
}

static void on_place_over(evutil_socket_t fd, short what, void *argument) {
	const struct place *place = argument;
	struct question *question = place->question;
	(void)fd, (void)what;
	place_give_up(argument);
	if (!is_left(question)) return;
	struct held *held = question->held;
	question_leave(question);
	turn_soon(held);
}

/* The call's thread is about to leave the question for a signal's handler. */
static void place_keep(const struct call *call) {
	struct question *question = call->question;
	const struct timeval limit = {.tv_sec = LIMIT_HELD_AWAY_MS / 1000, .tv_usec = LIMIT_HELD_AWAY_MS % 1000 * 1000};
	struct held *held = question->held;
	if ((question->state != QUEUED && question->state != ASKED) || held->away >= LIMIT_HELD) return;
	struct place *place = mem_new(struct place);
	*place = (struct place){.next = question->places,
				.question = question,
				.thread = call->thread,
				.shown = question->shown == call->ticket};
	if (place->shown) question->shown = 0;
	place->over = evtimer_new(held->options.base, on_place_over, place);
	event_add(place->over, &limit);
	question->places = place;
	held->away++;
}

/* The call's thread is back. */
static void place_take(const struct call *call) {
	struct place *place = call->question->places;
	while (place && place->thread != call->thread) place = place->next;
	if (!place) return;
	if (place->shown && call_is_as_shown(call)) {
		call->question->shown = call->ticket;
		place->shown = false;
	}
	place_give_up(place);
}

/* Calls */

static struct call *call_take(struct question *question, uint64_t ticket) {
	struct call **at = call_at(question, ticket), *call = *at;
	if (!call) return NULL;
	*at = call->next;
	question->held->count--;
	return call;
}

/* Calls that are left without the one that the question showed. A thread that was in it and is in another one of the
 * question has made it again. */
static void question_without(struct question *question, const struct call *gone) {
	if (question->shown != gone->ticket) return;
	for (const struct call *call = question->calls; call; call = call->next) {
		if (call->thread != gone->thread || !call_is_as_shown(call)) continue;
		question->shown = call->ticket;
		return;
	}
	question_ask_anew(question);
}

static struct call *call_find(const struct held *held, uint64_t ticket) {
	for (const struct question *question = held->questions; question; question = question->next)
		for (struct call *call = question->calls; call; call = call->next)
			if (call->ticket == ticket) return call;
	return NULL;
}

/* Alone of its question: into one of its own that is settled. */
static void call_end(struct call *call, enum held_end end) {
	struct question *from = call->question, *own = question_new(from->held, &from->need);
	call_take(from, call->ticket);
	from->held->count++;
	call->next = NULL;
	call->question = own;
	own->calls = call;
	if (is_left(from))
		question_leave(from);
	else
		question_without(from, call);
	question_end(own, end);
}

static struct question *question_ready(const struct held *held) {
	struct question *question = held->questions;
	while (question && question->state != READY) question = question->next;
	return question;
}

static void on_turn(evutil_socket_t fd, short what, void *argument) {
	struct held *held = argument;
	(void)fd, (void)what;
	/* looked for anew each time: done() may add, and drop */
	for (struct question *question; (question = question_ready(held));) {
		struct call *call = question->calls;
		if (!call) {
			question_leave(question);
			continue;
		}
		call_take(question, call->ticket);
		call->done(call->argument, question->end);
		call_free(call);
	}
	ask_next(held);
}

uint64_t held_add(struct held *held, pid_t thread, const struct need *need, held_done *done, void *argument) {
	/* One that was let in once and comes back in the same call can't get there (by a descriptor from before). */
	const bool over = held->count >= LIMIT_HELD || live_gave_once(held->options.live, thread, need);
	struct question *question = over ? NULL : question_find(held, need);
	bool fresh = !question;
	if (fresh) question = question_new(held, need);
	struct call *call = mem_new(struct call), **end = &question->calls;
	*call = (struct call){.question = question,
			      .ticket = ++held->last_ticket,
			      .thread = thread,
			      .done = done,
			      .argument = argument};
	while (*end) end = &(*end)->next;
	*end = call;
	held->count++;
	if (over)
		question_end(question, HELD_REFUSED);
	else if (fresh && live_gives(held->options.live, need) && !live_is_once(held->options.live, need->path))
		question_end(question, HELD_AGAIN);
	else if (!fresh || !question_unfold(question))
		ask_next(held);
	if (!fresh) place_take(call);
	return call->ticket;
}

void held_drop(struct held *held, uint64_t ticket) {
	struct call *call = call_find(held, ticket);
	if (!call) return;
	struct question *question = call->question;
	call_take(question, ticket);
	if (is_left(question))
		question_leave(question);
	else
		question_without(question, call);
	call_free(call);
	turn_soon(held); /* another one may be asked now */
}

void held_settle_all(struct held *held, enum held_end end) {
	for (struct question *question = held->questions; question; question = question->next) {
		question_cancel(question);
		if (question->state < PLACING) question_end(question, end);
		while (question->state == PLACING && question->calls) call_end(question->calls, end);
	}
}

void held_flush(struct held *held) {
	on_turn(-1, 0, held);
}

size_t held_count(const struct held *held) {
	return held->count;
}

/* Signals */

static bool is_placed_soon(const struct question *question) {
	return question->state == PLACING && clock_ms(CLOCK_MONOTONIC) - question->placing_ms < LIMIT_HELD_PLACING_MS;
}

static void look_at(struct call *call);

static void on_interrupted(void *argument, enum pending why) {
	struct call *call = argument;
	if (why == PENDING_HANDLED && is_placed_soon(call->question)) {
		look_free(STEAL(call->look));
		look_at(call);
		return;
	}
	if (why == PENDING_HANDLED) place_keep(call);
	if (call->question->state != READY) call_end(call, HELD_INTERRUPTED);
}

static void look_at(struct call *call) {
	struct looks *looks = call->question->held->looks;
	if (!call->look) call->look = look_new(looks, call->thread, on_interrupted, call);
}

void held_watch(struct held *held, uint64_t ticket) {
	struct call *call = call_find(held, ticket);
	if (call) look_at(call);
}

void held_interrupted(struct held *held, uint64_t ticket) {
	struct call *call = call_find(held, ticket);
	if (!call) return;
	look_at(call);
	look_woken(call->look);
}

void held_free(struct held *held) {
	if (!held) return;
	for (struct question *question = held->questions, *next; question; question = next) {
		next = question->next;
		question_free(question);
	}
	event_free(held->turn);
	looks_free(held->looks);
	free(held);
}
