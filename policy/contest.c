/*
 * Theory of operation
 *
 * Within a layer the rule whose match ends deepest wins; where equal, a literal before a pattern; where equal, the
 * profile before what it extends; where equal, deny before ask before allow. The layers are asked in turn and the first
 * with a match decides: an administrator's denies, the user, the project, the built-in profiles, an administrator's
 * allows and asks. A sticky rule (one of base's masks and sensitive places) counts in every layer: where the rule that
 * won a layer doesn't lift it (sticky.h), the stricter of the two holds.
 *
 * fs:read and fs:write speak of each other's requests, because writing implies reading:
 *
 *     rule \ request      read                    write
 *     allow fs:read       own                     –
 *     ask   fs:read       own                     –
 *     deny  fs:read       own                     own (what can't be read can't be written)
 *     allow fs:write      own                     own
 *     ask   fs:write      an offer; a mask: –     own; a mask narrows
 *     deny  fs:write      –                       own
 *
 * "Own" rules compete as they are. The others win in one direction only:
 *  - an ask for writing offers reading too (`ask fs:write ~`: nobody wants a file to be writable but not readable), yet
 *    must not make a question of reading that is allowed anyway. So where the own rules alone allow reading, they do.
 *  - a mask (one of base's asks for writing) holds up writers in places that run code outside the sandbox, but offers
 *    nothing: where the own rules alone would not let the writer in, no question is asked, and their deny or silence
 *    stands. A mask speaks of writing alone: to a reader it is not there.
 *
 * So the contest is held twice in one pass over the candidates, with and without these rules. Last, a writer needs what
 * a reader needs: a request to write is decided as one to read, too, and the stricter answer holds. An `ask fs:read`
 * deep in a tree that may be written so holds up the writer as well, who could read there.
 *
 * A denial that names a link is there once more by the path that it leads to (leads.h), and competes there as any rule.
 * It counts for a target whose name by the link the rules, as they are written, deny: what a rule lifts behind the link
 * (`~/.ssh` that is a link, denied, and `~/.ssh/known_hosts` allowed) isn't denied where that lies either. A link to a
 * folder that it lies in itself (`~/link` to `~`) takes away what may be asked for or granted there, and nothing that
 * rules allow: it would be all of a home. Whether one counts is a contest of its own, so these are entered last and the
 * strongest first, and what would win nothing isn't asked for. Of links that only a project's file names some are asked
 * for, and all others count: what it denies by a link it could deny by the path.
 */
#include "contest.h"

#include <stdlib.h>

#include "base/path.h"
#include "leads.h"
#include "sticky.h"

enum slot { SLOT_ADMIN_DENY, SLOT_USER, SLOT_PROJECT, SLOT_BUILTIN, SLOT_ADMIN_REST, SLOT_COUNT };

enum { PROJECT_ASKED_MAX = 16 /* links, for one target */ };

struct contest {
	struct winner layers[SLOT_COUNT];
	struct winner sticky;
};

struct request_view { /* what the rules are held against */
	const struct rule_index *index;
	const struct permission *permission;
	const char *target;
	bool addresses; /* only rules that name addresses count */
	bool written;   /* only rules as they are written count */
	struct contest all, own;
	struct winner *led; /* that match, of denials where they lead */
	size_t led_count;
};

enum part { PART_NONE, PART_OWN, PART_EXTRA };

static bool is_mask(const struct rule *rule) {
	return rule->sticky && rule->effect == EFFECT_ASK && rule->permission.kind == PERMISSION_FS_WRITE;
}

static const enum part parts_in_read[][EFFECT_COUNT] = {
	[PERMISSION_FS_READ] = {[EFFECT_ALLOW] = PART_OWN, [EFFECT_ASK] = PART_OWN, [EFFECT_DENY] = PART_OWN},
	[PERMISSION_FS_WRITE] = {[EFFECT_ALLOW] = PART_OWN, [EFFECT_ASK] = PART_EXTRA, [EFFECT_DENY] = PART_NONE},
};

static const enum part parts_in_write[][EFFECT_COUNT] = {
	[PERMISSION_FS_READ] = {[EFFECT_ALLOW] = PART_NONE, [EFFECT_ASK] = PART_NONE, [EFFECT_DENY] = PART_OWN},
	[PERMISSION_FS_WRITE] = {[EFFECT_ALLOW] = PART_OWN, [EFFECT_ASK] = PART_OWN, [EFFECT_DENY] = PART_OWN},
};

static enum part part_of(const struct rule *rule, const struct permission *permission) {
	if (permission->kind == PERMISSION_FS_READ)
		return is_mask(rule) ? PART_NONE : parts_in_read[rule->permission.kind][rule->effect];
	if (permission->kind == PERMISSION_FS_WRITE)
		return is_mask(rule) ? PART_EXTRA : parts_in_write[rule->permission.kind][rule->effect];
	return permission_equal(&rule->permission, permission) ? PART_OWN : PART_NONE;
}

static enum slot slot_of(const struct rule *rule) {
	switch (rule->layer) {
	case POLICY_LAYER_ADMIN:
		return rule->effect == EFFECT_DENY ? SLOT_ADMIN_DENY : SLOT_ADMIN_REST;
	case POLICY_LAYER_USER:
		return SLOT_USER;
	case POLICY_LAYER_PROJECT:
		return SLOT_PROJECT;
	case POLICY_LAYER_BUILTIN:
		break;
	}
	return SLOT_BUILTIN;
}

/* Does the candidate beat the one that leads? The order of enum effect is deny, ask, allow. */
static bool beats(const struct winner *candidate, const struct winner *leader) {
	if (!leader->rule) return true;
	int closer = pattern_rank_compare(candidate->rank, leader->rank);
	if (closer != 0) return closer > 0;
	if (candidate->rule->distance != leader->rule->distance)
		return candidate->rule->distance < leader->rule->distance;
	if (candidate->rule->effect != leader->rule->effect) return candidate->rule->effect < leader->rule->effect;
	return candidate->rule < leader->rule; /* the same either way, but always the same one is named */
}

/* False: it changes nothing. */
static bool contest_takes(const struct contest *contest, const struct winner *candidate) {
	return beats(candidate, &contest->layers[slot_of(candidate->rule)]) ||
	       (candidate->rule->sticky && beats(candidate, &contest->sticky));
}

static void contest_enter(struct contest *contest, const struct winner *candidate) {
	struct winner *leader = &contest->layers[slot_of(candidate->rule)];
	if (beats(candidate, leader)) *leader = *candidate;
	if (candidate->rule->sticky && beats(candidate, &contest->sticky)) contest->sticky = *candidate;
}

static void enter_rule(void *context, const struct rule *rule) {
	struct request_view *view = context;
	struct winner candidate = {.rule = rule};
	enum part part = rule->lead && view->written ? PART_NONE : part_of(rule, view->permission);
	if (part == PART_NONE || !pattern_applies(rule->pattern, rule->effect, view->target, &candidate.rank)) return;
	if (view->addresses && !pattern_names_address(rule->pattern)) return;
	if (rule->lead) { /* all are the request's own: denials */
		view->led = array_grow(view->led, view->led_count, sizeof *view->led);
		view->led[view->led_count++] = candidate;
		return;
	}
	contest_enter(&view->all, &candidate);
	if (part == PART_OWN) contest_enter(&view->own, &candidate);
}

static struct winner contest_winner(const struct contest *contest) {
	for (size_t i = 0; i < SLOT_COUNT; i++) {
		const struct winner *best = &contest->layers[i], *sticky = &contest->sticky;
		if (!best->rule) continue;
		bool lifted = !sticky->rule || best->rule->sticky ||
			      sticky_is_lifted(sticky->rank, pattern_text(best->rule->pattern));
		/* It makes nothing of a denial: else a project's file could turn one that a later layer has into a
		 * question by denying more. */
		return lifted || best->rule->effect < sticky->rule->effect ? *best : *sticky;
	}
	return (struct winner){0};
}

static enum effect effect_of(struct winner winner) {
	return winner.rule ? winner.rule->effect : EFFECT_DENY;
}

static enum effect effect_as_written(const struct request_view *view, const char *target);

struct asked {
	int target; /* what rules say of it as they are written; -1: not known yet */
	unsigned of_project;
};

/* Of a denial where it leads. */
static bool lead_counts(const struct request_view *view, const struct rule_lead *lead, struct asked *asked) {
	if (path_is_below(lead->place, lead->there)) {
		if (asked->target < 0) asked->target = (int)effect_as_written(view, view->target);
		if (asked->target == EFFECT_ALLOW) return false;
	}
	if (lead->project && asked->of_project++ >= PROJECT_ASKED_MAX) return true;
	CLEANUP_FREE char *name = rule_lead_name(lead, view->target);
	return effect_as_written(view, name) == EFFECT_DENY;
}

static int compare_strength(const void *a, const void *b) {
	return beats(a, b) ? -1 : beats(b, a); /* an index may visit a rule twice */
}

static void enter_led(struct request_view *view) {
	const struct rule_lead *refused = NULL;
	struct asked asked = {.target = -1};
	if (view->led_count > 0) qsort(view->led, view->led_count, sizeof *view->led, compare_strength);
	for (size_t i = 0; i < view->led_count; i++) {
		const struct winner *candidate = &view->led[i];
		const struct rule_lead *lead = candidate->rule->lead;
		if (lead == refused || !(contest_takes(&view->all, candidate) || contest_takes(&view->own, candidate)))
			continue;
		if (!lead_counts(view, lead, &asked)) {
			refused = lead;
			continue;
		}
		contest_enter(&view->all, candidate);
		contest_enter(&view->own, candidate);
	}
}

static void hold(struct request_view *view) {
	rule_index_visit(view->index, view->permission, view->target, enter_rule, view);
	enter_led(view);
	free(view->led);
}

static struct winner decide(const struct rule_index *index, enum permission_kind kind, const char *target,
			    bool written) {
	const struct permission permission = permission_of(kind);
	struct request_view view = {.index = index, .permission = &permission, .target = target, .written = written};
	hold(&view);
	struct winner all = contest_winner(&view.all), own = contest_winner(&view.own);
	bool extra_counts = kind == PERMISSION_FS_READ ? effect_of(own) != EFFECT_ALLOW : effect_of(own) != EFFECT_DENY;
	return extra_counts ? all : own;
}

static struct winner decide_write(const struct rule_index *index, const char *target, bool written) {
	struct winner write = decide(index, PERMISSION_FS_WRITE, target, written);
	if (effect_of(write) == EFFECT_DENY) return write;
	struct winner read = decide(index, PERMISSION_FS_READ, target, written);
	return effect_of(read) < effect_of(write) ? read : write;
}

static enum effect effect_as_written(const struct request_view *view, const char *target) {
	return effect_of(view->permission->kind == PERMISSION_FS_WRITE
				 ? decide_write(view->index, target, true)
				 : decide(view->index, PERMISSION_FS_READ, target, true));
}

struct winner contest_decide(const struct rule_index *index, const struct permission *permission, const char *target) {
	if (permission->kind == PERMISSION_FS_READ) return decide(index, PERMISSION_FS_READ, target, false);
	if (permission->kind == PERMISSION_FS_WRITE) return decide_write(index, target, false);
	struct request_view view = {.index = index, .permission = permission, .target = target};
	hold(&view);
	return contest_winner(&view.all);
}

struct winner contest_address(const struct rule_index *index, const char *target) {
	const struct permission permission = permission_of(PERMISSION_NET_ACCESS);
	struct request_view view = {.index = index, .permission = &permission, .target = target, .addresses = true};
	hold(&view);
	return contest_winner(&view.all);
}

struct winner contest_sticky(const struct rule_index *index, const struct permission *permission, const char *target) {
	struct request_view view = {.index = index, .permission = permission, .target = target};
	hold(&view);
	return view.all.sticky;
}
