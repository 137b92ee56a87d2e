/*
 * listener: the broker's socket, and being the only one who serves it.
 *
 * Promises: however many sbxd start together, exactly one gets a listener and the others learn that it serves; a
 * socket left behind by one that was killed is replaced. The folder is ours and private (attack B11). Nothing stays
 * behind after listener_free.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "places.h"

struct listener;

enum listener_outcome { LISTENER_OURS, LISTENER_ANOTHERS };

/* Waits while another sbxd starts or leaves, at most 10 s. With systemd's LISTEN_FDS that socket is taken
 * (sd_listen_fds(3)). */
int listener_open(const struct places *places, enum listener_outcome *ret_outcome, struct listener **ret_listener,
		  struct error *error);
void listener_free(struct listener *listener);
int listener_fd(const struct listener *listener); /* borrowed, non-blocking */

/* Is the lock still the file at its path? If not, the folder was removed under us, and another sbxd may serve. */
bool listener_is_current(const struct listener *listener);

/* Before leaving: take the name away. Who is in the backlog already can still be accepted, and then the broker stays
 * and listens under the name again with listener_resume (a new descriptor). */
void listener_retire(struct listener *listener);
int listener_resume(struct listener *listener, struct error *error);
