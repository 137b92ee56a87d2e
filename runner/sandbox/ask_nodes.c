#include "ask_nodes.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "base/path.h"
#include "plan/point.h"

/* A path that a rule speaks of: as it is written, and as it really is. */
struct spoken {
	const char *path;
	size_t index; /* of the rule: the lists grow */
};

struct asking {
	struct ask_nodes *nodes;
	const char *home, *own;
	struct spoken *spoken; /* by path */
	size_t spoken_count;
	struct rules *rules;
	struct facts *facts;
	struct strings *watched;
};

static void folder_clear(struct ask_folder *folder) {
	for (size_t i = 0; i < folder->facts.count; i++) fact_finish(&folder->facts.items[i]);
	facts_finish(&folder->facts);
	strings_finish(&folder->names);
}

void ask_nodes_forget(struct ask_nodes *nodes) {
	for (size_t i = 0; i < nodes->count; i++) folder_clear(&nodes->folders[i]);
	nodes->names = 0;
	nodes->more = false;
}

void ask_nodes_finish(struct ask_nodes *nodes) {
	ask_nodes_forget(nodes);
	for (size_t i = 0; i < nodes->count; i++) free(nodes->folders[i].path);
	free(nodes->folders);
	*nodes = (struct ask_nodes){0};
}

/*
 * What the rules speak of.
 */

static int compare_spoken(const void *a, const void *b) {
	return path_compare(((const struct spoken *)a)->path, ((const struct spoken *)b)->path);
}

static void collect_spoken(struct asking *asking) {
	size_t links = 0;
	for (size_t i = 0; i < asking->facts->count; i++) links += asking->facts->items[i].link_count;
	asking->spoken = mem_array(struct spoken, 2 * asking->rules->count + links + 1);
	for (size_t i = 0; i < asking->rules->count; i++) {
		const struct rule *rule = &asking->rules->items[i];
		const struct fact *fact = &asking->facts->items[i];
		if (rule->cap) continue; /* a mask says nothing of what isn't shown */
		asking->spoken[asking->spoken_count++] = (struct spoken){fact->real, i};
		if (!string_equal(fact->real, rule->path))
			asking->spoken[asking->spoken_count++] = (struct spoken){rule->path, i};
		for (size_t k = 0; k < fact->link_count; k++)
			asking->spoken[asking->spoken_count++] = (struct spoken){fact->links[k].path, i};
	}
	qsort(asking->spoken, asking->spoken_count, sizeof *asking->spoken, compare_spoken);
}

static size_t first_spoken(const struct asking *asking, const char *path) {
	size_t low = 0, high = asking->spoken_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (path_compare(asking->spoken[middle].path, path) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool speaks_of(const struct asking *asking, const char *path) {
	size_t at = first_spoken(asking, path);
	return at < asking->spoken_count && string_equal(asking->spoken[at].path, path);
}

static const struct rule *rule_of(const struct asking *asking, const struct spoken *spoken) {
	return &asking->rules->items[spoken->index];
}

static const struct fact *fact_of(const struct asking *asking, const struct spoken *spoken) {
	return &asking->facts->items[spoken->index];
}

/* Is it its own path, not that of a link that leads there? */
static bool is_real_path(const struct asking *asking, const struct spoken *spoken) {
	return spoken->path == fact_of(asking, spoken)->real;
}

/* Or a link on the way: what is shown makes that, too. */
static bool is_link(const struct asking *asking, const struct spoken *spoken) {
	const struct fact *fact = fact_of(asking, spoken);
	for (size_t i = 0; i < fact->link_count; i++)
		if (spoken->path == fact->links[i].path) return true;
	return false;
}

static bool is_shown(const struct asking *asking, const struct spoken *spoken) {
	switch (rule_of(asking, spoken)->show) {
	case SHOW_READ:
	case SHOW_WRITE:
		return fact_of(asking, spoken)->type != FACT_MISSING;
	case SHOW_FRESH:
	case SHOW_PROC:
	case SHOW_DEV:
	case SHOW_TEXT:
		return true;
	case SHOW_NOTHING:
	case SHOW_ASK:
		break;
	}
	return false;
}

/* Does something that the sandbox begins with lie in it? */
static bool leads(const struct asking *asking, const char *path) {
	for (size_t i = first_spoken(asking, path); i < asking->spoken_count; i++) {
		const struct spoken *spoken = &asking->spoken[i];
		if (!path_is_below(spoken->path, path)) return false;
		if (string_equal(spoken->path, path) || !is_shown(asking, spoken)) continue;
		if (is_real_path(asking, spoken) || is_link(asking, spoken)) return true;
	}
	return false;
}

static bool is_fresh(const struct asking *asking, const char *path) {
	for (size_t i = first_spoken(asking, path); i < asking->spoken_count; i++) {
		if (!string_equal(asking->spoken[i].path, path)) return false;
		if (rule_of(asking, &asking->spoken[i])->show == SHOW_FRESH) return true;
	}
	return false;
}

/* Does `path` lie in a tree of the host that is shown, or in sbx's own state? Then a node hides what is there. */
static bool is_in_tree(const struct asking *asking, const char *path) {
	CLEANUP_FREE char *at = path_parent(path);
	for (;;) {
		bool found = false, shown = false;
		for (size_t i = first_spoken(asking, at); i < asking->spoken_count; i++) {
			const struct spoken *spoken = &asking->spoken[i];
			if (!string_equal(spoken->path, at)) break;
			if (!is_real_path(asking, spoken)) continue;
			const struct rule *rule = rule_of(asking, spoken);
			if (rule->origin == RULE_PROTECTED) return true;
			found = true;
			shown |= (rule->show == SHOW_READ || rule->show == SHOW_WRITE) && is_shown(asking, spoken);
		}
		if (found || string_equal(at, "/")) return shown;
		char *parent = path_parent(at);
		free(at);
		at = parent;
	}
}

/*
 * Real folders.
 */

static struct ask_folder *find_folder(const struct ask_nodes *nodes, const char *path) {
	for (size_t i = 0; i < nodes->count; i++)
		if (string_equal(nodes->folders[i].path, path)) return &nodes->folders[i];
	return NULL;
}

static bool is_real(const struct asking *asking, const char *path) {
	return asking->nodes->settled ? find_folder(asking->nodes, path) != NULL : leads(asking, path);
}

static bool own_home_has(const struct asking *asking, const char *path) {
	if (!asking->own || !path_is_below(path, asking->home)) return false;
	CLEANUP_FREE char *own = string_format("%s%s", asking->own, path + strlen(asking->home));
	struct statx status;
	return statx(AT_FDCWD, own, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &status) == 0 && !point_is_made(&status);
}

/* False when the name is gone again. */
static bool look_at(int folder, const struct dirent *entry, const char *path, struct fact *fact) {
	struct stat status = {.st_mode = (mode_t)DTTOIF(entry->d_type)};
	char text[PATH_MAX];
	if (entry->d_type == DT_UNKNOWN && fstatat(folder, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	*fact = (struct fact){.real = string_copy(path), .type = fact_type_of(status.st_mode)};
	if (fact->type != FACT_LINK) return true;
	ssize_t size = readlinkat(folder, entry->d_name, text, sizeof text - 1);
	text[size < 0 ? 0 : size] = '\0';
	fact_add_link(fact, path, text);
	return true;
}

static void list_folder(struct ask_nodes *nodes, struct ask_folder *folder) {
	int fd = open(folder->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *stream = fd >= 0 ? mem_expect(fdopendir(fd)) : NULL;
	for (const struct dirent *entry; stream && (entry = readdir(stream));) {
		struct fact fact;
		if (string_equal(entry->d_name, ".") || string_equal(entry->d_name, "..")) continue;
		if (nodes->names >= ASK_NODES_MAX) {
			nodes->more = true;
			break;
		}
		CLEANUP_FREE char *path = path_join(folder->path, entry->d_name);
		if (!look_at(fd, entry, path, &fact)) continue;
		strings_add(&folder->names, path);
		facts_add(&folder->facts, &fact);
		nodes->names++;
	}
	if (stream) closedir(stream);
}

bool ask_nodes_unfold(struct ask_nodes *nodes, const char *path) {
	if (find_folder(nodes, path)) return false;
	nodes->folders = array_grow(nodes->folders, nodes->count, sizeof *nodes->folders);
	nodes->folders[nodes->count++] = (struct ask_folder){.path = string_copy(path)};
	return true;
}

static void open_folder(struct ask_nodes *nodes, const char *path) {
	ask_nodes_unfold(nodes, path);
	struct ask_folder *folder = find_folder(nodes, path);
	if (folder->facts.count == 0) list_folder(nodes, folder);
}

/* For what is mounted: it must still be what was listed. */
static void look_again(const char *path, struct fact *fact) {
	struct stat status;
	if (fact->inode != 0 || lstat(path, &status) < 0 || fact_type_of(status.st_mode) != fact->type) return;
	fact->device = status.st_dev;
	fact->inode = status.st_ino;
	fact->names = fact->type == FACT_FILE ? status.st_nlink : 0;
}

/* `show`: SHOW_ASK, or SHOW_READ where the folder has been granted since. */
static void add_folder(struct asking *asking, const char *path, enum show show) {
	open_folder(asking->nodes, path);
	strings_add(asking->watched, path);
	/* by index: a folder in it moves the list */
	const size_t index = (size_t)(find_folder(asking->nodes, path) - asking->nodes->folders);
	for (size_t i = 0; i < asking->nodes->folders[index].names.count; i++) {
		const char *name = asking->nodes->folders[index].names.items[i];
		struct fact *fact = &asking->nodes->folders[index].facts.items[i];
		if (speaks_of(asking, name)) continue;
		if (fact->type == FACT_FOLDER && is_real(asking, name)) {
			add_folder(asking, name, show);
			continue;
		}
		if (own_home_has(asking, name)) continue;
		if (show == SHOW_READ) look_again(name, fact);
		/* a link is one of the sandbox's own in either case */
		rules_add(asking->rules, RULE_LAYOUT, fact->type == FACT_LINK ? SHOW_ASK : show, name);
		facts_add(asking->facts, fact);
	}
}

/* The folder that is there, of a path that isn't. */
static void watch_missing(struct asking *asking, const struct fact *fact) {
	CLEANUP_FREE char *at = fact->there > 0 ? string_copy_bytes(fact->real, fact->there) : string_copy("/");
	if (!strings_contain(asking->watched, at)) strings_add(asking->watched, at);
}

static void add_rule(struct asking *asking, size_t index) {
	const char *path = asking->facts->items[index].real;
	const enum fact_type type = asking->facts->items[index].type;
	bool fresh = is_fresh(asking, path);
	if (type == FACT_MISSING) watch_missing(asking, &asking->facts->items[index]);
	if (type != FACT_FOLDER || is_in_tree(asking, path) || !(fresh || is_real(asking, path))) return;
	asking->rules->items[index].show = SHOW_NOTHING;
	add_folder(asking, path, SHOW_ASK);
}

/*
 * A folder that was real from the start and is granted to be read since: each of its names is mounted on its node, not
 * the folder over all of them. Who goes through it (find, rg) has it open, and would be left with the nodes.
 */
static void spread_rule(struct asking *asking, size_t index) {
	const struct rule *rule = &asking->rules->items[index];
	const char *path = asking->facts->items[index].real;
	if (rule->origin != RULE_VIEW || rule->cap || rule->source || asking->facts->items[index].type != FACT_FOLDER)
		return;
	if (!find_folder(asking->nodes, path) || asking->nodes->names > ASK_NODES_SPREAD) return;
	asking->rules->items[index].show = SHOW_NOTHING;
	add_folder(asking, path, SHOW_READ);
}

void ask_nodes_add(struct ask_nodes *nodes, const char *home, const char *own, struct rules *rules, struct facts *facts,
		   struct strings *watched) {
	struct asking asking = {
		.nodes = nodes, .home = home, .own = own, .rules = rules, .facts = facts, .watched = watched};
	const size_t count = rules->count;
	collect_spoken(&asking);
	for (size_t i = 0; i < count && nodes->settled; i++)
		if (rules->items[i].show == SHOW_READ) spread_rule(&asking, i);
	for (size_t i = 0; i < count; i++)
		if (rules->items[i].show == SHOW_ASK && !rules->items[i].cap) add_rule(&asking, i);
	nodes->settled = true;
	free(asking.spoken);
}
