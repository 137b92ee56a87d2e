/*
 * live_fixture: a live (live.h) whose plan is its view, and whose portal is the test.
 */
#pragma once

#include <event2/event.h>

#include "hold/live.h"

struct live_fixture {
	struct event_base *base;
	struct live *live;
	bool hold;                 /* steps wait for fixture_applied; else each succeeds in the next turn */
	int plans, fresh, applies; /* so far */
	int plan_code;             /* of the next plans: 0 or a negative errno */
	const char *fail_path;     /* the PUT there fails with ESTALE */
	char *last_steps;          /* steps_text of the last ones */
	struct strings taken;      /* paths */
	size_t calls;              /* that what was taken was there for alone */
	int failed, left_open, changed;
	/* steps that are under way */
	const struct steps *steps;
	portal_applied_done *done;
	void *argument;
	struct event *soon;
	portal_applied_done *restored;
	void *restored_argument;
};

void fixture_start(struct live_fixture *fixture, struct view *view);
void fixture_finish(struct live_fixture *fixture);
void fixture_turn(struct live_fixture *fixture);          /* what is to be done now */
void fixture_turns(struct live_fixture *fixture, int ms); /* what is to be done in that time */
#define fixture_until(fixture, condition) wait_until((fixture_turns(fixture, 2), condition)) /* support/patience.h */
void fixture_applied(struct live_fixture *fixture);                                          /* those under way */
void fixture_died(struct live_fixture *fixture); /* the portal did, while they were */

struct view *view_of(const char *path, enum view_mode mode); /* ~ of /home/u is asked, and that; `path` may be NULL */
