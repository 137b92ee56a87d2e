#include <signal.h>
#include <unistd.h>

#include "blocked.h"
#include "hold/live.h"
#include "last_words.h"
#include "run_private.h"

static void free_event(struct event **event) {
	if (*event) event_free(*event);
	*event = NULL;
}

static void on_no_patience(evutil_socket_t number, short what, void *argument) {
	struct run *run = argument;
	(void)number, (void)what;
	run->killed = true;
}

static bool was_killed(const struct run *run) {
	return run->timed_out || run->status > 128;
}

/* What the tool wrote last, and what we say of it, is not to be seen over another run's question either. Who has
 * nothing to say ends. */
static void await_others(struct run *run) {
	static const int numbers[] = {SIGINT, SIGTERM, SIGQUIT};
	struct event *signals[ARRAY_LENGTH(numbers)];
	free_event(&run->reports); /* its other end has gone, which poll(2) would say for ever */
	for (size_t i = 0; i < ARRAY_LENGTH(numbers); i++) {
		signals[i] = evsignal_new(run->base, numbers[i], on_no_patience, run);
		event_add(signals[i], NULL);
	}
	while (pause_is_on(run->pause) && outlets_have_more(&run->outlets, was_killed(run)) && !run->hung_up &&
	       !run->killed)
		if (event_base_loop(run->base, EVLOOP_ONCE) < 0) break;
	for (size_t i = 0; i < ARRAY_LENGTH(signals); i++) event_free(signals[i]);
}

/* It ends while another run's question stands: what would be written now would be seen over that. */
static bool is_unseen(const struct run *run) {
	return run->pause && pause_is_on(run->pause);
}

/* Nothing of the sandbox lives after this, and all has been told that the session is to know. */
static void stop(struct run *run) {
	const bool unseen = is_unseen(run);
	free_event(&run->reports);
	free_event(&run->timeout);
	free_event(&run->grace);
	pause_without_asker(run->pause);
	asker_free(run->asker);
	endings_free(run->endings);
	ahead_free(run->ahead);
	keeper_stop(run->keeper);
	if (run->outlets.terminal && !unseen) terminal_drain(run->outlets.terminal, was_killed(run));
	launch_end(run->launch);
	terminal_free(run->outlets.terminal);
	job_free(run->job);
	run->hung_up |= hangup_has_come(run->hangup); /* the tool may be quicker to end */
	if (run->hangup) hangup_watch(run->hangup, NULL, NULL);
	network_stop(run->network);
	keeper_gone(run->keeper);
	run->asker = NULL;
	run->endings = NULL;
	run->ahead = NULL;
	run->outlets.terminal = NULL;
	run->job = NULL;
}

static void on_late_ended(void *context, const struct session_ended *ended) {
	const struct run *run = context;
	session_settle_nothing(run->session, ended->settle);
}

static void on_late_sleep(void *context, bool sleeping, int64_t settle) {
	const struct run *run = context;
	if (sleeping) session_settle_nothing(run->session, settle);
}

/* Nothing of the sandbox is left, but some last words, while another run's question stands. They are kept until that
 * has ended, or are not said at all. */
static void await_others_with_words(struct run *run) {
	const struct session_events events = {.context = run,
					      .ended = on_late_ended,
					      .sleep = on_late_sleep,
					      .terminate = run_on_terminate,
					      .hold = run_on_hold};
	session_serve_end(run->session, &events);
	hangup_watch(run->hangup, run_on_hangup, run);
	await_others(run);
	hangup_watch(run->hangup, NULL, NULL);
	session_pause(run->session);
	if (is_unseen(run)) own_lines_drop(run->outlets.own_lines);
}

/* The session and what was found out are left after this. */
void run_take_down(struct run *run) {
	stop(run);
	pause_free(run->pause);
	run->pause = NULL;
	keeper_free(run->keeper);
	run->keeper = NULL;
	launch_free(run->launch);
	run->launch = NULL;
	limits_finish(&run->limits);
}

void run_finish(struct run *run) {
	run_take_down(run);
	output_free(run->outlets.output);
	own_lines_free(run->outlets.own_lines);
	network_free(run->network);
	servers_free(run->servers);
	for (int i = 0; i < PERMISSION_KIND_COUNT; i++) denied_finish(&run->denied[i]);
	findings_finish(&run->findings);
	kept_finish(&run->kept);
	scene_finish(&run->scene);
	session_free(run->session); /* may wait: last */
	hangup_free(run->hangup);
	if (run->base) event_base_free(run->base);
}

static void say_last_words(struct run *run, const struct blocked *blocked) {
	CLEANUP_FREE char *kept = kept_line(&run->kept, &run->scene);
	keeper_free(STEAL(run->keeper));
	last_words(blocked, &run->findings, kept);
}

/* Before the session's end, since the history is told. */
static void look_back(struct run *run) {
	struct keeper_made made;
	keeper_made(run->keeper, &made);
	const struct findings_options options = {
		.scene = &run->scene, .plan = live_plan(keeper_live(run->keeper)), .made = &made, .since = &run->since};
	run->findings.session = session_id(run->session);
	findings_look(&options, &run->findings);
	findings_tell(&run->findings, run->session, made.told);
	strings_finish(&made.paths);
}

void run_end(struct run *run, int *ret_status) {
	await_others(run);
	stop(run);
	look_back(run);
	const struct blocked blocked = {.scene = &run->scene,
					.gate = network_gate(run->network),
					.denied = run->denied,
					.session = session_id(run->session)};
	*ret_status = last_words_status(&blocked, run->status);
	const bool unseen = is_unseen(run);
	if (unseen) {
		say_last_words(run, &blocked);
		await_others_with_words(run);
	}
	session_close(run->session, *ret_status, run->hung_up); /* the broker works, and bwrap ends, while we speak */
	if (!is_unseen(run)) output_drain(run->outlets.output, !run->hung_up && !run->killed && !run->timed_out);
	if (!unseen) say_last_words(run, &blocked);
}
