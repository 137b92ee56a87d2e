#include "ui/prompt_text.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/text.h"
#include "flow.h"
#include "ui/human.h"
#include "ui/socket_words.h"

enum {
	LABEL_COLUMNS = 11, /* "  profile  " */
	TARGET_LINES = 3,   /* of a long target; past that its middle is cut */
	PROCESS_COLUMNS = 40,
	PROFILE_COLUMNS = 22,
	DESCRIPTION_COLUMNS = 60,
};

static const char link_of_chain[] = " › ";

/* A name as a link of the chain: it brings no link of its own, and of parents no number. */
static void append_link(struct string *out, const char *name, bool parent) {
	size_t size = strlen(name);
	const char *number = strrchr(name, ' ');
	if (parent && number && number[1] == '(' && number[2 + strspn(number + 2, "0123456789")] == ')')
		size = (size_t)(number - name);
	CLEANUP_FREE char *own = string_copy_bytes(name, size);
	for (char *fake; (fake = strstr(own, "›"));) memset(fake, '?', strlen("›"));
	string_append(out, own);
}

/* A process chooses its own name (prctl(2), PR_SET_NAME), and its parents theirs: that is told as what they say. */
char *prompt_asker(const struct prompt *prompt) {
	struct string out = {0};
	if (prompt->bundle > 0 && !prompt->process) { /* what a session wants at its start (docs/protocol.md, want) */
		string_appendf(&out, "session %lld, before its tool starts", (long long)prompt->session);
		return string_steal(&out);
	}
	string_append(&out, "a process");
	if (prompt->session > 0) string_appendf(&out, " in session %lld", (long long)prompt->session);
	if (!prompt->process) return string_steal(&out);
	string_append(&out, ", calls itself «");
	for (size_t i = prompt->parents.count; i-- > 0;) {
		append_link(&out, prompt->parents.items[i], true);
		string_append(&out, link_of_chain);
	}
	append_link(&out, prompt->process, false);
	string_append(&out, "»");
	return string_steal(&out);
}

const char *prompt_scope(const struct prompt *prompt) {
	return prompt->scopes.count > 0 ? prompt->scopes.items[0] : "exact";
}

char *prompt_reach(const struct prompt *prompt) {
	const char *scope = prompt_scope(prompt);
	if (strcmp(scope, "exact") == 0) return NULL;
	CLEANUP_FREE char *folder = prompt->target ? path_parent(prompt->target) : NULL;
	return human_path(strcmp(scope, "folder") == 0 && folder ? folder : scope);
}

enum prompt_risk prompt_risk(const struct prompt *prompt) {
	static const enum prompt_risk risks[] = {
		[PERMISSION_FS_READ] = RISK_LOW,       [PERMISSION_FS_WRITE] = RISK_NORMAL,
		[PERMISSION_NET_ACCESS] = RISK_NORMAL, [PERMISSION_NET_LISTEN] = RISK_NORMAL,
		[PERMISSION_PROC_SPAWN] = RISK_HIGH,   [PERMISSION_IPC_CONNECT] = RISK_HIGH,
		[PERMISSION_ENV_READ] = RISK_LOW,      [PERMISSION_CUSTOM] = RISK_NORMAL,
	};
	static_assert(ARRAY_LENGTH(risks) == PERMISSION_KIND_COUNT, "each permission has its risk");
	return prompt->confirm_terminal ? RISK_HIGH : risks[prompt->permission.kind];
}

char *prompt_target(const struct prompt *prompt) {
	if (!prompt->target || !prompt->name) return string_copy_or_null(prompt->target);
	if (prompt->permission.kind == PERMISSION_NET_ACCESS)
		return string_format("%s (its first bytes ask for %s, which must be allowed, too)", prompt->target,
				     prompt->name);
	const char *words = prompt->permission.kind == PERMISSION_PROC_SPAWN ? "which is" : "for";
	return string_format("%s (%s %s)", prompt->target, words, prompt->name);
}

char *prompt_target_for(const struct prompt *prompt, size_t columns) {
	CLEANUP_FREE char *whole = prompt_target(prompt);
	CLEANUP_FREE char *visible = text_visible(whole ? whole : "");
	return text_columns(visible) <= columns ? STEAL(whole) : string_copy_or_null(prompt->target);
}

char *prompt_sentence(const struct prompt *prompt) {
	CLEANUP_FREE char *name = text_visible_cut(prompt->process ? prompt->process : "", PROCESS_COLUMNS);
	CLEANUP_FREE char *about = prompt_target(prompt);
	CLEANUP_FREE char *target = text_visible(about ? about : "");
	CLEANUP_FREE char *description =
		prompt->description ? text_visible_cut(prompt->description, DESCRIPTION_COLUMNS) : NULL;
	CLEANUP_FREE char *what = permission_sentence(&prompt->permission, description, target);
	if (!*name) return string_format("a process wants to %s", what);
	return string_format("a process that calls itself «%s» wants to %s", name, what);
}

void text_labelled(struct string *out, const char *label, const char *bytes, size_t width, size_t lines) {
	if (!bytes) return;
	/* A wide character may leave a column empty at each line's end. */
	CLEANUP_FREE char *visible = text_visible_cut(bytes, (width - LABEL_COLUMNS - 1) * lines);
	string_appendf(out, "  %s%*s", label, LABEL_COLUMNS - 2 - (int)text_columns(label), "");
	flow_append(out, visible, LABEL_COLUMNS, width);
}

/* "sbx: may profile npm connect to:", in two lines where one is too short. */
static void append_head(struct string *out, const struct prompt *prompt, size_t width) {
	CLEANUP_FREE char *profile = text_visible_cut(prompt->profile ? prompt->profile : "?", PROFILE_COLUMNS);
	CLEANUP_FREE char *sentence = permission_sentence(&prompt->permission, prompt->description, "");
	CLEANUP_FREE char *what = text_visible_cut(sentence, width - 4);
	size_t end = strlen(what);
	while (end > 0 && what[end - 1] == ' ') what[--end] = '\0';
	CLEANUP_FREE char *who = string_format("sbx: may profile %s", profile);
	bool fits = text_columns(who) + text_columns(what) + 2 <= width;
	string_appendf(out, "%s%s%s:\n", who, fits ? " " : "\n  ", what);
}

void prompt_describe(const struct prompt *prompt, int64_t now_ms, size_t width, struct string *out) {
	if (width < 40) width = 40;
	CLEANUP_FREE char *processes = prompt_asker(prompt);
	CLEANUP_FREE char *place = human_path(prompt->project);
	CLEANUP_FREE char *left = human_duration(prompt->deadline_ms - now_ms);
	append_head(out, prompt, width);
	bool net = prompt->permission.kind == PERMISSION_NET_ACCESS;
	CLEANUP_FREE char *target = net ? prompt_target_for(prompt, (width - LABEL_COLUMNS - 1) * TARGET_LINES)
					: string_copy_or_null(prompt->target);
	text_labelled(out, "target", target ? target : "", width, TARGET_LINES);
	if (!net) text_labelled(out, "for", prompt->name, width, TARGET_LINES);
	if (prompt->permission.kind == PERMISSION_IPC_CONNECT && prompt->target)
		text_labelled(out, "that is", socket_meaning(prompt->target), width, 2);
	text_labelled(out, "asked by", processes, width, 2);
	text_labelled(out, "project", place, width, 1);
	text_labelled(out, "rule", prompt->why, width, 2);
	/* The tool's own words prove nothing; say whose they are. */
	text_labelled(out, "it says", prompt->reason, width, 2);
	string_appendf(out, "  prompt   %lld, %s left\n", (long long)prompt->id, left);
}
