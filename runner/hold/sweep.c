/*
 * Theory of operation. A pass goes through all that descend from process 1. What one process holds while it is looked
 * at another may hold a moment later: a child that it has left (fork, then exit), a descriptor that was received
 * (SCM_RIGHTS, pidfd_getfd(2)) by one that was looked at before. So one pass proves nothing. A pass is quiet when it
 * ended nobody, nobody who had been ended was still on the way out, nobody on its list had gone meanwhile, and no
 * message with descriptors waited anywhere. Several quiet passes in a row are what counts: more of them where there are
 * Unix sockets, since a descriptor that is sent to and fro is seen by each look with even chances at worst.
 *
 * Descriptors in a message can't be looked at. A program that is well takes its messages: who has one waiting in
 * SWEEP_UNSEEN_LOOKS passes in a row counts as the holder of a folder. So does a process that lives and can't be looked
 * at in as many passes, such as one whose program is there to be run but not to be read.
 */
#include "sweep.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "calls/process.h"
#include "schema/limits.h"

enum {
	SWEEP_QUIET = 3,
	SWEEP_QUIET_SOCKETS = 8,
	SWEEP_UNSEEN_LOOKS = 10,
	SWEEP_TURN_MS = 5,
};

struct sweep {
	pid_t init;
	struct taken taken;
	bool files;
	struct pids pids; /* of this pass */
	size_t at;
	bool began, stirred, sockets;
	unsigned quiet;
	struct pids dead, dead_before; /* zombies of this pass, and of the one before */
	struct pids unseen;            /* once for each pass that found one with HOLDS_UNSEEN */
	struct leaving {
		pid_t pid;
		int process; /* pidfd */
	} * leaving;         /* were ended, and are not gone yet */
	size_t leaving_count;
	struct holders left, ended;
};

struct sweep *sweep_new(pid_t init, struct taken *taken, bool files) {
	struct sweep *sweep = mem_new(struct sweep);
	*sweep = (struct sweep){.init = init, .taken = *taken, .files = files};
	*taken = (struct taken){0};
	return sweep;
}

void sweep_free(struct sweep *sweep) {
	if (!sweep) return;
	for (size_t i = 0; i < sweep->leaving_count; i++) fd_close(sweep->leaving[i].process);
	free(sweep->leaving);
	taken_finish(&sweep->taken);
	pids_finish(&sweep->pids);
	pids_finish(&sweep->dead);
	pids_finish(&sweep->dead_before);
	pids_finish(&sweep->unseen);
	holders_finish(&sweep->left);
	holders_finish(&sweep->ended);
	free(sweep);
}

const struct holders *sweep_left(const struct sweep *sweep) {
	return &sweep->left;
}

const struct holders *sweep_ended(const struct sweep *sweep) {
	return &sweep->ended;
}

/* Those that are gone have none of their descriptors any more (pidfd_open(2): poll). */
static void forget_gone(struct sweep *sweep) {
	for (size_t i = sweep->leaving_count; i-- > 0;) {
		struct pollfd poller = {.fd = sweep->leaving[i].process, .events = POLLIN};
		if (poll(&poller, 1, 0) <= 0) continue;
		fd_close(sweep->leaving[i].process);
		sweep->leaving[i] = sweep->leaving[--sweep->leaving_count];
	}
}

static bool is_leaving(const struct sweep *sweep, pid_t pid) {
	for (size_t i = 0; i < sweep->leaving_count; i++)
		if (sweep->leaving[i].pid == pid) return true;
	return false;
}

/* How often in a row. */
static unsigned times_unseen(struct sweep *sweep, pid_t pid, bool again) {
	unsigned count = 0;
	size_t kept = 0;
	if (again) pids_add(&sweep->unseen, pid);
	for (size_t i = 0; i < sweep->unseen.count; i++) {
		const bool found = sweep->unseen.items[i] == pid;
		count += found;
		if (again || !found) sweep->unseen.items[kept++] = sweep->unseen.items[i];
	}
	sweep->unseen.count = kept;
	return count;
}

static bool must_end(const struct sweep *sweep, const struct holding *holding) {
	return holding->holds >= HOLDS_UNSEEN || (sweep->files && holding->holds == HOLDS_FILE);
}

/* The number may be another process's by now: what counts is what is seen once the pidfd is there. */
static void end_it(struct sweep *sweep, pid_t pid) {
	CLEANUP_HOLDING struct holding still = {0};
	CLEANUP_FD int process = (int)syscall(SYS_pidfd_open, pid, 0U);
	if (process < 0 || !process_is_in(pid, sweep->init)) return;
	holder_look(pid, &sweep->taken, &still);
	if (!must_end(sweep, &still)) return;
	CLEANUP_FREE char *command = process_name(pid); /* while it has one */
	if (syscall(SYS_pidfd_send_signal, process, SIGKILL, NULL, 0U) < 0) return;
	holders_add(&sweep->ended, pid, STEAL(command), &still);
	sweep->leaving = array_grow(sweep->leaving, sweep->leaving_count, sizeof *sweep->leaving);
	sweep->leaving[sweep->leaving_count++] = (struct leaving){pid, fd_steal(&process)};
}

/* Who had ended when it was looked at may have left a child that the list lacks; not who had before the list was made.
 */
static void note_dead(struct sweep *sweep, pid_t pid) {
	sweep->stirred |= !pids_have(&sweep->dead_before, pid);
	pids_add(&sweep->dead, pid);
}

static void look_at(struct sweep *sweep, pid_t pid) {
	CLEANUP_HOLDING struct holding holding = {0};
	if (is_leaving(sweep, pid)) {
		sweep->stirred = true;
		return;
	}
	if (process_is_in(pid, sweep->init)) holder_look(pid, &sweep->taken, &holding);
	sweep->sockets |= holding.sockets;
	const unsigned unseen = times_unseen(sweep, pid, holding.holds == HOLDS_UNSEEN);
	if (holding.holds == HOLDS_NOTHING) {
		if (process_has_ended(pid)) note_dead(sweep, pid);
		return;
	}
	const bool ends = must_end(sweep, &holding);
	sweep->stirred |= ends;
	if (holding.holds == HOLDS_UNSEEN && unseen < SWEEP_UNSEEN_LOOKS) return;
	if (ends)
		end_it(sweep, pid);
	else
		holders_add(&sweep->left, pid, process_name(pid), &holding);
}

/* False: there is no sandbox any more. */
static bool begin_pass(struct sweep *sweep) {
	forget_gone(sweep);
	holders_finish(&sweep->left);
	pids_finish(&sweep->pids);
	pids_finish(&sweep->dead_before);
	sweep->dead_before = sweep->dead;
	sweep->dead = (struct pids){0};
	sweep->stirred = sweep->leaving_count > 0;
	sweep->began = true;
	sweep->at = 0;
	sweep->stirred |= !processes_add_children(&sweep->pids, sweep->init);
	return !process_has_ended(sweep->init);
}

/* More than can be listed may hold it, too. */
static enum sweep_state end_pass(struct sweep *sweep) {
	const bool quiet = !sweep->stirred && sweep->pids.count < LIMIT_HOLDERS;
	sweep->began = false;
	sweep->quiet = quiet ? sweep->quiet + 1 : 0;
	if (sweep->quiet == (sweep->sockets ? SWEEP_QUIET_SOCKETS : SWEEP_QUIET)) return SWEEP_DONE;
	return quiet ? SWEEP_SOON : SWEEP_LATER;
}

enum sweep_state sweep_turn(struct sweep *sweep) {
	const int64_t end = clock_ms(CLOCK_MONOTONIC) + SWEEP_TURN_MS;
	if (taken_is_empty(&sweep->taken)) return SWEEP_DONE;
	if (!sweep->began && !begin_pass(sweep)) return SWEEP_DONE;
	while (sweep->at < sweep->pids.count) {
		const pid_t pid = sweep->pids.items[sweep->at++];
		sweep->stirred |= !processes_add_children(&sweep->pids, pid);
		look_at(sweep, pid);
		if (clock_ms(CLOCK_MONOTONIC) >= end) return SWEEP_SOON;
	}
	return end_pass(sweep);
}
