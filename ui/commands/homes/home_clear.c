/* `sbx home clear`: remove what tools have left in a profile's own home. */
#include <errno.h>
#include <stdio.h>
#include <sys/file.h>

#include "base/memory.h"
#include "base/string.h"
#include "base/text.h"
#include "home.h"
#include "home_words.h"
#include "runner/home_clear.h"
#include "runner/home_size.h"
#include "runner/homes.h"
#include "ui/human.h"

enum { NAMES_SHOWN = 20, NAME_COLUMNS = 80 };

struct values {
	const char *project;
	bool yes;
};

static const struct option_info options[] = {
	{"project", OPTION_TEXT, "DIR", "The project that the home is for. Default: that for all projects.",
	 offsetof(struct values, project)},
	{"yes", OPTION_FLAG, NULL, "Don't ask. For scripts.", offsetof(struct values, yes)},
};

/* As long as we have the lock, a run that begins leaves sbx's mount points alone (own_home.c). */
static int check_unused(const struct own_home *own, struct error *error) {
	if (flock(own->fd, LOCK_EX | LOCK_NB) == 0 && home_is_unused(own->fd)) return 0;
	return error_set(
		error, EBUSY,
		"a sandbox has %s now: wait until it ends, or end it ('sbx sessions' lists them, 'sbx kill' ends "
		"them)",
		own->words);
}

static void show(const struct own_home *own) {
	CLEANUP_STRINGS struct strings names = {0};
	struct home_size size = {0};
	homes_names(own->fd, &names);
	home_size(own->fd, &size);
	CLEANUP_FREE char *bytes = human_size(size.bytes);
	printf("%s has %s%s:\n", own->words, size.more ? "more than " : "", bytes);
	for (size_t i = 0; i < names.count && i < NAMES_SHOWN; i++) {
		CLEANUP_FREE char *name = text_visible_cut(names.items[i], NAME_COLUMNS);
		printf("  ~/%s\n", name);
	}
	if (names.count > NAMES_SHOWN) printf("  and %zu more\n", names.count - NAMES_SHOWN);
	if (names.count == 0) puts("  nothing of a tool's");
	fflush(stdout);
}

static int clear(const struct own_home *own, struct error *error) {
	int r = check_unused(own, error); /* again: who was asked may have taken his time */
	if (r == 0) r = home_clear(own->fd, error);
	if (r < 0) return r;
	printf("Cleared: %s is empty.\n", own->words);
	return EXIT_DONE;
}

static int run(struct command_call *call, struct error *error) {
	const struct values *values = call->values;
	CLEANUP_OWN_HOME struct own_home own = {0};
	int r = own_home_open(call->operands->items[0], values->project, &own, error);
	if (r == 0) r = check_unused(&own, error);
	if (r < 0) return r;
	show(&own);
	r = values->yes ? 1 : home_ask("Remove all of it?", "--yes", error);
	if (r > 0) return clear(&own, error);
	if (r == 0) puts("Nothing was removed.");
	return r < 0 ? r : EXIT_NO;
}

const struct command command_home_clear = {
	.name = "home clear",
	.operands = "PROFILE",
	.summary = "Remove all that is in a profile's own home.",
	.details = "Shows how much it is and asks. Refused while a sandbox has that home.",
	.options = OPTION_TABLE(options),
	.values_size = sizeof(struct values),
	.operands_least = 1,
	.operands_most = 1,
	.refuses_root = true,
	.run = run,
};
