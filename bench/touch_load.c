/*
 * touch_load: the first touch of what is asked about, with somebody who allows it at once; and the end of that grant.
 *
 *     touch_load JOBS ANSWERS stat|read|write FOLDER COUNT
 *
 * JOBS and ANSWERS lead to a files_load in the sandbox; FOLDER has files 0 … COUNT-1 that are asked about. Each is
 * touched there, its question is answered here as an agent does, and then the grant is revoked here. Prints for each
 * part of it a line `PART<tab>p50<tab>p99<tab>longest`, in microseconds:
 *
 *     asked        from the call to the question at the agent
 *     returned     from the agent's answer to the call's return
 *     recorded     of that: until the agent is told that the answer is recorded; to the disk, among others
 *     touched      all of the call
 *     gone         from the revocation to the end of the mount, as the sandbox sees it
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/string.h"
#include "load.h"
#include "schema/channel.h"

enum { COUNT_MAX = 10000, WAIT_MS = 10 * 1000 };

enum part { PART_ASKED, PART_RETURNED, PART_RECORDED, PART_TOUCHED, PART_GONE };
enum { PART_COUNT = PART_GONE + 1 };
static const char *const part_names[PART_COUNT] = {"asked", "returned", "recorded", "touched", "gone"};

struct touch {
	FILE *jobs, *answers;
	struct channel *agent, *user; /* who answers, who revokes */
	int64_t times[PART_COUNT][COUNT_MAX];
};

static void send_job(const struct touch *touch, const char *job) {
	fprintf(touch->jobs, "%s\n", job);
	fflush(touch->jobs);
}

/* What the files_load has measured. */
static int read_answer(const struct touch *touch, int64_t *ret_begin_ns, int64_t *ret_end_ns, struct error *error) {
	CLEANUP_FREE char *line = NULL;
	size_t room = 0;
	if (getline(&line, &room, touch->answers) <= 0) return error_set(error, EPIPE, "the sandbox has ended");
	char *rest;
	*ret_begin_ns = strtoll(line, &rest, 10);
	*ret_end_ns = strtoll(rest, &rest, 10);
	char *outcome = rest + strspn(rest, " ");
	outcome[strcspn(outcome, "\n")] = '\0';
	return string_equal(outcome, "ok") ? 0 : error_set(error, EPROTO, "the call ended as %s", outcome);
}

/* The next question. When the call returns instead, or nothing comes, nobody was asked. */
static int wait_for_prompt(struct touch *touch, json_t **ret_prompt, struct error *error) {
	for (;;) {
		struct pollfd fds[] = {{.fd = channel_fd(touch->agent), .events = POLLIN},
				       {.fd = fileno(touch->answers), .events = POLLIN}};
		json_t *message = NULL;
		int r = channel_receive(touch->agent, false, &message, error);
		if (r == -EAGAIN) {
			if (poll(fds, 2, WAIT_MS) > 0 && fds[1].revents == 0) continue;
			return error_set(error, EPROTO, "nobody was asked");
		}
		if (r < 0) return r;
		if (string_equal(json_string_value(json_object_get(message, "type")), "prompt")) {
			*ret_prompt = message;
			return 0;
		}
		json_decref(message);
	}
}

static int answer(struct touch *touch, const json_t *prompt, int64_t *ret_grant, struct error *error) {
	json_t *reply = NULL;
	int r = channel_call(touch->agent, "answer",
			     json_pack("{s:O, s:O, s:s, s:s, s:s, s:b}", "prompt", json_object_get(prompt, "id"),
				       "token", json_object_get(prompt, "token"), "effect", "allow", "lifetime",
				       "session", "scope", "exact", "terminal", true),
			     &reply, error);
	*ret_grant = json_integer_value(json_object_get(json_object_get(reply, "grant"), "id"));
	json_decref(reply);
	return r < 0 || *ret_grant > 0 ? r : error_set(error, EPROTO, "the answer made no grant");
}

static int first_touch(struct touch *touch, size_t number, const char *how, const char *path, int64_t *ret_grant,
		       struct error *error) {
	CLEANUP_FREE char *job = string_format("%s\t1\t%s", how, path);
	json_t *prompt = NULL;
	int64_t begin_ns = 0, end_ns = 0;
	send_job(touch, job);
	int r = wait_for_prompt(touch, &prompt, error);
	if (r < 0) return r;
	const int64_t asked_ns = load_now_ns();
	r = answer(touch, prompt, ret_grant, error);
	const int64_t recorded_ns = load_now_ns();
	json_decref(prompt);
	if (r == 0) r = read_answer(touch, &begin_ns, &end_ns, error);
	touch->times[PART_ASKED][number] = asked_ns - begin_ns;
	touch->times[PART_RETURNED][number] = end_ns - asked_ns;
	touch->times[PART_RECORDED][number] = recorded_ns - asked_ns;
	touch->times[PART_TOUCHED][number] = end_ns - begin_ns;
	return r;
}

static int take_back(struct touch *touch, size_t number, int64_t grant, const char *path, struct error *error) {
	CLEANUP_FREE char *job = string_format("change\t%s", path), *line = NULL;
	size_t room = 0;
	json_t *reply = NULL;
	int64_t begin_ns, end_ns = 0;
	send_job(touch, job);
	if (getline(&line, &room, touch->answers) <= 0 || !string_equal(line, "ready\n"))
		return error_set(error, EPROTO, "the sandbox does not wait for the end of the grant");
	const int64_t revoked_ns = load_now_ns();
	int r = channel_call(touch->user, "revoke", json_pack("{s:[I]}", "ids", (json_int_t)grant), &reply, error);
	json_decref(reply);
	if (r == 0) r = read_answer(touch, &begin_ns, &end_ns, error);
	touch->times[PART_GONE][number] = end_ns - revoked_ns;
	return r;
}

static int touch_all(struct touch *touch, const char *how, const char *folder, size_t count, struct error *error) {
	int r = 0;
	for (size_t i = 0; r == 0 && i < count; i++) {
		CLEANUP_FREE char *path = string_format("%s/%zu", folder, i);
		int64_t grant = 0;
		r = first_touch(touch, i, how, path, &grant, error);
		if (r == 0) r = take_back(touch, i, grant, path, error);
		if (r < 0) return error_prefix(error, "%s %s", how, path);
	}
	return r;
}

static void report(struct touch *touch, size_t count) {
	for (size_t part = 0; part < PART_COUNT; part++) {
		int64_t *times = touch->times[part];
		load_sort(times, count);
		const size_t middle = count / 2, late = count * 99 / 100;
		printf("%s\t%.0f\t%.0f\t%.0f\n", part_names[part], (double)times[middle] / 1e3,
		       (double)times[late] / 1e3, (double)times[count - 1] / 1e3);
	}
}

static int open_all(struct touch *touch, const char *jobs, const char *answers, struct error *error) {
	CLEANUP_FREE char *path = NULL;
	json_t *reply = NULL;
	touch->jobs = fopen(jobs, "we");
	touch->answers = fopen(answers, "re");
	if (!touch->jobs || !touch->answers) return error_errno(error, "%s, %s", jobs, answers);
	int r = channel_socket_path(&path, error);
	if (r == 0) r = channel_connect(path, &touch->agent, error);
	if (r == 0) r = channel_connect(path, &touch->user, error);
	if (r == 0)
		r = channel_call(touch->agent, "agent", json_pack("{s:s, s:n}", "kind", "terminal", "session"), &reply,
				 error);
	json_decref(reply);
	return r;
}

int main(int argc, char **argv) {
	CLEANUP_FREE struct touch *touch = mem_new(struct touch);
	struct error error = ERROR_NONE;
	unsigned long long count;
	if (argc != 6 || string_to_u64(argv[5], &count) < 0 || count < 1 || count > COUNT_MAX) {
		log_error("usage: touch_load JOBS ANSWERS stat|read|write FOLDER COUNT");
		return 2;
	}
	int r = open_all(touch, argv[1], argv[2], &error);
	if (r == 0) r = touch_all(touch, argv[3], argv[4], (size_t)count, &error);
	if (r == 0)
		report(touch, (size_t)count);
	else
		log_error("%s", error.message);
	return r == 0 ? 0 : 1;
}
