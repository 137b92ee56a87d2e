#include "doorbells.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "traps.h"

static bool wants_asking(const struct view *view) {
	bool asks = false;
	for (size_t i = 0; i < view->path_count && !asks; i++)
		asks = !view->paths[i].pattern && view->paths[i].mode == VIEW_ASK;
	for (size_t i = 0; i < view->program_count && !asks; i++) asks = view->programs[i].mode == VIEW_ASK;
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
	scene->trapped = !scene->curtain && doorbell != VIEW_DOORBELL_NONE;
}

/* What a later view asks for beyond is refused as it is: a filter can't be changed. */
unsigned doorbells_traps(const struct scene *scene, bool curtain) {
	const struct view *view = scene->view;
	unsigned wanted = scene->holds_sockets ? TRAPS_SOCKETS : 0;
	if (scene->holds_sockets && view->listens) wanted |= TRAPS_SERVERS;
	if (scene_is_direct(scene)) wanted |= TRAPS_DIRECT;
	if (view->doorbell == VIEW_DOORBELL_NONE) return wanted;
	for (size_t i = 0; i < view->path_count; i++) {
		const struct view_path *path = &view->paths[i];
		if (path->ask_write || view_path_masks(path)) wanted |= TRAPS_WRITES;
		if (path->mode == VIEW_ASK && !curtain) wanted |= TRAPS_OPENS;
	}
	for (size_t i = 0; i < view->program_count; i++)
		if (view->programs[i].mode == VIEW_ASK) wanted |= TRAPS_PROGRAMS;
	return wanted;
}
