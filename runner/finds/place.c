#include "place.h"

#include <fnmatch.h>

#include "base/path.h"
#include "schema/home.h"

/* What every sandbox shows anyway (layout.c). */
static const char *const system_trees[] = {"/usr",   "/bin", "/sbin", "/lib",      "/lib32",
					   "/lib64", "/etc", "/opt",  "/nix/store"};

/*
 * Installers whose programs need more, or less, than the folder above bin/. `tree` is relative to $HOME unless it
 * begins with '/', a `*` stands for one name; the first row that is above the program decides. `show` lists
 * what is shown: "" is the matched tree, else paths below the tree's literal beginning (up to its first '*').
 */
static const struct {
	const char *tree;
	const char *show[3];
} place_table[] = {
	{".nvm/versions/node/*", {""}},
	{".local/share/fnm/node-versions/*", {""}},
	{".fnm/node-versions/*", {""}},
	{".volta", {""}}, /* shims that start what lies in tools/ */
	{".asdf", {""}},
	{".local/share/mise", {""}},
	{".local/share/pipx/venvs/*", {""}},
	{".local/pipx/venvs/*", {""}},
	{".local/share/uv/tools/*", {""}},
	{".local/share/uv/python/*", {""}},
	{".pyenv", {""}},
	{".rbenv", {""}},
	{".cargo/bin", {"", "../../.rustup"}}, /* not .cargo: credentials.toml */
	{".rustup", {""}},
	{"go/bin", {""}},
	{"sdk/*", {""}}, /* golang.org/dl */
	{".bun", {"bin", "install/global"}},
	{".deno/bin", {""}},
	{".sdkman/candidates/*/*", {""}},
	{".local/share/pnpm", {""}},
	{"/home/linuxbrew/.linuxbrew", {""}},
	{"/snap/*", {""}},
};

/* Folders that collect what has nothing to do with each other: never a place. */
static const char *const collections[] = {"/",    "/home",    "/root",    "/run", "/run/user/*", "/tmp",
					  "/var", "/var/tmp", "/var/lib", "/mnt", "/media",      "/srv",
					  "/dev", "/dev/shm", "/sys",     "/proc"};

bool place_is_system(const char *path) {
	return path_is_below_any(path, system_trees, ARRAY_LENGTH(system_trees));
}

static bool is_collection(const char *path, const char *home) {
	if (path_is_below(home, path)) return true;
	for (size_t i = 0; i < ARRAY_LENGTH(collections); i++)
		if (fnmatch(collections[i], path, FNM_PATHNAME) == 0) return true;
	return home_has_folder(home, path);
}

/* The beginning of `path` that matches all of `tree`, or NULL. */
static char *matched_tree(const char *path, const char *tree) {
	CLEANUP_FREE char *at = string_copy(path);
	while (!string_equal(at, "/")) {
		if (fnmatch(tree, at, FNM_PATHNAME | FNM_PERIOD) == 0 || fnmatch(tree, at, FNM_PATHNAME) == 0)
			return STEAL(at);
		char *parent = path_parent(at);
		free(at);
		at = parent;
	}
	return NULL;
}

static void add_once(struct strings *places, const char *path) {
	if (!strings_contain(places, path)) strings_add(places, path);
}

static bool add_by_table(const char *path, const char *home, struct strings *places) {
	for (size_t i = 0; i < ARRAY_LENGTH(place_table); i++) {
		const char *row = place_table[i].tree;
		CLEANUP_FREE char *tree = row[0] == '/' ? string_copy(row) : path_join(home, row);
		CLEANUP_FREE char *matched = matched_tree(path, tree);
		if (!matched) continue;
		for (size_t k = 0; k < ARRAY_LENGTH(place_table[i].show) && place_table[i].show[k]; k++) {
			CLEANUP_FREE char *shown = NULL;
			const char *name = place_table[i].show[k];
			if (path_normalise(matched, name[0] ? name : ".", &shown, NULL) == 0) add_once(places, shown);
		}
		return true;
	}
	return false;
}

void place_add(const char *path, const char *home, bool known_only, struct strings *places) {
	if (place_is_system(path) || add_by_table(path, home, places) || known_only) return;
	CLEANUP_FREE char *folder = path_parent(path);
	CLEANUP_FREE char *above = path_parent(folder);
	bool in_bin = string_equal(path_name(folder), "bin") || string_equal(path_name(folder), "sbin");
	if (in_bin && !is_collection(above, home))
		add_once(places, above);
	else if (!is_collection(folder, home))
		add_once(places, folder);
	else
		add_once(places, path);
}
