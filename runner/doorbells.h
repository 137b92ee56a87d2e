/*
 * doorbells: by what a call is stopped that wants what may be asked for: the curtain (curtain/curtain.h), where
 * /dev/fuse can be used, or the filter's traps (traps.h).
 *
 * Promises: chosen once, before the scene's plan is made; what a later view asks for beyond is refused as it is.
 */
#pragma once

#include "scene.h"

/* Sets the scene's `curtain` and `trapped`, by what is asked from there and the machine. */
void doorbells_choose(struct scene *scene);

/* To whoever looks on: traps will have to do, since the curtain can't be had. */
void doorbells_say_no_curtain(const char *why);

/* Which calls the filter must stop at (enum traps_wanted), so that somebody can be asked; `curtain`: it is there. */
unsigned doorbells_traps(const struct scene *scene, bool curtain);
