/*
 * ruleset_parts: what the other files of this room see of a ruleset besides its public face.
 */
#pragma once

#include "document.h"
#include "policy/ruleset.h"

/* A profile's settings, merged: what the earliest layer says, and within it the profile before what it extends. */
struct settings {
	int home, network, doorbell;
	struct view_limits limits;
	struct pairs set;   /* borrowed texts */
	struct pairs hosts; /* likewise */
};

#define SETTINGS_NONE ((struct settings){.home = SETTING_UNSET, .network = SETTING_UNSET, .doorbell = SETTING_UNSET})
void settings_merge(struct settings *settings, const struct profile *profile); /* what is set already stays */
void settings_finish(struct settings *settings);
const struct settings *ruleset_settings(const struct ruleset *ruleset);
