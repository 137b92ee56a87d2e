/*
 * places: where sbxd finds and keeps its things (the XDG base directory specification 0.8).
 *
 * Promises: absolute paths; a relative XDG variable is ignored as the specification says. The home is $HOME where
 * that is absolute, else the password database's.
 */
#pragma once

#include <sys/types.h>

#include "base/error.h"
#include "base/string.h"

struct places {
	char *home;
	char *state;       /* $XDG_STATE_HOME/sbx, else ~/.local/state/sbx: database, log */
	char *config;      /* $XDG_CONFIG_HOME/sbx, else ~/.config/sbx */
	char *runtime;     /* the folder of the socket */
	char *socket;      /* channel_socket_path() */
	char *database;    /* state/sbx.db */
	char *journal;     /* /run/systemd/journal/socket */
	char *syslog;      /* /dev/log */
	char *policy;      /* config/policy.yaml */
	char *admin;       /* "/etc/sbx", whatever the environment says */
	uid_t admin_owner; /* root; only tests within one process say something else */
	/* What can never be granted (design section 10.6): the folders above, the places they'd have without XDG
	 * variables, and what both resolve to. */
	struct strings protected;
};

int places_find(struct places *ret_places, struct error *error);
/* Make and check the state and runtime folders (-EPERM, -ELOOP: not ours alone), and make the other protected ones, so
 * that no sandbox can make one in sbx's place; of these what can't be made is left. Then `state` and `database` have no
 * link in them. */
int places_make(struct places *places, struct error *error);
void places_finish(struct places *places);
