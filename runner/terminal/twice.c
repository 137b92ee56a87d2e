#include "twice.h"

#include <poll.h>
#include <string.h>

#include "base/fd.h"
#include "base/string.h"

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
	static const char words[] =
		"sbx: once more when all that was written before is on the screen (Ctrl-C denies)\n";
	await_reader(twice, gone_fd, TWICE_FIRST_MS);
	if (output_is_read(twice->output) && await_chain(twice, fd, gone_fd, TWICE_CHAIN_MS)) return;
	fd_write_all(fd, words, strlen(words), NULL);
	await_reader(twice, gone_fd, -1);
	await_chain(twice, fd, gone_fd, -1);
}

static bool allows(const json_t *answer) {
	return !string_equal(json_string_value(json_object_get(answer, "effect")), "deny");
}

int twice_ask(const struct twice *twice, const struct run_question *question, int fd, int gone_fd, json_t **ret_answers,
	      struct error *error) {
	const struct run_terminal *user = twice->user;
	struct run_question asked = *question;
	json_t *first = NULL;
	asked.asking = RUN_ASK_ONCE;
	if (!twice->others_write) return user->ask(user->context, &asked, fd, gone_fd, ret_answers, error);
	await_reader(twice, gone_fd, TWICE_FIRST_MS);
	await_chain(twice, fd, gone_fd, TWICE_CHAIN_MS);
	asked.asking = RUN_ASK_FIRST;
	int r = user->ask(user->context, &asked, fd, gone_fd, &first, error);
	if (r < 0 || !allows(json_array_get(first, 0))) {
		*ret_answers = first;
		return r;
	}
	json_decref(first);
	await_all_written(twice, fd, gone_fd);
	asked.asking = RUN_ASK_AGAIN;
	return user->ask(user->context, &asked, fd, gone_fd, ret_answers, error);
}
