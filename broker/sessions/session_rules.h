/*
 * session_rules: a session's profile and ruleset, made at its start and again whenever policies have changed.
 */
#pragma once

#include <jansson.h>

#include "session.h"

/* Profile, ruleset and what they are made of. */
int session_make_rules(struct session *session, const struct session_open *wish, struct error *error);
/* New rules after the policy has changed, if they are others; none at all when they can't be made. */
void session_refresh_rules(struct session *session);
/* Anyway, as ${root} stands for other folders; an error leaves them as they are. */
int session_renew_rules(struct session *session, struct error *error);
void sessions_refresh_rules(struct broker *broker);
/* Do the links that their denials name lead where they led? */
bool sessions_have_current_rules(const struct broker *broker);
/* What the user should hear before the tool starts: that the files as they are now are not what is in force. */
json_t *session_warnings(const struct session *session);
