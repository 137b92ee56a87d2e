#include "form.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/text.h"
#include "rows.h"
#include "schema/message.h"
#include "schema/verdict.h"
#include "ui/human.h"

enum { MINUTE_MS = 60 * 1000, HOUR_MS = 60 * MINUTE_MS };
static const char confirm_word[] = "allow";
static_assert(sizeof confirm_word <= FORM_WORD_MAX, "the word can be typed");

/* From short to long, where prompt.lifetime is the usual hour. */
static const struct form_lifetime lifetimes[] = {
	{LIFETIME_ONCE, 0},
	{LIFETIME_UNTIL, 15 * MINUTE_MS},
	{LIFETIME_UNTIL, 0}, /* what the prompt says: prompt.lifetime */
	{LIFETIME_UNTIL, 8 * HOUR_MS},
	{LIFETIME_SESSION, 0},
	{LIFETIME_UNTIL, 7 * 24 * (int64_t)HOUR_MS},
	{LIFETIME_ALWAYS, 0},
};
static_assert(ARRAY_LENGTH(lifetimes) == FORM_LIFETIMES, "the form has room for all");

void form_close(struct monitor_form *form) {
	free(form->ids);
	free(form->title);
	strings_finish(&form->subjects);
	strings_finish(&form->scopes);
	strings_finish(&form->scope_words);
	*form = (struct monitor_form){0};
}

static void offer_lifetimes(struct monitor_form *form, int64_t usual_ms) {
	for (size_t i = 0; i < ARRAY_LENGTH(lifetimes); i++) {
		struct form_lifetime offered = lifetimes[i];
		bool usual = offered.lifetime == LIFETIME_UNTIL && offered.ttl_ms == 0;
		if (usual)
			offered.ttl_ms = usual_ms;
		else if (offered.ttl_ms != 0 && offered.ttl_ms == usual_ms)
			continue;
		if (offered.lifetime == LIFETIME_SESSION && form->session == 0) continue;
		if (offered.lifetime == LIFETIME_ONCE && form->effect == EFFECT_ALLOW && form->opens_folder) continue;
		/* A denial that nobody asked to remember isn't. */
		if (form->effect == EFFECT_ALLOW ? usual : offered.lifetime == LIFETIME_ONCE)
			form->lifetime = form->lifetime_count;
		form->lifetimes[form->lifetime_count++] = offered;
	}
}

static char *scope_meaning(const struct prompt *prompt, const char *scope) {
	CLEANUP_FREE char *folder = string_equal(scope, "folder") ? path_parent(prompt->target) : NULL;
	CLEANUP_FREE char *place = human_path(folder ? folder : scope);
	CLEANUP_FREE char *shown = text_visible(place);
	if (folder) return string_format("its folder %s", shown);
	if (*scope == '/') return string_format("all in %s", shown);
	if (string_equal(scope, "exact")) return string_copy("just this");
	if (string_equal(scope, "host")) return string_copy("any port of this host");
	if (string_equal(scope, "domain")) return string_copy("all hosts beside it (its domain)");
	return STEAL(shown);
}

static void offer_scopes(struct monitor_form *form, const struct prompt *prompt) {
	for (size_t i = 0; i < prompt->scopes.count; i++) {
		strings_add(&form->scopes, prompt->scopes.items[i]);
		strings_take(&form->scope_words, scope_meaning(prompt, prompt->scopes.items[i]));
	}
	if (form->scopes.count > 0) return;
	strings_add(&form->scopes, "exact");
	strings_add(&form->scope_words, "just this");
}

static char *answer_title(const struct monitor_form *form, const struct prompt *prompt) {
	const char *verb = form->effect == EFFECT_ALLOW ? "Allow" : "Deny";
	CLEANUP_FREE char *profile = text_visible_cut(prompt->profile ? prompt->profile : "?", 22);
	if (form->count > 1) return string_format("%s all %zu (profile %s)?", verb, form->count, profile);
	return string_format("%s prompt %lld (profile %s)?", verb, (long long)prompt->id, profile);
}

/* Of a bundle each member's narrowest. */
static const char *scope_of(const struct monitor_form *form, const struct prompt *prompt) {
	if (form->scopes.count > 0) return form->scopes.items[form->scope];
	return prompt->scopes.count == 0 || strings_contain(&prompt->scopes, "exact") ? "exact"
										      : prompt->scopes.items[0];
}

/* Of a bundle, where no field says it, with the folder that is given. */
static char *answer_subject(const struct monitor_form *form, const struct prompt *prompt) {
	const char *target = prompt->target ? prompt->target : "", *scope = scope_of(form, prompt);
	if (form->scopes.count > 0 || string_equal(scope, "exact"))
		return string_format("%s %s", prompt->permission.name, target);
	CLEANUP_FREE char *words = scope_meaning(prompt, scope);
	return string_format("%s %s (%s)", prompt->permission.name, target, words);
}

void form_answer(struct monitor_form *form, const struct waiting *prompts, size_t count, enum effect effect,
		 int64_t now_ms) {
	const struct prompt *first = &prompts[0].prompt;
	form_close(form);
	*form = (struct monitor_form){.kind = FORM_ANSWER, .effect = effect, .count = count, .since_ms = now_ms};
	form->ids = mem_array(int64_t, count);
	form->session = first->session;
	for (size_t i = 0; i < count; i++) {
		form->ids[i] = prompts[i].prompt.id;
		form->confirm = form->confirm || (prompts[i].prompt.confirm_terminal && effect == EFFECT_ALLOW);
		form->opens_folder = form->opens_folder || prompts[i].prompt.opens_folder;
	}
	form->title = answer_title(form, first);
	offer_lifetimes(form, first->lifetime_ms);
	if (count == 1) offer_scopes(form, first);
	for (size_t i = 0; i < count; i++) strings_take(&form->subjects, answer_subject(form, &prompts[i].prompt));
}

void form_revoke(struct monitor_form *form, const struct grant *grant, int64_t now_ms) {
	form_close(form);
	*form = (struct monitor_form){.kind = FORM_REVOKE, .count = 1, .since_ms = now_ms};
	form->ids = mem_array(int64_t, 1);
	form->ids[0] = grant->id;
	form->title = string_format("%s %lld?", grant->effect == EFFECT_ALLOW ? "Revoke grant" : "Lift the denial",
				    (long long)grant->id);
	strings_take(&form->subjects, string_format("%s %s", grant->permission.name, grant->pattern));
}

bool form_drop(struct monitor_form *form, int64_t prompt) {
	if (form->kind != FORM_ANSWER) return false;
	size_t kept = 0;
	for (size_t i = 0; i < form->count; i++)
		if (form->ids[i] != prompt) form->ids[kept++] = form->ids[i];
	form->count = kept;
	if (kept > 0) return false;
	form_close(form);
	return true;
}

static bool has_scopes(const struct monitor_form *form) {
	return form->scopes.count > 1;
}

void form_move(struct monitor_form *form, long by) {
	if (form->kind != FORM_ANSWER) return;
	form->field = (enum form_field)choice_move((size_t)form->field, has_scopes(form) ? FORM_FIELD_COUNT : 1, by);
}

void form_change(struct monitor_form *form, long by) {
	if (form->kind != FORM_ANSWER) return;
	if (form->field == FORM_FIELD_LIFETIME)
		form->lifetime = choice_move(form->lifetime, form->lifetime_count, by);
	else
		form->scope = choice_move(form->scope, form->scopes.count, by);
}

void form_type(struct monitor_form *form, int key) {
	size_t size = strlen(form->typed);
	if (key == '\b' && size > 0) form->typed[size - 1] = '\0';
	if (key >= 'a' && key <= 'z' && size < FORM_WORD_MAX) form->typed[size] = (char)key;
}

bool form_is_confirmed(const struct monitor_form *form) {
	return !form->confirm || strcmp(form->typed, confirm_word) == 0;
}

json_t *form_answer_body(const struct monitor_form *form, const struct prompt *prompt) {
	const struct form_lifetime *chosen = &form->lifetimes[form->lifetime];
	json_t *body =
		json_pack("{s:I, s:s, s:s, s:s, s:o, s:b}", "prompt", (json_int_t)prompt->id, "token", prompt->token,
			  "effect", effect_name(form->effect), "lifetime", lifetime_name(chosen->lifetime), "scope",
			  message_bytes(scope_of(form, prompt)), "terminal", 1);
	if (chosen->lifetime == LIFETIME_UNTIL) json_object_set_new(body, "ttl_ms", json_integer(chosen->ttl_ms));
	return body;
}

char *form_lifetime_words(const struct monitor_form *form) {
	const struct form_lifetime *chosen = &form->lifetimes[form->lifetime];
	switch (chosen->lifetime) {
	case LIFETIME_ONCE:
		return string_copy("this once");
	case LIFETIME_SESSION:
		return string_format("until session %lld ends", (long long)form->session);
	case LIFETIME_ALWAYS:
		return string_copy("always, until you revoke it");
	case LIFETIME_UNTIL:
		break;
	}
	return human_duration(chosen->ttl_ms);
}

const char *form_scope_words(const struct monitor_form *form) {
	return form->scope < form->scope_words.count ? form->scope_words.items[form->scope] : "just these";
}
