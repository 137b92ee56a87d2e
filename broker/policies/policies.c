#include "policies.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/mounts.h"
#include "base/path.h"
#include "base/resolved.h"
#include "schema/limits.h"
#include "store/roots.h"
#include "watch.h"

enum { RULESETS_MAX = 8 };

struct remembered {
	char *project;
	struct strings roots;
	struct ruleset *ruleset;
};

struct policies {
	const struct places *places;
	struct store *store; /* or NULL */
	struct watch *watch;
	struct layer admin, user;
	struct policy_document *builtin;
	struct project_files *projects;
	struct ruleset_follow follow;
	struct resolver resolver; /* that looks at nothing that may hang: the broker waits for no file system */
	bool looked;              /* since the last refresh */
	struct policy *current;   /* without a project; NULL while a layer isn't known */
	struct remembered rulesets[RULESETS_MAX];
	size_t next; /* the one to be forgotten next */
};

/* What a home lies on the broker waits for anyway. */
static void find_hanging(struct policies *policies) {
	CLEANUP_STRINGS struct strings points = {0};
	resolver_finish(&policies->resolver);
	mounts_that_may_hang_below(&points);
	for (size_t i = 0; i < points.count; i++)
		if (!path_is_below(policies->places->home, points.items[i]))
			strings_add(&policies->resolver.unseen, points.items[i]);
}

/* Once for all who ask between two refreshes. */
static void look_anew(struct policies *policies) {
	const int64_t now = clock_ms(CLOCK_BOOTTIME), last = policies->follow.moment;
	if (policies->looked) return;
	find_hanging(policies);
	policies->follow.moment = now > last ? now : last + 1;
	policies->looked = true;
}

static char *follow_path(void *context, const char *path, size_t *looks) {
	struct policies *policies = context;
	return resolver_path(&policies->resolver, path, looks);
}

struct policies *policies_new(const struct places *places, struct store *store) {
	struct policies *policies = mem_new(struct policies);
	policies->places = places;
	policies->store = store;
	policies->follow = (struct ruleset_follow){follow_path, policies, 0};
	policies->watch = watch_new();
	layer_init(&policies->admin, POLICY_LAYER_ADMIN, places, policies->watch);
	layer_init(&policies->user, POLICY_LAYER_USER, places, policies->watch);
	policies->builtin = policy_load_builtin();
	policies->projects = project_files_new(store, policies->watch, places->home);
	policies_refresh(policies, POLICIES_ALL, NULL, NULL);
	return policies;
}

void policies_free(struct policies *policies) {
	if (!policies) return;
	for (size_t i = 0; i < RULESETS_MAX; i++) {
		free(policies->rulesets[i].project);
		strings_finish(&policies->rulesets[i].roots);
		ruleset_unref(policies->rulesets[i].ruleset);
	}
	policy_unref(policies->current);
	project_files_free(policies->projects);
	layer_finish(&policies->admin);
	layer_finish(&policies->user);
	policy_document_unref(policies->builtin);
	resolver_finish(&policies->resolver);
	watch_free(policies->watch);
	free(policies);
}

/* Putting together */

static int check_layer(const struct layer *layer, struct error *error) {
	if (layer->known) return 0;
	return error_set(error, EINVAL, "%s (nothing is allowed until it is mended: `sbx policy check`)",
			 layer->now.errors.count > 0 ? layer->now.errors.items[0] : "there is no policy");
}

int policies_assemble(struct policies *policies, struct policy_document *own, const struct project_file *file,
		      struct policy **ret_policy, struct error *error) {
	const struct policy_reading *admin = &policies->admin.now, *user = &policies->user.now;
	int r = check_layer(&policies->admin, error);
	if (r == 0 && !own) r = check_layer(&policies->user, error);
	if (r < 0) return r;
	size_t count = 0, enclosing = 0;
	for (const struct project_file *outer = file; outer; outer = project_file_outer(outer)) enclosing++;
	CLEANUP_FREE struct policy_document **documents =
		mem_array(struct policy_document *, admin->count + user->count + enclosing + 3);
	for (size_t i = 0; i < admin->count; i++) documents[count++] = policy_document_ref(admin->documents[i]);
	for (size_t i = 0; !own && i < user->count; i++) documents[count++] = policy_document_ref(user->documents[i]);
	if (own) documents[count++] = policy_document_ref(own);
	if (file && file->counting) documents[count++] = policy_document_ref(file->counting);
	for (const struct project_file *outer = file; outer && (outer = project_file_outer(outer));)
		if (outer->enclosing) documents[count++] = policy_document_ref(outer->enclosing);
	documents[count++] = policy_document_ref(policies->builtin);
	*ret_policy = policy_new(documents, count);
	return 0;
}

static void put_together(struct policies *policies) {
	policy_unref(policies->current);
	policies->current = NULL;
	policies_assemble(policies, NULL, NULL, &policies->current, NULL);
}

int policies_current(struct policies *policies, struct policy **ret_policy, struct error *error) {
	*ret_policy = policies->current;
	int r = check_layer(&policies->admin, error);
	return r < 0 ? r : check_layer(&policies->user, error);
}

int policies_load_own(struct policies *policies, const char *name, const char *text,
		      struct policy_document **ret_document, struct error *error) {
	const struct policy_reading *admin = &policies->admin.now;
	CLEANUP_STRINGS struct strings errors = {0};
	*ret_document =
		policy_load_among(admin->documents, admin->count, POLICY_LAYER_USER, name, text, strlen(text), &errors);
	if (*ret_document) return 0;
	CLEANUP_STRING struct string all = {0};
	for (size_t i = 0; i < errors.count; i++) string_appendf(&all, "%s%s", i == 0 ? "" : "\n", errors.items[i]);
	return error_set(error, EINVAL, "%s", all.data ? all.data : "the policy has errors");
}

/* Changes */

struct telling {
	policies_tell *tell;
	void *context;
};

struct policy_change policy_change_of_layer(const struct layer *layer) {
	return (struct policy_change){.layer = layer->source.layer,
				      .path = layer->path,
				      .errors = &layer->now.errors,
				      .hash = layer->now.hash};
}

static void tell_layer(const struct telling *telling, const struct layer *layer) {
	const struct policy_change change = policy_change_of_layer(layer);
	if (telling->tell) telling->tell(telling->context, &change);
}

static void tell_project(void *context, const struct project_file *file) {
	const struct telling *telling = context;
	const struct policy_change change = {.layer = POLICY_LAYER_PROJECT,
					     .path = file->path,
					     .errors = &file->errors,
					     .hash = file->hash,
					     .file = file};
	if (telling->tell) telling->tell(telling->context, &change);
}

static bool look_at_layers(struct policies *policies, bool all, const struct telling *telling) {
	struct layer *admin = &policies->admin, *user = &policies->user;
	bool admin_changed = (all || layer_is_stirred(admin)) && layer_look(admin, false, NULL, 0);
	/* The user's profiles may extend the administrator's. */
	bool user_changed = (all || admin_changed || layer_is_stirred(user)) &&
			    layer_look(user, admin_changed, admin->now.documents, admin->now.count);
	if (admin_changed) tell_layer(telling, admin);
	if (user_changed) tell_layer(telling, user);
	if (!admin_changed && !user_changed) return false;
	put_together(policies);
	return true;
}

bool policies_refresh(struct policies *policies, enum policies_care care, policies_tell *tell, void *context) {
	struct telling telling = {tell, context};
	policies->looked = false;
	if (!watch_read(policies->watch) && care == POLICIES_LAYERS) return false;
	bool changed = look_at_layers(policies, care == POLICIES_ALL, &telling);
	if (care == POLICIES_LAYERS) return changed;
	return project_files_look(policies->projects, care == POLICIES_STIRRED, tell_project, &telling) || changed;
}

bool policies_are_watched(const struct policies *policies) {
	return !watch_is_blind(policies->watch);
}

int policies_watch_fd(const struct policies *policies) {
	return watch_fd(policies->watch);
}

bool policies_are_stirred(const struct policies *policies) {
	/* Who is blind waits for the next look at all. */
	return !watch_is_blind(policies->watch) && watch_is_stirred(policies->watch);
}

/* For projects */

struct project_file *policies_project(struct policies *policies, const char *root, const char *project) {
	return project_files_get(policies->projects, root, project);
}

void policies_judge(struct policies *policies, const char *project) {
	project_files_judge(policies->projects, project);
}

static struct ruleset *find_ruleset(struct policies *policies, const struct policy *policy, const char *profile,
				    const struct policies_place *place) {
	static const struct strings none;
	const struct strings *roots = place->roots ? place->roots : &none;
	for (size_t i = 0; i < RULESETS_MAX; i++) {
		struct remembered *known = &policies->rulesets[i];
		if (known->ruleset && strcmp(known->project, place->project) == 0 &&
		    strings_equal(&known->roots, roots) && strcmp(ruleset_profile(known->ruleset), profile) == 0 &&
		    policy_equal(ruleset_policy(known->ruleset), policy) &&
		    policies_ruleset_is_current(policies, known->ruleset))
			return known->ruleset;
	}
	return NULL;
}

int policies_compile_anew(struct policies *policies, struct policy *policy, const char *profile,
			  const struct policies_place *place, struct ruleset **ret_ruleset, struct error *error) {
	struct pattern_scope scope = policies_scope(policies, place->project);
	scope.roots = place->roots;
	look_anew(policies);
	return ruleset_new(policy, profile, &scope, &policies->follow, ret_ruleset, error);
}

bool policies_ruleset_is_current(struct policies *policies, const struct ruleset *ruleset) {
	look_anew(policies);
	return ruleset_is_current(ruleset);
}

static void log_unfollowed(const struct ruleset *ruleset) {
	CLEANUP_FREE char *warning = ruleset_warning(ruleset);
	if (warning) log_warning("%s", warning);
}

static void remember(struct policies *policies, const struct policies_place *place, struct ruleset *ruleset) {
	struct remembered *slot = &policies->rulesets[policies->next++ % RULESETS_MAX];
	free(slot->project);
	strings_finish(&slot->roots);
	ruleset_unref(slot->ruleset);
	*slot = (struct remembered){.project = string_copy(place->project), .ruleset = ruleset_ref(ruleset)};
	for (size_t i = 0; place->roots && i < place->roots->count; i++)
		strings_add(&slot->roots, place->roots->items[i]);
}

int policies_compile(struct policies *policies, struct policy *policy, const char *profile,
		     const struct policies_place *place, struct ruleset **ret_ruleset, struct error *error) {
	struct ruleset *ruleset = find_ruleset(policies, policy, profile, place);
	if (ruleset) {
		*ret_ruleset = ruleset_ref(ruleset);
		return 0;
	}
	int r = policies_compile_anew(policies, policy, profile, place, &ruleset, error);
	if (r < 0) return r;
	log_unfollowed(ruleset);
	remember(policies, place, ruleset);
	*ret_ruleset = ruleset;
	return 0;
}

/* As a session that begins at its top would have them. */
static int known_roots(struct policies *policies, const char *project, struct strings *roots, struct error *error) {
	CLEANUP_STRINGS struct strings known = {0};
	strings_add(roots, project);
	int r = policies->store ? roots_of(policies->store, project, &known, error) : 0;
	for (size_t i = 0; i < known.count && roots->count < LIMIT_ROOTS_FOUND; i++)
		if (!strings_contain(roots, known.items[i])) strings_add(roots, known.items[i]);
	return r;
}

int policies_ruleset(struct policies *policies, const char *profile, const char *project,
		     const struct ruleset **ret_ruleset, struct error *error) {
	const struct project_file *file = policies_project(policies, project, project);
	struct policy *policy = NULL;
	CLEANUP_RULESET struct ruleset *ruleset = NULL;
	int r = project_file_check(file, error);
	if (r == 0) r = policies_assemble(policies, NULL, file, &policy, error);
	if (r < 0) return r;
	CLEANUP_STRINGS struct strings roots = {0};
	r = known_roots(policies, project, &roots, error);
	const struct policies_place place = {project, &roots};
	if (r == 0) r = policies_compile(policies, policy, profile, &place, &ruleset, error);
	policy_unref(policy);
	*ret_ruleset = ruleset; /* remembered */
	return r;
}

struct pattern_scope policies_scope(const struct policies *policies, const char *project) {
	return (struct pattern_scope){.home = policies->places->home, .project = project, .uid = geteuid()};
}

const struct layer *policies_layer(const struct policies *policies, enum policy_layer kind) {
	return kind == POLICY_LAYER_ADMIN ? &policies->admin : &policies->user;
}
