#include "layout.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/path.h"
#include "base/text.h"
#include "calls/regular.h"
#include "etc_files.h"
#include "finds/led.h"
#include "finds/sockets.h"
#include "programs.h"
#include "runner/homes.h"

/* What every sandbox shows, where the host has it. */
static const char *const shown_trees[] = {
	"/usr",
	"/etc",
	"/opt",
	"/nix/store",
	"/bin",
	"/sbin",
	"/lib",
	"/lib32",
	"/lib64",
	"/libx32",
	"/run/current-system",                 /* NixOS: where its PATH leads */
	"/etc/resolv.conf",                    /* where its link leads: systemd-resolved, WSL, resolvconf */
	"/sys/devices/system",                 /* processors and memory, read by every runtime */
	"/sys/kernel/mm/transparent_hugepage", /* jemalloc, Go */
};

/* sbx's folders, at the places the environment names and at the usual ones. */
static void add_protected(const char *home, struct rules *rules) {
	static const char *const usual[] = {".config/sbx", ".local/state/sbx"};
	for (size_t i = 0; i < ARRAY_LENGTH(usual); i++) {
		CLEANUP_FREE char *path = path_join(home, usual[i]);
		rules_add(rules, RULE_PROTECTED, SHOW_NOTHING, path);
	}
	CLEANUP_FREE char *config = homes_folder("XDG_CONFIG_HOME", home, ".config");
	CLEANUP_FREE char *state = homes_state(home);
	rules_add(rules, RULE_PROTECTED, SHOW_NOTHING, config);
	rules_add(rules, RULE_PROTECTED, SHOW_NOTHING, state);
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	if (runtime && runtime[0] == '/') {
		CLEANUP_FREE char *path = homes_folder("XDG_RUNTIME_DIR", home, "");
		rules_add(rules, RULE_PROTECTED, SHOW_NOTHING, path);
	}
	CLEANUP_FREE char *usual_runtime = string_format("/run/user/%u/sbx", getuid());
	rules_add(rules, RULE_PROTECTED, SHOW_NOTHING, usual_runtime);
}

static void add_home(const struct layout *layout, struct rules *rules) {
	if (layout->has_home) rules_add_source(rules, RULE_LAYOUT, SHOW_FRESH, layout->home, layout->own_home);
}

/* The control group of version 2 that this process is in, or "". */
static char *find_cgroup(void) {
	CLEANUP_FREE char *text = NULL;
	if (regular_read("/proc/self/cgroup", 64 * 1024, &text, NULL, NULL) < 0) return string_copy("");
	char *line = string_starts(text, "0::/") ? text : strstr(text, "\n0::/");
	if (!line) return string_copy("");
	char *path = strstr(line, "0::") + 3;
	path[strcspn(path, "\n")] = '\0';
	CLEANUP_FREE char *folder = string_format("/sys/fs/cgroup%s", path);
	CLEANUP_FREE char *mark = path_join(folder, "cgroup.controllers");
	char *normal = NULL;
	if (access(mark, R_OK) < 0 || path_normalise(NULL, folder, &normal, NULL) < 0) return string_copy("");
	return normal;
}

/* It is where a container's runtime would find it: its own at the root (cgroup namespace). */
static void add_cgroup(struct finds *finds, struct rules *rules) {
	if (!finds->cgroup) finds->cgroup = find_cgroup();
	if (*finds->cgroup) rules_add_source(rules, RULE_LAYOUT, SHOW_READ, "/sys/fs/cgroup", finds->cgroup);
}

static enum show show_of_mode(enum view_mode mode) {
	switch (mode) {
	case VIEW_WRITE:
		return SHOW_WRITE;
	case VIEW_READ:
		return SHOW_READ;
	case VIEW_ASK:
		return SHOW_ASK;
	case VIEW_ABSENT:
		break;
	}
	return SHOW_NOTHING;
}

/* Where what a project has for itself lies, instead of at the path. */
static char *place_of_own(const struct layout *layout, const char *path) {
	const bool in_home = path_is_below(path, layout->home);
	CLEANUP_FREE char *state = homes_of_project(layout->home, layout->project->project);
	return string_format("%s/%s%s", state, in_home ? "home" : "root", in_home ? path + strlen(layout->home) : path);
}

static int add_own(const struct layout *layout, const char *path, struct rules *rules, struct error *error) {
	CLEANUP_FREE char *place = place_of_own(layout, path);
	int r = file_make_directories(place, error);
	if (r < 0) return error_prefix(error, "the project's own %s", path);
	rules_add_source(rules, RULE_VIEW, SHOW_WRITE, path, place);
	return 0;
}

static bool is_in_root(const struct view *view, const char *path) {
	return path_is_below_any(path, (const char *const *)view->roots.items, view->roots.count);
}

/* One of base's masks in a home that is asked about as a whole: where the host has nothing by that name, it says
 * nothing that the home's rule doesn't. There are hundreds of them. */
static bool says_nothing(const struct view *view, const struct view_path *entry) {
	struct stat status;
	if (!entry->mask || entry->mode != VIEW_ASK || entry->denial != VIEW_DENIES_NOTHING) return false;
	if (is_in_root(view, entry->path)) return false;
	CLEANUP_FREE char *parent = path_parent(entry->path);
	const struct view_path *around = view_at(view, parent);
	return around && around->mode == VIEW_ASK && around->ask_write && around->denial == VIEW_DENIES_NOTHING &&
	       lstat(entry->path, &status) < 0 && errno == ENOENT;
}

static int add_view(const struct layout *layout, struct rules *rules, struct error *error) {
	const struct view *view = layout->view;
	for (size_t i = 0; i < view->path_count; i++) {
		const struct view_path *entry = &view->paths[i];
		if (entry->pattern || says_nothing(view, entry)) continue;
		if (entry->own) {
			int r = add_own(layout, entry->path, rules, error);
			if (r < 0) return r;
			continue;
		}
		if (entry->mask && entry->mode == VIEW_ASK && is_in_root(view, entry->path)) {
			rules_add_mask(rules, entry->path); /* a grant by a link may show what lies around it */
			continue;
		}
		rules_add_denial(rules, show_of_mode(entry->mode), entry->path, entry->denial);
		struct rule *rule = &rules->items[rules->count - 1];
		rule->resolved = string_copy_or_null(entry->resolved);
		rule->writing_alone = entry->mask;
		rule->asks = entry->mode == VIEW_ASK || entry->ask_write || entry->mask;
		rule->adds = entry->resolved && entry->mode == VIEW_READ && !entry->ask_write &&
			     entry->denial == VIEW_DENIES_NOTHING;
	}
	return 0;
}

/* What the broker says of reading is said of the name. Where that leads elsewhere, or the layout shows it, a rule that
 * speaks of writing alone neither takes reading away nor gives it. */
static void settle_masks(struct rules *rules, const struct facts *facts) {
	for (size_t i = 0; i < facts->count; i++) {
		struct rule *rule = &rules->items[i];
		const bool leads = !string_equal(rule->path, facts->items[i].real);
		if (rule->writing_alone && (leads || rule->show == SHOW_NOTHING)) rule->cap = true;
	}
}

static bool is_inside_shown(const struct rules *rules, const char *path) {
	for (size_t i = 0; i < rules->count; i++) {
		const struct rule *rule = &rules->items[i];
		if (rule->origin == RULE_VIEW && !rule->cap && (rule->show == SHOW_READ || rule->show == SHOW_WRITE) &&
		    path_is_below(path, rule->path))
			return true;
	}
	return false;
}

/* Then the view says what holds there, also what is allowed once (once.h). */
static bool is_named(const struct view *view, const char *path) {
	const struct view_path *entry = view_at(view, path);
	return entry && string_equal(entry->path, path);
}

static int judge_matches(const struct layout *layout, const struct strings *matches, struct rules *rules,
			 struct error *error) {
	if (matches->count == 0) return 0;
	struct layout_mode *modes = mem_array(struct layout_mode, matches->count);
	int r = layout->judge.resolve(layout->judge.context, matches, modes, error);
	for (size_t i = 0; r == 0 && i < matches->count; i++) {
		if (is_named(layout->view, matches->items[i])) continue;
		rules_add_denial(rules, show_of_mode(modes[i].mode), matches->items[i], modes[i].denial);
		rules->items[rules->count - 1].writing_alone = modes[i].mask;
	}
	free(modes);
	return r;
}

/* Those that are allowed are for sendmsg(2), too. */
static void add_datagrams(const struct view *view, struct rules *rules) {
	CLEANUP_STRINGS struct strings sockets = {0};
	sockets_list_datagrams(&sockets);
	for (size_t i = 0; i < sockets.count; i++) {
		const char *path = sockets.items[i];
		if (is_inside_shown(rules, path) && !strings_contain(&view->sockets, path) && socket_is_at(path))
			rules_add(rules, RULE_VIEW, SHOW_NOTHING, path);
	}
}

static int add_matches(const struct layout *layout, const struct finds_options *options, struct rules *rules,
		       struct facts *facts, struct error *error) {
	struct finds *finds = layout->finds;
	int r = finds_matches(finds, options, rules, facts, error);
	if (r == 0) r = judge_matches(layout, &finds->matches, rules, error);
	/* seeing a folder is no permission to talk to what listens in it */
	for (size_t i = 0; r == 0 && i < finds->sockets.count; i++)
		rules_add(rules, RULE_VIEW, SHOW_NOTHING, finds->sockets.items[i]);
	for (size_t i = 0; r == 0 && i < finds->shut.count; i++)
		rules_add(rules, RULE_VIEW, SHOW_NOTHING, finds->shut.items[i]);
	if (r == 0 && layout->holds_sockets) add_datagrams(layout->view, rules);
	return r;
}

/* A grant at or below a mask lifts it; a rule for the whole tree does not. */
static bool is_lifted(const struct view *view, const char *path) {
	for (size_t i = 0; i < view->path_count; i++) {
		const struct view_path *entry = &view->paths[i];
		if (!entry->pattern && entry->mode == VIEW_WRITE && path_is_below(entry->path, path)) return true;
	}
	return false;
}

static void add_git(const struct layout *layout, const struct finds_options *options, struct rules *rules,
		    struct facts *facts) {
	struct finds *finds = layout->finds;
	finds_repositories(finds, options, rules, facts);
	const struct git_layout *git = &finds->git;
	/* the repository of a linked worktree or submodule that lists this one: git can't work without it */
	if (git->outside && is_inside_shown(rules, git->top)) {
		rules_add_led(rules, SHOW_WRITE, git->common);
		if (!path_is_below(git->directory, git->common)) rules_add_led(rules, SHOW_WRITE, git->directory);
	}
	for (size_t i = 0; i < finds->protect.count; i++)
		if (!is_lifted(layout->view, finds->protect.items[i])) rules_add_mask(rules, finds->protect.items[i]);
}

/* A link of the user's leads what is asked about by its name elsewhere when he moves it. */
static int add_program_ways(const struct layout *layout, struct rules *rules, struct error *error) {
	CLEANUP_RULES struct rules named = {0};
	CLEANUP_FACTS struct facts facts = {0};
	for (size_t i = 0; i < rules->programs.count; i++)
		rules_add(&named, RULE_VIEW, SHOW_ASK, rules->programs.items[i]);
	facts_collect(&named, &layout->finds->book, &facts);
	int r = foreign_mark(&named, &facts, &layout->links, &layout->finds->own_folders, error);
	for (size_t i = 0; r == 0 && i < facts.count; i++) {
		const struct fact *fact = &facts.items[i];
		for (size_t k = 0; k < fact->link_count; k++)
			if (!fact->links[k].foreign) strings_add(&rules->ways, fact->links[k].path);
		strings_add(&rules->ways, fact->real);
	}
	return r;
}

int layout_rules(const struct layout *layout, struct rules *rules, struct facts *facts, struct error *error) {
	rules->curtain = layout->curtain;
	rules->project = layout->project->root;
	for (size_t i = 0; i < ARRAY_LENGTH(shown_trees); i++) rules_add(rules, RULE_LAYOUT, SHOW_READ, shown_trees[i]);
	rules_add(rules, RULE_FIRM, SHOW_FRESH, "/tmp");
	rules_add(rules, RULE_FIRM, SHOW_FRESH, "/run");
	rules_add(rules, RULE_FIRM, SHOW_PROC, "/proc");
	rules_add(rules, RULE_FIRM, SHOW_DEV, "/dev");
	if (layout->texts) etc_files_add(rules);
	add_cgroup(layout->finds, rules);
	for (size_t i = 0; i < layout->command->places.count; i++)
		rules_add(rules, RULE_PLACE, SHOW_READ, layout->command->places.items[i]);
	if (layout->program) rules_add_source(rules, RULE_FIRM, SHOW_READ, LAYOUT_PROGRAM, layout->program);
	add_protected(layout->home, rules);
	add_home(layout, rules);
	int r = add_view(layout, rules, error);
	if (r < 0) return r;
	if ((r = given_rules(&layout->finds->given, &layout->judge, rules, error)) < 0) return r;
	CLEANUP_FREE char *state = homes_of_project(layout->home, layout->project->project);
	const struct finds_options options = {.view = layout->view,
					      .project = layout->project,
					      .home = layout->home,
					      .survey = layout->survey,
					      .sockets = !layout->holds_sockets,
					      .state = state};
	for (size_t i = 0; i < layout->policy->count; i++) rules_add_mask(rules, layout->policy->items[i]);
	add_git(layout, &options, rules, facts);
	r = add_matches(layout, &options, rules, facts, error);
	if (r < 0) return r;
	facts_collect(rules, &layout->finds->book, facts);
	settle_masks(rules, facts);
	finds_names(layout->finds, &options, rules, facts);
	r = programs_add(layout->view, layout->search, layout->trapped, rules, error);
	if (r == 0) r = add_program_ways(layout, rules, error);
	if (r < 0) return r;
	facts_collect(rules, &layout->finds->book, facts);
	r = led_judge(rules, facts, &layout->judge, &layout->finds->led, error);
	if (r < 0) return r;
	return foreign_mark(rules, facts, &layout->links, &layout->finds->own_folders, error);
}
