/*
 * Theory of operation. Every rule becomes a node at its real path (links resolved); nodes of one path are merged. In
 * depth order each node then gets its effective state from its own and that of the nearest node above it, and where the
 * two differ there is a mount: a bind where something is shown, an empty file or folder where something is taken away.
 */
#include "plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/text.h"

struct node {
	const char *path; /* borrowed from the fact */
	const struct rule *rule;
	const struct fact *fact;
	bool has_show, cap;
	enum show show;
	enum rule_origin origin;
	const struct node *above;
	bool asked;     /* by a rule for files, and denied by none */
	bool gone;      /* nothing there, or below something that isn't */
	bool protected; /* at or below sbx's own state */
};

/* What keeps a rule from giving what it says where it leads. */
struct hindrance {
	const struct fact_link *planted; /* or NULL */
	enum view_denial denial;
};

struct builder {
	const struct rules *rules;
	const struct facts *facts;
	struct hindrance *hindrances; /* by rule; mostly none */
	struct node *nodes;           /* by path, each path once */
	size_t count;
	struct plan *plan;
};

bool mount_shows(const struct mount *mount) {
	return mount->kind == MOUNT_READ || mount->kind == MOUNT_WRITE || mount->kind == MOUNT_PIN ||
	       mount->kind == MOUNT_HELD;
}

bool mount_hides(const struct mount *mount) {
	return mount->kind == MOUNT_HIDE_FOLDER || mount->kind == MOUNT_HIDE_FILE || mount->kind == MOUNT_CURTAIN;
}

/* A rule that shows the whole host has bwrap bind that. */
bool mount_is_given(const struct mount *mount) {
	return mount->kind == MOUNT_PROC || mount->kind == MOUNT_DEV || string_equal(mount->path, "/") ||
	       (mount->kind == MOUNT_FRESH && string_equal(mount->path, "/run"));
}

struct mount mount_copy(const struct mount *mount) {
	struct mount copy = *mount;
	copy.path = string_copy(mount->path);
	copy.source = string_copy_or_null(mount->source);
	return copy;
}

void mount_finish(struct mount *mount) {
	free(mount->path);
	free(mount->source);
	*mount = (struct mount){0};
}

static struct mount *copy_mounts(const struct mount *mounts, size_t count) {
	struct mount *copy = NULL;
	for (size_t i = 0; i < count; i++) {
		copy = array_grow(copy, i, sizeof *copy);
		copy[i] = mount_copy(&mounts[i]);
	}
	return copy;
}

static struct strings copy_texts(const struct strings *texts) {
	struct strings copy = {0};
	for (size_t i = 0; i < texts->count; i++) strings_add(&copy, texts->items[i]);
	return copy;
}

static struct programs_linked copy_linked(const struct programs_linked *linked) {
	return (struct programs_linked){.places = copy_texts(&linked->places), .names = copy_texts(&linked->names)};
}

const struct mount *plan_find(const struct plan *plan, uint32_t id) {
	for (size_t i = 0; i < plan->count; i++)
		if (plan->mounts[i].id == id) return &plan->mounts[i];
	for (size_t i = 0; i < plan->below_count; i++)
		if (plan->below[i].id == id) return &plan->below[i];
	return NULL;
}

const struct mount *plan_at(const struct plan *plan, const char *path) {
	for (size_t i = 0; i < plan->count; i++)
		if (string_equal(plan->mounts[i].path, path)) return &plan->mounts[i];
	return NULL;
}

void plan_copy(const struct plan *plan, struct plan *ret_plan) {
	*ret_plan = *plan;
	ret_plan->mounts = copy_mounts(plan->mounts, plan->count);
	ret_plan->below = copy_mounts(plan->below, plan->below_count);
	ret_plan->once = copy_texts(&plan->once);
	ret_plan->watched = copy_texts(&plan->watched);
	ret_plan->awaited = copy_texts(&plan->awaited);
	ret_plan->ways = copy_texts(&plan->ways);
	ret_plan->missing = copy_texts(&plan->missing);
	ret_plan->missing_names = copy_texts(&plan->missing_names);
	ret_plan->shared = copy_texts(&plan->shared);
	ret_plan->linked = copy_linked(&plan->linked);
	ret_plan->asked = copy_linked(&plan->asked);
	ret_plan->notes = copy_texts(&plan->notes);
}

void plan_finish(struct plan *plan) {
	for (size_t i = 0; i < plan->count; i++) mount_finish(&plan->mounts[i]);
	free(plan->mounts);
	for (size_t i = 0; i < plan->below_count; i++) mount_finish(&plan->below[i]);
	free(plan->below);
	strings_finish(&plan->once);
	strings_finish(&plan->watched);
	strings_finish(&plan->awaited);
	strings_finish(&plan->ways);
	strings_finish(&plan->missing);
	strings_finish(&plan->missing_names);
	strings_finish(&plan->shared);
	strings_finish(&plan->linked.places);
	strings_finish(&plan->linked.names);
	strings_finish(&plan->asked.places);
	strings_finish(&plan->asked.names);
	strings_finish(&plan->notes);
	*plan = (struct plan){0};
}

static struct mount *add_mount(struct plan *plan, enum mount_kind kind, const char *path, const char *source) {
	plan->mounts = array_grow(plan->mounts, plan->count, sizeof *plan->mounts);
	struct mount *mount = &plan->mounts[plan->count++];
	*mount = (struct mount){
		.kind = kind, .path = string_copy(path), .source = source ? string_copy(source) : NULL, .mode = 0755};
	return mount;
}

static bool is_hosts(enum show show) {
	return show == SHOW_READ || show == SHOW_WRITE;
}

/* Does the view (by name alone) let the tool write at `path`? */
static bool is_writable_by_view(const struct rules *rules, const char *path) {
	const struct rule *best = NULL;
	for (size_t i = 0; i < rules->count; i++) {
		const struct rule *rule = &rules->items[i];
		if (rule->origin != RULE_VIEW || rule->cap || rule->adds || !path_is_below(path, rule->path)) continue;
		if (!best || strlen(rule->path) > strlen(best->path)) best = rule; /* both are above `path` */
	}
	return best && best->show == SHOW_WRITE;
}

/* A repository's content is as little the user's word as a tool's. */
static bool leaves_project(const struct rules *rules, const struct fact_link *link, const struct fact *fact) {
	return rules->project && path_is_below(link->path, rules->project) &&
	       !path_is_below(fact->real, rules->project);
}

/* The first link on the way to what an allow rule names that a tool, another user or whoever wrote the project could
 * have planted; NULL = none, or the path leads where the user has seen it lead. */
static const struct fact_link *planted_link(const struct rules *rules, const struct rule *rule,
					    const struct fact *fact) {
	if (!rule_gives(rule) || string_equal(rule->resolved, fact->real)) return NULL;
	for (size_t i = 0; i < fact->link_count; i++) {
		CLEANUP_FREE char *folder = path_parent(fact->links[i].path); /* whoever writes it can make the link */
		if (fact->links[i].foreign || is_writable_by_view(rules, folder) ||
		    leaves_project(rules, &fact->links[i], fact))
			return &fact->links[i];
	}
	return NULL;
}

/* What the names have in common with the rule's is not what leads below the denied path: behind the same link, the
 * broker has judged them by name. */
static bool is_judged_by_name(const struct rule *rule, const struct fact *fact, const struct rule *denying,
			      const struct fact *denied) {
	return !rule->led && path_is_below(rule->path, denying->path) &&
	       string_equal(rule->path + strlen(denying->path), fact->real + strlen(denied->real));
}

/* What is denied where the rule leads: by the broker's word of that very path, or by a rule that leads there, too. */
static enum view_denial denied_there(const struct builder *builder, const struct rule *rule, const struct fact *fact) {
	enum view_denial denial = VIEW_DENIES_NOTHING;
	if (!rule_is_led(rule, fact)) return denial;
	denial = rule->there;
	for (size_t i = 0; i < builder->rules->count; i++) {
		const struct rule *denying = &builder->rules->items[i];
		const struct fact *denied = &builder->facts->items[i];
		if (denying->denial > denial && path_is_below(fact->real, denied->real) &&
		    !is_judged_by_name(rule, fact, denying, denied))
			denial = denying->denial;
	}
	return denial;
}

static int compare_nodes(const void *a, const void *b) {
	const struct node *one = a, *two = b;
	return strcmp(one->path, two->path);
}

static int stronger(enum rule_origin a, enum rule_origin b) {
	static const int strength[] = {[RULE_LAYOUT] = 0, [RULE_PLACE] = 1, [RULE_FIRM] = 2,     [RULE_ADDED] = 3,
				       [RULE_VIEW] = 4,   [RULE_TEXT] = 5,  [RULE_PROTECTED] = 6};
	return strength[a] - strength[b];
}

static enum show lesser(enum show a, enum show b) {
	return a < b ? a : b;
}

static bool is_nothing(enum show show) {
	return show == SHOW_NOTHING || show == SHOW_ASK;
}

/* A fresh folder shows nothing of the host's either. */
static bool is_own(enum show show) {
	return show >= SHOW_FRESH;
}

/* What may be asked for is there when the tool is installed in it, or a grant by a link leads there. */
static bool is_place(const struct node *node, const struct node *other) {
	return (node->origin == RULE_PLACE || node->origin == RULE_ADDED) && other->origin == RULE_VIEW &&
	       other->show == SHOW_ASK;
}

/* A grant by a link is for what the user saw it lead to, as one by that name would be. */
static bool answers(const struct node *node, const struct node *other) {
	return node->rule->resolved && string_equal(node->rule->resolved, node->path) && is_hosts(node->show) &&
	       other->asked;
}

/* Two rules for one path: the stronger origin's, and of equals the lesser. Masks add up. */
static void merge_node(struct node *into, const struct node *other) {
	into->cap |= other->cap;
	if (!other->has_show) return;
	if (into->has_show && is_own(into->show) && is_nothing(other->show) && other->origin != RULE_PROTECTED) return;
	if (into->has_show && is_own(other->show) && is_nothing(into->show) && into->origin != RULE_PROTECTED)
		into->has_show = false;
	if (into->has_show && (is_place(into, other) || answers(into, other))) return;
	if (into->has_show && (is_place(other, into) || answers(other, into))) into->has_show = false;
	int order = into->has_show ? stronger(other->origin, into->origin) : 1;
	if (order == 0)
		into->asked = (into->asked || into->show > other->show) && (other->asked || other->show > into->show);
	else if (order > 0)
		into->asked = other->asked;
	enum show show = order == 0 ? lesser(into->show, other->show) : order > 0 ? other->show : into->show;
	if (order > 0) {
		into->rule = other->rule;
		into->origin = other->origin;
	}
	into->show = show;
	into->has_show = true;
}

/* The broker knows what is asked about there by the rule's name, also while it is allowed for one call. */
static void note_asked(struct plan *plan, const struct rule *rule, const struct fact *fact) {
	const bool asks = rule->show == SHOW_ASK || rule->resolved;
	if (!asks || rule->program || !rule_is_led(rule, fact)) return;
	strings_add(&plan->asked.places, fact->real);
	strings_add(&plan->asked.names, rule->path);
}

static void collect_nodes(struct builder *builder) {
	builder->nodes = mem_array(struct node, builder->rules->count + 1);
	builder->hindrances = mem_array(struct hindrance, builder->rules->count + 1);
	size_t count = 0;
	for (size_t i = 0; i < builder->rules->count; i++) {
		const struct rule *rule = &builder->rules->items[i];
		const struct fact *fact = &builder->facts->items[i];
		const struct hindrance hindrance = {.planted = planted_link(builder->rules, rule, fact),
						    .denial = denied_there(builder, rule, fact)};
		const bool denied = hindrance.denial == VIEW_DENIES_READ;
		const bool hides = denied && (rule->there == VIEW_DENIES_READ || rule->show == SHOW_ASK);
		const bool gives_nothing = hindrance.planted || denied;
		if (!gives_nothing) note_asked(builder->plan, rule, fact);
		builder->hindrances[i] = hindrance;
		if (gives_nothing && !hides && (rule->show == SHOW_WRITE || rule->adds)) continue;
		enum show show = rule->show == SHOW_ASK && !builder->rules->curtain ? SHOW_NOTHING : rule->show;
		if (show == SHOW_WRITE && hindrance.denial == VIEW_DENIES_WRITE) show = SHOW_READ;
		if (hides) show = SHOW_NOTHING;
		/* What it takes away it does take away. */
		bool cap = rule->cap || (gives_nothing && !hides);
		const bool adds = rule->adds && show == SHOW_READ;
		builder->nodes[count++] = (struct node){.path = fact->real,
							.rule = rule,
							.fact = fact,
							.has_show = !cap,
							.asked = rule->show == SHOW_ASK && rule->origin == RULE_VIEW &&
								 !rule->program && !hides,
							.cap = cap,
							.show = show,
							.origin = adds ? RULE_ADDED : rule->origin};
	}
	qsort(builder->nodes, count, sizeof *builder->nodes, compare_nodes);
	for (size_t i = 0; i < count; i++) {
		struct node *last = builder->count > 0 ? &builder->nodes[builder->count - 1] : NULL;
		if (last && string_equal(last->path, builder->nodes[i].path))
			merge_node(last, &builder->nodes[i]);
		else
			builder->nodes[builder->count++] = builder->nodes[i];
	}
}

static struct node *find_node(const struct builder *builder, const char *path) {
	struct node key = {.path = path};
	return bsearch(&key, builder->nodes, builder->count, sizeof *builder->nodes, compare_nodes);
}

static const struct node *node_above(const struct builder *builder, const char *path) {
	CLEANUP_FREE char *at = string_copy(path);
	while (!string_equal(at, "/")) {
		char *parent = path_parent(at);
		free(at);
		at = parent;
		const struct node *node = find_node(builder, at);
		if (node) return node;
	}
	return NULL;
}

static enum show show_of(const struct node *node) {
	return node ? node->show : SHOW_NOTHING;
}

/* Sorting by path has put every node behind the ones above it. */
static void settle_node(const struct builder *builder, struct node *node) {
	node->above = node_above(builder, node->path);
	enum show above = show_of(node->above);
	enum show own = node->has_show ? node->show : above;
	bool yields = node->origin == RULE_LAYOUT || node->origin == RULE_PLACE || node->origin == RULE_ADDED;
	if (node->has_show && yields && is_hosts(above)) own = above;
	if (node->cap && is_hosts(own)) own = SHOW_READ;
	node->protected = node->origin == RULE_PROTECTED || (node->above && node->above->protected);
	if (node->protected) own = SHOW_NOTHING;
	/* in sbx's own trees the host need not have anything here */
	const bool in_hosts = is_hosts(above) && !node->above->gone;
	const bool elsewhere = node->has_show && node->rule->source && !in_hosts;
	if (is_hosts(own) || own == SHOW_ASK) {
		node->gone = !elsewhere && (node->fact->type == FACT_MISSING || (node->above && node->above->gone));
	} else if (own == SHOW_NOTHING) {
		node->gone = node->fact->type == FACT_MISSING && is_hosts(above);
	} else if (own == SHOW_TEXT && is_hosts(above)) { /* it needs a file to lie on: none is made on the host */
		node->gone = node->fact->type == FACT_MISSING || node->fact->type == FACT_FOLDER;
	}
	node->show = own;
}

static void note_missing(struct plan *plan, const struct node *node) {
	if (node->show >= SHOW_WRITE || show_of(node->above) != SHOW_WRITE) return;
	strings_add(&plan->missing, node->path);
	strings_add(&plan->missing_names, node->rule->path);
}

static bool is_masked(const struct node *node) {
	const enum show above = show_of(node->above);
	return is_nothing(node->show) ? is_hosts(above) : node->show < SHOW_WRITE && above == SHOW_WRITE;
}

/* The first name on the way to what is to be hidden or read-only that the host lacks. */
static void note_awaited(struct plan *plan, const struct node *node) {
	if (!is_masked(node) || node->fact->type != FACT_MISSING) return;
	const size_t there = node->fact->there, size = there + 1 + strcspn(node->path + there + 1, "/");
	CLEANUP_FREE char *name = string_copy_bytes(node->path, size);
	if (!strings_contain(&plan->awaited, name)) strings_add(&plan->awaited, name);
}

static void note_way(struct plan *plan, const char *path) {
	if (!strings_contain(&plan->ways, path)) strings_add(&plan->ways, path);
}

/* What a rule that denies or asks names, and the links on its way. What lies in a tree of the host is masked or awaited
 * there, and a link that the tool could move is held. One that somebody else can move is followed when something else
 * has the facts collected anew: nobody lifts a denial of what a sandbox has hidden, or hides something, as soon as he
 * likes. */
static void note_ways(const struct builder *builder, size_t index) {
	const struct rule *rule = &builder->rules->items[index];
	const struct fact *fact = &builder->facts->items[index];
	if (rule->denial == VIEW_DENIES_NOTHING && !rule->asks) return;
	for (size_t i = 0; i < fact->link_count; i++) {
		const struct fact_link *link = &fact->links[i];
		if (!link->foreign && show_of(node_above(builder, link->path)) != SHOW_WRITE)
			note_way(builder->plan, link->path);
	}
	if (!is_hosts(show_of(node_above(builder, fact->real)))) note_way(builder->plan, fact->real);
}

/* A start by a link that the tool can move is asked about by the link's name (trap.h). */
static void note_program_ways(const struct builder *builder) {
	const struct strings *ways = &builder->rules->ways;
	for (size_t i = 0; i < ways->count; i++)
		if (show_of(node_above(builder, ways->items[i])) != SHOW_WRITE) note_way(builder->plan, ways->items[i]);
}

static bool takes_away(const struct node *node) {
	if (node->gone || node->fact->names < 2) return false;
	return is_nothing(node->show) ? is_hosts(show_of(node->above)) : node->cap && node->show == SHOW_READ;
}

/* A mask holds for a name. The file can be had by another one, unless each of them is masked. */
static void note_shared(const struct builder *builder, const struct node *node) {
	if (!takes_away(node)) return;
	nlink_t known = 0;
	for (size_t i = 0; i < builder->count; i++) {
		const struct node *other = &builder->nodes[i];
		known += other->fact->device == node->fact->device && other->fact->inode == node->fact->inode &&
			 takes_away(other);
	}
	if (known < node->fact->names) strings_add(&builder->plan->shared, node->path);
}

static struct mount *add_shown(struct plan *plan, const struct node *node) {
	const char *source = node->rule->source ? node->rule->source : node->path;
	struct mount *mount = add_mount(plan, node->show == SHOW_READ ? MOUNT_READ : MOUNT_WRITE, node->path, source);
	if (!node->rule->source) {
		mount->device = node->fact->device;
		mount->inode = node->fact->inode;
	}
	return mount;
}

/* The links that lead to what is shown, where they would not be there otherwise. */
static void add_links(const struct builder *builder, const struct fact *fact) {
	for (size_t i = 0; i < fact->link_count; i++) {
		const char *link = fact->links[i].path;
		enum show around = show_of(node_above(builder, link));
		const struct node *at = find_node(builder, link);
		if (!is_hosts(around) && !at) add_mount(builder->plan, MOUNT_LINK, link, fact->links[i].text);
	}
}

static void hold_links(const struct builder *builder, const struct fact *fact) {
	for (size_t i = 0; i < fact->link_count; i++) {
		const char *link = fact->links[i].path;
		if (show_of(node_above(builder, link)) == SHOW_WRITE) add_mount(builder->plan, MOUNT_HELD, link, NULL);
	}
}

/* What may be asked for: files and folders; sockets are by themselves, when somebody connects (ipc:connect). */
static void add_asked(struct plan *plan, const struct node *node, bool hides) {
	switch (node->fact->type) {
	case FACT_FOLDER:
		add_mount(plan, MOUNT_CURTAIN, node->path, NULL)->mode = S_IFDIR;
		return;
	case FACT_FILE:
		add_mount(plan, MOUNT_CURTAIN, node->path, NULL)->mode = S_IFREG;
		return;
	case FACT_LINK:
		add_mount(plan, MOUNT_LINK, node->path, node->fact->links[0].text);
		return;
	case FACT_MISSING:
	case FACT_SOCKET:
	case FACT_SPECIAL:
		break;
	}
	if (hides) add_mount(plan, MOUNT_HIDE_FILE, node->path, NULL)->mode = 0;
	if (node->fact->type == FACT_SOCKET) return;
	CLEANUP_FREE char *path = text_visible(node->path);
	strings_addf(&plan->notes, "%s is no file or folder: it is not shown and can't be asked for", path);
}

static void add_node_mount(const struct builder *builder, const struct node *node) {
	struct plan *plan = builder->plan;
	enum show above = show_of(node->above);
	bool has_source = node->has_show && node->rule->source;
	switch (node->show) {
	case SHOW_PROC:
		if (node->has_show) add_mount(plan, MOUNT_PROC, node->path, NULL);
		return;
	case SHOW_DEV:
		if (node->has_show) add_mount(plan, MOUNT_DEV, node->path, NULL);
		return;
	case SHOW_FRESH:
		if (has_source)
			add_mount(plan, MOUNT_OWN, node->path, node->rule->source);
		else if (node->has_show)
			add_mount(plan, MOUNT_FRESH, node->path, NULL);
		return;
	case SHOW_TEXT:
		if (node->has_show) add_mount(plan, MOUNT_TEXT, node->path, node->rule->source);
		return;
	case SHOW_ASK:
		if (above != SHOW_ASK) add_asked(plan, node, is_hosts(above));
		return;
	case SHOW_NOTHING:
		if (!is_hosts(above)) return;
		if (node->fact->type == FACT_FOLDER)
			add_mount(plan, MOUNT_HIDE_FOLDER, node->path, NULL)->mode = 0;
		else
			add_mount(plan, MOUNT_HIDE_FILE, node->path, NULL)->mode = 0;
		return;
	case SHOW_READ:
	case SHOW_WRITE:
		break;
	}
	if (node->show == above && !has_source) return;
	if (node->fact->type == FACT_SOCKET && !is_hosts(above)) {
		CLEANUP_FREE char *path = text_visible(node->path);
		strings_addf(&plan->notes, "%s is a socket of the host and not shown", path);
		return;
	}
	add_shown(plan, node);
}

static int compare_mounts(const void *a, const void *b) {
	const struct mount *one = a, *two = b;
	return path_compare(one->path, two->path);
}

/* Each folder between a mount or held link in `folder` and the writable tree it lies in. */
static void add_pins(const struct builder *builder, const char *folder) {
	CLEANUP_FREE char *at = string_copy(folder);
	while (!string_equal(at, "/")) {
		const struct node *node = find_node(builder, at);
		enum show show = node ? node->show : show_of(node_above(builder, at));
		if (show != SHOW_WRITE) return;
		if (!plan_at(builder->plan, at)) add_mount(builder->plan, MOUNT_PIN, at, at);
		char *parent = path_parent(at);
		free(at);
		at = parent;
	}
}

/* A hidden folder with something shown below it can be passed through, not listed. */
static void open_hidden(struct plan *plan) {
	for (size_t i = 0; i < plan->count; i++) {
		if (plan->mounts[i].kind != MOUNT_HIDE_FOLDER) continue;
		if (i + 1 < plan->count && path_is_below(plan->mounts[i + 1].path, plan->mounts[i].path))
			plan->mounts[i].mode = 0111;
	}
}

static void remove_duplicates(struct plan *plan) {
	size_t kept = 0;
	for (size_t i = 0; i < plan->count; i++) {
		if (kept > 0 && string_equal(plan->mounts[kept - 1].path, plan->mounts[i].path)) {
			free(plan->mounts[i].path);
			free(plan->mounts[i].source);
		} else {
			plan->mounts[kept++] = plan->mounts[i];
		}
	}
	plan->count = kept;
}

static void note_hindrance(struct plan *plan, const struct rules *rules, const struct rule *rule,
			   const struct fact *fact, const struct hindrance *hindrance) {
	CLEANUP_FREE char *path = text_visible(rule->path), *real = text_visible(fact->real);
	if (hindrance->denial != VIEW_DENIES_NOTHING) {
		const bool reads = hindrance->denial == VIEW_DENIES_READ;
		strings_addf(&plan->notes,
			     "%s is not %s: it leads to %s, where a rule or grant denies it (sbx why %s %s)", path,
			     reads ? "shown" : "writable", real, reads ? "fs:read" : "fs:write", real);
		return;
	}
	CLEANUP_FREE char *link = text_visible(hindrance->planted->path);
	const bool leaves = leaves_project(rules, hindrance->planted, fact);
	strings_addf(&plan->notes, "%s is not shown: it leads to %s by the link %s, which %s", path, real, link,
		     leaves ? "lies in the project and leads out of it" : "a sandbox or another user may have made");
}

/* The links on a rule's way: made where they lead to something shown, held where they lead to a mask. */
static void add_ways(const struct builder *builder, size_t index) {
	const struct rule *rule = &builder->rules->items[index];
	const struct fact *fact = &builder->facts->items[index];
	if (fact->link_count == 0) return;
	const struct node *node = find_node(builder, fact->real);
	const struct hindrance *hindrance = &builder->hindrances[index];
	const bool hindered = hindrance->planted || hindrance->denial != VIEW_DENIES_NOTHING;
	enum show show = node ? node->show : show_of(node_above(builder, fact->real));
	if (hindered && (show < rule->show || is_own(show)))
		note_hindrance(builder->plan, builder->rules, rule, fact, hindrance);
	bool takes = rule->cap || hindered || rule->origin == RULE_VIEW || rule->origin == RULE_TEXT ||
		     rule->origin == RULE_PROTECTED;
	if (takes && !rule->adds && show != SHOW_WRITE) hold_links(builder, fact);
	if (node && !node->gone && show != SHOW_NOTHING && !rule->cap) add_links(builder, fact);
}

/* sbx's own folders, where the tool could make them: whoever makes them first rules (design section 10.6). */
static int refuse_missing_state(const struct builder *builder, struct error *error) {
	for (size_t i = 0; i < builder->count; i++) {
		const struct node *node = &builder->nodes[i];
		if (!node->gone || node->origin != RULE_PROTECTED || show_of(node->above) != SHOW_WRITE) continue;
		CLEANUP_FREE char *path = text_visible(node->path);
		return error_set(
			error, EPERM,
			"%s is not there, and the tool could make it and so rule sbx: make it first (mkdir -p -m 700)",
			path);
	}
	return 0;
}

static void add_mounts(const struct builder *builder) {
	struct plan *plan = builder->plan;
	for (size_t i = 0; i < builder->count; i++) {
		const struct node *node = &builder->nodes[i];
		if (node->gone)
			note_missing(plan, node);
		else
			add_node_mount(builder, node);
		note_awaited(plan, node);
		note_shared(builder, node);
	}
	for (size_t i = 0; i < builder->rules->count; i++) {
		add_ways(builder, i);
		note_ways(builder, i);
	}
	note_program_ways(builder);
	CLEANUP_FREE char *last = string_copy("");
	for (size_t i = 0, count = plan->count; i < count; i++) {
		CLEANUP_FREE char *folder = path_parent(plan->mounts[i].path);
		if (!string_equal(folder, last)) add_pins(builder, folder); /* thousands may lie in one */
		free(last);
		last = STEAL(folder);
	}
}

int plan_build(const struct rules *rules, const struct facts *facts, struct plan *ret_plan, struct error *error) {
	CLEANUP_PLAN struct plan plan = {.linked = copy_linked(&rules->linked)};
	struct builder builder = {.rules = rules, .facts = facts, .plan = &plan};
	collect_nodes(&builder);
	for (size_t i = 0; i < builder.count; i++) settle_node(&builder, &builder.nodes[i]);
	int r = refuse_missing_state(&builder, error);
	if (r == 0) add_mounts(&builder);
	free(builder.nodes);
	free(builder.hindrances);
	if (r < 0) return r;

	if (plan.count > 0) qsort(plan.mounts, plan.count, sizeof *plan.mounts, compare_mounts);
	remove_duplicates(&plan);
	open_hidden(&plan);
	if (plan.count > PLAN_MOUNTS_MAX) {
		return error_set(error, E2BIG,
				 "the sandbox would need %zu mounts, more than %d: make the rules match fewer paths",
				 plan.count, PLAN_MOUNTS_MAX);
	}
	*ret_plan = plan;
	plan = (struct plan){0};
	return 0;
}

enum show plan_show(const struct plan *plan, const char *path) {
	static const enum show shows[] = {
		[MOUNT_READ] = SHOW_READ,         [MOUNT_WRITE] = SHOW_WRITE, [MOUNT_PIN] = SHOW_WRITE,
		[MOUNT_FRESH] = SHOW_FRESH,       [MOUNT_OWN] = SHOW_FRESH,   [MOUNT_HIDE_FOLDER] = SHOW_NOTHING,
		[MOUNT_HIDE_FILE] = SHOW_NOTHING, [MOUNT_LINK] = SHOW_FRESH,  [MOUNT_HELD] = SHOW_READ,
		[MOUNT_CURTAIN] = SHOW_ASK,       [MOUNT_PROC] = SHOW_PROC,   [MOUNT_DEV] = SHOW_DEV,
		[MOUNT_TEXT] = SHOW_TEXT,
	};
	_Static_assert(ARRAY_LENGTH(shows) == MOUNT_KIND_COUNT, "every kind of mount");
	enum show show = SHOW_NOTHING;
	for (size_t i = 0; i < plan->count; i++) { /* the last one above the path is the deepest */
		if (path_is_below(path, plan->mounts[i].path)) show = shows[plan->mounts[i].kind];
	}
	return show;
}
