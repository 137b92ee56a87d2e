/*
 * Theory of operation. A notification is received by a reader (readers.h), which reads the call's paths (call.h). What
 * the call needs is judged by sight alone (call_needs.h). Nothing: it goes on at once, whatever it will meet, and the
 * loop hears nothing of it. Something: it is handed to the loop, which judges it again, by what is seen then, and holds
 * it, one need after the other, until it goes on. A call that makes a name or starts a program and can't be read is
 * refused; any other goes on: the sandbox's mounts stand for themselves. (A masked name that the host doesn't have is
 * the one thing that no mount can stand for: a tool that changes its memory between our look and the kernel's makes it
 * unasked, and is found out at the end of the session.)
 *
 * Most calls make, change or remove something in a tree that may be written, by names that no mask has (sights_plain).
 * Where no link is on the way, which one look of the kernel's says (lead_straight), these go on before anything else
 * is looked at. Nothing is kept from one call for the next.
 *
 * A call that goes on uses what is mounted, and no SIGSTOP keeps it from that: a thread that waits for our answer ends
 * its call before it stops. So nothing goes on while something that the broker has said is being read or not carried
 * out, which may take what the call uses. Such calls are judged when all of it is carried out. What is unread isn't
 * said to be carried out by anybody, so a call that goes on then comes before it.
 *
 * That look and the answer are two steps, and a reader may be stopped between them, or wait for a processor
 * there, for as long as it takes to say that the right is withdrawn before the sandbox goes on
 * (broker/sessions/sandbox.c). So the answer needs the clearance (clearance.h) as well, which sbxd withholds before it
 * says so: the kernel refuses the answer then, and the call is judged later, too. A call that was held and allowed
 * needs it likewise, and is judged and asked about anew, like another call of its thread: what it was allowed may be
 * what is withdrawn. Sbxd gives the clearance back when it has heard that all is carried out, of which nothing tells
 * us: it is looked at again and again. Answers that refuse a call need none.
 *
 * The readers share the `desk` with the loop; the last user frees it. While the sights change (traps_see) the readers
 * can't judge, and hand everything over. They wait when the loop has not taken DESK_MOST calls yet, so
 * that no more than that of the tool's data is kept.
 */
#include "traps.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/queue.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "carried.h"
#include "host_make.h"
#include "plan/lead.h"
#include "readers.h"
#include "trap.h"
#include "wakeups.h"

enum {
	TRAPS_TURN = 64, /* calls taken before the rest of the loop has its turn */
	DESK_MOST = 64,
	TRAPS_WITHHELD_MS = 10, /* between looks while the clearance is withheld */
	TRAPS_ALLOWED_MOST = 1000,
	TRAPS_JUDGED_MOST = 16, /* times that what a call was allowed may bring something more to ask about */
};

/* A call that was handed over, and then perhaps held. */
struct trapped {
	STAILQ_ENTRY(trapped) entry;  /* of the desk */
	struct trapped *next, **link; /* of those that are held */
	struct traps *traps;
	uint64_t ticket;
	struct trap trap;
	struct call_needs needs;
	size_t at;   /* the need that is waited for */
	int judged;  /* how often, since it was held */
	bool makes;  /* what it makes is made on the host (host_make.h) */
	bool made;   /* it is, and is being mounted */
	bool linked; /* what its links need was asked for */
};

struct desk {
	struct trap_rules rules; /* but for `wanted` */
	atomic_uint wanted;
	atomic_int root;   /* of the sandbox, as a name alone; -1: no thread of it has come yet */
	atomic_bool moved; /* the view was another one before: mounts have come or gone */
	int listener;
	struct wakeups wakeups; /* of who watches the readers */
	int handed;             /* eventfd: there is something in `calls` */
	atomic_uint_fast64_t received;
	struct host_made *made;
	struct clearance *clearance; /* as long as it isn't over */
	pthread_mutex_t lock;        /* all below */
	pthread_cond_t taken;
	STAILQ_HEAD(, trapped) calls;
	size_t count;
	bool withheld;          /* the clearance was, at the last try */
	bool told;              /* that it can't be used */
	bool over;              /* traps_free: nobody takes what is handed over */
	struct traps_view view; /* its `seen` is NULL while there is none */
	bool (*behind)(void *context);
	void *behind_context;
};

struct traps {
	struct traps_options options;
	struct desk *desk;
	struct readers *readers;
	struct event *handed, *again;
	struct trapped *held;
	uint64_t held_count;
	bool waits; /* until what the broker has said is carried out */
};

static struct trap_rules rules_of(const struct desk *desk) {
	struct trap_rules rules = desk->rules;
	rules.wanted = atomic_load(&desk->wanted);
	rules.root = atomic_load(&desk->root);
	rules.still = !atomic_load(&desk->moved);
	return rules;
}

static bool is_waiting(const struct desk *desk, uint64_t id) {
	return ioctl(desk->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

/* Of a thread that is gone nobody hears. */
static void answer(const struct desk *desk, uint64_t id, int code) {
	struct seccomp_notif_resp answer = {.id = id, .error = -code};
	ioctl(desk->listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

/* The lock is held: who asks may come after traps_free. */
static bool has_unheard(const struct desk *desk) {
	return desk->over || desk->behind(desk->behind_context);
}

static bool is_behind(struct desk *desk) {
	pthread_mutex_lock(&desk->lock);
	const bool behind = has_unheard(desk);
	pthread_mutex_unlock(&desk->lock);
	return behind;
}

/* The lock is held, and it isn't over. False: not now. */
static bool send_cleared(struct desk *desk, uint64_t id) {
	const int r = clearance_send(desk->clearance, desk->listener, id);
	if (r < 0 && r != -EINVAL && !desk->told) {
		log_warning("sbxd's word that calls of this sandbox may go on can't be used, so they wait: %s",
			    strerror(-r));
		desk->told = true;
	}
	desk->withheld = r < 0;
	return !desk->withheld;
}

/* A call that the runner carries out itself. On the loop, where what the broker takes back is carried out, too. False:
 * not now. */
static bool carry_out(struct traps *traps, const struct trap *trap) {
	struct desk *desk = traps->desk;
	struct clearance *clearance = traps->options.clearance;
	CLEANUP_FD int fd = -1;
	const struct links_view view = {desk->rules.curtain, traps->options.sight, traps->options.context};
	int code = carried_open(trap, &view, &fd);
	if (!is_waiting(desk, trap->id)) return true; /* it may be another thread's folder */
	if (!clearance_begin(clearance)) return false;
	if (code == 0) code = carried_do(trap, fd);
	clearance_end(clearance);
	answer(desk, trap->id, code);
	return true;
}

/* A call for which nothing is needed, by a look before. False: not now. */
static bool let_go_on(struct desk *desk, uint64_t id) {
	pthread_mutex_lock(&desk->lock);
	const bool sent = !has_unheard(desk) && send_cleared(desk, id);
	pthread_mutex_unlock(&desk->lock);
	return sent;
}

/* A call that was allowed. False: not now. On the loop, before traps_free. */
static bool let_allowed_go_on(struct traps *traps, const struct trap *trap) {
	struct desk *desk = traps->desk;
	if (carried_is_one(trap)) return carry_out(traps, trap);
	pthread_mutex_lock(&desk->lock);
	const bool sent = send_cleared(desk, trap->id);
	pthread_mutex_unlock(&desk->lock);
	return sent;
}

static void trapped_free(struct trapped *trapped) {
	call_needs_finish(&trapped->needs);
	trap_finish(&trapped->trap);
	free(trapped);
}

/* In the readers */

/* The view of a reader; `blind`: it is changing. */
struct glance {
	struct desk *desk;
	bool blind;
};

static struct sight glance_at(void *context, const char *path) {
	struct glance *glance = context;
	struct desk *desk = glance->desk;
	struct sight sight = {.mode = VIEW_ABSENT};
	pthread_mutex_lock(&desk->lock);
	if (desk->view.seen)
		sight = desk->view.seen(desk->view.context, path);
	else
		glance->blind = true;
	pthread_mutex_unlock(&desk->lock);
	return sight;
}

/* On the loop. */
static struct trap_view view_of(const struct traps *traps) {
	const struct traps_options *options = &traps->options;
	return (struct trap_view){.sight = options->sight,
				  .mask_below = options->mask_below,
				  .context = options->context,
				  .made = traps->desk->made};
}

static void desk_wake(const struct desk *desk) {
	static const uint64_t one = 1;
	(void)!write(desk->handed, &one, sizeof one); /* can't fail short of 2^64 */
}

/* The trap is taken over. */
static void hand_over(struct desk *desk, const struct trap *trap) {
	struct trapped *trapped = mem_new(struct trapped);
	trapped->trap = *trap;
	pthread_mutex_lock(&desk->lock);
	while (desk->count >= DESK_MOST && !desk->over) pthread_cond_wait(&desk->taken, &desk->lock);
	const bool over = desk->over, first = desk->count == 0;
	if (!over) {
		STAILQ_INSERT_TAIL(&desk->calls, trapped, entry);
		desk->count++;
	}
	pthread_mutex_unlock(&desk->lock);
	if (over)
		trapped_free(trapped);
	else if (first)
		desk_wake(desk);
}

/* False: the loop has to. */
static bool settle(struct desk *desk, const struct trap_rules *rules, const struct trap *trap) {
	struct glance glance = {.desk = desk};
	CLEANUP_CALL_NEEDS struct call_needs needs = {.count = 0};
	if (trap->code != 0) {
		answer(desk, trap->id, trap->code);
		return true;
	}
	const struct trap_view view = {.sight = glance_at, .context = &glance, .made = desk->made};
	const enum trap_end end = trap_judge(rules, trap, &view, &needs);
	if (end == TRAP_NEEDS || end == TRAP_MAKES || glance.blind || trap->call.set_id || trap->links) return false;
	if (end == TRAP_GOES_ON) return let_go_on(desk, trap->id);
	if (is_behind(desk)) return false;
	answer(desk, trap->id, end == TRAP_FAILS ? needs.code : 0);
	return true;
}

/* What the broker has said and isn't carried out may be the first rule about programs. */
static struct trap_rules rules_to_come(struct desk *desk, int number) {
	struct trap_rules rules = rules_of(desk);
	if (trap_may_start(&rules, number) && !(rules.wanted & TRAPS_PROGRAMS) && is_behind(desk))
		rules.wanted |= TRAPS_PROGRAMS | TRAPS_DENIALS;
	return rules;
}

/* Of the first thread that comes, and so of all (lead_root). */
static void find_root(struct desk *desk, const struct seccomp_notif *received) {
	int none = -1, root = lead_root((pid_t)received->pid);
	if (root < 0) return;
	if (!is_waiting(desk, received->id) || !atomic_compare_exchange_strong(&desk->root, &none, root))
		fd_close(root);
}

/* Nothing that could be asked about has such a name: the call goes on before anything else is looked at. */
static bool is_plain(struct desk *desk, const struct trap_rules *rules, struct trap *trap) {
	if (!trap_glance(rules, trap)) return false;
	pthread_mutex_lock(&desk->lock);
	const bool same = desk->view.seen && rules->still == !desk->moved;
	const bool plain = same && desk->view.plain(desk->view.context, trap->call.paths[0]);
	pthread_mutex_unlock(&desk->lock);
	return plain;
}

/* The paths are that thread's if it has been waiting all the while (seccomp_unotify(2), "process reuse"), without which
 * no answer is taken. False: the loop has to; what was taken of a socket may take long to close, which is not for
 * here. */
static bool serve(struct desk *desk, const struct trap_rules *rules, struct trap *trap) {
	if (trap->socket) return false;
	if (is_plain(desk, rules, trap) && let_go_on(desk, trap->id)) return true;
	trap_place(rules, trap);
	return !is_waiting(desk, trap->id) || settle(desk, rules, trap);
}

static void on_received(void *context, const struct seccomp_notif *received, struct socket_caller *caller) {
	struct desk *desk = context;
	if (atomic_load(&desk->root) < 0) find_root(desk, received);
	const struct trap_rules rules = rules_to_come(desk, received->data.nr);
	struct trap trap;
	atomic_fetch_add(&desk->received, 1);
	trap_read(&rules, caller, received, &trap);
	if (serve(desk, &rules, &trap))
		trap_finish(&trap);
	else
		hand_over(desk, &trap);
}

static void desk_free(struct desk *desk) {
	host_made_free(desk->made);
	pthread_cond_destroy(&desk->taken);
	pthread_mutex_destroy(&desk->lock);
	fd_close(desk->handed);
	fd_close(desk->listener);
	fd_close(desk->root);
	wakeups_finish(&desk->wakeups);
	free(desk);
}

static void on_look(void *context) {
	struct desk *desk = context;
	wakeups_look(&desk->wakeups);
}

static void on_readers_gone(void *context) {
	desk_free(context);
}

/* Holding */

/* The call is in the list of held ones. */
static void held_take_out(struct trapped *trapped) {
	*trapped->link = trapped->next;
	if (trapped->next) trapped->next->link = trapped->link;
}

static void held_end(struct trapped *trapped) {
	held_take_out(trapped);
	trapped_free(trapped);
}

/* What a refusal looks like from inside: as the mount table would have it. */
static int refusal(enum held_end end, const struct need *need) {
	switch (end) {
	case HELD_AGAIN:
		return 0;
	case HELD_ABSENT:
		return need->permission == PERMISSION_FS_WRITE ? EROFS : ENOENT; /* a link: EACCES (held.c) */
	case HELD_REFUSED:
		return EACCES;
	case HELD_INTERRUPTED:
		return EINTR;
	}
	return EACCES;
}

static void judge_later(struct traps *traps, struct trapped *trapped);

/* It could go on, and something has been taken back since. */
static void judge_anew(struct trapped *trapped) {
	held_take_out(trapped);
	call_needs_finish(&trapped->needs);
	trapped->needs = (struct call_needs){.count = 0};
	trapped->at = 0;
	trapped->linked = trapped->makes = false;
	judge_later(trapped->traps, trapped);
}

static void on_done(void *argument, enum held_end end);

static void hold_next(struct trapped *trapped) {
	const struct traps_options *options = &trapped->traps->options;
	trapped->ticket = options->hold(options->context, trapped->trap.thread, &trapped->needs.items[trapped->at],
					on_done, trapped);
}

/* A folder that was granted for the call may have masks: what it is about to make there is asked about, too. */
static bool needs_more(struct trapped *trapped, int *code) {
	const struct trap_rules rules = rules_of(trapped->traps->desk);
	const struct trap_view view = view_of(trapped->traps);
	CLEANUP_CALL_NEEDS struct call_needs needs = {.count = 0};
	if (trapped->trap.call.class != CALL_NAMES && !trapped->trap.call.create) return false;
	const enum trap_end end = trap_judge(&rules, &trapped->trap, &view, &needs);
	trapped->makes |= needs.made;
	if (end == TRAP_FAILS) *code = needs.code;
	if (end != TRAP_NEEDS) return false;
	call_needs_take_others(&trapped->needs, &needs);
	trapped->at = 0;
	return trapped->needs.count > 0;
}

/* What links need is asked for last, when all else is there: by then it is seen in whose tree they are. Returns what
 * the call fails with instead, or 0. */
static int add_links(struct trapped *trapped) {
	const struct traps_options *options = &trapped->traps->options;
	const struct links *links = trapped->linked ? NULL : trapped->trap.links;
	trapped->linked = true;
	if (!links) return 0;
	call_needs_finish(&trapped->needs);
	trapped->at = 0;
	return links_judge(links, options->sight, options->context, &trapped->needs);
}

static bool is_as_read(const struct trapped *trapped) {
	const struct trap *trap = &trapped->trap;
	return links_are_as_read(trap->links, trap->thread, &trap->call, trapped->traps->desk->rules.curtain);
}

/* Or else what the call fails with in *code, or 0. */
static bool has_more(struct trapped *trapped, int *code) {
	if (++trapped->at < trapped->needs.count) return true;
	if (!trapped->linked && needs_more(trapped, code)) return true;
	if (*code != 0) return false;
	*code = add_links(trapped);
	return *code == 0 && trapped->at < trapped->needs.count;
}

static void note_name(const struct trapped *trapped) {
	struct strings *allowed = trapped->traps->options.allowed;
	const struct need *need = &trapped->needs.items[trapped->at];
	if (allowed && allowed->count < TRAPS_ALLOWED_MOST && need->permission == PERMISSION_FS_WRITE &&
	    !strings_contain(allowed, need->path))
		strings_add(allowed, need->path);
}

static void note_links(const struct trapped *trapped) {
	const struct traps_options *options = &trapped->traps->options;
	struct strings *allowed = options->allowed;
	if (allowed && allowed->count < TRAPS_ALLOWED_MOST)
		links_note(trapped->trap.links, options->sight, options->context, allowed);
}

/* Making on the host */

/* It is mounted by now, or can't be: then the call fails as it would have, and an empty file may be left. */
static void on_mounted(void *argument) {
	struct trapped *trapped = argument;
	const struct trap *trap = &trapped->trap;
	struct desk *desk = trapped->traps->desk;
	struct clearance *clearance = trapped->traps->options.clearance;
	CLEANUP_FD int fd = -1;
	const bool opens = trap->call.class == CALL_OPEN, cleared = clearance_begin(clearance);
	int code = cleared ? 0 : EACCES;
	const struct trap_rules rules = rules_of(desk);
	if (code == 0 && opens && (fd = host_make_open(trap, &rules)) < 0) code = -fd;
	if (code == 0)
		host_make_answer(desk->listener, trap, fd);
	else
		answer(desk, trap->id, code);
	if (cleared) clearance_end(clearance);
	held_end(trapped);
}

enum making { MAKING, MAKING_FAILED, MAKING_LATER };

/* The call is in the list of held ones. Unless it is MAKING, nothing has been begun; MAKING_FAILED: it was answered, or
 * is gone. */
static enum making make(struct trapped *trapped) {
	struct host_made *made = trapped->traps->desk->made;
	const struct traps_options *options = &trapped->traps->options;
	const struct trap *trap = &trapped->trap;
	if (!is_waiting(trapped->traps->desk, trap->id)) return MAKING_FAILED; /* it may be another thread's path */
	if (!clearance_begin(options->clearance)) return MAKING_LATER;
	const bool removable = !host_make_removes(trap) || host_made_has(made, host_make_path(trap));
	const int code = removable ? host_make(trap) : EBUSY;
	clearance_end(options->clearance);
	if (code != 0 && (code != EEXIST || trap->call.class != CALL_OPEN || trap->call.exclusive)) {
		answer(trapped->traps->desk, trap->id, code);
		return MAKING_FAILED;
	}
	trapped->made = true;
	if (code == 0 && !host_make_removes(trap)) host_made_add(made, host_make_path(trap));
	options->remake(options->context, on_mounted, trapped);
	return MAKING;
}

static void make_allowed(struct trapped *trapped) {
	const enum making making = make(trapped);
	if (making == MAKING_LATER) judge_anew(trapped);
	if (making == MAKING_FAILED) held_end(trapped);
}

static void on_done(void *argument, enum held_end end) {
	struct trapped *trapped = argument;
	struct traps *traps = trapped->traps;
	int code = refusal(end, &trapped->needs.items[trapped->at]);
	trapped->ticket = 0;
	if (code == 0) note_name(trapped);
	if (code == 0 && is_waiting(traps->desk, trapped->trap.id) && has_more(trapped, &code)) {
		if (++trapped->judged < TRAPS_JUDGED_MOST) {
			hold_next(trapped);
			return;
		}
		code = EACCES;
	}
	if (code == 0 && !is_as_read(trapped)) code = EACCES;
	if (code == 0 && trapped->makes) {
		make_allowed(trapped);
		return;
	}
	if (code == 0 && !let_allowed_go_on(traps, &trapped->trap)) {
		judge_anew(trapped);
		return;
	}
	if (code != 0)
		answer(traps->desk, trapped->trap.id, code);
	else
		note_links(trapped);
	held_end(trapped);
}

/* Where signals restart a held call (before Linux 5.19) its thread comes again: the new one has joined the question
 * before the old one leaves it. */
static void drop_older(struct traps *traps, const struct trapped *newest) {
	for (struct trapped *held = traps->held, *next; held; held = next) {
		next = held->next;
		if (held == newest || held->made || held->trap.thread != newest->trap.thread ||
		    is_waiting(traps->desk, held->trap.id))
			continue;
		traps->options.drop(traps->options.context, held->ticket);
		held_end(held);
	}
}

static void held_put_in(struct traps *traps, struct trapped *trapped) {
	trapped->next = traps->held;
	trapped->link = &traps->held;
	if (trapped->next) trapped->next->link = &trapped->next;
	traps->held = trapped;
	traps->held_count++;
}

static void hold(struct traps *traps, struct trapped *trapped) {
	held_put_in(traps, trapped);
	hold_next(trapped);
	drop_older(traps, trapped);
}

/* On the loop */

enum judged { JUDGED, JUDGED_HELD, JUDGED_LATER };

static bool go_on(struct traps *traps, const struct trap *trap) {
	if (!carried_is_one(trap)) return let_go_on(traps->desk, trap->id);
	return !is_behind(traps->desk) && carry_out(traps, trap);
}

static enum judged make_unasked(struct traps *traps, struct trapped *trapped) {
	static const enum judged judged[] = {
		[MAKING] = JUDGED_HELD, [MAKING_FAILED] = JUDGED, [MAKING_LATER] = JUDGED_LATER};
	if (is_behind(traps->desk)) return JUDGED_LATER;
	held_put_in(traps, trapped);
	const enum making making = make(trapped);
	if (making != MAKING) held_take_out(trapped);
	return judged[making];
}

/* A call that needs nothing, unless its links do. */
static enum judged judge_links(struct traps *traps, struct trapped *trapped) {
	const int code = add_links(trapped);
	if (code != 0) {
		answer(traps->desk, trapped->trap.id, code);
		return JUDGED;
	}
	if (trapped->needs.count > 0) {
		hold(traps, trapped);
		return JUDGED_HELD;
	}
	trapped->linked = false;
	if (trapped->makes) return make_unasked(traps, trapped);
	return go_on(traps, &trapped->trap) ? JUDGED : JUDGED_LATER;
}

static enum judged judge(struct traps *traps, struct trapped *trapped) {
	struct trap *trap = &trapped->trap;
	const struct traps_options *options = &traps->options;
	const struct trap_rules rules = rules_of(traps->desk);
	if (trap->socket) {
		trap->socket = false; /* what was taken is theirs */
		network_take(options->network, trap->id, &trap->taken);
		return JUDGED;
	}
	if (!is_waiting(traps->desk, trap->id)) return JUDGED;
	if (options->called) options->called(options->context, trap->thread);
	const struct trap_view view = view_of(trapped->traps);
	const enum trap_end end = trap_judge(&rules, trap, &view, &trapped->needs);
	trapped->makes = trapped->needs.made;
	switch (end) {
	case TRAP_MAKES:
	case TRAP_GOES_ON:
		return judge_links(traps, trapped);
	case TRAP_SAYS_YES:
		answer(traps->desk, trap->id, 0);
		break;
	case TRAP_FAILS:
		answer(traps->desk, trap->id, trapped->needs.code);
		break;
	case TRAP_NEEDS:
		hold(traps, trapped);
		return JUDGED_HELD;
	}
	return JUDGED;
}

static struct trapped *desk_take(struct desk *desk) {
	pthread_mutex_lock(&desk->lock);
	struct trapped *trapped = STAILQ_FIRST(&desk->calls);
	if (trapped) {
		STAILQ_REMOVE_HEAD(&desk->calls, entry);
		desk->count--;
		pthread_cond_signal(&desk->taken);
	}
	pthread_mutex_unlock(&desk->lock);
	return trapped;
}

static void desk_put_back(struct desk *desk, struct trapped *trapped) {
	pthread_mutex_lock(&desk->lock);
	STAILQ_INSERT_HEAD(&desk->calls, trapped, entry);
	desk->count++;
	pthread_mutex_unlock(&desk->lock);
}

static void look_again(struct traps *traps, bool later) {
	const struct timeval delay = clock_timeval(later ? TRAPS_WITHHELD_MS : 0);
	event_add(traps->again, &delay);
}

/* Nobody is asked anew about what would wait again. */
static void on_again(evutil_socket_t fd, short what, void *argument) {
	struct traps *traps = argument;
	(void)fd, (void)what;
	if (!clearance_is_given(traps->options.clearance)) {
		look_again(traps, true);
		return;
	}
	traps->waits = false;
	desk_wake(traps->desk);
}

/* Until the broker has heard of it, it withholds the clearance. */
static void on_carried_out(void *argument) {
	struct traps *traps = argument;
	pthread_mutex_lock(&traps->desk->lock);
	const bool withheld = traps->desk->withheld;
	pthread_mutex_unlock(&traps->desk->lock);
	look_again(traps, withheld);
}

/* All wait, in their order. */
static void judge_later(struct traps *traps, struct trapped *trapped) {
	desk_put_back(traps->desk, trapped);
	if (traps->waits) return;
	traps->waits = true;
	traps->options.carried_out(traps->options.context, on_carried_out, traps);
}

/* None while they wait. */
static void judge_handed(struct traps *traps) {
	struct trapped *trapped;
	int taken = 0;
	for (; taken < TRAPS_TURN && !traps->waits && (trapped = desk_take(traps->desk)); taken++) {
		trapped->traps = traps;
		const enum judged judged = judge(traps, trapped);
		if (judged == JUDGED) trapped_free(trapped);
		if (judged == JUDGED_LATER) judge_later(traps, trapped);
	}
	if (taken == TRAPS_TURN) desk_wake(traps->desk);
}

static void on_handed(evutil_socket_t fd, short what, void *argument) {
	struct traps *traps = argument;
	uint64_t times;
	(void)what;
	(void)!read(fd, &times, sizeof times);
	judge_handed(traps);
}

static struct desk *desk_new(const struct traps_options *options) {
	struct desk *desk = mem_new(struct desk);
	*desk = (struct desk){.wanted = options->wanted,
			      .rules = {.curtain = options->curtain, .sockets = options->network != NULL},
			      .root = -1,
			      .wakeups = wakeups_new(options->listener),
			      .listener = options->listener,
			      .made = host_made_new(),
			      .handed = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
			      .clearance = options->clearance,
			      .behind = options->behind,
			      .behind_context = options->context};
	pthread_mutex_init(&desk->lock, NULL);
	pthread_cond_init(&desk->taken, NULL);
	STAILQ_INIT(&desk->calls);
	if (desk->handed < 0) mem_exhausted();
	return desk;
}

int traps_new(const struct traps_options *options, struct traps **ret_traps, struct error *error) {
	CLEANUP_TRAPS struct traps *traps = mem_new(struct traps);
	*traps = (struct traps){.options = *options, .desk = desk_new(options)};
	traps->handed = event_new(options->base, traps->desk->handed, EV_READ | EV_PERSIST, on_handed, traps);
	traps->again = evtimer_new(options->base, on_again, traps);
	if (!traps->again || !traps->handed || event_add(traps->handed, NULL) < 0) mem_exhausted();
	const struct readers_options readers = {.listener = options->listener,
						.serve = on_received,
						.look = on_look,
						.gone = on_readers_gone,
						.context = traps->desk};
	const int r = readers_new(&readers, &traps->readers, error);
	if (r < 0) return r;
	*ret_traps = STEAL(traps);
	return 0;
}

void traps_want(struct traps *traps, unsigned wanted) {
	atomic_store(&traps->desk->wanted, wanted);
}

void traps_see(struct traps *traps, const struct traps_view *view) {
	struct desk *desk = traps->desk;
	pthread_mutex_lock(&desk->lock);
	if (!view && desk->view.seen) desk->moved = true;
	desk->view = view ? *view : (struct traps_view){.seen = NULL};
	pthread_mutex_unlock(&desk->lock);
}

struct traps_counts traps_count(const struct traps *traps) {
	return (struct traps_counts){.received = atomic_load(&traps->desk->received), .held = traps->held_count};
}

/* Calls that were handed over and not taken are dropped. The desk is the readers' from then on. */
static void desk_close(struct desk *desk) {
	struct trapped *trapped;
	pthread_mutex_lock(&desk->lock);
	desk->view.seen = NULL;
	desk->over = true;
	pthread_cond_broadcast(&desk->taken);
	pthread_mutex_unlock(&desk->lock);
	while ((trapped = desk_take(desk))) trapped_free(trapped);
}

void traps_free(struct traps *traps) {
	if (!traps) return;
	for (struct trapped *held = traps->held, *next; held; held = next) {
		next = held->next;
		if (held->ticket) traps->options.drop(traps->options.context, held->ticket);
		held_end(held);
	}
	if (traps->handed) event_free(traps->handed);
	if (traps->again) event_free(traps->again);
	desk_close(traps->desk);
	if (traps->readers)
		readers_free(traps->readers);
	else
		desk_free(traps->desk);
	free(traps);
}
