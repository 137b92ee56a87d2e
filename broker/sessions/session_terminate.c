/*
 * Theory of operation. A runner is asked to end its sandbox, and mostly does within milliseconds. One that doesn't
 * within LIMIT_TERMINATE_MS (it is stopped, or waits for a file system that doesn't answer) is ended, and with it the
 * sandbox: bwrap and the portal die with their parent (PR_SET_PDEATHSIG). A process that waits without hearing even
 * SIGKILL (a FUSE server that is gone) stays a parent that lives, so its children are ended first. That they are its
 * own is looked up again once they are held: a number can't have been given out again between.
 */
#include "session_terminate.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/string.h"
#include "sandbox.h"
#include "schema/limits.h"
#include "session.h"
#include "wire/client.h"

enum { CHILDREN_MAX = 8, CHILDREN_BYTES = 4096 };

/* proc_pid_task_tid_children(5); a runner starts its children in its first thread. */
static size_t children_of(pid_t pid, pid_t ret_children[CHILDREN_MAX]) {
	CLEANUP_FREE char *path = string_format("/proc/%d/task/%d/children", (int)pid, (int)pid), *text = NULL;
	size_t count = 0;
	if (file_read(path, CHILDREN_BYTES, &text, NULL, NULL) < 0) return 0;
	for (char *rest = text, *word; count < CHILDREN_MAX && (word = strtok_r(rest, " ", &rest));)
		ret_children[count++] = (pid_t)strtol(word, NULL, 10);
	return count;
}

static bool is_child(pid_t parent, pid_t child) {
	pid_t children[CHILDREN_MAX];
	const size_t count = children_of(parent, children);
	for (size_t i = 0; i < count; i++)
		if (children[i] == child) return true;
	return false;
}

static void end_process(int pidfd) {
	syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0U);
}

void session_end_runner(pid_t runner, int pidfd) {
	struct pollfd ended = {.fd = pidfd, .events = POLLIN};
	pid_t children[CHILDREN_MAX];
	if (poll(&ended, 1, 0) > 0) return;
	const size_t count = children_of(runner, children);
	for (size_t i = 0; i < count; i++) {
		CLEANUP_FD int child = (int)syscall(SYS_pidfd_open, children[i], 0U);
		if (child >= 0 && is_child(runner, children[i])) end_process(child);
	}
	end_process(pidfd);
}

static void on_time_up(evutil_socket_t fd, short what, void *argument) {
	struct session *session = argument;
	(void)fd;
	(void)what;
	struct event event = {.kind = EVENT_REPAIR,
			      .session = session->record.id,
			      .profile = session->subject.profile,
			      .project = session->subject.project,
			      .verdict = -1,
			      .why = (char *)"its runner did not end the sandbox: both were killed",
			      .detail = json_object()};
	struct error error = ERROR_NONE;
	session->record.exit = 128 + SIGKILL;
	sandbox_kill(session->sandbox);
	log_warning("session %lld: %s", (long long)session->record.id, event.why);
	if (broker_note(session->broker, &event, &error) < 0) log_error("recording it: %s", error.message);
}

void session_terminate(struct session *session) {
	static const struct timeval wait = {.tv_sec = LIMIT_TERMINATE_MS / 1000};
	json_t *push = json_object();
	json_object_set_new(push, "session", json_integer(session->record.id));
	client_push(session->client, "terminate", push);
	if (session->terminating) return;
	session->terminating = evtimer_new(session->broker->base, on_time_up, session);
	if (!session->terminating) mem_exhausted();
	event_add(session->terminating, &wait);
}
