#include "schema/permission.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "base/string.h"
#include "base/text.h"

static const struct permission_traits table[] = {
	[PERMISSION_FS_READ] = {.name = "fs:read",
				.sentence = "read %s",
				.what = "read a file",
				.gives = "reading",
				.lists = "read",
				.named = "For",
				.form = FORM_TREE,
				.risk = RISK_LOW},
	[PERMISSION_FS_WRITE] = {.name = "fs:write",
				 .sentence = "read and write %s",
				 .denied = "write to %s",
				 .what = "read and write a file",
				 .gives = "read/write",
				 .lists = "read and write",
				 .named = "For",
				 .form = FORM_TREE,
				 .risk = RISK_NORMAL},
	[PERMISSION_FS_LINK] = {.name = "fs:link",
				.sentence = "make a link to %s",
				.what = "make a link",
				.gives = "the link",
				.lists = "make a link to",
				.named = "The link",
				.form = FORM_TREE,
				.risk = RISK_HIGH},
	[PERMISSION_NET_ACCESS] = {.name = "net:access",
				   .sentence = "connect to %s",
				   .what = "connect to a server",
				   .gives = "connecting",
				   .lists = "connect to",
				   .named = "Also to be allowed, as its first bytes ask for it",
				   .form = FORM_NET,
				   .risk = RISK_NORMAL},
	[PERMISSION_NET_LISTEN] = {.name = "net:listen",
				   .sentence = "make port %s of the sandbox reachable at http://127.0.0.1:%s",
				   .alone = "make a port of the sandbox reachable on this machine",
				   .what = "open a port on this machine",
				   .gives = "the port",
				   .lists = "open",
				   .form = FORM_PORT,
				   .risk = RISK_NORMAL},
	[PERMISSION_PROC_SPAWN] = {.name = "proc:spawn",
				   .sentence = "run the program %s",
				   .what = "run a program",
				   .gives = "running",
				   .lists = "run",
				   .form = FORM_TREE,
				   .risk = RISK_HIGH},
	[PERMISSION_IPC_CONNECT] = {.name = "ipc:connect",
				    .sentence = "connect to the socket %s",
				    .what = "connect to a socket",
				    .gives = "connecting",
				    .lists = "connect to",
				    .form = FORM_PATH,
				    .risk = RISK_HIGH},
	[PERMISSION_ENV_READ] = {.name = "env:read",
				 .sentence = "see the environment variable %s",
				 .what = "read a variable",
				 .gives = "reading",
				 .lists = "read variable",
				 .form = FORM_VARIABLE,
				 .risk = RISK_LOW},
	[PERMISSION_CUSTOM] = {.form = FORM_TEXT, .risk = RISK_NORMAL},
};
static_assert(ARRAY_LENGTH(table) == PERMISSION_KIND_COUNT, "every kind of permission is in the table");

static const char ask[] = "sbx:ask";

static bool is_word(const char *text, size_t size) {
	if (size == 0 || text[0] < 'a' || text[0] > 'z') return false;
	for (size_t i = 0; i < size; i++) {
		char c = text[i];
		if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-')) return false;
	}
	return true;
}

/* "fs:raed": the first words of the built-in ones are theirs, so that a slip is an error and no permission of its own.
 */
static bool is_reserved(const char *name, size_t first_word) {
	if (string_starts(name, "sbx:")) return strcmp(name, ask) != 0;
	for (size_t i = 0; i < PERMISSION_CUSTOM; i++)
		if (strncmp(table[i].name, name, first_word + 1) == 0) return true;
	return false;
}

int permission_parse(const char *name, struct permission *ret_permission, struct error *error) {
	for (size_t i = 0; i < PERMISSION_CUSTOM; i++) {
		if (strcmp(table[i].name, name) == 0) {
			*ret_permission = permission_of((enum permission_kind)i);
			return 0;
		}
	}
	const char *colon = strchr(name, ':');
	if (!colon || strlen(name) >= LIMIT_PERMISSION || !is_word(name, (size_t)(colon - name)) ||
	    !is_word(colon + 1, strlen(colon + 1)) || is_reserved(name, (size_t)(colon - name))) {
		CLEANUP_FREE char *shown = text_visible_cut(name, 40), *names = permission_names();
		return error_set(error, EINVAL, "'%s' is no permission; expected %s or a word:word of your own", shown,
				 names);
	}
	*ret_permission = (struct permission){.kind = PERMISSION_CUSTOM};
	memcpy(ret_permission->name, name, strlen(name) + 1);
	return 0;
}

struct permission permission_ask(void) {
	struct permission permission = {.kind = PERMISSION_CUSTOM};
	memcpy(permission.name, ask, sizeof ask);
	return permission;
}

bool permission_is_ask(const struct permission *permission) {
	return permission->kind == PERMISSION_CUSTOM && strcmp(permission->name, ask) == 0;
}

struct permission permission_of(enum permission_kind kind) {
	struct permission permission = {.kind = kind};
	if (kind < PERMISSION_CUSTOM) memcpy(permission.name, table[kind].name, strlen(table[kind].name) + 1);
	return permission;
}

const struct permission_traits *permission_traits(const struct permission *permission) {
	return &table[permission->kind];
}

char *permission_names(void) {
	struct string out = {0};
	for (size_t i = 0; i < PERMISSION_CUSTOM; i++) string_appendf(&out, "%s%s", i == 0 ? "" : ", ", table[i].name);
	return string_steal(&out);
}

bool permission_connects(const struct permission *permission) {
	return permission->kind == PERMISSION_NET_ACCESS || permission->kind == PERMISSION_IPC_CONNECT;
}

bool permission_is_of_files(const struct permission *permission) {
	return permission->kind == PERMISSION_FS_READ || permission->kind == PERMISSION_FS_WRITE;
}

bool permission_is_of_place(const struct permission *permission) {
	return permission_is_of_path(permission) && permission->kind != PERMISSION_PROC_SPAWN;
}

bool permission_is_of_path(const struct permission *permission) {
	const enum target_form form = table[permission->kind].form;
	return form == FORM_TREE || form == FORM_PATH;
}

bool permission_is_of_net(const struct permission *permission) {
	const enum target_form form = table[permission->kind].form;
	return form == FORM_NET || form == FORM_PORT;
}

bool permission_equal(const struct permission *a, const struct permission *b) {
	return strcmp(a->name, b->name) == 0;
}

bool permission_includes(const struct permission *a, const struct permission *b) {
	return permission_equal(a, b) || (a->kind == PERMISSION_FS_WRITE && b->kind == PERMISSION_FS_READ);
}

int permission_split(const char *text, struct permission *ret_permission, const char **ret_target,
		     struct error *error) {
	const char *equals = strchr(text, '=');
	CLEANUP_FREE char *shown = text_visible_cut(text, 60);
	if (!equals)
		return error_set(error, EINVAL, "'%s' lacks its target; expected PERM=TARGET such as fs:read=~/notes",
				 shown);
	CLEANUP_FREE char *name = string_copy_bytes(text, (size_t)(equals - text));
	int r = permission_parse(name, ret_permission, error);
	if (r == 0) *ret_target = equals + 1;
	return r;
}

static char *fill(const char *rest, const char *target) {
	struct string out = {0};
	const char *gap;
	for (; (gap = strstr(rest, "%s")); rest = gap + 2) {
		string_append_bytes(&out, rest, (size_t)(gap - rest));
		string_append(&out, target);
	}
	string_append(&out, rest);
	return string_steal(&out);
}

char *permission_sentence(const struct permission *permission, const char *description, const char *target) {
	if (description) return string_format("%s%s%s", description, *target ? ": " : "", target);
	if (permission->kind == PERMISSION_CUSTOM) return string_format("use %s on %s", permission->name, target);
	const struct permission_traits *traits = permission_traits(permission);
	return *target == '\0' && traits->alone ? string_copy(traits->alone) : fill(traits->sentence, target);
}

char *permission_denial(const struct permission *permission, const char *target) {
	const char *denied = permission_traits(permission)->denied;
	return denied ? fill(denied, target) : permission_sentence(permission, NULL, target);
}
