/*
 * view: what the broker tells a runner about a session: path or pattern → absent, ask, read, write, and the
 * rest of what the profile says (design sections 3 and 7).
 *
 * Promises: rules are evaluated in the broker alone; a view holds their result for every path that a rule or
 * grant names. A pattern entry only says "names like this may differ from the tree they lie in": the runner finds
 * them below what it grants (one bounded walk) and asks the broker for each (message `resolve`).
 * Absent is the zero value.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/string.h"

enum view_mode { VIEW_ABSENT, VIEW_ASK, VIEW_READ, VIEW_WRITE };
const char *view_mode_name(enum view_mode mode); /* "absent", "ask", "read", "write" */
int view_mode_parse(const char *name, enum view_mode *ret_mode, struct error *error);

/* What a rule or a grant denies of a path by name, in contrast to what merely nothing allows: that holds for whatever
 * leads there by a link. Who may not read may not write either. */
enum view_denial { VIEW_DENIES_NOTHING, VIEW_DENIES_WRITE, VIEW_DENIES_READ };
const char *view_denial_name(enum view_denial denial); /* "nothing", "write", "read" */
int view_denial_parse(const char *name, enum view_denial *ret_denial, struct error *error);

struct view_path {
	char *path; /* normal path, or a pattern's normal text */
	bool pattern;
	enum view_mode mode; /* of a pattern: absent where a denial of reading, or a question about it, has that text */
	bool ask_write; /* read, and writing would be asked (a mask is one); of a pattern: read, and writing is denied
			   or asked about where it matches */
	enum view_denial denial;
	bool mask;      /* what is said of that very path is about writing alone: reading is as of what lies above */
	bool own;       /* write: not the user's, but a folder of that name that the project has for itself */
	char *resolved; /* of a grant: where the path led when the user gave it, if elsewhere; or NULL */
};

struct view_program {        /* proc:spawn rules that don't allow */
	char *pattern;       /* path, or bare name = in any directory */
	enum view_mode mode; /* absent or ask; read, in the runner alone: the one at that very path, for one call */
};

struct view_pair {
	char *name, *value;
};

/* A home that is empty and goes with the sandbox; one of the profile's that lasts; one of the profile's for each
 * project that lasts; none. */
enum view_home { VIEW_HOME_EPHEMERAL, VIEW_HOME_OWN, VIEW_HOME_PROJECT, VIEW_HOME_HIDDEN };
enum view_network { VIEW_NETWORK_NATIVE, VIEW_NETWORK_PROXY, VIEW_NETWORK_NONE, VIEW_NETWORK_HOST };
enum view_doorbell { VIEW_DOORBELL_AUTO, VIEW_DOORBELL_TRAPS, VIEW_DOORBELL_NONE };
const char *view_home_name(enum view_home home);
int view_home_parse(const char *name, enum view_home *ret_home, struct error *error);
const char *view_network_name(enum view_network network);
int view_network_parse(const char *name, enum view_network *ret_network, struct error *error);
const char *view_doorbell_name(enum view_doorbell doorbell);
int view_doorbell_parse(const char *name, enum view_doorbell *ret_doorbell, struct error *error);

struct view_limits {    /* 0 = none */
	int64_t memory; /* bytes */
	int64_t processes;
	int64_t open_files;
	int64_t cpu_time_ms;
	bool kernel_aio; /* io_setup(2) is there */
};

struct view {
	char *profile;
	struct view_path *paths; /* sorted by path; no two alike */
	size_t path_count;
	struct view_program *programs;
	size_t program_count;
	struct strings environment; /* names of the caller's variables that are passed */
	/* ipc:connect: paths that are allowed; patterns and paths that rules and grants allow or ask about, closer
	 * denials left aside: nothing is allowed or asked of what none of them matches. */
	struct strings sockets, sockets_asked;
	struct view_pair *set; /* variables that the profile sets */
	size_t set_count;
	struct view_pair *hosts; /* host name → address */
	size_t host_count;
	struct view_limits limits;
	enum view_home home;
	enum view_network network;
	enum view_doorbell doorbell;
	char *upstream;       /* the proxy that connections go through (upstream.h), with its password; or NULL */
	struct strings roots; /* the folders for which ${root} stood when the view was made */
	bool listens;         /* something about net:listen is allowed or asked: what listens inside may be published */
	bool direct; /* a rule says `direct: true`: what it allows may be connected by a socket of the host's */
};

struct view *view_new(void);
void view_free(struct view *view);
struct view *view_copy(const struct view *view);

/* The entry (no pattern) at `path` or nearest above it, which says what holds there; NULL = absent. No allocation. */
const struct view_path *view_at(const struct view *view, const char *path);

/* Takes copies. view_add_path keeps the order and replaces an entry of the same path and kind; view_resolve_path says
 * where the path of such an entry led, view_deny_path what is denied of it (a mode that gives as much stays without),
 * view_mask_path that it is a mask, view_own_path that it is the project's own. */
void view_add_path(struct view *view, const char *path, bool pattern, enum view_mode mode, bool ask_write);
bool view_path_masks(const struct view_path *path); /* a pattern by which no name is made unasked in what is writable */
const struct view_path *view_pattern(const struct view *view,
				     const char *pattern); /* the entry of that text, or NULL */
void view_resolve_path(struct view *view, const char *path, const char *resolved);
void view_deny_path(struct view *view, const char *path, enum view_denial denial);
void view_mask_path(struct view *view, const char *path);
void view_own_path(struct view *view, const char *path);
void view_add_program(struct view *view, const char *pattern, enum view_mode mode);
void view_set_variable(struct view *view, const char *name, const char *value);
void view_add_host(struct view *view, const char *name, const char *address);

/*
 * On the wire a view comes in parts that each fit one message (`part` from 1 to `parts`, each {"part", "parts",
 * "view"}); view_to_parts returns a JSON array of them. view_changes are the parts ("changes" is true in each) that
 * lead from one view to the other: the paths that are others; none when nothing is, and the whole where more is.
 * view_add_part puts them together in order: *view is NULL before the first, and `before` is what changes change (or
 * NULL); returns 1 when the view is whole, 0 when more follow.
 */
json_t *view_to_parts(const struct view *view);
json_t *view_changes(const struct view *from, const struct view *to);
int view_add_part(struct view **view, const struct view *before, const json_t *part, struct error *error);

DEFINE_CLEANUP(struct view *, view_free);
#define CLEANUP_VIEW CLEANUP(view_free_p)
