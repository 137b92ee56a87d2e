/*
 * Theory of operation. fs and proc rules match a path and what lies below, so each is kept in a hash table under the
 * part of its pattern that has no wildcard, and the folders of a target are looked up one by one from "/" down, with
 * the hash carried on from folder to folder. net:access rules about one host are kept under its name, whatever their
 * ports. The others match one target when they are literal, which is their key; those with wildcards stand in one list
 * for each kind of permission. fs:read and fs:write speak of each other's
 * requests and share their keys.
 */
#include "index.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sticky.h"

enum { NO_RULE = UINT32_MAX, GROUP_COUNT = PERMISSION_KIND_COUNT };

struct rule_index {
	const struct rule *rules;
	uint32_t *buckets; /* the first rule of each, chained through `next` */
	uint32_t *next;
	size_t mask;
	uint32_t wild[GROUP_COUNT]; /* likewise of the rules with wildcards of each group that has no trees */
};

static unsigned group_of(const struct permission *permission) {
	return permission->kind == PERMISSION_FS_WRITE ? PERMISSION_FS_READ : (unsigned)permission->kind;
}

static bool is_tree(unsigned group) {
	return group == PERMISSION_FS_READ || group == PERMISSION_FS_LINK || group == PERMISSION_PROC_SPAWN;
}

/* FNV-1a, 64 bits */
static uint64_t hash_start(unsigned group) {
	return UINT64_C(0xcbf29ce484222325) ^ group;
}

static uint64_t hash_more(uint64_t hash, const char *bytes, size_t size) {
	for (size_t i = 0; i < size; i++) hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
	return hash;
}

static size_t bucket_of(const struct rule_index *index, uint64_t hash) {
	return (size_t)(hash ^ hash >> 32) & index->mask;
}

/* Of net:access the host alone, "example.org" of "example.org:443". */
static uint64_t hash_of_target(unsigned group, const char *target) {
	size_t size = strlen(target);
	const char *colon = group == PERMISSION_NET_ACCESS ? strrchr(target, ':') : NULL;
	if (colon) size = (size_t)(colon - target);
	if (colon && *target == '[' && size > 2) {
		target++;
		size -= 2;
	}
	return hash_more(hash_start(group), target, size);
}

static uint64_t hash_of_host(const char *host) {
	return hash_more(hash_start(PERMISSION_NET_ACCESS), host, strlen(host));
}

/* The names of the fixed part as they are in a target, without the backslashes of a pattern. */
static uint64_t hash_of_tree(unsigned group, const struct rule *rule) {
	const char *text = pattern_text(rule->pattern);
	const char *end = text + pattern_fixed_part(text, NULL);
	uint64_t hash = hash_start(group);
	for (; text < end; text++) {
		if (*text == '\\' && text + 1 < end) text++;
		hash = hash_more(hash, text, 1);
	}
	return hash;
}

/* Where a rule's chain begins. */
static uint32_t *head_of(struct rule_index *index, const struct rule *rule) {
	unsigned group = group_of(&rule->permission);
	const char *target = pattern_target(rule->pattern);
	if (is_tree(group)) return &index->buckets[bucket_of(index, hash_of_tree(group, rule))];
	if (group == PERMISSION_NET_ACCESS) {
		const char *host = pattern_host(rule->pattern);
		return host ? &index->buckets[bucket_of(index, hash_of_host(host))] : &index->wild[group];
	}
	return target ? &index->buckets[bucket_of(index, hash_of_target(group, target))] : &index->wild[group];
}

struct rule_index *rule_index_new(const struct rule *rules, size_t count) {
	struct rule_index *index = mem_new(struct rule_index);
	size_t size = 16;
	while (size < count * 2) size *= 2;
	index->rules = rules;
	index->mask = size - 1;
	index->buckets = mem_array(uint32_t, size);
	index->next = mem_array(uint32_t, count);
	memset(index->buckets, 0xff, size * sizeof *index->buckets);
	memset(index->wild, 0xff, sizeof index->wild);
	/* Backwards, so that every chain is in the order of the rules. */
	for (size_t i = count; i-- > 0;) {
		uint32_t *head = head_of(index, &rules[i]);
		index->next[i] = *head;
		*head = (uint32_t)i;
	}
	return index;
}

void rule_index_free(struct rule_index *index) {
	if (!index) return;
	free(index->buckets);
	free(index->next);
	free(index);
}

static void visit_chain(const struct rule_index *index, uint32_t i, unsigned group,
			void (*visit)(void *context, const struct rule *rule), void *context) {
	for (; i != NO_RULE; i = index->next[i])
		if (group_of(&index->rules[i].permission) == group) visit(context, &index->rules[i]);
}

void rule_index_visit(const struct rule_index *index, const struct permission *permission, const char *target,
		      void (*visit)(void *context, const struct rule *rule), void *context) {
	unsigned group = group_of(permission);
	if (!is_tree(group)) {
		uint64_t hash = hash_of_target(group, target);
		visit_chain(index, index->wild[group], group, visit, context);
		visit_chain(index, index->buckets[bucket_of(index, hash)], group, visit, context);
		return;
	}
	/* Two folders may share a bucket: a rule is visited twice then, which changes nothing. */
	uint64_t hash = hash_start(group);
	visit_chain(index, index->buckets[bucket_of(index, hash)], group, visit, context);
	for (const char *p = target; *p == '/' && p[1];) {
		size_t size = 1 + strcspn(p + 1, "/");
		hash = hash_more(hash, p, size);
		visit_chain(index, index->buckets[bucket_of(index, hash)], group, visit, context);
		p += size;
	}
}

void rule_index_visit_host(const struct rule_index *index, const char *host,
			   void (*visit)(void *context, const struct rule *rule), void *context) {
	const unsigned group = PERMISSION_NET_ACCESS;
	visit_chain(index, index->wild[group], group, visit, context);
	visit_chain(index, index->buckets[bucket_of(index, hash_of_host(host))], group, visit, context);
}
