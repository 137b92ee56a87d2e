/*
 * dialog: what the tests of the proxy say to it over a wire, and what they expect to hear. A wrong answer fails the
 * test.
 */
#pragma once

#include <stdint.h>

#include "fixture.h"

#define OK_HELLO "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

void contains(const char *text, const char *part);
void lacks(const char *text, const char *part);

void say_get(int fd, uint16_t port, const char *path); /* of localhost:port */
void expect_response(int fd, const char *part);        /* one response that has `part` in it */

int open_tunnel(struct fixture *fixture, uint16_t port); /* to localhost:port; the caller closes it */
void serve_echo(int fd, void *argument);                 /* a server: what it gets, then "end" */
