/*
 * view: `sbx monitor`'s screen: the model drawn into a window.
 *
 * Promises: any size, legible from 40 columns and 10 lines on; visible text alone (attack B9); what is chosen, what
 * waits and what is wrong is said by words and marks, and by colour only beside them.
 */
#pragma once

#include <curses.h>
#include <stdbool.h>

#include "model.h"

void view_colours(bool wanted); /* once, after the terminal was opened */
void view_draw(WINDOW *window, struct monitor_model *model);
