#include "base/resolved.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/string.h"

enum { LINKS_MAX = 40 /* path_resolution(7) */, BYTES_OF_LOOK = 64 };

struct walk {
	struct string at;
	char *text;       /* what is left of it begins at `rest` */
	const char *rest; /* borrowed */
	unsigned links;
	size_t *looks;
	struct resolver *resolver;
	bool missing; /* nothing is there, nor below */
};

static void walk_finish(struct walk *walk) {
	string_finish(&walk->at);
	free(walk->text);
}

static void leave_folder(struct string *at) {
	const char *slash = memrchr(at->data, '/', at->size);
	at->size = slash ? (size_t)(slash - at->data) : 0;
	at->data[at->size] = '\0';
}

/* False: there is nothing left to spend. */
static bool spend(const struct walk *walk, size_t bytes) {
	const size_t cost = 1 + bytes / BYTES_OF_LOOK;
	*walk->looks = *walk->looks > cost ? *walk->looks - cost : 0;
	return *walk->looks > 0;
}

/* Was it looked up in a walk before, with no link on the way to it? */
static bool is_plain(const struct walk *walk) {
	const char *plain = walk->resolver->plain;
	return walk->links == 0 && plain && path_is_below(plain, walk->at.data);
}

static void note_plain(const struct walk *walk) {
	if (walk->links > 0) return;
	free(walk->resolver->plain);
	walk->resolver->plain = string_copy(walk->at.data);
}

/* Put the link's text in front of what was still to walk. False: no path is so long. */
static bool follow(struct walk *walk, const char *text, size_t size) {
	if (size + strlen(walk->rest) >= PATH_MAX) return false;
	char *longer = string_format("%s/%s", text, walk->rest);
	free(walk->text);
	walk->rest = walk->text = longer;
	walk->links++;
	if (text[0] == '/') walk->at.size = 0;
	walk->at.data[walk->at.size] = '\0';
	if (text[0] != '/') leave_folder(&walk->at);
	return true;
}

/* False: it leads nowhere. */
static bool enter(struct walk *walk, const char *name, size_t name_size) {
	char text[PATH_MAX];
	string_append(&walk->at, "/");
	string_append_bytes(&walk->at, name, name_size);
	if (walk->at.size >= PATH_MAX) return false;
	if (walk->missing || is_plain(walk)) return true;
	if (!spend(walk, walk->at.size)) return false;
	const struct strings *unseen = &walk->resolver->unseen;
	if (path_is_below_any(walk->at.data, (const char *const *)unseen->items, unseen->count)) return true;
	const ssize_t size = readlink(walk->at.data, text, sizeof text - 1);
	walk->missing = (size < 0 && errno != EINVAL) || (size >= 0 && walk->links == LINKS_MAX);
	if (size < 0 && !walk->missing) note_plain(walk);
	if (size < 0 || walk->missing) return true;
	text[size] = '\0';
	return spend(walk, (size_t)size) && follow(walk, text, (size_t)size);
}

static bool walk_on(struct walk *walk) {
	const char *name = walk->rest + strspn(walk->rest, "/");
	const size_t size = strcspn(name, "/");
	walk->rest = name + size;
	if (size == 1 && name[0] == '.') return true;
	if (size != 2 || memcmp(name, "..", 2) != 0) return enter(walk, name, size);
	leave_folder(&walk->at);
	return true;
}

char *resolver_path(struct resolver *resolver, const char *path, size_t *looks) {
	CLEANUP(walk_finish) struct walk walk = {.text = string_copy(path), .looks = looks, .resolver = resolver};
	walk.rest = walk.text;
	string_append(&walk.at, "");
	while (walk.rest[strspn(walk.rest, "/")] != '\0')
		if (!walk_on(&walk)) return NULL;
	if (walk.at.size == 0) string_append(&walk.at, "/");
	return walk.links > 0 ? string_steal(&walk.at) : NULL;
}

void resolver_finish(struct resolver *resolver) {
	strings_finish(&resolver->unseen);
	free(STEAL(resolver->plain));
}

char *resolved_path(const char *path) {
	CLEANUP(resolver_finish) struct resolver resolver = {0};
	size_t looks = SIZE_MAX;
	return resolver_path(&resolver, path, &looks);
}
