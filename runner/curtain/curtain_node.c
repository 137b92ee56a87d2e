#include "curtain_node.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"

enum { BUCKETS_MIN = 64 };

struct nodes {
	struct node **by_number, **by_name;
	size_t buckets; /* of each; a power of two */
	size_t count;
	uint64_t last_number;
};

static struct node **bucket_of_number(const struct nodes *nodes, uint64_t number) {
	return &nodes->by_number[number & (nodes->buckets - 1)];
}

/* FNV-1a (RFC 9923): the names are the host's, and who can choose those slows down nobody but the sandbox. */
static struct node **bucket_of_name(const struct nodes *nodes, uint64_t parent, const char *name) {
	uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ parent;
	for (const char *at = name; *at; at++) hash = (hash ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
	return &nodes->by_name[(hash ^ hash >> 32) & (nodes->buckets - 1)];
}

static void link_node(struct nodes *nodes, struct node *node) {
	struct node **number = bucket_of_number(nodes, node->number);
	node->next_by_number = *number;
	*number = node;
	if (!node->parent) return;
	struct node **name = bucket_of_name(nodes, node->parent->number, node->name);
	node->next_by_name = *name;
	*name = node;
}

static void grow(struct nodes *nodes) {
	const size_t old_buckets = nodes->buckets;
	struct node **old = nodes->by_number;
	free(nodes->by_name);
	nodes->buckets = old_buckets ? 2 * old_buckets : BUCKETS_MIN;
	nodes->by_number = mem_array(struct node *, nodes->buckets);
	nodes->by_name = mem_array(struct node *, nodes->buckets);
	for (size_t i = 0; i < old_buckets; i++)
		for (struct node *node = old[i], *next; node; node = next) {
			next = node->next_by_number;
			link_node(nodes, node);
		}
	free(old);
}

static struct node *add(struct nodes *nodes, struct node *parent, const char *name, mode_t type) {
	const size_t size = strlen(name) + 1;
	struct node *node = mem_alloc(1, sizeof *node + size);
	if (nodes->count >= nodes->buckets) grow(nodes);
	*node = (struct node){.parent = parent, .number = ++nodes->last_number, .type = type};
	memcpy(node->name, name, size);
	link_node(nodes, node);
	nodes->count++;
	if (parent) parent->children++;
	return node;
}

static void take_out(struct nodes *nodes, struct node *node) {
	struct node **number = bucket_of_number(nodes, node->number);
	struct node **name = bucket_of_name(nodes, node->parent->number, node->name);
	while (*number != node) number = &(*number)->next_by_number;
	while (*name != node) name = &(*name)->next_by_name;
	*number = node->next_by_number;
	*name = node->next_by_name;
	node->parent->children--;
	nodes->count--;
	free(node);
}

/* And what only it held. */
static void drop_unheld(struct nodes *nodes, struct node *node) {
	while (node->parent && node->lookups == 0 && node->children == 0) {
		struct node *parent = node->parent;
		take_out(nodes, node);
		node = parent;
	}
}

struct nodes *nodes_new(void) {
	struct nodes *nodes = mem_new(struct nodes);
	grow(nodes);
	add(nodes, NULL, "", S_IFDIR); /* NODE_ROOT is FUSE_ROOT_ID */
	return nodes;
}

void nodes_free(struct nodes *nodes) {
	if (!nodes) return;
	for (size_t i = 0; i < nodes->buckets; i++)
		for (struct node *node = nodes->by_number[i], *next; node; node = next) {
			next = node->next_by_number;
			free(node);
		}
	free(nodes->by_number);
	free(nodes->by_name);
	free(nodes);
}

size_t nodes_count(const struct nodes *nodes) {
	return nodes->count;
}

struct node *nodes_find(const struct nodes *nodes, uint64_t number) {
	struct node *node = *bucket_of_number(nodes, number);
	while (node && node->number != number) node = node->next_by_number;
	return node;
}

struct node *nodes_child(const struct nodes *nodes, const struct node *parent, const char *name) {
	struct node *node = *bucket_of_name(nodes, parent->number, name);
	while (node && (node->parent != parent || strcmp(node->name, name) != 0)) node = node->next_by_name;
	return node;
}

struct node *nodes_look_up(struct nodes *nodes, struct node *parent, const char *name, mode_t type) {
	struct node *node = nodes_child(nodes, parent, name);
	if (!node) {
		if (nodes->count >= NODES_MAX) return NULL;
		node = add(nodes, parent, name, type);
	}
	node->type = type;
	node->lookups++;
	return node;
}

void nodes_forget(struct nodes *nodes, struct node *node, uint64_t count) {
	node->lookups -= count < node->lookups ? count : node->lookups;
	drop_unheld(nodes, node);
}

int node_path(const struct node *node, char ret_path[PATH_MAX]) {
	size_t at = PATH_MAX - 1;
	ret_path[at] = '\0';
	for (; node->parent; node = node->parent) {
		const size_t size = strlen(node->name);
		if (size + 1 > at) return -ENAMETOOLONG;
		at -= size;
		memcpy(ret_path + at, node->name, size);
		ret_path[--at] = '/';
	}
	if (at == PATH_MAX - 1) ret_path[--at] = '/';
	memmove(ret_path, ret_path + at, PATH_MAX - at);
	return 0;
}

int node_path_of_name(const struct node *node, const char *name, char ret_path[PATH_MAX]) {
	const size_t size = strlen(name);
	int code = size > NAME_MAX ? -ENAMETOOLONG : node_path(node, ret_path);
	if (code < 0) return code;
	size_t at = node->parent ? strlen(ret_path) : 0;
	if (at + 1 + size >= PATH_MAX) return -ENAMETOOLONG;
	ret_path[at++] = '/';
	memcpy(ret_path + at, name, size + 1);
	return 0;
}
