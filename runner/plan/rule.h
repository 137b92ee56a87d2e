/*
 * rule: "this path is to be shown like that", from whatever source: the layout every sandbox has, where the command is
 * installed, the view, matches of its patterns, git's own files, denied programs, sbx's own state.
 *
 * Promises: a rule says nothing of the host; struct fact does (facts.h), and plan.h puts both together.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/string.h"
#include "schema/view.h"

enum show {
	SHOW_NOTHING,
	SHOW_ASK,
	SHOW_READ,
	SHOW_WRITE,
	SHOW_FRESH, /* an empty tmpfs, or the folder `source` when there is one */
	SHOW_PROC,
	SHOW_DEV,
	SHOW_TEXT, /* a file of sbx's own: the text `source` */
};

enum rule_origin {
	RULE_LAYOUT,    /* yields to what the view shows around it */
	RULE_FIRM,      /* layout that holds inside whatever the view shows; only the very path in the view lifts it */
	RULE_PLACE,     /* where the command is installed */
	RULE_ADDED,     /* of a node alone: what rule.adds gives; yields to what the view shows around it, or there */
	RULE_VIEW,      /* what policy and grants say */
	RULE_TEXT,      /* a file of sbx's own: no rule takes it away or makes it writable */
	RULE_PROTECTED, /* sbx's own state: nothing lifts it, nothing below it is shown */
};

struct rule {
	char *path; /* normal, links as written */
	enum show show;
	bool cap; /* a mask: read-only at most; where nothing was shown, nothing is */
	enum rule_origin origin;
	char *source;   /* what is mounted there instead of the path itself, or NULL */
	char *resolved; /* where the path led when the user granted it, whatever links are on the way; or NULL */
	enum view_denial denial; /* of a view: what nothing that leads to or below the path gives */
	bool writing_alone;      /* of a view: it says nothing of reading (view_path.mask) */
	bool asks;               /* of a view: it asks about reading or writing */
	bool adds;               /* of a view: a grant to read by a link; what may be written where it leads stays so */
	bool program;            /* what is said is of running it: no grant of files answers that */
	bool led;                /* the path comes from a file of the project's, not from a rule */
	enum view_denial there;  /* of what leads elsewhere: what the broker denies of where that is */
};

/* Programs that are asked about by the names of links. */
struct programs_linked {
	struct strings places, names; /* where each lies, which may be there several times, and the link */
};

struct rules {
	struct rule *items;
	size_t count;
	bool curtain; /* there is one: SHOW_ASK is a node of it, else nothing */
	struct programs_linked linked;
	struct strings programs; /* names by which programs are asked about that may be links, or become some */
	struct strings ways;     /* where those links lie, or could */
	const char *project;     /* no link in it counts that leads out of it; or NULL; borrowed */
};

void rules_add(struct rules *rules, enum rule_origin origin, enum show show, const char *path);
/* RULE_VIEW. */
void rules_add_denial(struct rules *rules, enum show show, const char *path, enum view_denial denial);
/* What a proc:spawn rule doesn't allow; `named`: by that very path, so that nothing that leads there gives it. */
void rules_add_program(struct rules *rules, enum show show, const char *path, bool named);
void rules_add_led(struct rules *rules, enum show show, const char *path);
void rules_add_source(struct rules *rules, enum rule_origin origin, enum show show, const char *path,
		      const char *source);
void rules_add_text(struct rules *rules, const char *path, const char *text);
void rules_add_mask(struct rules *rules, const char *path);
void rules_finish(struct rules *rules);
#define CLEANUP_RULES __attribute__((cleanup(rules_finish)))

/* Does it show something of the host's, or let ask for it, for somebody's word? A layout's trees are the system's. */
bool rule_gives(const struct rule *rule);
