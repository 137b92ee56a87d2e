/*
 * ruleset_parts: what the other files of this room see of a ruleset besides its public face.
 */
#pragma once

#include "document.h"
#include "policy/ruleset.h"

/* A profile's settings, merged: what the earliest layer says, and within it the profile before what it extends. */
struct settings {
	int home, network, doorbell;
	const char *upstream; /* likewise; or NULL */
	struct view_limits limits;
	struct pairs set;   /* borrowed texts */
	struct pairs hosts; /* likewise */
};

#define SETTINGS_NONE ((struct settings){.home = SETTING_UNSET, .network = SETTING_UNSET, .doorbell = SETTING_UNSET})
void settings_merge(struct settings *settings, const struct profile *profile); /* what is set already stays */
void settings_finish(struct settings *settings);
const struct settings *ruleset_settings(const struct ruleset *ruleset);

/* What a view says of a rule's own path where no grant covers it: that follows from the ruleset, which never changes,
 * and from what is protected. view_build fills them in. */
struct bare_mode {
	bool known, ask_write, mask, own;
	enum view_mode mode;
	enum view_denial denial;
};
struct bare_modes {
	const struct strings *protected; /* that they hold with */
	struct bare_mode items[];        /* by rule */
};
struct bare_modes *ruleset_bare_modes(const struct ruleset *ruleset);
