/*
 * file_words: what it means to write to a well-known file, for who is asked about it.
 */
#pragma once

/* "git's: …"; NULL: nothing is known of what runs what is written at such a path. */
const char *file_meaning(const char *path);
