/*
 * model: all that `sbx monitor` knows and shows: what waits, what runs, what is granted, what was decided, and
 * what the user is about to do about it.
 *
 * Promises: knows no terminal and no connection: keys come in as actions, messages as JSON, requests go out through the
 * outbox; so all of it can be tested without either. Bounded, however much the broker tells.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "counts.h"
#include "form.h"
#include "prompts.h"
#include "rows.h"
#include "ui/records.h"

enum monitor_pane { PANE_PROMPTS, PANE_SANDBOXES, PANE_GRANTS, PANE_HISTORY };
enum { PANE_COUNT = PANE_HISTORY + 1 };

/* What the keys mean. */
enum monitor_mode { MODE_LIST, MODE_DETAILS, MODE_HELP, MODE_FORM };

struct pane_info {
	const char *name, *short_name;
	const struct records *records;
	const char *number_key; /* of its rows; NULL: the prompts, which are pushed */
	const char *none;
};
const struct pane_info *pane_info(enum monitor_pane pane);

/* Something that the broker is to be told. */
struct monitor_request {
	const char *type; /* "answer", "revoke" */
	json_t *body;
};

struct monitor_model {
	enum monitor_pane pane;
	enum monitor_mode mode;
	bool connected;
	char *trouble; /* why not; or NULL */
	struct monitor_prompts prompts;
	struct monitor_rows rows[PANE_COUNT]; /* PANE_PROMPTS: unused */
	struct monitor_counts counts;
	struct monitor_form form;
	char *message; /* of the last thing that was done; or NULL */
	struct monitor_request *outbox;
	size_t outbox_count;
	int64_t wall_ms, boot_ms;   /* now */
	bool quit, suspend, redraw; /* asked for by a key */
	bool bell, flush;           /* a prompt is new; keys that were typed before are not for it */
	bool others_hold;           /* the sandboxes that could write over a form: on any terminal */

	/* What the screen shows of it: kept by view.c. */
	size_t top[PANE_COUNT];      /* the first line that is shown */
	size_t text_top, text_count; /* of details or help: the first line, how many there are */
	size_t page;                 /* lines that fit */
};

void model_init(struct monitor_model *model);
void model_finish(struct monitor_model *model);
void model_say(struct monitor_model *model, char *words); /* visible text, taken over; NULL: nothing */

size_t pane_count(const struct monitor_model *model, enum monitor_pane pane);  /* lines of its list */
size_t pane_chosen(const struct monitor_model *model, enum monitor_pane pane); /* one of them */

/* From the broker */
void model_connected(struct monitor_model *model);
void model_lost(struct monitor_model *model, const char *why); /* `why` is visible text */
int model_push(struct monitor_model *model, const json_t *push, struct error *error);
/* The broker has replied: the others on this terminal hold, with `elsewhere` those in the background of others, too.
 * What they wrote over the screen is drawn over. */
void model_turn(struct monitor_model *model, bool elsewhere);
void model_history(struct monitor_model *model, const json_t *reply); /* rows that are new */
void model_done(struct monitor_model *model, const struct monitor_request *request, const json_t *reply);
void model_failed(struct monitor_model *model, const char *why);
bool model_take_request(struct monitor_model *model, struct monitor_request *ret_request); /* from the outbox */

bool model_may_allow(const struct monitor_model *model); /* a form for that stands on the screen */

/* In how many milliseconds something that is shown is another, though nothing happened; -1: never. */
int model_timeout(const struct monitor_model *model);

/* Actions: what keys do (keys.c). `key` is the one that was pressed. */
void act_up(struct monitor_model *model, int key);
void act_down(struct monitor_model *model, int key);
void act_page_up(struct monitor_model *model, int key);
void act_page_down(struct monitor_model *model, int key);
void act_first(struct monitor_model *model, int key);
void act_last(struct monitor_model *model, int key);
void act_next_pane(struct monitor_model *model, int key);
void act_previous_pane(struct monitor_model *model, int key);
void act_pane(struct monitor_model *model, int key); /* '1', '2', … */
void act_details(struct monitor_model *model, int key);
void act_help(struct monitor_model *model, int key);
void act_back(struct monitor_model *model, int key);
void act_allow(struct monitor_model *model, int key);
void act_deny(struct monitor_model *model, int key);
void act_revoke(struct monitor_model *model, int key);
void act_change_less(struct monitor_model *model, int key);
void act_change_more(struct monitor_model *model, int key);
void act_erase(struct monitor_model *model, int key);
void act_yes(struct monitor_model *model, int key);
void act_enter(struct monitor_model *model, int key); /* in a form: the word is complete */
void act_quit(struct monitor_model *model, int key);
void act_suspend(struct monitor_model *model, int key);
void act_redraw(struct monitor_model *model, int key);
