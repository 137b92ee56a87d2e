/*
 * Theory of operation. One timer. While nothing is awaited of the runner it is off. Then it stands at the deadline of
 * the oldest that is awaited (or at once, when the runner is stopped: its sandbox must not go on before it); from there
 * on at the next pass of stopping, and once all is stopped at the next look, where the runner's state is sampled: time
 * in which the runner could run counts, such in which it was stopped or frozen doesn't. Process 1 is held by a pidfd,
 * which says when it, and so everything in its PID namespace, has ended (pid_namespaces(7)).
 *
 * A pass that finds all stopped may have overlooked a process that its parent left to process 1 just then, so a second
 * one has to find the same; and while it is stopped another one looks every LOOK_MS, or more rarely where a look takes
 * long. Process 1 is stopped first and goes on last: it would tell its runner of tools that have stopped, which takes
 * it for the user's ^Z.
 *
 * A thread that waits for its runner's answer ends its call before it stops. So before anything is stopped the runner's
 * clearance is withheld (clearances.h), without which the kernel takes no answer that lets a call go on. A runner may
 * be in the middle of such an answer, and wait for a processor there, which it says (clearances.h). It is waited for
 * until it was seen outside of one once, or stopped, which it is outside of all calls; and the call that it has let go
 * on shows in the passes after that. The clearance is given again when all is confirmed. Of a runner that comes back
 * from another connection it is withheld from the beginning, since it may not have heard what the former one was told.
 *
 * No signal stops a process for good: SIGCONT comes from the user, from the kernel for a group whose last parent has
 * ended (setpgid(2)), and from a timer that the tool has set before. So one that went on is stopped again, RESUMED_MAX
 * times in all.
 *
 * A runner whose connection is lost may come back on another one, or is dead, and its sandbox with it
 * (PR_SET_PDEATHSIG), which is waited for like everything else. Until then the sandbox is kept, since what it used up
 * can be revoked meanwhile, and its runner is told when it comes. After a restart the history's rows say who was
 * connected, by a number that another process may have by now: only who is of our user and has mapped a clearance of
 * ours is a runner, and the last row of a number is that runner's.
 *
 * A runner that is back is connected before it has said which its process 1 is, and may be stopped or lost again before
 * it does. What it doesn't confirm until then is awaited of the sandbox that is away, by which the processes are known.
 */
#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/string.h"
#include "clearances.h"
#include "core/broker.h"
#include "schema/limits.h"
#include "session.h"
#include "session_terminate.h"
#include "settling.h"
#include "wire/client.h"

enum {
	TICK_MS = 1000,
	LOOK_MS = 100,   /* between looks at what is stopped */
	LOOK_SHARE = 20, /* a look takes at most so small a part of the time */
	RESUMED_MAX = 2,
	PASS_MS = 5,      /* between passes */
	STILL_PASSES = 2, /* in a row that find all stopped */
	PASSES_MIN = 5,   /* where 500 ms are few passes; processes that multiply faster are ended */
};

static int64_t now_ms(void) {
	return clock_ms(CLOCK_MONOTONIC);
}

static void wait_for(struct sandbox *sandbox, int64_t ms) {
	const struct timeval delay = clock_timeval(ms > 0 ? ms : 0);
	event_add(sandbox->timer, &delay);
}

/* The history */

/* Takes why. */
static void record(const struct sandbox *sandbox, char *why) {
	CLEANUP_FREE char *own = why;
	const struct grant *grant =
		sandbox->awaited_count > 0 ? settling_grant(sandbox->broker, sandbox->awaited[0].number) : NULL;
	/* Borrowed: broker_note frees only the detail. */
	struct event event = {.kind = EVENT_REPAIR,
			      .session = sandbox->id,
			      .profile = sandbox->profile,
			      .project = sandbox->project,
			      .permission = grant ? (char *)grant->permission.name : NULL,
			      .target = grant ? grant->pattern : NULL,
			      .grant = grant ? grant->id : 0,
			      .verdict = -1,
			      .why = own,
			      .detail = json_object()};
	struct error error = ERROR_NONE;
	log_warning("session %lld: %s", (long long)sandbox->id, own);
	if (broker_note(sandbox->broker, &event, &error) < 0) log_error("recording it: %s", error.message);
}

/* The deadline of the oldest; at once, where the runner has no time. */
static void wait_for_oldest(struct sandbox *sandbox) {
	const int64_t due = sandbox->awaited[0].since_ms + LIMIT_CONFIRM_MS;
	wait_for(sandbox, process_is_halted(sandbox->runner) ? 0 : due - now_ms());
}

/* Away, of the same runner: from before its connection was lost; or NULL. */
static struct sandbox *find_former(const struct sandbox *sandbox) {
	struct sandbox *other;
	TAILQ_FOREACH(other, &sandbox->broker->sandboxes, link) {
		if (other != sandbox && other->away && other->runner == sandbox->runner &&
		    !process_has_ended(other->runner_pidfd))
			return other;
	}
	return NULL;
}

/* Behind what is awaited of that one. */
static void move_awaited(struct sandbox *from, struct sandbox *to) {
	for (size_t i = 0; i < from->awaited_count; i++) {
		to->awaited = array_grow(to->awaited, to->awaited_count, sizeof *to->awaited);
		to->awaited[to->awaited_count++] = from->awaited[i];
	}
	from->awaited_count = 0;
	settlings_move_sandbox(from->broker, from, to);
}

/* Its process 1 is not known: what is awaited of it is so of the one that is away. */
static void hand_back(struct sandbox *sandbox, struct sandbox *former) {
	if (!former->command) former->command = string_copy_or_null(sandbox->command);
	move_awaited(sandbox, former);
	if (former->state != SANDBOX_GOES_ON)
		settlings_look(former->broker);
	else if (former->awaited_count > 0)
		wait_for_oldest(former);
}

/* Ending */

void sandbox_kill(struct sandbox *sandbox) {
	if (sandbox->init_pidfd >= 0) syscall(SYS_pidfd_send_signal, sandbox->init_pidfd, SIGKILL, NULL, 0U);
	session_end_runner(sandbox->runner, sandbox->runner_pidfd);
}

/* Takes why. Its death is seen later, by its process 1 or its runner. */
static void end(struct sandbox *sandbox, char *why) {
	record(sandbox, why);
	sandbox->state = SANDBOX_ENDING;
	sandbox->began_ms = now_ms();
	if (sandbox->session) sandbox->session->record.exit = 128 + SIGKILL;
	sandbox_kill(sandbox);
	wait_for(sandbox, TICK_MS);
}

/* May the runner let trapped calls go on? False: that can't be said, and the sandbox is ended. */
static bool set_clearance(struct sandbox *sandbox, bool given) {
	struct error error = ERROR_NONE;
	if (sandbox->clearance == SANDBOX_NO_CLEARANCE) return true;
	if (clearances_write(sandbox->broker->clearances, sandbox->clearance, given, &error) == 0) return true;
	end(sandbox, string_format("ended: that its calls %s can't be told to its runner: %s",
				   given ? "may go on" : "have to wait", error.message));
	return false;
}

static void set_gone(struct sandbox *sandbox) {
	if (sandbox->gone) return;
	sandbox->gone = true;
	sandbox->awaited_count = 0;
	processes_finish(&sandbox->stopped);
	processes_finish(&sandbox->seen);
	event_del(sandbox->timer);
	settlings_forget_sandbox(sandbox->broker, sandbox);
	if (!sandbox->session) sandbox_free(sandbox);
}

/* Where something is awaited its runner is about to say whom it has ended for that, the tool itself perhaps, and to
 * close the session then: there is time for it till the next turn of the timer. */
static void on_ended(evutil_socket_t fd, short what, void *argument) {
	(void)fd;
	(void)what;
	struct sandbox *sandbox = argument;
	sandbox->dead = true;
	if (!sandbox->session || sandbox->awaited_count == 0 || sandbox->state == SANDBOX_ENDING) set_gone(sandbox);
}

/* Stopping */

bool sandbox_is_to_be_killed(const struct sandbox *sandbox) {
	for (size_t i = 0; i < sandbox->awaited_count; i++)
		if (sandbox->awaited[i].kill) return true;
	return false;
}

static void set_stopped(struct sandbox *sandbox) {
	const bool paused = process_is_halted(sandbox->runner);
	sandbox->state = SANDBOX_STOPPED;
	if (!sandbox->noted && sandbox->init != 0)
		record(sandbox, paused ? string_copy("held: it is stopped or frozen with its runner, and withdraws "
						     "before it goes on")
				       : string_format("stopped: its runner did not confirm within %.1f s",
						       LIMIT_CONFIRM_MS / 1000.0));
	sandbox->noted = true;
	sandbox->looked_ms = now_ms();
	settlings_look(sandbox->broker);
	wait_for(sandbox, LOOK_MS);
}

/* Are all stopped? -1: they don't stay so, and are ended. While they are being stopped others may yet make one go on.
 */
static int look(struct sandbox *sandbox) {
	const enum processes_stand stand = processes_stop(sandbox->init, &sandbox->stopped, &sandbox->seen);
	if (stand != PROCESSES_WENT_ON || sandbox->state != SANDBOX_STOPPED || ++sandbox->resumed <= RESUMED_MAX)
		return stand == PROCESSES_STAND;
	end(sandbox, string_copy("ended: it was stopped, since its runner had not confirmed, and went on by itself"));
	return -1;
}

/* Of all that begins after the clearance was withheld the kernel takes nothing. */
static bool is_answering(const struct sandbox *sandbox) {
	return clearances_are_in_use(sandbox->broker->clearances, sandbox->clearance) &&
	       process_has_moving(sandbox->runner);
}

static void stop_pass(struct sandbox *sandbox) {
	sandbox->passes++;
	if (sandbox->init == 0) { /* nothing runs that could be stopped, and nothing will before it has */
		set_stopped(sandbox);
		event_del(sandbox->timer);
		return;
	}
	sandbox->answered = sandbox->answered || !is_answering(sandbox); /* before the look */
	sandbox->still = look(sandbox) > 0 && sandbox->answered ? sandbox->still + 1 : 0;
	if (sandbox->still == STILL_PASSES)
		set_stopped(sandbox);
	else if (sandbox->passes >= PASSES_MIN && now_ms() - sandbox->began_ms > LIMIT_STOP_MS)
		end(sandbox, string_copy("ended: its runner did not confirm, and that all its processes are stopped "
					 "could not be shown"));
	else
		wait_for(sandbox, PASS_MS);
}

static void stop_now(struct sandbox *sandbox) {
	sandbox->state = SANDBOX_STOPPING;
	sandbox->began_ms = now_ms();
	sandbox->passes = sandbox->still = 0;
	sandbox->answered = false;
	if (set_clearance(sandbox, false)) stop_pass(sandbox);
}

static void on_deadline(struct sandbox *sandbox) {
	struct sandbox *former = sandbox->init == 0 ? find_former(sandbox) : NULL;
	if (former) {
		hand_back(sandbox, former);
		return;
	}
	const bool paused = process_is_halted(sandbox->runner);
	sandbox->ran_ms = paused ? 0 : LIMIT_CONFIRM_MS;
	sandbox->noted = false;
	sandbox->resumed = 0;
	const bool kill = !paused && sandbox_is_to_be_killed(sandbox);
	if (kill && sandbox->init == 0 && sandbox->session) session_terminate(sandbox->session);
	if (kill && sandbox->init != 0)
		end(sandbox,
		    string_format("ended: its runner did not confirm within %.1f s that the holders of what was "
				  "taken are ended",
				  LIMIT_CONFIRM_MS / 1000.0));
	else
		stop_now(sandbox);
}

static void go_on(struct sandbox *sandbox) {
	const bool told = sandbox->noted && sandbox->init != 0;
	processes_continue(&sandbox->stopped);
	processes_finish(&sandbox->seen);
	sandbox->state = SANDBOX_GOES_ON;
	if (told) record(sandbox, string_copy("continued: its runner has confirmed"));
}

/* The time since the last look, in which it was stopped; what sbxd itself slept doesn't count. */
static void count_time(struct sandbox *sandbox) {
	const int64_t now = now_ms(), since = now - sandbox->looked_ms;
	if (!process_is_halted(sandbox->runner)) sandbox->ran_ms += since < TICK_MS ? since : TICK_MS;
	sandbox->looked_ms = now;
}

static void look_later(struct sandbox *sandbox) {
	const int64_t took = now_ms() - sandbox->looked_ms;
	wait_for(sandbox, took * LOOK_SHARE > LOOK_MS ? took * LOOK_SHARE : LOOK_MS);
}

static void on_look(struct sandbox *sandbox) {
	count_time(sandbox);
	const int still = look(sandbox);
	if (still <= 0) {
		if (still == 0) stop_now(sandbox);
		return;
	}
	if (sandbox->ran_ms >= LIMIT_CONFIRM_END_MS) {
		end(sandbox,
		    string_format("ended: its runner did not confirm within %d s", LIMIT_CONFIRM_END_MS / 1000));
	} else if (process_has_ended(sandbox->runner_pidfd)) {
		end(sandbox, string_copy("ended: its runner has ended without it"));
	} else {
		settlings_look(sandbox->broker);
		look_later(sandbox);
	}
}

static void on_still_alive(struct sandbox *sandbox) {
	sandbox_kill(sandbox);
	settlings_look(sandbox->broker);
	wait_for(sandbox, TICK_MS);
}

static void on_timer(evutil_socket_t fd, short what, void *argument) {
	(void)fd;
	(void)what;
	struct sandbox *sandbox = argument;
	if (sandbox->dead) {
		set_gone(sandbox);
		return;
	}
	switch (sandbox->state) {
	case SANDBOX_GOES_ON:
		on_deadline(sandbox);
		break;
	case SANDBOX_STOPPING:
		stop_pass(sandbox);
		break;
	case SANDBOX_STOPPED:
		on_look(sandbox);
		break;
	case SANDBOX_ENDING:
		on_still_alive(sandbox);
		break;
	}
}

/* The confirmations that are awaited */

void sandbox_await(struct sandbox *sandbox, int64_t number, bool kill) {
	if (sandbox->gone) return;
	sandbox->awaited = array_grow(sandbox->awaited, sandbox->awaited_count, sizeof *sandbox->awaited);
	sandbox->awaited[sandbox->awaited_count++] =
		(struct awaited){.number = number, .since_ms = now_ms(), .kill = kill};
	if (sandbox->dead || sandbox->state != SANDBOX_GOES_ON) return;
	if (process_is_halted(sandbox->runner))
		wait_for(sandbox, 0);
	else if (sandbox->awaited_count == 1)
		wait_for(sandbox, LIMIT_CONFIRM_MS);
}

static bool is_confirmed(const struct sandbox *sandbox, const struct awaited *awaited, int64_t number) {
	return awaited->number == number || (number == sandbox->whole && awaited->number < number);
}

void sandbox_confirm(struct sandbox *sandbox, int64_t number) {
	const size_t before = sandbox->awaited_count;
	size_t kept = 0;
	for (size_t i = 0; i < before; i++) {
		const struct awaited awaited = sandbox->awaited[i];
		if (is_confirmed(sandbox, &awaited, number))
			settlings_confirm(sandbox->broker, sandbox, awaited.number);
		else
			sandbox->awaited[kept++] = awaited;
	}
	sandbox->awaited_count = kept;
	if (kept == before || sandbox->dead || sandbox->state == SANDBOX_ENDING) return;
	if (kept > 0) {
		if (sandbox->state == SANDBOX_GOES_ON) wait_for_oldest(sandbox);
		return;
	}
	event_del(sandbox->timer);
	if (set_clearance(sandbox, true) && sandbox->state != SANDBOX_GOES_ON) go_on(sandbox);
}

/* Coming and going */

/* Takes the descriptor. */
static struct sandbox *sandbox_of(struct broker *broker, pid_t runner, int pidfd) {
	struct sandbox *sandbox = mem_new(struct sandbox);
	sandbox->broker = broker;
	sandbox->runner = runner;
	sandbox->runner_pidfd = pidfd;
	sandbox->clearance = SANDBOX_NO_CLEARANCE;
	sandbox->init_pidfd = -1;
	sandbox->timer = evtimer_new(broker->base, on_timer, sandbox);
	if (!sandbox->timer) mem_exhausted();
	TAILQ_INSERT_TAIL(&broker->sandboxes, sandbox, link);
	return sandbox;
}

int sandbox_new(struct client *runner, bool again, int64_t answering, struct sandbox **ret_sandbox,
		struct error *error) {
	const struct clearances_follower follower = {.runner = runner->pid, .answering = answering};
	CLEANUP_FD int pidfd = fcntl(runner->pidfd, F_DUPFD_CLOEXEC, 0);
	size_t clearance;
	if (pidfd < 0) return error_errno(error, "holding the runner's process");
	int r = clearances_take(runner->broker->clearances, &follower, !again, &clearance, error);
	if (r < 0) return r;
	struct sandbox *sandbox = sandbox_of(runner->broker, runner->pid, fd_steal(&pidfd));
	sandbox->clearance = clearance;
	sandbox->past_unknown = again;
	*ret_sandbox = sandbox;
	return 0;
}

static int watch(struct sandbox *sandbox, int pidfd, struct error *error) {
	sandbox->ended = event_new(sandbox->broker->base, pidfd, EV_READ, on_ended, sandbox);
	if (sandbox->ended && event_add(sandbox->ended, NULL) == 0) return 0;
	return error_set(error, EIO, "a process can't be watched");
}

int sandbox_expect(struct broker *broker, const struct session_record *lost, struct error *error) {
	const pid_t runner = (pid_t)lost->pid;
	CLEANUP_FD int pidfd = (int)syscall(SYS_pidfd_open, runner, 0U);
	/* None has the number, or a thread has (pidfd_open(2)). */
	if (pidfd < 0 && (errno == ESRCH || errno == EINVAL || errno == ENOENT)) return 0;
	if (pidfd < 0) return error_errno(error, "holding process %d", (int)runner);
	if (process_has_ended(pidfd) || process_is_foreign(runner) || !clearances_has_follower(runner)) return 0;
	struct sandbox *sandbox = sandbox_of(broker, runner, fd_steal(&pidfd));
	sandbox->id = lost->id;
	sandbox->profile = string_copy(lost->profile);
	sandbox->project = string_copy(lost->project);
	sandbox->away = sandbox->past_unknown = true;
	int r = watch(sandbox, sandbox->runner_pidfd, error);
	if (r < 0) sandbox_free(sandbox);
	return r;
}

void sandbox_free(struct sandbox *sandbox) {
	if (!sandbox) return;
	TAILQ_REMOVE(&sandbox->broker->sandboxes, sandbox, link);
	settlings_forget_sandbox(sandbox->broker, sandbox);
	if (sandbox->clearance != SANDBOX_NO_CLEARANCE)
		clearances_leave(sandbox->broker->clearances, sandbox->clearance, fd_steal(&sandbox->runner_pidfd));
	if (sandbox->ended) event_free(sandbox->ended);
	event_free(sandbox->timer);
	fd_close(sandbox->init_pidfd);
	fd_close(sandbox->runner_pidfd);
	processes_finish(&sandbox->stopped);
	processes_finish(&sandbox->seen);
	free(sandbox->awaited);
	free(sandbox->spent.items);
	free(sandbox->profile);
	free(sandbox->project);
	free(sandbox->command);
	free(sandbox);
}

void sandbox_name(struct sandbox *sandbox, struct session *session) {
	sandbox->session = session;
	sandbox->id = session->record.id;
	sandbox->profile = string_copy(session->subject.profile);
	sandbox->project = string_copy(session->subject.project);
	sandbox->command = string_copy(session->record.command);
}

/* Of a connection that was lost: the same process 1, which lives. */
static struct sandbox *find_away(const struct sandbox *sandbox) {
	struct sandbox *other;
	TAILQ_FOREACH(other, &sandbox->broker->sandboxes, link) {
		if (other->away && other->init == sandbox->init) return other;
	}
	return NULL;
}

static void take_awaited(struct sandbox *sandbox, struct sandbox *away) {
	move_awaited(sandbox, away);
	free(sandbox->awaited);
	sandbox->awaited = STEAL(away->awaited);
	sandbox->awaited_count = away->awaited_count;
	settlings_move_sandbox(sandbox->broker, away, sandbox);
}

/* It was with this broker all the time. */
static void take_spent(struct sandbox *sandbox, const struct sandbox *away) {
	for (size_t i = 0; i < away->spent.count; i++) sandbox_note_spent(sandbox, away->spent.items[i]);
	sandbox->past_unknown = away->past_unknown;
}

static void take_over(struct sandbox *sandbox, struct sandbox *away) {
	take_awaited(sandbox, away);
	take_spent(sandbox, away);
	sandbox->stopped = away->stopped;
	away->stopped = (struct processes){0};
	sandbox->state = away->state;
	sandbox->began_ms = away->began_ms;
	sandbox->ran_ms = away->ran_ms;
	sandbox->looked_ms = away->looked_ms;
	sandbox->noted = away->noted;
	sandbox_free(away);
	if (sandbox->state != SANDBOX_GOES_ON)
		wait_for(sandbox, 0);
	else if (sandbox->awaited_count > 0)
		wait_for_oldest(sandbox);
}

/* Its runner has said which its process 1 is: what was known of it by its row alone is of no use any more. */
static void drop_expected(struct sandbox *sandbox, bool running) {
	struct sandbox *former = find_former(sandbox);
	if (!former || former->init != 0) return;
	if (running) take_awaited(sandbox, former); /* else nobody has anything */
	sandbox_free(former);
	if (sandbox->awaited_count > 0) wait_for_oldest(sandbox);
}

/* Process 1 isn't a user's to stop: a former sbxd has stopped it. */
static void take_over_stopped(struct sandbox *sandbox) {
	processes_list(sandbox->init, &sandbox->stopped);
	sandbox->state = SANDBOX_STOPPED;
	sandbox->noted = true;
	sandbox->looked_ms = now_ms();
	wait_for(sandbox, LOOK_MS);
}

void sandbox_take_up(struct sandbox *sandbox) {
	struct sandbox *away = find_away(sandbox);
	if (away)
		take_over(sandbox, away);
	else if (process_is_stopped(sandbox->init))
		take_over_stopped(sandbox);
}

static int hold_init(struct sandbox *sandbox, pid_t init, struct error *error) {
	CLEANUP_FD int pidfd = (int)syscall(SYS_pidfd_open, init, 0U);
	if (pidfd < 0) return error_errno(error, "holding process %d", (int)init);
	if (!process_is_below(init, sandbox->runner))
		return error_set(error, EPERM, "process %d is none of the runner's", (int)init);
	int r = watch(sandbox, pidfd, error);
	if (r < 0) return r;
	sandbox->init = init;
	sandbox->init_pidfd = fd_steal(&pidfd);
	return 0;
}

int sandbox_begin(struct session *session, pid_t init, bool running, struct error *error) {
	struct sandbox *sandbox = session->sandbox;
	if (sandbox->init != 0) return error_set(error, EEXIST, "that the sandbox begins was said already");
	int r = hold_init(sandbox, init, error);
	if (r < 0) return r;
	drop_expected(sandbox, running);
	if (sandbox->state == SANDBOX_STOPPED)
		stop_now(sandbox);
	else if (!running)
		set_clearance(sandbox, true);
	return 0;
}

static bool is_awaited(const struct sandbox *sandbox) {
	return sandbox->awaited_count > 0 || settlings_have_sandbox(sandbox->broker, sandbox);
}

void sandbox_leave(struct sandbox *sandbox, bool lost) {
	struct sandbox *former = lost && sandbox->init == 0 ? find_former(sandbox) : NULL;
	const bool ended = sandbox->init == 0 || process_has_ended(sandbox->init_pidfd);
	if (former) hand_back(sandbox, former);
	sandbox->session = NULL;
	sandbox->away = lost && !ended;
	if (ended && !sandbox->gone)
		set_gone(sandbox);
	else if (sandbox->gone || (!lost && !is_awaited(sandbox)))
		sandbox_free(sandbox);
}

bool sandbox_is_lost(const struct sandbox *sandbox) {
	return sandbox->away && sandbox->init != 0;
}

void sandbox_kill_lost(struct sandbox *sandbox) {
	record(sandbox, string_copy("killed: its runner is not connected"));
	sandbox_kill(sandbox);
}

/* The words for its state */

size_t sandbox_processes(const struct sandbox *sandbox) {
	return sandbox->init != 0 && !sandbox->gone ? processes_count(sandbox->init) : 0;
}

const char *sandbox_doing(const struct sandbox *sandbox) {
	if (sandbox->state == SANDBOX_ENDING) return sandbox->gone ? "ended" : "ending";
	if (sandbox->gone) return "gone";
	if (sandbox->state != SANDBOX_STOPPED) return "unknown";
	if (sandbox->init == 0) return sandbox->away ? "unknown" : "starting";
	return process_is_halted(sandbox->runner) ? "paused" : "stopped";
}

bool sandbox_is_answer(const struct sandbox *sandbox) {
	return sandbox->gone || sandbox->state == SANDBOX_STOPPED ||
	       (sandbox->state == SANDBOX_ENDING && now_ms() - sandbox->began_ms >= TICK_MS);
}

void sandbox_note_spent(struct sandbox *sandbox, int64_t grant) {
	struct body_ids *ids = &sandbox->spent;
	ids->items = array_grow(ids->items, ids->count, sizeof *ids->items);
	ids->items[ids->count++] = grant;
}

bool sandboxes_are_awaited(const struct broker *broker) {
	const struct sandbox *sandbox;
	TAILQ_FOREACH(sandbox, &broker->sandboxes, link) {
		if (!sandbox->session && is_awaited(sandbox)) return true;
	}
	return false;
}

size_t sandboxes_away(const struct broker *broker) {
	const struct sandbox *sandbox;
	size_t count = 0;
	TAILQ_FOREACH(sandbox, &broker->sandboxes, link) {
		count += sandbox->away && !process_has_ended(sandbox->runner_pidfd);
	}
	return count;
}

void sandboxes_free(struct broker *broker) {
	for (struct sandbox *sandbox = TAILQ_FIRST(&broker->sandboxes), *next; sandbox; sandbox = next) {
		next = TAILQ_NEXT(sandbox, link);
		sandbox_free(sandbox);
	}
}
