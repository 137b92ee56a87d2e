/*
 * permission: the words for what a tool may do, `fs:read` to `db:access` (design section 4).
 *
 * Promises: one table holds all built-in ones with their target's form; a user-defined one is any other
 * word:word. Anything else is refused.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "schema/limits.h"

enum permission_kind {
	PERMISSION_FS_READ,
	PERMISSION_FS_WRITE, /* implies reading */
	PERMISSION_FS_LINK,  /* a symbolic link that leads there, where programs outside meet it */
	PERMISSION_NET_ACCESS,
	PERMISSION_NET_LISTEN,
	PERMISSION_PROC_SPAWN,
	PERMISSION_IPC_CONNECT,
	PERMISSION_ENV_READ,
	PERMISSION_CUSTOM, /* user-defined */
};
enum { PERMISSION_KIND_COUNT = PERMISSION_CUSTOM + 1 };

enum target_form {
	FORM_TREE, /* a path and what lies below: fs:*, proc:spawn */
	FORM_PATH, /* a path alone: ipc:connect */
	FORM_NET,
	FORM_PORT,     /* net:listen */
	FORM_VARIABLE, /* env:read */
	FORM_TEXT,     /* user-defined */
};

/* What an allow may cost: what urgency and colour go by, and nothing that decides. */
enum prompt_risk {
	RISK_LOW,    /* something is read: env:read, fs:read */
	RISK_NORMAL, /* something leaves or is changed */
	RISK_HIGH,   /* a program or a service outside acts for the tool, or a rule says confirm: terminal */
};

/* The columns of the table of permissions. Of PERMISSION_CUSTOM a policy has the words: here they are NULL. */
struct permission_traits {
	const char *name;
	const char *sentence; /* %s = the target, made visible */
	const char *alone;    /* without one; NULL: the sentence up to it */
	const char *denied;   /* what a denial takes away, where that is less; NULL: the sentence */
	const char *what;     /* the head of a notification */
	const char *gives;    /* its buttons */
	const char *lists;    /* in front of the target, where a notification lists several */
	const char *named;    /* the label of a request's name in a notification; NULL: it isn't shown */
	enum target_form form;
	enum prompt_risk risk;
};

struct permission {
	enum permission_kind kind;
	char name[LIMIT_PERMISSION];
};

/* "fs:read", "db:access": lower-case letters, digits and '-' on both sides of one colon, each side starting with
 * a letter; the first words of the built-in ones (fs, net, proc, ipc, env) are theirs. -EINVAL lists the built-in ones.
 */
int permission_parse(const char *name, struct permission *ret_permission, struct error *error);

/* sbx:ask, what the summary of a flood asks for: may it go on asking? Nothing else's first word is sbx, and no policy
 * can declare it. */
struct permission permission_ask(void);
bool permission_is_ask(const struct permission *permission);

/* The built-in permission of a kind (not PERMISSION_CUSTOM). */
struct permission permission_of(enum permission_kind kind);

const struct permission_traits *permission_traits(const struct permission *permission);

bool permission_is_of_files(const struct permission *permission); /* fs:read, fs:write */
bool permission_is_of_place(const struct permission *permission); /* its target is a file, a folder or a socket */
bool permission_is_of_path(const struct permission *permission);  /* its target is a path of the host */
bool permission_is_of_net(const struct permission *permission);   /* net:access, net:listen */
bool permission_connects(const struct permission *permission);    /* what it gives is a connection, which can be cut */
bool permission_equal(const struct permission *a, const struct permission *b);
/* Does who has `a` have `b`? Writing implies reading: so what may not be read may not be written. */
bool permission_includes(const struct permission *a, const struct permission *b);

/* "fs:read, fs:write, …": the built-in ones, for messages. Freed by the caller. */
char *permission_names(void);

/* Split "PERM=TARGET" at the first '='. *ret_target is borrowed from `text`. */
int permission_split(const char *text, struct permission *ret_permission, const char **ret_target, struct error *error);

/*
 * What a prompt says: "read %s", with the target. `description`: the words that a policy has for one of the user's own
 * ("use the database"), or NULL. Both are put in as they are. Freed by the caller.
 */
char *permission_sentence(const struct permission *permission, const char *description, const char *target);
/* What a denial takes away, for "may not …": an allow of fs:write gives reading, too, and a denial leaves it. */
char *permission_denial(const struct permission *permission, const char *target);
