#include "foreign.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/string.h"

/* Of a user namespace the host's other users, root among them, are nobody (user_namespaces(7)). */
enum { UID_OVERFLOW = 65534 };

/* A group whose number is the user's is the user's alone: useradd(8), USERGROUPS_ENAB. */
static bool is_own_group(gid_t group) {
	return group == 0 || (group == getgid() && group == getuid());
}

/* In a sticky folder nobody replaces what is another's. */
static bool others_may_change(const struct stat *folder) {
	const bool group = (folder->st_mode & S_IWGRP) && !is_own_group(folder->st_gid);
	return !(folder->st_mode & S_ISVTX) && (group || (folder->st_mode & S_IWOTH));
}

enum maker { MAKER_ROOT, MAKER_USER, MAKER_OTHERS };

static enum maker maker_of_folder(const struct stat *folder) {
	if (others_may_change(folder)) return MAKER_OTHERS;
	if (folder->st_uid == getuid()) return MAKER_USER;
	return folder->st_uid == 0 || folder->st_uid == UID_OVERFLOW ? MAKER_ROOT : MAKER_OTHERS;
}

/* A user who may change one of the folders above a link can make the link. */
static enum maker maker_of_link(const char *link) {
	struct stat status;
	if (lstat(link, &status) < 0 || (status.st_uid != 0 && status.st_uid != getuid())) return MAKER_OTHERS;
	enum maker maker = MAKER_ROOT;
	CLEANUP_FREE char *at = path_parent(link);
	for (;;) {
		if (lstat(at, &status) < 0) return MAKER_OTHERS;
		const enum maker here = maker_of_folder(&status);
		if (here > maker) maker = here;
		if (string_equal(at, "/")) return maker;
		char *parent = path_parent(at);
		free(at);
		at = parent;
	}
}

struct doubts {
	struct fact_link **links; /* of the user's folders: a sandbox may have made them */
	struct strings folders;   /* of each */
	size_t count;
};

static void judge_owners(struct fact *fact, struct doubts *doubts) {
	for (size_t i = 0; i < fact->link_count; i++) {
		struct fact_link *link = &fact->links[i];
		if (link->judged) continue;
		const enum maker maker = maker_of_link(link->path);
		link->judged = true;
		link->foreign = maker != MAKER_ROOT; /* the user's until it is known better */
		if (maker != MAKER_USER) continue;
		doubts->links = array_grow(doubts->links, doubts->count, sizeof(struct fact_link *));
		doubts->links[doubts->count++] = link;
		strings_take(&doubts->folders, path_parent(link->path));
	}
}

static void remember(struct strings *own, const char *folder) {
	if (!strings_contain(own, folder)) strings_add(own, folder);
}

static int judge_sandboxes(const struct doubts *doubts, const struct foreign_judge *judge, struct strings *own,
			   struct error *error) {
	if (doubts->count == 0) return 0;
	CLEANUP_FREE bool *writable = mem_array(bool, doubts->count);
	int r = judge->writable(judge->context, &doubts->folders, writable, error);
	const bool alone = r == -ECONNRESET;
	for (size_t i = 0; (r == 0 || alone) && i < doubts->count; i++) {
		const char *folder = doubts->folders.items[i];
		doubts->links[i]->foreign = alone ? !strings_contain(own, folder) : writable[i];
		if (!doubts->links[i]->foreign) remember(own, folder);
	}
	return alone ? 0 : r;
}

static void doubts_finish(struct doubts *doubts) {
	free(doubts->links);
	strings_finish(&doubts->folders);
}
#define CLEANUP_DOUBTS __attribute__((cleanup(doubts_finish)))

int foreign_mark(const struct rules *rules, struct facts *facts, const struct foreign_judge *judge, struct strings *own,
		 struct error *error) {
	CLEANUP_DOUBTS struct doubts doubts = {0};
	for (size_t i = 0; i < rules->count; i++)
		if (rule_gives(&rules->items[i]) || rules->items[i].denial != VIEW_DENIES_NOTHING)
			judge_owners(&facts->items[i], &doubts);
	return judge_sandboxes(&doubts, judge, own, error);
}

int foreign_find(const char *path, const struct foreign_judge *judge, char **ret_link, char **ret_real,
		 struct error *error) {
	CLEANUP_RULES struct rules rules = {0};
	CLEANUP_FACT_BOOK struct fact_book book = {0};
	CLEANUP_FACTS struct facts facts = {0};
	CLEANUP_STRINGS struct strings own = {0};
	*ret_link = *ret_real = NULL;
	rules_add(&rules, RULE_VIEW, SHOW_READ, path);
	facts_collect(&rules, &book, &facts);
	int r = foreign_mark(&rules, &facts, judge, &own, error);
	const struct fact *fact = &facts.items[0];
	for (size_t i = 0; r == 0 && i < fact->link_count && !*ret_link; i++)
		if (fact->links[i].foreign) *ret_link = string_copy(fact->links[i].path);
	if (*ret_link) *ret_real = string_copy(fact->real);
	return r;
}
