/*
 * proxy_limits: the proxy's bounds, taken from schema/limits.h; tests set smaller ones.
 */
#pragma once

#include <stddef.h>

struct proxy;

struct proxy_limits {
	size_t connections;
	int handshake_ms, idle_ms, leaving_ms, closing_ms;
};

void proxy_set_limits(struct proxy *proxy, const struct proxy_limits *limits);
size_t proxy_client_count(const struct proxy *proxy);
