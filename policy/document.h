/*
 * document: what one policy file says, as data (design section 5). Private to this room.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/policy.h"
#include "schema/permission.h"
#include "schema/verdict.h"
#include "schema/view.h"
#include "yaml/problems.h"

/* An item of allow, ask or deny. */
struct rule_text {
	struct permission permission;
	enum effect effect;
	char *text;   /* the pattern as written */
	char *note;   /* for whoever is asked, or asks why; or NULL */
	char *source; /* where that can be looked up; or NULL */
	bool confirm_terminal, private_allowed, direct, per_project;
	struct place place;
};

struct name {
	char *text;
	struct place place;
};

struct names {
	struct name *items;
	size_t count;
};

struct pairs {
	struct view_pair *items;
	size_t count;
};

enum { SETTING_UNSET = -1 };

/* The profile that all others rest on. */
#define POLICY_BASE "base"

struct profile {
	char *name;
	char *file;
	struct place place;
	struct names commands;
	struct names extends;
	struct rule_text *rules;
	size_t rule_count;
	struct pairs set;
	struct pairs hosts;
	struct view_limits limits;
	int home, network, doorbell; /* view_home, view_network, view_doorbell, or SETTING_UNSET */
	char *upstream;              /* as the document's */
};

struct stack_line;

struct policy_document {
	unsigned references;
	enum policy_layer layer;
	bool untrusted; /* it has nothing but denials */
	struct profile *profiles;
	size_t profile_count;
	struct pairs permissions;                                       /* user-defined ones with their description */
	int64_t prompt_timeout_ms, prompt_lifetime_ms, history_keep_ms; /* 0 = not said */
	int wait_without_agent;                                         /* or SETTING_UNSET */
	struct strings quiet;                                           /* "22:00-07:00" */
	char *upstream; /* "http://…", UPSTREAM_NONE, or NULL: not said */
	struct stack_line *stack;
	size_t stack_count;
};

struct policy_document *document_new(enum policy_layer layer);

/* A profile without anything in it yet, added to the document. `file` is where it stands. */
struct profile *document_add_profile(struct policy_document *document, const char *name, const char *file,
				     struct place place);

/* Adds what a file says; its problems are added to `problems`. */
void document_read(struct policy_document *document, const char *text, size_t size, struct problems *problems);

const struct profile *document_profile(const struct policy_document *document, const char *name); /* or NULL */

void names_add(struct names *names, const char *text, struct place place);
const struct name *names_find(const struct names *names, const char *text);
void pairs_add(struct pairs *pairs, const char *name, const char *value);
const char *pairs_find(const struct pairs *pairs, const char *name);

DEFINE_CLEANUP(struct policy_document *, policy_document_unref);
#define CLEANUP_DOCUMENT CLEANUP(policy_document_unref_p)
