#include "ui/human.h"

#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/string.h"
#include "base/text.h"
#include "ui/words.h"

char *human_time(int64_t wall_ms) {
	time_t seconds = (time_t)(wall_ms / 1000);
	struct tm local;
	char text[32];
	if (!localtime_r(&seconds, &local) || strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local) == 0)
		return string_copy("?");
	return string_copy(text);
}

char *human_duration(int64_t ms) {
	static const struct {
		int64_t seconds;
		const char *unit;
	} units[] = {{86400, "d"}, {3600, "h"}, {60, "m"}, {1, "s"}};
	int64_t seconds = ms > 0 ? ms / 1000 : 0;
	for (size_t i = 0; i + 1 < ARRAY_LENGTH(units); i++) {
		int64_t whole = seconds / units[i].seconds;
		int64_t rest = seconds % units[i].seconds / units[i + 1].seconds;
		if (whole == 0) continue;
		if (rest == 0 || whole >= 10) return string_format("%lld%s", (long long)whole, units[i].unit);
		return string_format("%lld%s %lld%s", (long long)whole, units[i].unit, (long long)rest,
				     units[i + 1].unit);
	}
	return string_format("%llds", (long long)seconds);
}

char *human_size(uint64_t bytes) {
	static const char *const units[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
	if (bytes < 1000) return string_format("%d B", (int)bytes);
	double value = (double)bytes / 1000;
	size_t unit = 0;
	for (; value >= 999.5 && unit + 1 < ARRAY_LENGTH(units); unit++) value /= 1000;
	return string_format(value < 9.95 ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

char *human_path(const char *path) {
	const char *home = home_directory();
	if (!path) return string_copy("anywhere");
	if (!home || strcmp(home, "/") == 0 || !path_is_below(path, home)) return string_copy(path);
	return string_format("~%s", path + strlen(home));
}

char *human_command(const char *command) {
	CLEANUP_FREE char *rest = string_copy(command);
	CLEANUP_STRING struct string out = {0};
	string_append(&out, "");
	for (char *at = rest, *word; (word = strsep(&at, " "));) {
		CLEANUP_FREE char *path = human_path(word);
		string_appendf(&out, "%s%s", word == rest ? "" : " ", path);
	}
	return string_steal(&out);
}

static char *end_of_lifetime(const struct grant *grant, int64_t now_ms) {
	switch (grant->lifetime) {
	case LIFETIME_ONCE:
		return string_copy(grant->uses > 0 ? "used up" : "after one use");
	case LIFETIME_SESSION:
		return string_copy("at its end");
	case LIFETIME_ALWAYS:
		return string_copy("never");
	case LIFETIME_UNTIL:
		break;
	}
	if (grant->expires_ms <= now_ms) return string_copy("ended");
	CLEANUP_FREE char *left = human_duration(grant->expires_ms - now_ms + 999);
	return string_format("in %s", left);
}

char *human_end(const struct grant *grant, int64_t now_ms) {
	if (grant->revoked_ms != 0) return string_copy("revoked");
	char *end = end_of_lifetime(grant, now_ms);
	if (grant->session == 0) return end;
	char *with_session = string_format("session %lld, %s", (long long)grant->session, end);
	free(end);
	return with_session;
}

/* Who may: a profile, or where none is named one session or everybody. */
static char *grant_subject(const struct grant *grant) {
	if (!grant->profile && grant->session != 0) return string_format("session %lld", (long long)grant->session);
	if (!grant->profile) return string_copy("every profile");
	CLEANUP_FREE char *profile = text_visible(grant->profile);
	return string_format("profile %s", profile);
}

static char *grant_place(const struct grant *grant) {
	if (!grant->project) return string_copy(grant->session != 0 ? "" : " anywhere");
	CLEANUP_FREE char *shortened = human_path(grant->project);
	CLEANUP_FREE char *visible = text_visible(shortened);
	return string_format(" in %s", visible);
}

char *human_grant(const struct grant *grant) {
	CLEANUP_FREE char *pattern = text_visible(grant->pattern ? grant->pattern : "");
	const bool allows = grant->effect == EFFECT_ALLOW;
	CLEANUP_FREE char *what = allows ? permission_sentence(&grant->permission, NULL, pattern)
					 : permission_denial(&grant->permission, pattern);
	CLEANUP_FREE char *who = grant_subject(grant);
	CLEANUP_FREE char *place = grant_place(grant);
	return string_format("%s %s %s%s", who, allows ? "may" : "may not", what, place);
}

char *human_until(const struct grant *grant) {
	struct moment now;
	clock_read(clock_system(), &now);
	CLEANUP_FREE char *when = human_time(grant->expires_ms);
	CLEANUP_FREE char *left = human_duration(grant->expires_ms - now.wall_ms + 999);
	CLEANUP_FREE char *session = string_format("session %lld", (long long)grant->session);
	switch (grant->lifetime) {
	case LIFETIME_ONCE:
		return string_copy("for one use");
	case LIFETIME_SESSION:
		return string_format("until %s ends", session);
	case LIFETIME_ALWAYS:
		return string_copy("until you revoke it");
	case LIFETIME_UNTIL:
		return string_format("until %s (for %s)%s%s", when, left, grant->session ? " or the end of " : "",
				     grant->session ? session : "");
	}
	return string_copy("");
}

/* The call that waited has used what was answered for it. */
static bool is_used_at_once(const struct grant *grant) {
	return grant->lifetime == LIFETIME_ONCE && grant->origin == GRANT_ORIGIN_PROMPT;
}

void human_print_grant(FILE *out, const char *done, const struct grant *grant) {
	CLEANUP_FREE char *what = human_grant(grant);
	CLEANUP_FREE char *until = human_until(grant);
	fprintf(out, "%s (grant %lld): %s, %s.", done, (long long)grant->id, what, until);
	if (!is_used_at_once(grant)) fprintf(out, " To undo it: sbx revoke %lld", (long long)grant->id);
	fputc('\n', out);
}
