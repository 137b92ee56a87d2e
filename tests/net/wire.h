/*
 * wire: blocking sockets for tests: clients, and servers with a thread a connection. Every wait is bounded.
 */
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

int wire_dial(uint16_t port);                          /* 127.0.0.1 */
int wire_send(int fd, const void *bytes, size_t size); /* 0, or errno when the peer is gone */
void wire_say(int fd, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Until the peer ends; a reset ends too. Freed by the caller, with a NUL behind. *ret_size may be NULL. */
char *wire_read_all(int fd, size_t *ret_size);
char *wire_read_head(int fd);               /* up to and with the empty line; "" when the peer ended before */
char *wire_read_bytes(int fd, size_t size); /* shorter when the peer ends */
char *wire_read_response(int fd);           /* head and a body by its Content-Length */
int wire_read_end(int fd);                  /* 0 when the peer has ended in order, its errno otherwise */

/* As pthread_create(3), with all signals blocked: the runner's alarms (socket_calls.c) would end the thread's calls. */
int wire_thread(pthread_t *ret_thread, void *(*run)(void *argument), void *argument);

struct server;
typedef void serve(int fd, void *argument); /* fd is closed behind it */

struct server *server_new(serve *serve, void *argument);
uint16_t server_port(const struct server *server);
unsigned server_accepted(struct server *server);
void server_join(struct server *server); /* until the connections so far have been served to their end */
void server_free(struct server *server); /* cuts those that have not */

/* A port of 127.0.0.1 where nobody listens. */
uint16_t wire_closed_port(void);
