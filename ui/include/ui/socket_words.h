/*
 * socket_words: what it means to talk to a well-known Unix socket, for who is asked about it or grants it.
 */
#pragma once

/* "whoever may talk to it is root on this machine"; NULL: nothing is known of what listens at such a path. */
const char *socket_meaning(const char *path);
