#include "twice.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "base/fd.h"
#include "base/memory.h"
#include "base/string.h"
#include "schema/limits.h"

enum {
	TWICE_LOOK_MS = 20,   /* between looks at whether all is read */
	TWICE_FIRST_MS = 300, /* the first question is put then in any case */
	TWICE_CHAIN_MS =
		3000, /* but programs behind the reader have this long, and the second question as long as it takes */
	TWICE_CALM_LOOKS = 3, /* in a row: then they have written as well */
};

static bool is_gone(int gone_fd, int ms) {
	struct pollfd polled = {.fd = gone_fd, .events = POLLIN};
	return poll(&polled, 1, ms) > 0;
}

/* Also back when the question is gone, which whoever asks it sees. */
static void await_reader(const struct twice *twice, int gone_fd, int ms) {
	for (int waited = 0; !output_is_read(twice->output) && (ms < 0 || waited < ms); waited += TWICE_LOOK_MS)
		if (is_gone(gone_fd, TWICE_LOOK_MS)) return;
}

/* What one program of a pipeline has read the next one may write. Has all of them written all? */
static bool await_chain(const struct twice *twice, int fd, int gone_fd, int ms) {
	int calm = 0;
	if (!twice->is_busy) return true;
	for (int waited = 0; calm < TWICE_CALM_LOOKS && (ms < 0 || waited < ms); waited += TWICE_LOOK_MS) {
		calm = twice->is_busy(twice->context, fd) ? 0 : calm + 1;
		if (is_gone(gone_fd, TWICE_LOOK_MS)) return true;
	}
	return calm == TWICE_CALM_LOOKS;
}

/* Before the second question, which is the one that allows. Ctrl-C ends this process meanwhile, which denies. */
static void await_all_written(const struct twice *twice, int fd, int gone_fd) {
	static const char words[] = "sbx: the question comes once more when other programs have written to this "
				    "terminal what they have read (Ctrl-C denies)\n";
	await_reader(twice, gone_fd, TWICE_FIRST_MS);
	if (output_is_read(twice->output) && await_chain(twice, fd, gone_fd, TWICE_CHAIN_MS)) return;
	fd_write_all(fd, words, strlen(words), NULL);
	await_reader(twice, gone_fd, -1);
	await_chain(twice, fd, gone_fd, -1);
}

static bool allows(const json_t *answer) {
	return !string_equal(json_string_value(json_object_get(answer, "effect")), "deny");
}

/* Those that the first answers allow: how many, copies that own nothing. */
static size_t allowed_of(const json_t *first, const struct prompt *prompts, struct prompt ret_allowed[LIMIT_WANTS]) {
	size_t index, count = 0;
	const json_t *answer;
	json_array_foreach (first, index, answer)
		if (allows(answer)) ret_allowed[count++] = prompts[index];
	return count;
}

/* In their order, up to the first that was allowed and has no second answer. */
static json_t *merge(const json_t *first, const json_t *second) {
	json_t *all = json_array();
	size_t index, next = 0;
	json_t *answer;
	json_array_foreach (first, index, answer) {
		if (allows(answer)) answer = json_array_get(second, next++);
		if (!answer) break;
		json_array_append(all, answer);
	}
	return all;
}

int twice_ask(const struct twice *twice, int fd, int gone_fd, const struct prompt *prompts, size_t count,
	      json_t **ret_answers, struct error *error) {
	const struct run_terminal *user = twice->user;
	struct prompt allowed[LIMIT_WANTS];
	json_t *first = NULL, *second = NULL;
	if (!twice->doubtful)
		return user->ask(user->context, RUN_ASK_ONCE, fd, gone_fd, prompts, count, ret_answers, error);
	await_reader(twice, gone_fd, TWICE_FIRST_MS);
	await_chain(twice, fd, gone_fd, TWICE_CHAIN_MS);
	int r = user->ask(user->context, RUN_ASK_FIRST, fd, gone_fd, prompts, count, &first, error);
	const size_t left = r == 0 ? allowed_of(first, prompts, allowed) : 0;
	if (left > 0) {
		await_all_written(twice, fd, gone_fd);
		r = user->ask(user->context, RUN_ASK_AGAIN, fd, gone_fd, allowed, left, &second, error);
	}
	*ret_answers = merge(first, second);
	json_decref(first);
	json_decref(second);
	return r;
}
