/*
 * doorbells: by what a call is stopped that wants what may be asked for: the curtain (curtain/curtain.h), where
 * /dev/fuse can be used, or the filter's traps (traps.h).
 *
 * Promises: chosen once, before the scene's plan is made; what a later view asks for beyond is refused as it is: a
 * program that only a later view asks about, and whose start no doorbell stops at, is shut.
 */
#pragma once

#include "sandbox/scene.h"

/* Sets the scene's `curtain` and `trapped`, by what is asked from there and the machine. */
void doorbells_choose(struct scene *scene);

/* Sets `trapped` alone, by `curtain`: a program that is asked about stays visible only where the filter stops at each
 * open, too, whatever it was made for. */
void doorbells_trap(struct scene *scene);

/* Adds the programs (patterns) that a view of the run asks about while nobody can be asked, and that are not yet among
 * those `told`. */
void doorbells_lacking(const struct scene *scene, const struct view *view, struct strings *told,
		       struct strings *ret_programs);

/* To whoever looks on: traps will have to do, since the curtain can't be had. */
void doorbells_say_no_curtain(const char *why);

/* Which calls the filter must stop at (enum traps_wanted), so that somebody can be asked, by the scene's plan;
 * `curtain`: it is there. */
unsigned doorbells_traps(const struct scene *scene, bool curtain);

/* Of the calls that the filter stops at (`traps`), those that a view has rules about (enum traps_wanted): others go on
 * unread. */
unsigned doorbells_judged(const struct view *view, unsigned traps);
