/*
 * Theory of operation.
 *
 * A job is a check that waits for one program. It is sent to the executor when its turn comes, and at most
 * LIMIT_EXEC_RUNNING of them are out. What comes back is put into the check as the program's answer, and the check goes
 * on: the stack is walked anew, and may need the next program. A job whose check is no longer wanted stays until the
 * executor's report, since till then the program holds its place.
 */
#include "exec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/string.h"
#include "base/text.h"
#include "exec_verdict.h"
#include "exec_wire.h"
#include "policies/reload.h"
#include "schema/limits.h"
#include "wire/client.h"

struct job {
	TAILQ_ENTRY(job) link;
	uint64_t id;              /* once it was sent */
	struct checking checking; /* without a client: nobody wants it any more */
	struct strings argv;
	char *command; /* stack_exec.text */
	int64_t timeout_ms;
};

TAILQ_HEAD(job_list, job);

struct exec {
	struct event_base *base; /* borrowed */
	exec_go_on *go_on;
	int socket; /* -1: there is no executor */
	struct event *readable, *writable;
	struct job_list waiting, running;
	size_t waiting_count, running_count;
	uint64_t last_id;
};

static const char no_executor[] =
	"there is no process that runs programs (sbxd starts it when /etc/sbx/sbx.yaml is there): end sbxd, the next "
	"command starts it anew";

/* Jobs */

static void job_free(struct job *job) {
	checking_finish(&job->checking);
	strings_finish(&job->argv);
	free(job->command);
	free(job);
}

/* Its check is the caller's from here on. */
static struct checking job_release(struct job *job) {
	struct checking checking = job->checking;
	job->checking = (struct checking){0};
	if (checking.client) checking.client->pending--;
	return checking;
}

static void answer(const struct exec *exec, struct job *job, struct stack_exec_answer said) {
	struct checking checking = job_release(job);
	if (!checking.client) {
		checking_finish(&checking);
		free(said.why);
		job_free(job);
		return;
	}
	said.command = STEAL(job->command);
	stack_exec_answers_add(&checking.said, said);
	job_free(job);
	/* What has changed meanwhile counts. */
	reload_now(checking.client->broker->reload);
	exec->go_on(&checking);
}

static struct stack_exec_answer failure(const char *why) {
	return (struct stack_exec_answer){.effect = EFFECT_DENY, .failed = true, .why = string_copy(why)};
}

/* Reports */

/* Why the executor didn't run it. What a program itself wrote to stderr is for the log alone: it may hold all of the
 * request, which users' messages and the history don't. */
static char *last_words(const struct exec_report *report, const char *errors) {
	if (report->errors_size == 0) return string_copy("");
	if (report->outcome != EXEC_REFUSED) return string_copy("; what it says is in sbxd.log");
	CLEANUP_FREE char *text = string_copy_bytes(errors, report->errors_size);
	CLEANUP_FREE char *shown = text_visible_cut(text, 160);
	return string_format(": %s", shown);
}

static char *describe_end(const struct job *job, const struct exec_report *report) {
	CLEANUP_FREE char *within = duration_format(job->timeout_ms);
	switch ((enum exec_outcome)report->outcome) {
	case EXEC_ENDED:
		return string_format("it ended with status %d", report->number);
	case EXEC_KILLED:
		return string_format("it was killed by signal %d", report->number);
	case EXEC_TIMED_OUT:
		return string_format("it did not answer within %s", within);
	case EXEC_TOO_LONG:
		return string_format("it wrote more than %d bytes", LIMIT_EXEC_OUTPUT);
	case EXEC_REFUSED:
	case EXEC_CANCELLED:
		break;
	}
	return string_copy("it was not run");
}

static struct stack_exec_answer explain_failure(const struct job *job, const struct exec_report *report,
						const char *words) {
	CLEANUP_FREE char *end = describe_end(job, report);
	CLEANUP_FREE char *why = string_format("%s%s", end, words);
	return failure(why);
}

static struct stack_exec_answer read_answer(const struct job *job, const struct exec_report *report,
					    const char *bytes) {
	const char *errors = bytes + report->output_size;
	CLEANUP_FREE char *words = last_words(report, errors);
	if (report->errors_size > 0 && report->outcome != EXEC_REFUSED) {
		CLEANUP_FREE char *all = string_copy_bytes(errors, report->errors_size);
		CLEANUP_FREE char *shown = text_visible(all);
		log_warning("%s: %s", job->argv.items[0], shown);
	}
	if (report->outcome != EXEC_ENDED || report->number != 0) return explain_failure(job, report, words);
	struct stack_exec_answer said = {0};
	struct error error = ERROR_NONE;
	if (exec_verdict_read(bytes, report->output_size, &said, &error) == 0) return said;
	return failure(error.message);
}

static void send_next(struct exec *exec);

/* Nothing will be run any more by this sbxd. */
static void lose(struct exec *exec) {
	struct job_list all = TAILQ_HEAD_INITIALIZER(all);
	log_error("%s", no_executor);
	event_del(exec->readable);
	event_del(exec->writable);
	fd_close(exec->socket);
	exec->socket = -1;
	TAILQ_CONCAT(&all, &exec->running, link);
	TAILQ_CONCAT(&all, &exec->waiting, link);
	exec->running_count = exec->waiting_count = 0;
	for (struct job *job; (job = TAILQ_FIRST(&all));) {
		TAILQ_REMOVE(&all, job, link);
		answer(exec, job, failure(no_executor));
	}
}

static struct job *find_running(const struct exec *exec, uint64_t id) {
	struct job *job;
	TAILQ_FOREACH(job, &exec->running, link) {
		if (job->id == id) return job;
	}
	return NULL;
}

static void take_report(struct exec *exec, const char *bytes, size_t size) {
	struct exec_report report;
	if (size < sizeof report) return;
	memcpy(&report, bytes, sizeof report);
	struct job *job = find_running(exec, report.id);
	if (!job || size != sizeof report + report.output_size + report.errors_size) return;
	TAILQ_REMOVE(&exec->running, job, link);
	exec->running_count--;
	answer(exec, job, read_answer(job, &report, bytes + sizeof report));
}

static void on_readable(evutil_socket_t fd, short what, void *argument) {
	(void)what;
	struct exec *exec = argument;
	static char bytes[EXEC_REPORT_MAX];
	ssize_t got = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
	if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
	if (got <= 0) {
		lose(exec);
		return;
	}
	take_report(exec, bytes, (size_t)got);
	send_next(exec);
}

/* Orders */

static int send_order(const struct exec *exec, const struct job *job) {
	CLEANUP_STRING struct string words = {0};
	for (size_t i = 0; i < job->argv.count; i++)
		string_append_bytes(&words, job->argv.items[i], strlen(job->argv.items[i]) + 1);
	CLEANUP_FREE char *input = exec_verdict_ask(&job->checking.request);
	struct exec_order order = {.id = job->id,
				   .timeout_ms = (uint32_t)job->timeout_ms,
				   .words = (uint32_t)job->argv.count,
				   .command_size = (uint32_t)words.size,
				   .input_size = (uint32_t)strlen(input)};
	struct iovec parts[] = {{&order, sizeof order}, {words.data, words.size}, {input, order.input_size}};
	const struct msghdr message = {.msg_iov = parts, .msg_iovlen = ARRAY_LENGTH(parts)};
	if (words.size > LIMIT_EXEC_COMMAND || order.input_size > LIMIT_EXEC_INPUT) return -EMSGSIZE;
	return sendmsg(exec->socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

/* When it can't be sent now the time-out ends the program. */
static void send_cancel(const struct exec *exec, const struct job *job) {
	const struct exec_order order = {.id = job->id};
	if (exec->socket >= 0 && send(exec->socket, &order, sizeof order, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		log_debug("cancelling a program: %m");
}

static size_t running_of(const struct exec *exec, const struct client *client) {
	size_t count = 0;
	const struct job *job;
	TAILQ_FOREACH(job, &exec->running, link) {
		count += job->checking.client == client;
	}
	return count;
}

/* The first of whoever has the fewest out: one client's thousand doesn't hold up another's one. */
static struct job *next_job(const struct exec *exec) {
	struct job *job, *best = NULL;
	size_t fewest = SIZE_MAX;
	TAILQ_FOREACH(job, &exec->waiting, link) {
		/* The analyzer does not follow TAILQ_REMOVE. NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
		size_t count = running_of(exec, job->checking.client);
		if (count < fewest) {
			best = job;
			fewest = count;
		}
		if (fewest == 0) break;
	}
	return best;
}

static void unlink_waiting(struct exec *exec, struct job *job) {
	TAILQ_REMOVE(&exec->waiting, job, link);
	exec->waiting_count--;
}

static void send_next(struct exec *exec) {
	while (exec->socket >= 0 && exec->running_count < LIMIT_EXEC_RUNNING && exec->waiting_count > 0) {
		struct job *job = next_job(exec);
		job->id = exec->last_id + 1;
		int r = send_order(exec, job);
		if (r == -EAGAIN || r == -ENOBUFS) {
			event_add(exec->writable, NULL);
			return;
		}
		unlink_waiting(exec, job);
		if (r < 0) {
			answer(exec, job, failure(r == -EMSGSIZE ? "the request is too long for it" : no_executor));
			continue;
		}
		exec->last_id++;
		TAILQ_INSERT_TAIL(&exec->running, job, link);
		exec->running_count++;
	}
}

static void on_writable(evutil_socket_t fd, short what, void *argument) {
	(void)fd;
	(void)what;
	send_next(argument);
}

/* Asking */

static void copy_words(struct job *job, const struct stack_exec *needed) {
	for (size_t i = 0; i < needed->argv.count; i++) strings_add(&job->argv, needed->argv.items[i]);
	job->command = string_copy(needed->text);
	job->timeout_ms = needed->timeout_ms;
}

bool exec_ask(struct checking *checking, struct decision *decision) {
	struct exec *exec = checking->client->broker->exec;
	const char *why = NULL;
	if (exec->socket < 0) why = no_executor;
	if (exec->waiting_count >= LIMIT_EXEC_WAITING) why = "too many requests wait for programs";
	/* A policy that changes each time that a program has answered. */
	if (checking->said.count >= 2 * STACK_STEPS_MAX) why = "the stack names new programs again and again";
	if (why) {
		verdict_set(&decision->verdict, EFFECT_DENY, "exec", "%s: %s", decision->verdict.why, why);
		return false;
	}
	struct job *job = mem_new(struct job);
	copy_words(job, decision->needed);
	job->checking = *checking;
	*checking = (struct checking){0};
	job->checking.client->pending++;
	TAILQ_INSERT_TAIL(&exec->waiting, job, link);
	exec->waiting_count++;
	send_next(exec);
	return true;
}

/* Forgetting */

static void drop(struct exec *exec, struct job *job, bool running, const char *reply) {
	struct checking checking = job_release(job);
	if (reply) {
		struct error error;
		error_set(&error, ECANCELED, "%s", reply);
		client_reply_error(checking.client, checking.id, &error);
	}
	checking_finish(&checking);
	if (running) {
		send_cancel(exec, job);
		return;
	}
	unlink_waiting(exec, job);
	job_free(job);
}

struct wanted {
	const struct client *client;
	int64_t check, session; /* 0 = any */
	const char *reply;      /* NULL: nobody hears it */
};

static bool drop_all(struct exec *exec, const struct wanted *wanted) {
	struct job_list *const lists[] = {&exec->waiting, &exec->running};
	bool found = false;
	for (size_t i = 0; i < ARRAY_LENGTH(lists); i++) {
		for (struct job *job = TAILQ_FIRST(lists[i]), *next; job; job = next) {
			const struct checking *checking = &job->checking;
			next = TAILQ_NEXT(job, link);
			if (!checking->client || (wanted->client && checking->client != wanted->client) ||
			    (wanted->check && checking->id != wanted->check) ||
			    (wanted->session && checking->request.session != wanted->session))
				continue;
			found = true;
			drop(exec, job, lists[i] == &exec->running, wanted->reply);
		}
	}
	return found;
}

bool exec_cancel(struct client *client, int64_t check) {
	const struct wanted wanted = {.client = client, .check = check, .reply = "the check was cancelled"};
	return drop_all(client->broker->exec, &wanted);
}

void exec_forget_client(struct broker *broker, const struct client *client) {
	const struct wanted wanted = {.client = client};
	drop_all(broker->exec, &wanted);
}

void exec_forget_session(struct broker *broker, int64_t session) {
	const struct wanted wanted = {.session = session, .reply = "the session has ended"};
	drop_all(broker->exec, &wanted);
}

/* Coming and going */

struct exec *exec_new(struct broker *broker, exec_go_on *go_on) {
	struct exec *exec = mem_new(struct exec);
	exec->base = broker->base;
	exec->go_on = go_on;
	exec->socket = -1;
	TAILQ_INIT(&exec->waiting);
	TAILQ_INIT(&exec->running);
	return exec;
}

void exec_use(struct exec *exec, int socket) {
	if (socket < 0) return;
	exec->socket = socket;
	exec->readable = event_new(exec->base, socket, EV_READ | EV_PERSIST, on_readable, exec);
	exec->writable = event_new(exec->base, socket, EV_WRITE, on_writable, exec);
	if (!exec->readable || !exec->writable || event_add(exec->readable, NULL) < 0) mem_exhausted();
}

bool exec_is_there(const struct exec *exec) {
	return exec->socket >= 0;
}

void exec_free(struct exec *exec) {
	if (!exec) return;
	struct job_list *const lists[] = {&exec->waiting, &exec->running};
	for (size_t i = 0; i < ARRAY_LENGTH(lists); i++) {
		for (struct job *job; (job = TAILQ_FIRST(lists[i]));) {
			TAILQ_REMOVE(lists[i], job, link);
			struct checking checking = job_release(job);
			checking_finish(&checking);
			job_free(job);
		}
	}
	if (exec->readable) event_free(exec->readable);
	if (exec->writable) event_free(exec->writable);
	fd_close(exec->socket);
	free(exec);
}
