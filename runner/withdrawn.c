#include "withdrawn.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"

enum { HOLDERS_SHOWN = 5, PATH_COLUMNS = 200 };

/* An `ended` of the broker's that waits until its view is in force. */
struct ending {
	struct ending *next;
	struct withdrawn *withdrawn;
	bool kill;
	int64_t settle;
	struct event *settled;
};

struct withdrawn {
	struct withdrawn_options options;
	struct taken taken;
	struct ending *endings;
};

struct withdrawn *withdrawn_new(const struct withdrawn_options *options) {
	struct withdrawn *withdrawn = mem_new(struct withdrawn);
	withdrawn->options = *options;
	return withdrawn;
}

static bool hides(const struct mount *mount) {
	return mount->kind == MOUNT_HIDE_FOLDER || mount->kind == MOUNT_HIDE_FILE || mount->kind == MOUNT_CURTAIN;
}

/* What is hidden within a tree that stays may be held as well as what was taken whole. */
void withdrawn_follow(struct withdrawn *withdrawn, const struct steps *steps) {
	for (size_t i = 0; i < steps->count; i++) {
		const struct step *step = &steps->items[i];
		if (step->kind == STEP_TAKE) taken_uncover(&withdrawn->taken, step->mount.path);
		if (step->kind == STEP_PUT && hides(&step->mount)) taken_cover(&withdrawn->taken, step->mount.path);
	}
}

void withdrawn_add(struct withdrawn *withdrawn, const struct strings *paths, const uint64_t *mounts, size_t count) {
	taken_add(&withdrawn->taken, paths, mounts, count);
}

static void say_holders(const struct holders *holders, size_t killed) {
	CLEANUP_STRING struct string line = {0};
	for (size_t i = 0; i < holders->count && i < HOLDERS_SHOWN; i++) {
		const struct holder *holder = &holders->items[i];
		CLEANUP_FREE char *command = text_visible_cut(holder->command, 40);
		CLEANUP_FREE char *path = text_visible_cut(holder->path, PATH_COLUMNS);
		string_appendf(&line, "%s%d %s (%s)", i > 0 ? ", " : "", holder->pid, command, path);
	}
	if (holders->all > HOLDERS_SHOWN) string_appendf(&line, " and %zu more", holders->all - HOLDERS_SHOWN);
	if (killed > 0)
		log_notice("ended %zu process%s that held what is not allowed any more", killed,
			   killed == 1 ? "" : "es");
	/* Those that were ended may still be on their way out. */
	if (holders->all > killed) log_notice("not allowed any more, but still open in %s", line.data);
}

static void ending_free(struct ending *ending) {
	event_free(ending->settled);
	free(ending);
}

static void drop(struct ending *ending) {
	struct ending **at = &ending->withdrawn->endings;
	while (*at != ending) at = &(*at)->next;
	*at = ending->next;
	ending_free(ending);
}

/* What is allowed no more has gone from the sandbox. */
static void on_settled(evutil_socket_t fd, short what, void *argument) {
	struct ending *ending = argument;
	struct withdrawn *withdrawn = ending->withdrawn;
	const pid_t init = withdrawn->options.init;
	(void)fd, (void)what;
	CLEANUP_HOLDERS struct holders holders = {0};
	size_t killed = ending->kill ? holders_kill(init, &withdrawn->taken) : 0;
	holders_find(init, &withdrawn->taken, &holders);
	say_holders(&holders, killed);
	if (ending->settle > 0) session_settled(withdrawn->options.session, ending->settle, &holders, killed);
	if (holders.all == 0) taken_finish(&withdrawn->taken);
	drop(ending);
}

/* Looking through all processes takes its time: first the masks of the new plan are looked after. */
static void settle_soon(void *argument) {
	static const struct timeval next_round = {0};
	const struct ending *ending = argument;
	evtimer_add(ending->settled, &next_round);
}

void withdrawn_end(struct withdrawn *withdrawn, const struct session_ended *ended) {
	if (ended->count == 0 && ended->settle == 0) return; /* nothing ended: rules or denials */
	struct ending *ending = mem_new(struct ending);
	*ending = (struct ending){
		.next = withdrawn->endings, .withdrawn = withdrawn, .kill = ended->kill, .settle = ended->settle};
	ending->settled = evtimer_new(withdrawn->options.base, on_settled, ending);
	withdrawn->endings = ending;
	live_when(withdrawn->options.live, settle_soon, ending);
}

void withdrawn_free(struct withdrawn *withdrawn) {
	if (!withdrawn) return;
	for (struct ending *ending = withdrawn->endings, *next; ending; ending = next) {
		next = ending->next;
		ending_free(ending);
	}
	taken_finish(&withdrawn->taken);
	free(withdrawn);
}
