#include "model.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "schema/message.h"
#include "schema/verdict.h"
#include "ui/human.h"
#include "ui/prompt_ending.h"
#include "ui/prompt_terminal.h"
#include "ui/withdrawal.h"

enum { SECOND_MS = 1000 };

static const struct pane_info panes[] = {
	[PANE_PROMPTS] = {"Prompts", "Prompts", &records_prompts, NULL, "Nothing waits for an answer."},
	[PANE_SANDBOXES] = {"Sandboxes", "Runs", &records_sessions, "id", "No sandbox is running."},
	[PANE_GRANTS] = {"Grants", "Grants", &records_grants, "id", "No grants in force."},
	[PANE_HISTORY] = {"History", "History", &records_history, "seq", "Nothing has happened yet."},
};
static_assert(ARRAY_LENGTH(panes) == PANE_COUNT, "every pane is there");

const struct pane_info *pane_info(enum monitor_pane pane) {
	return &panes[pane];
}

void model_init(struct monitor_model *model) {
	*model = (struct monitor_model){.counts = {.stale = true}, .page = 1};
	for (size_t i = 0; i < PANE_COUNT; i++)
		rows_init(&model->rows[i], panes[i].records->what, panes[i].number_key, i == PANE_HISTORY);
}

static void clear_outbox(struct monitor_model *model) {
	for (size_t i = 0; i < model->outbox_count; i++) json_decref(model->outbox[i].body);
	free(model->outbox);
	model->outbox = NULL;
	model->outbox_count = 0;
}

void model_finish(struct monitor_model *model) {
	form_close(&model->form);
	prompts_finish(&model->prompts);
	for (size_t i = 0; i < PANE_COUNT; i++) rows_finish(&model->rows[i]);
	clear_outbox(model);
	free(model->message);
	free(model->trouble);
}

void model_say(struct monitor_model *model, char *words) {
	free(model->message);
	model->message = words;
}

size_t pane_count(const struct monitor_model *model, enum monitor_pane pane) {
	return pane == PANE_PROMPTS ? model->prompts.line_count : rows_count(&model->rows[pane]);
}

size_t pane_chosen(const struct monitor_model *model, enum monitor_pane pane) {
	return pane == PANE_PROMPTS ? model->prompts.chosen : model->rows[pane].chosen;
}

/* From the broker */

static void set_mode(struct monitor_model *model, enum monitor_mode mode) {
	model->mode = mode;
	model->text_top = 0;
}

static void close_form(struct monitor_model *model) {
	form_close(&model->form);
	if (model->mode == MODE_FORM) set_mode(model, MODE_LIST);
}

void model_connected(struct monitor_model *model) {
	model->connected = true;
	free(model->trouble);
	model->trouble = NULL;
	for (size_t i = 0; i < PANE_COUNT; i++) model->rows[i].stale = true;
	rows_newest(&model->rows[PANE_HISTORY]);
	model->counts.stale = true;
}

void model_lost(struct monitor_model *model, const char *why) {
	model->connected = model->others_hold = false;
	free(model->trouble);
	model->trouble = string_copy(why);
	/* A broker that comes back has none of them any more: who asked asks again. */
	prompts_clear(&model->prompts);
	close_form(model);
	clear_outbox(model);
	for (size_t i = 0; i < PANE_COUNT; i++) rows_lose(&model->rows[i]);
	counts_lose(&model->counts);
}

static int take_prompt(struct monitor_model *model, const json_t *push, struct error *error) {
	bool is_new;
	int64_t since_ms = model->prompts.since_ms;
	int r = prompts_put(&model->prompts, push, model->boot_ms, &is_new, error);
	model->bell = model->bell || is_new;
	model->flush = model->flush || model->prompts.since_ms != since_ms;
	return r;
}

static void take_gone(struct monitor_model *model, const json_t *push) {
	int64_t id = json_integer_value(json_object_get(push, "id")), since_ms = model->prompts.since_ms;
	bool in_form = model->form.kind == FORM_ANSWER;
	if (!prompts_drop(&model->prompts, id, model->boot_ms)) return;
	model->flush = model->flush || model->prompts.since_ms != since_ms;
	if (!in_form || !form_drop(&model->form, id)) return;
	close_form(model);
	CLEANUP_FREE char *ending = prompt_ending(push);
	model_say(model, string_format("Prompt %lld is settled: %s.", (long long)id, ending));
}

int model_push(struct monitor_model *model, const json_t *push, struct error *error) {
	const char *type = json_string_value(json_object_get(push, "type"));
	if (string_equal(type, "prompt")) return take_prompt(model, push, error);
	if (string_equal(type, "prompt-gone")) take_gone(model, push);
	return 0;
}

bool model_may_allow(const struct monitor_model *model) {
	return model->form.kind == FORM_ANSWER && model->form.effect == EFFECT_ALLOW;
}

/* Only now a form for an allow shows what it is about for certain: it has come into view anew. */
void model_turn(struct monitor_model *model, bool elsewhere) {
	model->others_hold = elsewhere;
	model->redraw = true;
	if (!elsewhere || !model_may_allow(model)) return;
	model->flush = true;
	model->form.since_ms = model->boot_ms;
}

void model_history(struct monitor_model *model, const json_t *reply) {
	size_t index;
	json_t *item;
	json_array_foreach (json_object_get(reply, "items"), index, item) rows_add(&model->rows[PANE_HISTORY], item);
	model->rows[PANE_SANDBOXES].stale = model->rows[PANE_GRANTS].stale = model->counts.stale = true;
}

static void say_answered(struct monitor_model *model, const json_t *body, const json_t *json) {
	bool allowed = string_equal(json_string_value(json_object_get(body, "effect")), "allow");
	const char *done = allowed ? "Allowed" : "Denied";
	CLEANUP_GRANT struct grant grant = {0};
	if (!json_is_object(json) || grant_from_json(json, &grant, NULL) < 0) {
		model_say(model,
			  string_format("%s prompt %lld.", done, json_integer_value(json_object_get(body, "prompt"))));
		return;
	}
	CLEANUP_FREE char *what = human_grant(&grant);
	CLEANUP_FREE char *until = human_until(&grant);
	model_say(model, string_format("%s (grant %lld): %s, %s.", done, (long long)grant.id, what, until));
}

static void say_revoked(struct monitor_model *model, const json_t *reply) {
	size_t held = json_array_size(json_object_get(reply, "holders"));
	json_int_t id = json_integer_value(json_array_get(json_object_get(reply, "revoked"), 0));
	CLEANUP_FREE char *words = withdrawal_words(reply, false);
	if (id == 0)
		model_say(model, string_copy("It had ended before."));
	else if (held > 0)
		model_say(model,
			  string_format("Revoked %lld. Some process still holds what it gave: sbx revoke %lld --kill",
					id, id));
	else
		model_say(model, string_format("Revoked %lld. %s", id, words));
}

void model_done(struct monitor_model *model, const struct monitor_request *request, const json_t *reply) {
	if (string_equal(request->type, "answer")) say_answered(model, request->body, json_object_get(reply, "grant"));
	if (string_equal(request->type, "revoke")) say_revoked(model, reply);
	model->rows[PANE_GRANTS].stale = true;
}

void model_failed(struct monitor_model *model, const char *why) {
	CLEANUP_FREE char *shown = text_visible_cut(why, 400);
	model_say(model, string_format("That did not work: %s", shown));
}

static void send(struct monitor_model *model, const char *type, json_t *body) {
	model->outbox = array_grow(model->outbox, model->outbox_count, sizeof *model->outbox);
	model->outbox[model->outbox_count++] = (struct monitor_request){type, body};
}

bool model_take_request(struct monitor_model *model, struct monitor_request *ret_request) {
	if (model->outbox_count == 0) return false;
	*ret_request = model->outbox[0];
	memmove(model->outbox, model->outbox + 1, --model->outbox_count * sizeof *model->outbox);
	return true;
}

int model_timeout(const struct monitor_model *model) {
	bool moves = model->pane == PANE_HISTORY ? model->prompts.count > 0 && model->mode != MODE_LIST
						 : pane_count(model, model->pane) > 0;
	return moves ? SECOND_MS - (int)(model->wall_ms % SECOND_MS) : -1;
}

/* Moving */

static void move(struct monitor_model *model, long by) {
	if (model->mode == MODE_FORM) {
		form_move(&model->form, by);
	} else if (model->mode != MODE_LIST) {
		model->text_top = choice_move(model->text_top, model->text_count, by);
	} else if (model->pane == PANE_PROMPTS) {
		prompts_move(&model->prompts, by);
	} else {
		rows_move(&model->rows[model->pane], by);
	}
}

void act_up(struct monitor_model *model, int key) {
	(void)key;
	move(model, -1);
}

void act_down(struct monitor_model *model, int key) {
	(void)key;
	move(model, 1);
}

void act_page_up(struct monitor_model *model, int key) {
	(void)key;
	move(model, -(long)model->page);
}

void act_page_down(struct monitor_model *model, int key) {
	(void)key;
	move(model, (long)model->page);
}

void act_first(struct monitor_model *model, int key) {
	(void)key;
	if (model->mode == MODE_LIST && model->pane != PANE_PROMPTS)
		rows_newest(&model->rows[model->pane]);
	else
		move(model, LONG_MIN / 2);
}

void act_last(struct monitor_model *model, int key) {
	(void)key;
	if (model->mode == MODE_LIST && model->pane != PANE_PROMPTS)
		rows_oldest(&model->rows[model->pane]);
	else
		move(model, LONG_MAX / 2);
}

static void go_to(struct monitor_model *model, size_t pane) {
	model->pane = (enum monitor_pane)(pane % PANE_COUNT);
	set_mode(model, MODE_LIST);
}

void act_next_pane(struct monitor_model *model, int key) {
	(void)key;
	go_to(model, (size_t)model->pane + 1);
}

void act_previous_pane(struct monitor_model *model, int key) {
	(void)key;
	go_to(model, (size_t)model->pane + PANE_COUNT - 1);
}

void act_pane(struct monitor_model *model, int key) {
	go_to(model, (size_t)(key - '1'));
}

void act_details(struct monitor_model *model, int key) {
	(void)key;
	if (pane_count(model, model->pane) > 0) set_mode(model, MODE_DETAILS);
}

void act_help(struct monitor_model *model, int key) {
	(void)key;
	set_mode(model, MODE_HELP);
}

void act_back(struct monitor_model *model, int key) {
	(void)key;
	close_form(model);
	set_mode(model, MODE_LIST);
}

/* Deciding */

/* Did it come into view just now? Then the key was for something else, and so may be the next one. */
static bool is_too_soon(struct monitor_model *model, int64_t *since_ms) {
	if (model->boot_ms - *since_ms >= PROMPT_DELAY_MS) return false;
	*since_ms = model->boot_ms;
	model_say(model, string_copy("This has only just come into view: look at it, then press the key again."));
	return true;
}

static void open_answer(struct monitor_model *model, enum effect effect) {
	const struct waiting_line *line = prompts_chosen(&model->prompts);
	if (!line || is_too_soon(model, &model->prompts.since_ms)) return;
	form_answer(&model->form, &model->prompts.items[line->first], line->count, effect, model->boot_ms);
	model->flush = true;
	set_mode(model, MODE_FORM);
}

void act_allow(struct monitor_model *model, int key) {
	(void)key;
	open_answer(model, EFFECT_ALLOW);
}

void act_deny(struct monitor_model *model, int key) {
	(void)key;
	open_answer(model, EFFECT_DENY);
}

void act_revoke(struct monitor_model *model, int key) {
	(void)key;
	const struct monitor_rows *rows = &model->rows[PANE_GRANTS];
	CLEANUP_GRANT struct grant grant = {0};
	if (rows_count(rows) == 0 || grant_from_json(rows_item(rows, rows->chosen), &grant, NULL) < 0) return;
	form_revoke(&model->form, &grant, model->boot_ms);
	model->flush = true;
	set_mode(model, MODE_FORM);
}

void act_change_less(struct monitor_model *model, int key) {
	(void)key;
	form_change(&model->form, -1);
}

void act_change_more(struct monitor_model *model, int key) {
	(void)key;
	form_change(&model->form, 1);
}

void act_erase(struct monitor_model *model, int key) {
	(void)key;
	form_type(&model->form, '\b');
}

static void send_answers(struct monitor_model *model) {
	for (size_t i = 0; i < model->form.count; i++) {
		const struct prompt *prompt = prompts_find(&model->prompts, model->form.ids[i]);
		if (prompt) send(model, "answer", form_answer_body(&model->form, prompt));
	}
}

/* An allow of more than the window shows is none. */
static bool is_unseen(struct monitor_model *model) {
	if (!model->form.unseen || !model_may_allow(model)) return false;
	model_say(model, string_copy("Too little room: make the window larger."));
	return true;
}

/* Until the others hold and all is drawn anew after that, something of theirs may stand in place of what is asked. */
static bool is_written_over(struct monitor_model *model) {
	if (!model_may_allow(model) || (model->others_hold && !model->redraw)) return false;
	model_say(model,
		  string_copy("What sandboxes write is about to be held back: look at it, then press the key again."));
	return true;
}

static bool is_not_seen(struct monitor_model *model) {
	return is_too_soon(model, &model->form.since_ms) || is_written_over(model);
}

static void give(struct monitor_model *model) {
	if (is_not_seen(model) || is_unseen(model)) return;
	if (model->form.kind == FORM_ANSWER) send_answers(model);
	if (model->form.kind == FORM_REVOKE)
		send(model, "revoke", json_pack("{s:[I]}", "ids", (json_int_t)model->form.ids[0]));
	close_form(model);
}

void act_yes(struct monitor_model *model, int key) {
	if (!model->form.confirm)
		give(model);
	else if (!is_not_seen(model))
		form_type(&model->form, key);
}

void act_enter(struct monitor_model *model, int key) {
	(void)key;
	if (model->form.confirm && form_is_confirmed(&model->form))
		give(model);
	else if (model->form.confirm)
		model_say(model, string_copy("To allow it type the word: allow"));
	else
		model_say(model, string_copy("Enter alone decides nothing: y, or Esc."));
}

void act_quit(struct monitor_model *model, int key) {
	(void)key;
	model->quit = true;
}

void act_suspend(struct monitor_model *model, int key) {
	(void)key;
	model->suspend = true;
}

void act_redraw(struct monitor_model *model, int key) {
	(void)key;
	model->redraw = true;
}
