#include "ui/prompt_ending.h"

#include "base/memory.h"
#include "base/string.h"
#include "schema/grant.h"
#include "ui/human.h"

static const char *text_of(const json_t *object, const char *key) {
	const char *text = json_string_value(json_object_get(object, key));
	return text ? text : "";
}

static const char *place_of(const char *agent, bool allowed) {
	static const struct {
		const char *agent, *place;
	} places[] = {
		{"terminal", ", in another terminal"}, {"desktop", ", on the desktop"}, {"tui", ", in sbx monitor"}};
	if (string_equal(agent, "command")) return allowed ? ", with sbx allow" : ", with sbx deny";
	for (size_t i = 0; i < ARRAY_LENGTH(places); i++)
		if (string_equal(agent, places[i].agent)) return places[i].place;
	return "";
}

static char *duration_of(const json_t *answer) {
	static const struct {
		enum lifetime lifetime;
		const char *words;
	} words[] = {{LIFETIME_ONCE, ", this once"},
		     {LIFETIME_SESSION, " until the sandbox ends"},
		     {LIFETIME_ALWAYS, " until you revoke it"}};
	const char *lifetime = text_of(answer, "lifetime");
	for (size_t i = 0; i < ARRAY_LENGTH(words); i++)
		if (string_equal(lifetime, lifetime_name(words[i].lifetime))) return string_copy(words[i].words);
	const json_t *ttl_ms = json_object_get(answer, "ttl_ms");
	if (!json_is_integer(ttl_ms)) return string_copy("");
	CLEANUP_FREE char *time = human_duration(json_integer_value(ttl_ms));
	return string_format(" for %s", time);
}

static char *answered(const json_t *answer, bool allowed) {
	CLEANUP_FREE char *duration = duration_of(answer);
	return string_format("%s%s%s", allowed ? "allowed" : "denied", duration,
			     place_of(text_of(answer, "agent"), allowed));
}

bool prompt_is_put_off(const json_t *gone) {
	return gone && string_equal(text_of(gone, "how"), "put-off");
}

char *prompt_ending(const json_t *gone) {
	static const char no_broker[] = "the broker is gone and the question with it: denied";
	if (!gone) return string_copy(no_broker);
	const char *how = text_of(gone, "how"), *verdict = text_of(gone, "verdict");
	const bool allowed = string_equal(verdict, effect_name(EFFECT_ALLOW));
	if (string_equal(how, "broker-gone")) return string_copy(no_broker);
	if (string_equal(how, "runner-gone")) return string_copy("sbx has ended, and the question with it");
	if (prompt_is_put_off(gone)) return string_copy("put off: it is asked again");
	if (string_equal(how, "answered")) return answered(json_object_get(gone, "answer"), allowed);
	if (string_equal(how, "expired")) return string_copy("nobody answered: denied");
	if (string_equal(how, "cancelled")) return string_copy("the program that asked has ended");
	if (string_equal(how, "covered") && *verdict)
		return string_format("%s by a grant or rule made meanwhile", allowed ? "allowed" : "denied");
	return string_copy(string_equal(how, "covered") ? "another question has taken its place" : "it is settled");
}
