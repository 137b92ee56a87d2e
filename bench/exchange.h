/*
 * exchange: HTTP as the load generators of bench/proxy.sh and bench/native.sh speak it, over blocking sockets: with the
 * origin of proxy_load, through a proxy's tunnel or not.
 *
 * Promises: whatever goes wrong ends the program, with a sentence: nothing is measured that wasn't done.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

enum { EXCHANGE_HEAD_MAX = 4096 };

_Noreturn void exchange_die(const char *what); /* with errno */

int exchange_dial(const struct sockaddr *address, socklen_t size);
void exchange_no_delay(int fd);
void exchange_send(int fd, const void *bytes, size_t size);
/* Up to the empty line; 0: the peer has ended. Nothing is sent behind a head before it is answered, so whole reads will
 * do. */
size_t exchange_read_head(int fd, char head[EXCHANGE_HEAD_MAX]);
size_t exchange_behind_head(const char head[EXCHANGE_HEAD_MAX], size_t size); /* bytes of the body that came with it */
void exchange_move(int fd, bool out, size_t size);                            /* of no matter what */

/* `authority`: "host:port". */
/* CONNECT; `authorization` is what Proxy-Authorization says, or NULL. */
void exchange_tunnel(int fd, const char *authority, const char *authorization);
void exchange_get_small(int fd, const char *url_prefix, const char *authority); /* GET PREFIX/small */
void exchange_download(int fd, const char *authority, size_t size);
void exchange_upload(int fd, const char *authority, size_t size);
