#include "finds.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/text.h"
#include "other_names.h"
#include "place.h"
#include "sockets.h"
#include "walk.h"

enum { FINDS_MATCHES_KEPT = 1000, FINDS_SHUT_NAMED = 5 };
enum { FINDS_REPOSITORIES_MAX = 50 }; /* nested ones whose files are masked one by one: some five mounts each */

static void forget_trees(struct finds *finds) {
	strings_finish(&finds->patterns);
	strings_finish(&finds->trees);
	strings_finish(&finds->matches);
	strings_finish(&finds->sockets);
	strings_finish(&finds->shut);
	linked_finish(&finds->linked);
	finds->deep = false;
}

void finds_finish(struct finds *finds) {
	fact_book_finish(&finds->book);
	forget_trees(finds);
	for (size_t i = 0; i < finds->root_count; i++) free(finds->roots[i].path);
	free(finds->roots);
	strings_finish(&finds->arrived);
	given_finish(&finds->given);
	git_layout_finish(&finds->git);
	strings_finish(&finds->repositories);
	for (size_t i = 0; i < finds->survey_count; i++) git_survey_finish(&finds->surveys[i]);
	free(finds->surveys);
	git_review_finish(&finds->review);
	strings_finish(&finds->unlooked);
	strings_finish(&finds->protect);
	strings_finish(&finds->work);
	strings_finish(&finds->nested);
	rules_finish(&finds->names);
	strings_finish(&finds->shared);
	strings_finish(&finds->named);
	strings_finish(&finds->own_folders);
	strings_finish(&finds->led.places);
	free(finds->led.denials);
	strings_finish(&finds->notes);
	mem_free_p(&finds->cgroup);
	mem_free_p(&finds->state);
}

static void add_once(struct strings *list, const char *text) {
	if (!strings_contain(list, text)) strings_add(list, text);
}

static bool is_in(const struct strings *trees, const char *path) {
	return path_is_below_any(path, (const char *const *)trees->items, trees->count);
}

static bool is_shown_folder(const struct rule *rule, const struct fact *fact) {
	const bool shows = rule->show == SHOW_READ || rule->show == SHOW_WRITE;
	return rule->origin == RULE_VIEW && !rule->cap && !rule->source && shows && fact->type == FACT_FOLDER;
}

/* The canonical folders that the view shows, at least so, without those inside others. */
static void shown_folders(struct finds *finds, const struct rules *rules, struct facts *facts, enum show least,
			  struct strings *trees) {
	CLEANUP_STRINGS struct strings all = {0};
	facts_collect(rules, &finds->book, facts);
	for (size_t i = 0; i < rules->count; i++) {
		const struct rule *rule = &rules->items[i];
		if (rule->show >= least && is_shown_folder(rule, &facts->items[i]))
			strings_add(&all, facts->items[i].real);
	}
	strings_sort(&all);
	for (size_t i = 0; i < all.count; i++) /* sorted: what holds a folder comes before it */
		if (!is_in(trees, all.items[i])) strings_add(trees, all.items[i]);
}

/* Those that weren't looked into yet; from now on they were. */
static void take_new(struct strings *known, const struct strings *trees, struct strings *fresh) {
	for (size_t i = 0; i < trees->count; i++) {
		if (is_in(known, trees->items[i])) continue;
		strings_add(known, trees->items[i]);
		strings_add(fresh, trees->items[i]);
	}
}

static void drop_below(struct strings *paths, const char *tree) {
	size_t kept = 0;
	for (size_t i = 0; i < paths->count; i++) {
		if (path_is_below(paths->items[i], tree))
			free(paths->items[i]);
		else
			paths->items[kept++] = paths->items[i];
	}
	paths->count = kept;
}

/* What was found in the folder that was there before says nothing of the one that is there now. */
static void forget_tree(struct finds *finds, const char *path) {
	finds->swapped = true;
	drop_below(&finds->trees, path);
	drop_below(&finds->matches, path);
	drop_below(&finds->sockets, path);
	drop_below(&finds->shut, path);
	drop_below(&finds->repositories, path);
}

static void note_root(struct finds *finds, const struct fact *fact) {
	struct finds_root *root = finds->roots, *end = root + finds->root_count;
	while (root != end && !string_equal(root->path, fact->real)) root++;
	if (root == end) {
		finds->roots = array_grow(finds->roots, finds->root_count, sizeof *finds->roots);
		finds->roots[finds->root_count++] =
			(struct finds_root){string_copy(fact->real), fact->device, fact->inode};
	} else if (root->device != fact->device || root->inode != fact->inode) {
		forget_tree(finds, fact->real);
		root->device = fact->device;
		root->inode = fact->inode;
	}
}

static void note_roots(struct finds *finds, const struct rules *rules, struct facts *facts) {
	facts_collect(rules, &finds->book, facts);
	for (size_t i = 0; i < rules->count; i++)
		if (is_shown_folder(&rules->items[i], &facts->items[i])) note_root(finds, &facts->items[i]);
}

bool finds_were_swapped(struct finds *finds) {
	const bool swapped = finds->swapped;
	finds->swapped = false;
	return swapped;
}

/*
 * Patterns and sockets.
 */

static void view_patterns(const struct view *view, struct strings *patterns) {
	for (size_t i = 0; i < view->path_count; i++)
		if (view->paths[i].pattern) strings_add(patterns, view->paths[i].path);
}

/* Relative ones were made absolute by the broker. */
static int compile_patterns(const struct finds_options *options, const struct strings *texts, struct patterns *patterns,
			    struct error *error) {
	const struct pattern_scope scope = {
		.home = options->home, .project = options->project->root, .uid = getuid(), .relative_anywhere = true};
	int r = 0;
	for (size_t i = 0; r == 0 && i < texts->count; i++)
		r = patterns_add(patterns, PERMISSION_FS_READ, texts->items[i], &scope, error);
	return r < 0 ? error_prefix(error, "a pattern of the view") : 0;
}

/* What is the system's own holds no user's sockets (services have theirs in /run), and is large. */
static void find_sockets(struct finds *finds, const struct strings *trees) {
	CLEANUP_STRINGS struct strings own = {0};
	for (size_t i = 0; i < trees->count; i++)
		if (!place_is_system(trees->items[i])) strings_add(&own, trees->items[i]);
	if (sockets_find(&own, &finds->sockets) || finds->deep) return;
	finds->deep = true;
	strings_add(&finds->notes, "sockets were looked for in the shallow folders: a deeper one can be reached");
}

/* What patterns name by a link has its match by that name, which the broker judges. */
static int walk_linked(struct finds *finds, const struct strings *fresh, const struct walk *patterns,
		       struct error *error) {
	CLEANUP_STRINGS struct strings trees = {0}, names = {0}, sockets = {0};
	linked_trees(&finds->linked, fresh, &trees, &names);
	struct walk walk = *patterns;
	walk.trees = &trees;
	walk.names = &names;
	return walk_trees(&walk, &finds->matches, &sockets, error);
}

/* A call is judged by the path that the links on its way lead to. In a shown tree the walk has followed them. */
static void note_linked(struct finds *finds, const struct view *view) {
	for (size_t i = 0; i < view->path_count; i++) {
		const struct view_path *entry = &view->paths[i];
		if (!entry->pattern || entry->mode == VIEW_ABSENT || view_path_masks(entry)) continue;
		CLEANUP_STRINGS struct strings texts = {0};
		strings_add(&texts, entry->path);
		linked_patterns(&finds->linked, &texts);
		if (texts.count == 1 || is_in(&finds->trees, texts.items[1])) continue;
		CLEANUP_FREE char *named = text_visible(texts.items[0]), *there = text_visible(texts.items[1]);
		CLEANUP_FREE char *note = string_format(
			"the pattern %s allows nothing, since a link leads to what it names: write %s", named, there);
		add_once(&finds->notes, note);
	}
}

static void note_shut(struct finds *finds) {
	for (size_t i = 0; i < finds->shut.count && i < FINDS_SHUT_NAMED; i++) {
		CLEANUP_FREE char *shown = text_visible(finds->shut.items[i]);
		CLEANUP_FREE char *note =
			string_format("%s can't be read, and is hidden, since what lies in it isn't known", shown);
		add_once(&finds->unlooked, note);
	}
}

int finds_matches(struct finds *finds, const struct finds_options *options, const struct rules *rules,
		  struct facts *facts, struct error *error) {
	CLEANUP_STRINGS struct strings texts = {0}, trees = {0}, fresh = {0};
	CLEANUP_LINKED struct linked linked = {0};
	if (!finds->state) finds->state = string_copy(options->state);
	view_patterns(options->view, &texts);
	linked_find(&texts, &finds->book, &linked);
	if (!strings_equal(&texts, &finds->patterns) || !linked_equal(&linked, &finds->linked)) forget_trees(finds);
	linked_finish(&finds->linked);
	finds->linked = linked;
	linked = (struct linked){0};
	note_roots(finds, rules, facts);
	shown_folders(finds, rules, facts, SHOW_READ, &trees);
	take_new(&finds->trees, &trees, &fresh);
	if (finds->patterns.count == 0)
		for (size_t i = 0; i < texts.count; i++) strings_add(&finds->patterns, texts.items[i]);
	note_linked(finds, options->view);
	if (fresh.count == 0) return 0;
	CLEANUP_PATTERNS struct patterns patterns = {0};
	int r = compile_patterns(options, &texts, &patterns, error);
	CLEANUP_FREE char *known = path_join(finds->state, FINDS_KNOWN);
	const struct walk walk = {.trees = &fresh,
				  .patterns = &patterns,
				  .known = fresh.count == finds->trees.count ? known : NULL, /* the first walk */
				  .shut = &finds->shut};
	if (r == 0) r = walk_trees(&walk, &finds->matches, &finds->sockets, error);
	note_shut(finds);
	if (r == 0) r = walk_linked(finds, &fresh, &walk, error);
	strings_sort(&finds->matches);
	if (r == 0 && options->sockets) find_sockets(finds, &fresh);
	if (!options->sockets) strings_finish(&finds->sockets);
	if (r < 0) forget_trees(finds); /* not walked to the end */
	return r;
}

void finds_hiding(const struct finds *finds, const struct view *view, struct strings *ret_patterns) {
	for (size_t i = 0; i < view->path_count; i++)
		if (view->paths[i].pattern && view->paths[i].mode == VIEW_ABSENT)
			strings_add(ret_patterns, view->paths[i].path);
	linked_patterns(&finds->linked, ret_patterns);
}

static void drop_gone(struct strings *paths) {
	size_t kept = 0;
	struct stat status;
	for (size_t i = 0; i < paths->count; i++) {
		if (lstat(paths->items[i], &status) == 0)
			paths->items[kept++] = paths->items[i];
		else
			free(paths->items[i]);
	}
	paths->count = kept;
}

/* The first of the sorted paths that isn't before `path`. */
static size_t place_of(const struct strings *paths, const char *path) {
	size_t low = 0, high = paths->count;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (strcmp(paths->items[middle], path) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* False when the sorted paths have it. */
static bool insert(struct strings *paths, const char *path) {
	const size_t at = place_of(paths, path);
	if (at < paths->count && string_equal(paths->items[at], path)) return false;
	strings_add(paths, path);
	char *added = paths->items[paths->count - 1];
	memmove(&paths->items[at + 1], &paths->items[at], (paths->count - 1 - at) * sizeof *paths->items);
	paths->items[at] = added;
	return true;
}

/* Names that a tool makes and removes, over and over, are not kept for ever. They are looked for when there are twice
 * as many as were left the last time, since each costs a call. */
static void insert_arrived(struct finds *finds, const char *path) {
	if (finds->arrived.count >= FINDS_MATCHES_KEPT && finds->arrived.count / 2 >= finds->arrived_left) {
		drop_gone(&finds->matches);
		drop_gone(&finds->arrived);
		finds->arrived_left = finds->arrived.count;
	}
	insert(&finds->arrived, path);
}

bool finds_arrived(struct finds *finds, const char *path) {
	CLEANUP_STRINGS struct strings names = {0};
	if (!insert(&finds->matches, path)) return false;
	insert_arrived(finds, path);
	linked_names(&finds->linked, path, &names);
	for (size_t i = 0; i < names.count; i++) insert(&finds->matches, names.items[i]);
	return true;
}

bool finds_are_judged(const struct finds *finds) {
	return finds->matches.count > 0 || finds->given.paths.count > 0;
}

static size_t count_matches(const struct finds *finds, const struct pattern *pattern, const char **ret_path) {
	size_t count = 0;
	for (size_t i = 0; i < finds->matches.count; i++) {
		if (!pattern_match(pattern, finds->matches.items[i], NULL)) continue;
		*ret_path = finds->matches.items[i];
		count++;
	}
	return count;
}

const char *finds_most(const struct finds *finds, const struct finds_options *options, size_t *ret_count,
		       const char **ret_path) {
	const char *most = NULL;
	CLEANUP_PATTERNS struct patterns patterns = {0};
	const int r = compile_patterns(options, &finds->patterns, &patterns, NULL);
	*ret_count = 0;
	for (size_t i = 0; r == 0 && i < finds->patterns.count; i++) {
		const char *path = NULL;
		const size_t count = count_matches(finds, patterns.items[i], &path);
		if (count <= *ret_count) continue;
		most = finds->patterns.items[i];
		*ret_count = count;
		*ret_path = path;
	}
	return most;
}

/*
 * Repositories.
 */

static void add_protect(struct finds *finds, const struct git_layout *git) {
	git_review_add(&finds->review, git);
	if (git->cut) {
		CLEANUP_FREE char *shown = text_visible(git->common);
		CLEANUP_FREE char *note =
			string_format("there is more in modules or worktrees of %s than is looked at: "
				      "a submodule of it may not be protected",
				      shown);
		add_once(&finds->unlooked, note);
	}
	for (size_t i = 0; i < git->protect.count; i++) add_once(&finds->protect, git->protect.items[i]);
}

/* Nested repositories as the top one; past a number of them the whole `.git`. */
static void add_nested(struct finds *finds, const struct finds_options *options, const struct git_survey *survey,
		       const char *top) {
	for (size_t i = 0; i < survey->bare.count; i++) {
		CLEANUP_GIT_LAYOUT struct git_layout git = {0};
		if (i == FINDS_REPOSITORIES_MAX) add_once(&finds->protect, survey->bare.items[i]);
		if (i >= FINDS_REPOSITORIES_MAX) continue;
		git_bare_at(survey->bare.items[i], options->home, &git);
		add_protect(finds, &git);
	}
	for (size_t i = 0; i < survey->shut.count; i++) add_once(&finds->protect, survey->shut.items[i]);
	for (size_t i = 0; i < survey->repositories.count; i++) {
		const char *folder = survey->repositories.items[i];
		CLEANUP_GIT_LAYOUT struct git_layout git = {0};
		add_once(&finds->nested, folder);
		if (string_equal(folder, top)) continue;
		if (i < FINDS_REPOSITORIES_MAX) {
			git_at(folder, options->home, &git);
			add_protect(finds, &git);
			continue;
		}
		CLEANUP_FREE char *whole = path_join(folder, ".git");
		add_once(&finds->protect, whole);
		CLEANUP_FREE char *shown = text_visible(survey->root);
		CLEANUP_FREE char *note = string_format("of %zu repositories in %s all but %d are read-only",
							survey->repositories.count, shown, FINDS_REPOSITORIES_MAX);
		if (i == FINDS_REPOSITORIES_MAX) add_once(&finds->notes, note);
	}
}

static void note_unlooked(struct finds *finds, const struct git_survey *survey) {
	for (size_t i = 0; i < survey->notes.count; i++) add_once(&finds->unlooked, survey->notes.items[i]);
}

static void survey_project(struct finds *finds, const struct finds_options *options) {
	const char *root = options->project->root;
	git_find(root, options->home, &finds->git);
	add_protect(finds, &finds->git);
	git_survey_take(root, &finds->git, options->survey);
	note_unlooked(finds, options->survey);
	add_nested(finds, options, options->survey, finds->git.top);
	add_once(&finds->repositories, root);
}

/* Relative to the home: what the built-in profiles give each project for itself (per-project). Where a rule of the
 * user's shares one, whoever writes there has an install outside run what he likes: masks of repositories would keep
 * nothing, and there are thousands of folders. */
static const char *const caches[] = {
	".npm",
	".cache/node-gyp",
	".cache/yarn",
	".cache/pnpm",
	".local/share/pnpm/store",
	".local/state/pnpm",
	".cache/pip",
	".cache/uv",
	".cache/pypoetry",
	".cache/virtualenv",
};

static bool is_cache(const struct finds_options *options, const char *tree) {
	bool is = false;
	for (size_t i = 0; !is && i < ARRAY_LENGTH(caches); i++) {
		CLEANUP_FREE char *cache = path_join(options->home, caches[i]);
		is = path_is_below(tree, cache);
	}
	return is;
}

/* The first one is what the end is compared with: a later one may have what the sandbox has made. */
static void keep_survey(struct finds *finds, struct git_survey *survey) {
	for (size_t i = 0; i < finds->survey_count; i++)
		if (string_equal(finds->surveys[i].root, survey->root)) return;
	finds->surveys = array_grow(finds->surveys, finds->survey_count, sizeof *finds->surveys);
	finds->surveys[finds->survey_count++] = *survey;
	*survey = (struct git_survey){0};
}

static void survey_tree(struct finds *finds, const struct finds_options *options, const char *tree) {
	CLEANUP_GIT_LAYOUT struct git_layout git = {0};
	CLEANUP_GIT_SURVEY struct git_survey survey = {0};
	git_at(tree, options->home, &git);
	add_protect(finds, &git);
	if (is_cache(options, tree) && !git.top) return;
	add_once(&finds->work, tree);
	git_survey_take(tree, &git, &survey);
	note_unlooked(finds, &survey);
	add_nested(finds, options, &survey, tree);
	keep_survey(finds, &survey);
}

/* What the project's own repository shows stays (finds->git): its `.git` may be another sandbox's by now. */
static void protect_again(struct finds *finds, const struct finds_options *options) {
	CLEANUP_GIT_LAYOUT struct git_layout git = {0};
	git_find(options->project->root, options->home, &git);
	add_protect(finds, &git);
	add_nested(finds, options, options->survey, finds->git.top);
	for (size_t i = 0; i < finds->repositories.count; i++)
		if (!string_equal(finds->repositories.items[i], options->project->root))
			survey_tree(finds, options, finds->repositories.items[i]);
}

void finds_look_again(struct finds *finds) {
	finds->look_again = true;
}

void finds_repositories(struct finds *finds, const struct finds_options *options, const struct rules *rules,
			struct facts *facts) {
	CLEANUP_STRINGS struct strings trees = {0}, fresh = {0};
	note_roots(finds, rules, facts);
	if (!options->survey->root) survey_project(finds, options);
	if (finds->look_again) protect_again(finds, options);
	finds->look_again = false;
	shown_folders(finds, rules, facts, SHOW_WRITE, &trees);
	take_new(&finds->repositories, &trees, &fresh);
	for (size_t i = 0; i < fresh.count; i++) survey_tree(finds, options, fresh.items[i]);
}

/*
 * Other names.
 */

/* What rules take away in trees, of files that have other names. */
static void find_taken(const struct finds *finds, const struct rules *rules, const struct facts *facts,
		       struct rules *ret_taken, struct strings *ret_named) {
	for (size_t i = 0; i < rules->count; i++) {
		const struct rule *rule = &rules->items[i];
		const struct fact *fact = &facts->items[i];
		const bool hides = rule->origin == RULE_VIEW && rule->show < SHOW_READ && !rule->cap;
		const bool masks =
			rule->cap || (rule->show < SHOW_WRITE && strings_contain(&finds->shared, rule->path));
		if (fact->names < 2 || !(hides || masks)) continue;
		if (hides)
			rules_add(ret_taken, RULE_VIEW, SHOW_NOTHING, rule->path);
		else
			rules_add_mask(ret_taken, rule->path);
		strings_addf(ret_named, "%d%s/%ju/%ju", hides, rule->path, (uintmax_t)fact->inode,
			     (uintmax_t)fact->names);
	}
	strings_sort(ret_named);
}

bool finds_shared(struct finds *finds, const char *path) {
	for (size_t i = 0; i < finds->names.count; i++)
		if (string_equal(finds->names.items[i].path, path)) return false;
	if (strings_contain(&finds->shared, path)) return false;
	strings_add(&finds->shared, path);
	return true;
}

void finds_names(struct finds *finds, const struct finds_options *options, struct rules *rules, struct facts *facts) {
	CLEANUP_STRINGS struct strings named = {0};
	CLEANUP_RULES struct rules taken = {0};
	facts_collect(rules, &finds->book, facts);
	find_taken(finds, rules, facts, &taken, &named);
	if (!strings_equal(&named, &finds->named)) {
		rules_finish(&finds->names);
		strings_finish(&finds->named);
		finds->named = named;
		named = (struct strings){0};
		if (finds->named.count > 0) other_names_find(options->project->root, &taken, &finds->names);
	}
	for (size_t i = 0; i < finds->names.count; i++) {
		const struct rule *rule = &finds->names.items[i];
		if (rule->cap)
			rules_add_mask(rules, rule->path);
		else
			rules_add(rules, rule->origin, rule->show, rule->path);
	}
}
