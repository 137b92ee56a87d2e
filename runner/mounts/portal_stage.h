/*
 * portal_stage: what lies on a portal's scratch: the file and the folder that masks are made of, and the stage, a
 * folder on which groups of mounts are put together.
 */
#pragma once

#include "portal_spaces.h"

int stage_make(int scratch, struct error *error);
int stage_clone_void(int scratch, struct error *error);                   /* an empty file that nobody may open */
int stage_clone_hidden(int scratch, struct error *error);                 /* a folder likewise */
int stage_clone_text(int scratch, const char *text, struct error *error); /* a file with it that all may read */
int stage_attach(int scratch, int tree, struct error *error);
void stage_sweep(const struct spaces *spaces); /* detach what was attached; outside */
