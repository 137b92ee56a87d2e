/*
 * Theory of operation. The view is not computed from the rules but asked of the stack, path by path: whatever a rule, a
 * grant or `protected` names may differ from the tree it lies in, so each such path gets the verdict that a request for
 * it would get, and the view can't disagree with the decisions. What they don't name is as the nearest folder above it.
 * While the view is built the grants are asked for in memory (grant_set.h), not in the store; where none covers what a
 * rule names, the answer is the one that the ruleset's last view got.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/string.h"
#include "grant_set.h"
#include "judge.h"
#include "ruleset_parts.h"
#include "schema/limits.h"

struct building {
	const struct stack_context *context;
	const struct grant_set *set; /* NULL: `context` asks elsewhere */
	const struct subject *subject;
	int64_t session;
	struct view *view;
	size_t socket_bytes;        /* of the view's sockets so far */
	const struct grant *grants; /* of `set` */
	size_t grant_count;
};

/* Of a path: where it led when the grant was given that allows it; NULL: no grant does, or nowhere else. */
static char *resolved_by(const struct answer *answer, const char *target) {
	const struct grant *grant = answer->grant;
	if (!answer->given || answer->effect != EFFECT_ALLOW || !grant || !grant->resolved) return NULL;
	static const struct pattern_scope nothing = {.home = NULL};
	CLEANUP_PATTERN struct pattern *pattern = NULL;
	if (pattern_compile(&grant->permission, grant->pattern, &nothing, &pattern, NULL) < 0) return NULL;
	const char *tree = pattern_target(pattern);
	if (!tree || !path_is_below(target, tree)) return NULL;
	return string_format("%s%s", grant->resolved, target + strlen(tree));
}

static bool ends_at(const struct pattern *pattern, const char *target) {
	struct pattern_rank rank;
	return pattern && pattern_match(pattern, target, &rank) && rank.depth == path_depth(target);
}

static bool is_said_here(const struct answer *answer, const char *target) {
	static const struct pattern_scope nothing = {.home = NULL};
	CLEANUP_PATTERN struct pattern *pattern = NULL;
	const struct grant *grant = answer->grant;
	if (!answer->given) return false;
	if (!grant) return !answer->rule || ends_at(answer->rule->pattern, target);
	return pattern_compile(&grant->permission, grant->pattern, &nothing, &pattern, NULL) == 0 &&
	       ends_at(pattern, target);
}

static bool gives_own(const struct answer *answer, const char *target) {
	const struct rule *rule = answer->grant ? NULL : answer->rule;
	return answer->given && rule && rule->per_project && ends_at(rule->pattern, target);
}

struct judgement {
	enum effect effect;
	bool denied;    /* by somebody's word; else a denial is for want of one */
	bool here;      /* said of that very path, not of what lies above */
	bool own;       /* by a rule that gives the project's own (per-project: true) */
	char *resolved; /* resolved_by(); owned, or NULL */
};

static struct judgement judge_path(const struct stack_context *context, const struct subject *subject, int64_t session,
				   enum permission_kind kind, const char *target) {
	struct answer answer;
	struct stack_line line;
	const struct request request = {.session = session,
					.subject = *subject,
					.permission = permission_of(kind),
					.target = (char *)target,
					.view = true};
	judge(context, &request, &answer, &line, NULL, NULL);
	const struct judgement judgement = {.effect = answer.given ? answer.effect : EFFECT_DENY,
					    .denied = answer.given && answer.effect == EFFECT_DENY,
					    .here = is_said_here(&answer, target),
					    .own = gives_own(&answer, target),
					    .resolved = resolved_by(&answer, target)};
	answer_finish(&answer);
	return judgement;
}

static enum effect judge_target(const struct stack_context *context, const struct subject *subject, int64_t session,
				enum permission_kind kind, const char *target) {
	const struct judgement judgement = judge_path(context, subject, session, kind, target);
	free(judgement.resolved);
	return judgement.effect;
}

struct view_path view_path_of(const struct stack_context *context, const struct subject *subject, int64_t session,
			      const char *path) {
	struct view_path entry = {.path = (char *)path, .mode = VIEW_WRITE};
	const struct judgement write = judge_path(context, subject, session, PERMISSION_FS_WRITE, path);
	entry.resolved = write.resolved;
	entry.own = write.own;
	if (write.effect == EFFECT_ALLOW && (write.resolved || write.here)) return entry;
	free(write.resolved);
	const struct judgement read = judge_path(context, subject, session, PERMISSION_FS_READ, path);
	entry.resolved = read.resolved;
	/* What the folders above a link say of writing is said of the link, not of where a grant to read leads. */
	const bool adds = read.resolved && !write.denied && !write.here;
	if (write.effect == EFFECT_ALLOW && !adds) return entry;
	entry.own = false;
	entry.mode = read.effect == EFFECT_ALLOW ? VIEW_READ : read.effect == EFFECT_ASK ? VIEW_ASK : VIEW_ABSENT;
	entry.ask_write = write.effect == EFFECT_ASK && !adds && read.effect != EFFECT_DENY;
	entry.denial = read.denied ? VIEW_DENIES_READ : write.denied ? VIEW_DENIES_WRITE : VIEW_DENIES_NOTHING;
	entry.mask = (entry.ask_write || write.denied) && !read.denied && !read.here;
	return entry;
}

/* A mask says nothing where nothing is given: most of base's are in a home that a profile doesn't open. */
static bool is_mask(const struct rule *rule) {
	return rule && rule->sticky && rule->effect == EFFECT_ASK;
}

static struct view_path entry_of(const struct building *building, const char *path) {
	return view_path_of(building->context, building->subject, building->session, path);
}

/* What is known of a rule's own path, or there is to be known; NULL: it may be another for each view. */
static struct bare_mode *bare_mode_of(const struct building *building, const struct rule *rule, const char *path) {
	const struct stack_context *context = building->context;
	if (!rule || !building->set || context->flooded || context->exec || grant_set_covers(building->set, path))
		return NULL;
	size_t count;
	const struct rule *rules = ruleset_rules(context->ruleset, &count);
	struct bare_modes *bare = ruleset_bare_modes(context->ruleset);
	if (bare->protected != context->protected) memset(bare->items, 0, count * sizeof *bare->items);
	bare->protected = context->protected;
	return &bare->items[rule - rules];
}

static struct view_path entry_of_rule(const struct building *building, const struct rule *rule, const char *path) {
	struct bare_mode *bare = bare_mode_of(building, rule, path);
	if (bare && bare->known)
		return (struct view_path){.path = (char *)path,
					  .mode = bare->mode,
					  .ask_write = bare->ask_write,
					  .denial = bare->denial,
					  .mask = bare->mask,
					  .own = bare->own};
	const struct view_path entry = entry_of(building, path);
	if (bare) *bare = (struct bare_mode){true, entry.ask_write, entry.mask, entry.own, entry.mode, entry.denial};
	return entry;
}

static void add_entry(struct view *view, const struct view_path *entry) {
	view_add_path(view, entry->path, false, entry->mode, entry->ask_write);
	view_deny_path(view, entry->path, entry->denial);
	if (entry->mask) view_mask_path(view, entry->path);
	if (entry->own) view_own_path(view, entry->path);
	if (entry->resolved) view_resolve_path(view, entry->path, entry->resolved);
}

/* Files that a rule or grant by a pattern denies to read or asks about are hidden, and those that it denies or asks to
 * write are masked, also those that come to be while a sandbox runs. */
static void add_wildcard(struct view *view, const char *text, enum permission_kind kind, enum effect effect) {
	const struct view_path *known = view_pattern(view, text);
	const bool takes = effect != EFFECT_ALLOW;
	const bool hides = (takes && kind == PERMISSION_FS_READ) || (known && known->mode == VIEW_ABSENT);
	const bool masks = takes || (known && known->ask_write);
	view_add_path(view, text, true, hides ? VIEW_ABSENT : VIEW_READ, masks);
}

/* What a pattern of that rule (NULL: of a grant) names. */
static void add_pattern(struct building *building, const struct pattern *pattern, const struct rule *rule,
			enum permission_kind kind, enum effect effect) {
	const char *target = pattern_target(pattern);
	if (!target) {
		add_wildcard(building->view, pattern_text(pattern), kind, effect);
		return;
	}
	const struct view_path entry = entry_of_rule(building, rule, target);
	if (entry.mode != VIEW_ABSENT || !is_mask(rule)) add_entry(building->view, &entry);
	free(entry.resolved);
}

/* "/usr/bin/sudo", "sudo" (any directory): a program that stands for those a pattern means, or NULL. */
static char *program_example(const char *shown, const struct pattern *pattern) {
	if (pattern_target(pattern)) return string_copy(pattern_target(pattern));
	return strpbrk(shown, "/*?[\\") ? NULL : string_format("/usr/bin/%s", shown);
}

/* What the runner is told of a program that a rule or grant denies or asks about, unless a closer one allows it. */
static void add_program(struct building *building, const struct pattern *pattern, enum effect effect) {
	static const char any_folder[] = "/**/";
	const char *text = pattern_text(pattern);
	/* A bare name means the program in any directory. */
	const char *name = string_starts(text, any_folder) ? text + strlen(any_folder) : text;
	const char *shown = strpbrk(name, "/*?[\\") ? text : name;
	CLEANUP_FREE char *example = program_example(shown, pattern);
	if (example)
		effect = judge_target(building->context, building->subject, building->session, PERMISSION_PROC_SPAWN,
				      example);
	if (effect != EFFECT_ALLOW)
		view_add_program(building->view, shown, effect == EFFECT_ASK ? VIEW_ASK : VIEW_ABSENT);
}

/* A grant for one use is for the broker to use up, call by call: the socket isn't there for all of them. */
static bool is_for_once(const struct building *building, const char *target) {
	for (size_t i = 0; i < building->grant_count; i++) {
		const struct pattern *pattern = grant_set_pattern(building->set, i);
		if (building->grants[i].permission.kind == PERMISSION_IPC_CONNECT &&
		    building->grants[i].lifetime == LIFETIME_ONCE && pattern && pattern_match(pattern, target, NULL))
			return true;
	}
	return false;
}

/* What the runner is told of sockets that a rule or grant allows or asks about: a path, whether it is allowed; of a
 * pattern, that there is something. */
static void add_socket(struct building *building, const struct pattern *pattern) {
	struct view *view = building->view;
	const char *target = pattern_target(pattern), *text = pattern_text(pattern);
	if (strings_contain(&view->sockets_asked, text)) return;
	const enum effect effect = target ? judge_target(building->context, building->subject, building->session,
							 PERMISSION_IPC_CONNECT, target)
					  : EFFECT_ASK;
	if (effect == EFFECT_DENY) return;
	/* More than a view has room for: each is for the broker to judge. */
	building->socket_bytes += strlen(text);
	if (building->socket_bytes > LIMIT_VIEW_SOCKETS) {
		if (!strings_contain(&view->sockets_asked, "/**")) strings_add(&view->sockets_asked, "/**");
		return;
	}
	strings_add(&view->sockets_asked, text);
	if (effect == EFFECT_ALLOW && !is_for_once(building, target)) strings_add(&view->sockets, target);
}

static void add_rules(struct building *building) {
	size_t count;
	const struct rule *rules = ruleset_rules(building->context->ruleset, &count);
	for (size_t i = 0; i < count; i++) {
		if (rules[i].lead) continue; /* the runner follows the link itself */
		if (permission_is_of_files(&rules[i].permission))
			add_pattern(building, rules[i].pattern, &rules[i], rules[i].permission.kind, rules[i].effect);
		if (rules[i].permission.kind == PERMISSION_PROC_SPAWN && rules[i].effect != EFFECT_ALLOW)
			add_program(building, rules[i].pattern, rules[i].effect);
		if (rules[i].permission.kind == PERMISSION_IPC_CONNECT && rules[i].effect != EFFECT_DENY)
			add_socket(building, rules[i].pattern);
	}
}

static void add_grants(struct building *building, const struct grant_set *set, const struct grant *grants, size_t count,
		       enum effect effect) {
	for (size_t i = 0; i < count; i++) {
		const struct pattern *pattern = grant_set_pattern(set, i);
		if (!pattern || grants[i].effect != effect) continue;
		if (grants[i].permission.kind == PERMISSION_PROC_SPAWN && effect == EFFECT_DENY)
			add_program(building, pattern, effect);
		if (grants[i].permission.kind == PERMISSION_IPC_CONNECT && effect == EFFECT_ALLOW)
			add_socket(building, pattern);
		if (!permission_is_of_files(&grants[i].permission)) continue;
		/* Leaving out what is allowed is safe: it isn't there, and is allowed when it is asked for. */
		if (effect == EFFECT_ALLOW && building->view->path_count >= LIMIT_VIEW_PATHS) return;
		add_pattern(building, pattern, NULL, grants[i].permission.kind, effect);
	}
}

/* Would something that listens be published, or asked about? A grant for one session is a port that was published by
 * name (`sbx publish`). */
static bool may_publish(const struct building *building, const struct grant *grants, size_t count) {
	size_t rule_count;
	const struct rule *rules = ruleset_rules(building->context->ruleset, &rule_count);
	for (size_t i = 0; i < rule_count; i++)
		if (rules[i].permission.kind == PERMISSION_NET_LISTEN && rules[i].effect != EFFECT_DENY) return true;
	for (size_t i = 0; i < count; i++)
		if (grants[i].permission.kind == PERMISSION_NET_LISTEN && grants[i].effect == EFFECT_ALLOW &&
		    grants[i].session == 0)
			return true;
	return false;
}

static bool has_direct(const struct ruleset *ruleset) {
	size_t count;
	const struct rule *rules = ruleset_rules(ruleset, &count);
	for (size_t i = 0; i < count; i++)
		if (rules[i].direct && rules[i].effect == EFFECT_ALLOW) return true;
	return false;
}

static void add_settings(struct view *view, const struct ruleset *ruleset) {
	const struct settings *settings = ruleset_settings(ruleset);
	for (size_t i = 0; i < settings->set.count; i++)
		view_set_variable(view, settings->set.items[i].name, settings->set.items[i].value);
	for (size_t i = 0; i < settings->hosts.count; i++)
		view_add_host(view, settings->hosts.items[i].name, settings->hosts.items[i].value);
	view->limits = settings->limits;
	view->home = (enum view_home)settings->home;
	view->network = (enum view_network)settings->network;
	view->doorbell = (enum view_doorbell)settings->doorbell;
	view->upstream = string_copy_or_null(ruleset_upstream(ruleset));
}

struct view *view_build(const struct stack_context *context, const struct subject *subject, int64_t session,
			const struct grant *grants, size_t grant_count, const struct strings *names) {
	struct view *view = view_new();
	CLEANUP_GRANT_SET struct grant_set *set = grant_set_new(grants, grant_count);
	const struct stack_grants finder = grant_set_finder(set);
	struct stack_context own = *context;
	own.grants = &finder;
	struct building building = {&own, set, subject, session, view, 0, grants, grant_count};
	view->profile = string_copy(ruleset_profile(context->ruleset));
	add_settings(view, context->ruleset);
	for (size_t i = 0; context->protected && i < context->protected->count; i++)
		add_entry(view, &(struct view_path){.path = context->protected->items[i], .denial = VIEW_DENIES_READ});
	add_rules(&building);
	add_grants(&building, set, grants, grant_count, EFFECT_DENY);
	add_grants(&building, set, grants, grant_count, EFFECT_ALLOW);
	view->listens = may_publish(&building, grants, grant_count);
	view->direct = has_direct(context->ruleset);
	for (size_t i = 0; names && i < names->count; i++)
		if (judge_target(&own, subject, session, PERMISSION_ENV_READ, names->items[i]) == EFFECT_ALLOW)
			strings_add(&view->environment, names->items[i]);
	return view;
}

/* Above that many to be asked for anew, building the whole view costs less: it asks in memory. */
enum { ADDED_MAX = 16 };

/* A rule's own path at or below the tree, which the view may not have yet (a mask where nothing was given). */
static bool is_rule_below(const struct rule *rule, const char *tree) {
	const char *target = permission_is_of_files(&rule->permission) ? pattern_target(rule->pattern) : NULL;
	return target && path_is_below(target, tree);
}

static bool is_entry_below(const struct view_path *entry, const char *tree) {
	return !entry->pattern && path_is_below(entry->path, tree);
}

static size_t count_below(const struct building *building, const char *tree) {
	size_t rule_count, count = 0;
	const struct rule *rules = ruleset_rules(building->context->ruleset, &rule_count);
	for (size_t i = 0; i < rule_count; i++) count += is_rule_below(&rules[i], tree);
	for (size_t i = 0; i < building->view->path_count; i++)
		count += is_entry_below(&building->view->paths[i], tree);
	return count;
}

static void add_below(struct building *building, const char *tree) {
	size_t rule_count;
	const struct rule *rules = ruleset_rules(building->context->ruleset, &rule_count);
	struct view *view = building->view;
	for (size_t i = 0; i < view->path_count; i++) {
		if (!is_entry_below(&view->paths[i], tree)) continue;
		const struct view_path entry = entry_of(building, view->paths[i].path);
		free(view->paths[i].resolved);
		view->paths[i] = entry;
	}
	for (size_t i = 0; i < rule_count; i++)
		if (is_rule_below(&rules[i], tree))
			add_pattern(building, rules[i].pattern, &rules[i], rules[i].permission.kind, rules[i].effect);
}

bool view_add_grant(struct view *view, const struct stack_context *context, const struct subject *subject,
		    int64_t session, const struct grant *grant) {
	static const struct pattern_scope nothing = {.home = NULL};
	struct building building = {context, NULL, subject, session, view, 0, NULL, 0};
	CLEANUP_PATTERN struct pattern *pattern = NULL;
	if (!permission_is_of_files(&grant->permission) || grant->effect != EFFECT_ALLOW ||
	    view->path_count >= LIMIT_VIEW_PATHS ||
	    pattern_compile(&grant->permission, grant->pattern, &nothing, &pattern, NULL) < 0)
		return false;
	const char *tree = pattern_target(pattern);
	if (!tree || count_below(&building, tree) > ADDED_MAX) return false;
	add_below(&building, tree);
	add_pattern(&building, pattern, NULL, grant->permission.kind, grant->effect);
	return true;
}
