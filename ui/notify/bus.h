/*
 * bus: the user's session bus on our loop.
 *
 * Promises: connected to without waiting; when it is lost, tried again each second. It belongs to our own user: an
 * abstract address that was left behind can be anybody's. What is called on it never ends the connection there and
 * then: bus_wake has the loop look at it again.
 */
#pragma once

#include <event2/event.h>
#include <stdint.h>
#include <systemd/sd-bus.h>

struct bus_events {
	int (*opened)(void *context);                 /* below 0: what it begins with can't be sent */
	void (*lost)(void *context, const char *why); /* or couldn't be opened; all calls have gone with it */
	void *context;
};

struct bus;

struct bus *bus_new(struct event_base *base, const struct bus_events *events); /* opened by the loop */
void bus_free(struct bus *bus);
sd_bus *bus_connection(const struct bus *bus); /* NULL: there is none. Borrowed, until `lost` */
void bus_wake(struct bus *bus);                /* after each call, and within each callback of a reply */
