/*
 * proxy: the gate's door for tools that speak proxy: HTTP/1.1 (absolute-form and CONNECT) and SOCKS5(h) on one
 * listener, told apart by the first byte.
 *
 * Promises: hostile bytes are parsed in http_head.c and socks.c alone, bounded by schema/limits.h; an ambiguous request
 * (N4) gets 400; the authority that was judged is the one that is dialled. Several listeners (the Unix socket and
 * the loopback one) share one proxy.
 */
#pragma once

#include "net/gate/gate.h"

struct proxy;

/* `profile` is whose policy or grants a 403's body tells the user to change. Copied. */
struct proxy *proxy_new(struct event_base *base, struct gate *gate, const char *profile);
int proxy_listen(struct proxy *proxy, int listener, struct error *error); /* takes the listening socket over */
void proxy_free(struct proxy *proxy);
