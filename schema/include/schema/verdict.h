/*
 * verdict: effects, and the answer to a request with its why.
 *
 * Promises: zero-initialised memory denies.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "schema/record.h"

enum effect { EFFECT_DENY, EFFECT_ASK, EFFECT_ALLOW };
enum { EFFECT_COUNT = EFFECT_ALLOW + 1 };

extern const struct words effect_words;
const char *effect_name(enum effect effect); /* "deny", "ask", "allow" */
int effect_parse(const char *name, enum effect *ret_effect, struct error *error);

/* Why somebody who would be asked was not: `sbx suggest` knows the history's rows by it. */
#define VERDICT_WHY_RECORDED "undecided; denied by --record"
#define VERDICT_WHY_NOBODY   "no terminal or desktop to ask on"
/* Of what the user denied to the same process, by the number of the prompt. */
#define VERDICT_WHY_AGAIN "you denied it a moment ago (prompt %lld)"

struct verdict {
	enum effect effect;    /* EFFECT_ASK leaves the broker only for a name that is looked up */
	char module[24];       /* protect, flood, rules, grants, ask, exec; private: an allow that opens no such address
				  (the gate's word for names); broker: it failed; none: the stack ended without an answer */
	char *why;             /* a sentence; owned */
	char *rule;            /* "file:line", or NULL; owned */
	int64_t grant;         /* id, 0 = none, or `once` */
	int64_t prompt;        /* id, 0 = nobody was asked */
	bool confirm_terminal; /* the ask rule's `confirm: terminal` */
	bool private_allowed;  /* net: the rule says `private: true`, or rule, grant or prompt name the address */
	bool ipv4_only;        /* net, of localhost: what allows it means 127.0.0.1, not ::1 */
	bool direct;           /* net: `direct: true` */
	bool once;             /* for this request alone: nothing is left that the next could rest on */
	bool this_run;         /* `grant` is for this session alone, and ends with it at the latest */
	bool asked_user;       /* a user's denial (EACCES), not a rule's (absence) */
};

void verdict_finish(struct verdict *verdict);
json_t *verdict_to_json(const struct verdict *verdict);
void verdict_write(const struct verdict *verdict, struct string *out); /* the same as JSON text */
int verdict_from_json(const json_t *json, struct verdict *ret_verdict, struct error *error);
#define CLEANUP_VERDICT __attribute__((cleanup(verdict_finish)))
