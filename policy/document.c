#include "document.h"

#include <stdlib.h>
#include <string.h>

#include "keys.h"
#include "lineage.h"
#include "stack_line.h"
#include "yaml/node.h"

void names_add(struct names *names, const char *text, struct place place) {
	names->items = array_grow(names->items, names->count, sizeof *names->items);
	names->items[names->count++] = (struct name){string_copy(text), place};
}

const struct name *names_find(const struct names *names, const char *text) {
	for (size_t i = 0; i < names->count; i++)
		if (strcmp(names->items[i].text, text) == 0) return &names->items[i];
	return NULL;
}

static void names_finish(struct names *names) {
	for (size_t i = 0; i < names->count; i++) free(names->items[i].text);
	free(names->items);
}

void pairs_add(struct pairs *pairs, const char *name, const char *value) {
	pairs->items = array_grow(pairs->items, pairs->count, sizeof *pairs->items);
	pairs->items[pairs->count++] = (struct view_pair){string_copy(name), string_copy(value)};
}

const char *pairs_find(const struct pairs *pairs, const char *name) {
	for (size_t i = 0; i < pairs->count; i++)
		if (strcmp(pairs->items[i].name, name) == 0) return pairs->items[i].value;
	return NULL;
}

static void pairs_finish(struct pairs *pairs) {
	for (size_t i = 0; i < pairs->count; i++) {
		free(pairs->items[i].name);
		free(pairs->items[i].value);
	}
	free(pairs->items);
}

static void profile_finish(struct profile *profile) {
	free(profile->name);
	free(profile->file);
	names_finish(&profile->commands);
	names_finish(&profile->extends);
	for (size_t i = 0; i < profile->rule_count; i++) {
		free(profile->rules[i].text);
		free(profile->rules[i].note);
		free(profile->rules[i].source);
	}
	free(profile->rules);
	pairs_finish(&profile->set);
	pairs_finish(&profile->hosts);
	free(profile->upstream);
}

struct policy_document *document_new(enum policy_layer layer) {
	struct policy_document *document = mem_new(struct policy_document);
	document->references = 1;
	document->layer = layer;
	document->wait_without_agent = SETTING_UNSET;
	return document;
}

struct policy_document *policy_document_ref(struct policy_document *document) {
	if (document) document->references++;
	return document;
}

void policy_document_unref(struct policy_document *document) {
	if (!document || --document->references > 0) return;
	for (size_t i = 0; i < document->profile_count; i++) profile_finish(&document->profiles[i]);
	free(document->profiles);
	pairs_finish(&document->permissions);
	strings_finish(&document->quiet);
	free(document->upstream);
	for (size_t i = 0; i < document->stack_count; i++) stack_line_finish(&document->stack[i]);
	free(document->stack);
	free(document);
}

const struct profile *document_profile(const struct policy_document *document, const char *name) {
	for (size_t i = 0; i < document->profile_count; i++)
		if (strcmp(document->profiles[i].name, name) == 0) return &document->profiles[i];
	return NULL;
}

void document_read(struct policy_document *document, const char *text, size_t size, struct problems *problems) {
	CLEANUP_NODE struct node *root = node_parse(text, size, problems);
	if (root) {
		struct reader reader = {.document = document, .problems = problems};
		keys_read(&reader, &document_keys, root);
	} else if (problems->total == 0) {
		problems_add(problems, (struct place){1, 1}, "nothing in it, expected at least \"version: 1\"");
	}
}

bool policy_document_has_profile(const struct policy_document *document, const char *name) {
	return document_profile(document, name) != NULL;
}

struct profile *document_add_profile(struct policy_document *document, const char *name, const char *file,
				     struct place place) {
	document->profiles = array_grow(document->profiles, document->profile_count, sizeof *document->profiles);
	struct profile *profile = &document->profiles[document->profile_count++];
	*profile = (struct profile){.name = string_copy(name),
				    .file = string_copy(file),
				    .place = place,
				    .home = SETTING_UNSET,
				    .network = SETTING_UNSET,
				    .doorbell = SETTING_UNSET};
	return profile;
}

struct policy_document *policy_load_among(struct policy_document *const *others, size_t other_count,
					  enum policy_layer layer, const char *name, const char *text, size_t size,
					  struct strings *errors) {
	CLEANUP_DOCUMENT struct policy_document *document = document_new(layer);
	struct problems problems = {.file = name};
	document_read(document, text, size, &problems);
	lineage_check(document, others, other_count, &problems);
	bool good = problems.total == 0;
	problems_finish(&problems, errors);
	return good ? STEAL(document) : NULL;
}

struct policy_document *policy_load(enum policy_layer layer, const char *name, const char *text, size_t size,
				    struct strings *errors) {
	return policy_load_among(NULL, 0, layer, name, text, size, errors);
}
