#include "doorbells.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "traps.h"

static bool has_programs(const struct view *view, enum view_mode mode) {
	for (size_t i = 0; i < view->program_count; i++)
		if (view->programs[i].mode == mode) return true;
	return false;
}

static bool wants_asking(const struct view *view) {
	bool asks = has_programs(view, VIEW_ASK);
	for (size_t i = 0; i < view->path_count && !asks; i++)
		asks = !view->paths[i].pattern && view->paths[i].mode == VIEW_ASK;
	return asks;
}

/* In scripts and logs it would be the same line every time. */
void doorbells_say_no_curtain(const char *why) {
	if (isatty(STDERR_FILENO) || getenv("SBX_DEBUG"))
		log_notice("what is hidden is asked for when it is opened, not when it is looked at, since /dev/fuse "
			   "can't be used (%s): sbx doctor says more",
			   why);
}

void doorbells_choose(struct scene *scene) {
	const enum view_doorbell doorbell = scene->view->doorbell;
	/* A later view may ask although this one doesn't; then there is nowhere to ask from. */
	const bool wanted = doorbell == VIEW_DOORBELL_AUTO && wants_asking(scene->view);
	scene->curtain = wanted && access("/dev/fuse", R_OK | W_OK) == 0;
	if (wanted && !scene->curtain) doorbells_say_no_curtain(strerror(errno));
	doorbells_trap(scene);
}

void doorbells_trap(struct scene *scene) {
	scene->trapped = !scene->curtain && (doorbells_traps(scene, false) & TRAPS_OPENS);
}

static bool is_folder(const char *path) {
	struct stat status;
	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Is there a tree that may be read, and is asked about when something in it is changed? What only masks a part of a
 * writable tree is none. */
static bool has_tree_to_read(const struct scene *scene) {
	for (size_t i = 0; i < scene->plan.count; i++) {
		const struct mount *mount = &scene->plan.mounts[i];
		const struct view_path *entry = mount->kind == MOUNT_READ ? view_at(scene->view, mount->path) : NULL;
		if (entry && entry->mode == VIEW_READ && entry->ask_write && !entry->mask && is_folder(mount->source))
			return true;
	}
	return false;
}

/* What a later view asks for beyond is refused as it is: a filter can't be changed. */
unsigned doorbells_traps(const struct scene *scene, bool curtain) {
	const struct view *view = scene->view;
	unsigned wanted = TRAPS_PROGRAMS; /* a rule that denies one may come while it runs */
	if (scene->holds_sockets) wanted |= TRAPS_SOCKETS;
	if (scene->holds_sockets && view->listens) wanted |= TRAPS_SERVERS;
	if (scene_is_direct(scene)) wanted |= TRAPS_DIRECT;
	if (view->doorbell == VIEW_DOORBELL_NONE) return wanted;
	for (size_t i = 0; i < view->path_count; i++) {
		const struct view_path *path = &view->paths[i];
		if (path->ask_write || view_path_masks(path)) wanted |= TRAPS_WRITES;
		if (path->mode == VIEW_ASK && !curtain) wanted |= TRAPS_OPENS;
	}
	if (has_tree_to_read(scene)) wanted |= TRAPS_DESCRIPTORS;
	/* "ld.so PROGRAM" only reads it */
	if (has_programs(view, VIEW_ASK) && !curtain) wanted |= TRAPS_OPENS;
	return wanted;
}

unsigned doorbells_judged(const struct view *view, unsigned traps) {
	const bool asks = view->doorbell != VIEW_DOORBELL_NONE && has_programs(view, VIEW_ASK);
	const bool denies = has_programs(view, VIEW_ABSENT);
	if (!asks && !denies) traps &= ~(unsigned)TRAPS_PROGRAMS;
	return denies ? traps | TRAPS_DENIALS : traps;
}

void doorbells_lacking(const struct scene *scene, const struct view *view, struct strings *told,
		       struct strings *ret_programs) {
	if (scene->curtain || scene->trapped || scene->view->doorbell == VIEW_DOORBELL_NONE) return;
	for (size_t i = 0; i < view->program_count; i++) {
		const char *program = view->programs[i].pattern;
		if (view->programs[i].mode != VIEW_ASK || strings_contain(told, program)) continue;
		strings_add(told, program);
		strings_add(ret_programs, program);
	}
}
