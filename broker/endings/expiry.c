#include "expiry.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/memory.h"
#include "grants/granting.h"
#include "sessions/session.h"
#include "sessions/session_tell.h"
#include "sessions/settling.h"

enum { BY_WALL, BY_BOOT, TIMER_COUNT };

struct expiry {
	struct {
		int fd;
		struct event *event;
	} timers[TIMER_COUNT];
	bool failed; /* the last sweep could not be written */
};

static void on_timer(evutil_socket_t fd, short what, void *argument) {
	(void)what;
	uint64_t times;
	/* ECANCELED says that the clock was set: look again just the same. */
	ssize_t got = read(fd, &times, sizeof times);
	(void)got;
	expiry_sweep(argument);
}

int expiry_new(struct broker *broker, struct expiry **ret_expiry, struct error *error) {
	static const clockid_t clocks[TIMER_COUNT] = {[BY_WALL] = CLOCK_REALTIME, [BY_BOOT] = CLOCK_BOOTTIME};
	struct expiry *expiry = mem_new(struct expiry);
	int r = 0;
	for (int i = 0; i < TIMER_COUNT; i++) {
		expiry->timers[i].fd = timerfd_create(clocks[i], TFD_CLOEXEC | TFD_NONBLOCK);
		if (expiry->timers[i].fd < 0) {
			if (r == 0) r = error_errno(error, "making a timer");
			continue;
		}
		expiry->timers[i].event =
			event_new(broker->base, expiry->timers[i].fd, EV_READ | EV_PERSIST, on_timer, broker);
		if (!expiry->timers[i].event || event_add(expiry->timers[i].event, NULL) < 0) mem_exhausted();
	}
	if (r < 0) {
		expiry_free(expiry);
		return r;
	}
	*ret_expiry = expiry;
	return 0;
}

void expiry_free(struct expiry *expiry) {
	if (!expiry) return;
	for (int i = 0; i < TIMER_COUNT; i++) {
		if (expiry->timers[i].event) event_free(expiry->timers[i].event);
		fd_close(expiry->timers[i].fd);
	}
	free(expiry);
}

static void set_timer(int fd, int64_t at_ms, int flags) {
	const struct itimerspec spec = {.it_value = {.tv_sec = at_ms / 1000, .tv_nsec = at_ms % 1000 * 1000000}};
	if (timerfd_settime(fd, flags, &spec, NULL) < 0) log_error("setting a timer: %m");
}

static void set_timers(struct broker *broker) {
	int64_t wall_ms = 0, boot_ms = 0;
	struct error error = ERROR_NONE;
	if (grants_next_expiry(broker->grants, &wall_ms, &boot_ms, &error) < 0) {
		log_error("%s", error.message);
		return;
	}
	set_timer(broker->expiry->timers[BY_WALL].fd, wall_ms, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET);
	set_timer(broker->expiry->timers[BY_BOOT].fd, boot_ms, TFD_TIMER_ABSTIME);
}

static int write_ends(struct broker *broker, const struct grant_list *ended, struct error *error) {
	int r = broker_begin(broker, STORE_NORMAL, error);
	if (r < 0) return r;
	for (size_t i = 0; r == 0 && i < ended->count; i++) {
		r = grants_end(broker->grants, ended->items[i].id, error);
		if (r == 0) r = granting_record_end(broker, EVENT_EXPIRE, &ended->items[i], "its time is over", error);
	}
	if (r == 0) return broker_commit(broker, error);
	broker_rollback(broker);
	return r;
}

static void tell(struct broker *broker, const struct grant_list *ended) {
	const struct settling_wish wish = {.kind = EVENT_EXPIRE, .grant = ended->count == 1 ? ended->items : NULL};
	struct settling *settling = settling_new(broker, &wish);
	sessions_tell_ended(broker, ended, settling);
	settling_then(settling, NULL, NULL);
}

void expiry_sweep(struct broker *broker) {
	CLEANUP_GRANT_LIST struct grant_list ended = {0};
	struct error error = ERROR_NONE;
	int r = grants_expired(broker->grants, &ended, &error);
	if (r == 0 && ended.count > 0) r = write_ends(broker, &ended, &error);
	/* Lookups don't find an ended grant whether or not it could be written down; so tell of it in any case. */
	if (r < 0) log_error("ending grants: %s", error.message);
	if (ended.count > 0) tell(broker, &ended);
	broker->expiry->failed = r < 0;
	/* Of those that are left the time is past, so the timer goes off at once: others get their turn in between. */
	if (r == 0) set_timers(broker);
}

void expiry_retry(struct broker *broker) {
	if (broker->expiry->failed) expiry_sweep(broker);
}
