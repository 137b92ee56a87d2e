/*
 * Every kind of touch on a fresh tree behind the curtain, held and then granted in one of three ways: the very same
 * call is to end on the real object. The exceptions are in a table, each with its reason.
 *
 * test_curtain_matrix --print [NAME]: the table of what comes out.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/string.h"
#include "support/cmocka.h"
#include "support/home.h"
#include "touch.h"

enum { NODES = 3, ANSWERS = 5 };
static const char *const nodes[NODES] = {"", "a", "a/b.txt"};
static const unsigned behind[NODES] = {BEHIND_TOP, BEHIND_A, BEHIND_FILE};
static const char *const answer_names[ANSWERS] = {"object", "folder", "node", "refused", "absent"};
#define GRANTS    (1U << ANSWER_OBJECT | 1U << ANSWER_FOLDER | 1U << ANSWER_NODE)
#define ALL_NODES (BEHIND_TOP | BEHIND_A | BEHIND_FILE)

static const char no_crossing[] = "it asks to cross no mount, and a grant is one";
static const char own_lock[] = "the object's own lock is held, which whoever mounts on it needs";
static const char not_asked[] = "of a node itself nobody is asked; in a folder the folder is";
static const char no_second_walk[] = "the call doesn't walk again once it is there; in a folder the folder is held";
static const char covered[] = "a descriptor from before is below what was granted; opened anew it is right";
static const char mount_point[] = "a single file that is mounted can't be linked: as on any mount";

static const struct exception {
	const char *touch;
	unsigned nodes, answers; /* which */
	int code;
	const char *reason;
} exceptions[] = {
	{"openat2 NO_XDEV", ALL_NODES, ~0U, EXDEV, no_crossing},
	{"statx DONT_SYNC", BEHIND_FILE, ~0U, TOUCH_CURTAIN, not_asked},
	{"setxattr", ALL_NODES, ~0U, EACCES, own_lock},
	{"removexattr", ALL_NODES, ~0U, EACCES, own_lock},
	{"chmod", BEHIND_FILE, ~0U, EACCES, own_lock},
	{"chown", BEHIND_FILE, ~0U, EACCES, own_lock},
	{"utimensat", BEHIND_FILE, ~0U, EACCES, own_lock},
	{"chmod folder", BEHIND_A, ~0U, EACCES, own_lock},
	{"chmod top", BEHIND_TOP, ~0U, EACCES, own_lock},
	{"link", BEHIND_FILE, ~0U, EXDEV, mount_point},
	{"below a held descriptor", BEHIND_FILE, 1U << ANSWER_FOLDER, ESTALE, covered},
	{"below O_PATH of the top", BEHIND_TOP, 1U << ANSWER_NODE, ESTALE, covered},
	{"O_PATH, fstat, reopen", BEHIND_FILE, GRANTS, ESTALE, covered},
	{"fchdir of O_PATH", BEHIND_A, 1U << ANSWER_FOLDER | 1U << ANSWER_NODE, ESTALE, covered},
	{"fchdir of O_PATH", BEHIND_FILE, 1U << ANSWER_FOLDER, ESTALE, covered},
	{"fchdir of O_PATH, top", BEHIND_TOP, 1U << ANSWER_NODE, ESTALE, covered},
	{"inotify folder", BEHIND_A, GRANTS, ESTALE, no_second_walk},
	{"inotify file", BEHIND_FILE, GRANTS, ESTALE, no_second_walk},
};

static const char *word(int code) {
	const char *name;
	if (code == 0) return "real";
	if (code == TOUCH_CURTAIN) return "curtain";
	if (code == -ETIME) return "HANGS";
	name = strerrorname_np(code);
	return name ? name : "?";
}

static const struct exception *exception_of(const struct touch *touch, size_t node, unsigned answer) {
	for (size_t i = 0; i < ARRAY_LENGTH(exceptions); i++)
		if (strcmp(exceptions[i].touch, touch->name) == 0 && (exceptions[i].nodes & behind[node]) &&
		    (exceptions[i].answers & 1U << answer))
			return &exceptions[i];
	return NULL;
}

static int expected(const struct touch *touch, size_t node, unsigned answer) {
	const struct exception *exception = exception_of(touch, node, answer);
	if (exception) return exception->code;
	if (!(touch->behind & behind[node])) return 0;
	return answer == ANSWER_REFUSED ? EACCES : answer == ANSWER_ABSENT ? ENOENT : 0;
}

static int outcome(const struct touch *touch, size_t node, unsigned answer, struct fixture_counts *ret_counts) {
	CLEANUP_FIXTURE struct fixture *fixture = fixture_new();
	touch_make_tree(fixture);
	fixture_start(fixture);
	fixture_hang(fixture, nodes[node]);
	fixture_answer(fixture, (enum fixture_answer)answer);
	fixture_heed_interrupts(fixture, true);
	int code = fixture_run(fixture, touch->action, "");
	*ret_counts = *fixture_counts(fixture);
	return code;
}

/* One row a test: what it is like for each node and answer. */
static void row(void **state) {
	const struct touch *touch = *state;
	for (size_t node = 0; node < NODES; node++)
		for (unsigned answer = 0; answer < ANSWERS; answer++) {
			struct fixture_counts counts;
			const int code = outcome(touch, node, answer, &counts), wanted = expected(touch, node, answer);
			const bool asks = touch->behind & behind[node];
			if (code != wanted)
				fail_msg("%s, node over '%s', %s: %s, not %s", touch->name, nodes[node],
					 answer_names[answer], word(code), word(wanted));
			if (!exception_of(touch, node, answer) && counts.asked != asks)
				fail_msg("%s, node over '%s', %s: asked %zu times, at last %s", touch->name,
					 nodes[node], answer_names[answer], counts.asked, counts.last);
			if (counts.ended) fail_msg("%s: the connection ended", touch->name);
		}
}

static void print(const char *some) {
	for (size_t i = 0; i < touch_count; i++) {
		if (some && !strstr(touches[i].name, some)) continue;
		printf("%-26s", touches[i].name);
		for (size_t node = 0; node < NODES; node++)
			for (unsigned answer = 0; answer < ANSWERS; answer++) {
				struct fixture_counts counts;
				printf(" %s", word(outcome(&touches[i], node, answer, &counts)));
				printf("/%zu", counts.asked);
				fflush(stdout);
			}
		printf("\n");
	}
}

int main(int argc, char **argv) {
	home_make(NULL);
	int result = 0;
	if (argc > 1 && strcmp(argv[1], "--print") == 0) {
		print(argv[2]);
	} else {
		struct CMUnitTest *tests = mem_array(struct CMUnitTest, touch_count);
		for (size_t i = 0; i < touch_count; i++)
			tests[i] = (struct CMUnitTest){
				.name = touches[i].name, .test_func = row, .initial_state = (void *)&touches[i]};
		result = _cmocka_run_group_tests("matrix", tests, touch_count, NULL, NULL);
		free(tests);
	}
	home_remove();
	return result;
}
