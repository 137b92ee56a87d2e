#include "schema/permission.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "base/string.h"
#include "base/text.h"

static const struct {
	const char *name;
	const char *sentence; /* %s = the target, made visible */
	const char *alone;    /* without one; NULL: the sentence up to it */
} builtin[] = {
	[PERMISSION_FS_READ] = {"fs:read", "read %s", NULL},
	[PERMISSION_FS_WRITE] = {"fs:write", "write to %s", NULL},
	[PERMISSION_NET_ACCESS] = {"net:access", "connect to %s", NULL},
	[PERMISSION_NET_LISTEN] = {"net:listen", "make port %s of the sandbox reachable at http://127.0.0.1:%s",
				   "make a port of the sandbox reachable on this machine"},
	[PERMISSION_PROC_SPAWN] = {"proc:spawn", "run the program %s", NULL},
	[PERMISSION_IPC_CONNECT] = {"ipc:connect", "connect to the socket %s", NULL},
	[PERMISSION_ENV_READ] = {"env:read", "see the environment variable %s", NULL},
};
static_assert(ARRAY_LENGTH(builtin) == PERMISSION_CUSTOM, "every built-in permission is in the table");

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
	for (size_t i = 0; i < ARRAY_LENGTH(builtin); i++)
		if (strncmp(builtin[i].name, name, first_word + 1) == 0) return true;
	return false;
}

int permission_parse(const char *name, struct permission *ret_permission, struct error *error) {
	for (size_t i = 0; i < ARRAY_LENGTH(builtin); i++) {
		if (strcmp(builtin[i].name, name) == 0) {
			*ret_permission = permission_of((enum permission_kind)i);
			return 0;
		}
	}
	const char *colon = strchr(name, ':');
	if (!colon || strlen(name) >= LIMIT_PERMISSION || !is_word(name, (size_t)(colon - name)) ||
	    !is_word(colon + 1, strlen(colon + 1)) || is_reserved(name, (size_t)(colon - name))) {
		CLEANUP_FREE char *shown = text_visible_cut(name, 40);
		return error_set(
			error, EINVAL,
			"'%s' is no permission; expected fs:read, fs:write, net:access, net:listen, proc:spawn, "
			"ipc:connect, env:read or a word:word of your own",
			shown);
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
	if (kind < PERMISSION_CUSTOM) memcpy(permission.name, builtin[kind].name, strlen(builtin[kind].name) + 1);
	return permission;
}

bool permission_connects(const struct permission *permission) {
	return permission->kind == PERMISSION_NET_ACCESS || permission->kind == PERMISSION_IPC_CONNECT;
}

bool permission_is_of_files(const struct permission *permission) {
	return permission->kind == PERMISSION_FS_READ || permission->kind == PERMISSION_FS_WRITE;
}

bool permission_is_of_path(const struct permission *permission) {
	switch (permission->kind) {
	case PERMISSION_FS_READ:
	case PERMISSION_FS_WRITE:
	case PERMISSION_PROC_SPAWN:
	case PERMISSION_IPC_CONNECT:
		return true;
	case PERMISSION_NET_ACCESS:
	case PERMISSION_NET_LISTEN:
	case PERMISSION_ENV_READ:
	case PERMISSION_CUSTOM:
		break;
	}
	return false;
}

bool permission_equal(const struct permission *a, const struct permission *b) {
	return strcmp(a->name, b->name) == 0;
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

char *permission_sentence(const struct permission *permission, const char *description, const char *target) {
	if (description) return string_format("%s%s%s", description, *target ? ": " : "", target);
	if (permission->kind == PERMISSION_CUSTOM) return string_format("use %s on %s", permission->name, target);
	const char *rest = builtin[permission->kind].sentence, *gap;
	if (*target == '\0' && builtin[permission->kind].alone) return string_copy(builtin[permission->kind].alone);
	struct string out = {0};
	for (; (gap = strstr(rest, "%s")); rest = gap + 2) {
		string_append_bytes(&out, rest, (size_t)(gap - rest));
		string_append(&out, target);
	}
	string_append(&out, rest);
	return string_steal(&out);
}
