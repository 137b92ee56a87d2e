/*
 * scenario: a policy question in a text file, and the answers as text.
 *
 *     @user, @project, @admin      followed by that layer's file (at most one each)
 *     @profile NAME                whose rules hold (default "default")
 *     @grants                      lines "ID allow|deny PERM PATTERN"
 *     @protected                   paths
 *     @flooded WHY
 *     @programs                    lines "allow|deny|pass|fail PROGRAM WHY": what exec lines' programs have said
 *     @names                       the caller's variables
 *     @ask                         lines "PERM TARGET": the verdict of each
 *     @why                         likewise, with the walk
 *     @view                        the whole view
 *
 * The home is /home/u, the project /home/u/app. Several @profile, @ask, @why and @view sections are answered in turn.
 */
#pragma once

/* Freed by the caller. Fails the test on a scenario that can't be read. */
char *scenario_play(const char *text);

/* Compare with a file; with SBX_GOLDEN=write in the environment write it instead (and read the diff). */
void golden_check(const char *path, const char *actual);
char *golden_read(const char *path);
