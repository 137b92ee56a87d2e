/*
 * options: what a sandbox is started with (run.h), and by which it asks its user.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/string.h"
#include "schema/channel.h"
#include "schema/prompt.h"
#include "schema/publication.h"

/* Exit codes of `sbx run` besides the tool's own (design section 7, Terminal). */
enum { RUN_EXIT_TIMEOUT = 124, RUN_EXIT_FAILED = 125, RUN_EXIT_NOT_EXECUTABLE = 126, RUN_EXIT_NOT_FOUND = 127 };

/* One question: all of the prompts are answered alike. Where others may write to the terminal what is allowed is asked
 * about once more, on a cleared screen, and only that answer counts. */
enum run_asking { RUN_ASK_ONCE, RUN_ASK_FIRST, RUN_ASK_AGAIN };
struct run_question {
	enum run_asking asking;
	const struct prompt *prompts; /* borrowed */
	size_t count;
	size_t number, all; /* of those that are asked one by one: the how-manieth of how many; else 0 */
};

/*
 * How prompts are shown while the tool owns the terminal: ui's inline prompt. `ask` is called with the terminal in
 * cooked mode and the tool's output paused; it blocks reading `fd` until the user has answered, or `gone_fd` becomes
 * readable (one was answered elsewhere, expired or its requester died: return -ECANCELED then; a pipe with the push
 * `prompt-gone` in it, a line, or nothing when the broker is gone), the user suspends (^Z: -EINTR), or several are to
 * be asked one by one (-E2BIG). *ret_answers becomes an array with an answer for each prompt, in their order: the
 * fields of the `answer` message (docs/protocol.md) but prompt and token. Of what isn't answered it stays as it was.
 */
struct run_terminal {
	void *context;
	int (*ask)(void *context, const struct run_question *question, int fd, int gone_fd, json_t **ret_answers,
		   struct error *error);
};

struct run_options {
	const char *profile;        /* or NULL: by command */
	const char *project;        /* --project, or NULL: git top level of the cwd, else the cwd */
	const char *cwd;            /* --cwd, or NULL */
	struct strings allow, deny; /* "PERM=TARGET" */
	struct strings resolved;    /* of `allow`, in its order: where it leads by a link, or "" */
	struct strings environment; /* --env: "K" or "K=V" */
	const char *policy_name;    /* --policy FILE, or NULL */
	const char *policy_text;
	const struct publication *publications; /* --publish; net:listen of their ports is in `allow` */
	size_t publication_count;
	int64_t timeout_ms; /* 0 = none */
	bool offline, fail_on_deny, record, print_plan;
	char *const *command; /* NULL-terminated, at least one */
	/* Connect (again) to the broker, starting it where needed. */
	int (*connect)(void *context, struct channel **ret_channel, struct error *error);
	void *connect_context;
	const struct run_terminal *terminal; /* NULL: no inline prompts */
	const char *init_path;               /* sbx-init */
	int64_t *ret_session;                /* becomes the session's id once there is one; or NULL */
	const char *program;                 /* sbx itself, for the tool to ask with; or NULL */
};
