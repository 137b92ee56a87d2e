/*
 * fixture: a curtain without broker and portal: a superblock mounted in a user, mount and PID namespace of its own,
 * nodes of it hung over real folders and files, the server in the test's own process, and an answerer that "grants" by
 * mounting the real object over what was asked for.
 *
 * Promises: as an ordinary user (support/home.h, call home_make first); every wait is bounded.
 */
#pragma once

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "curtain/curtain.h"

enum fixture_answer {
	ANSWER_OBJECT,  /* what was asked for is mounted over itself */
	ANSWER_FOLDER,  /* the folder that it is in (not above the host tree) */
	ANSWER_NODE,    /* all of the node that it is behind */
	ANSWER_REFUSED, /* a person says no */
	ANSWER_ABSENT,  /* a rule says no */
	ANSWER_NEVER,
};

struct fixture;

/* The host tree (fixture_host) is made by the caller first, with fixture_write and the like. */
struct fixture *fixture_new(void);
void fixture_free(struct fixture *fixture);
void fixture_free_p(struct fixture **fixture);
#define CLEANUP_FIXTURE __attribute__((cleanup(fixture_free_p)))

const char *fixture_host(const struct fixture *fixture);             /* the folder that the test fills; "…/h" */
char *fixture_path(const struct fixture *fixture, const char *name); /* in it; "" itself. Freed by the caller */
void fixture_start(struct fixture *fixture);                         /* from now on the namespaces are there */

void fixture_hang(struct fixture *fixture, const char *name); /* a node over that name of the host tree */
void fixture_answer(struct fixture *fixture, enum fixture_answer answer);
void fixture_hide(struct fixture *fixture, const char *name);    /* no rule asks about it */
void fixture_lead(struct fixture *fixture, const char *name);    /* only what is below it is asked about or shown */
void fixture_program(struct fixture *fixture, const char *name); /* visible, and asked about as a program */
int fixture_put(struct fixture *fixture, const char *name);      /* grant without being asked; errno */
int fixture_take(struct fixture *fixture, const char *name);     /* take the grant away */

/* What the portal does with a folder's names: reads them, and reaches "0", "1" …; how many there are, or -errno. */
int fixture_read(struct fixture *fixture, const char *name);
int fixture_reach(struct fixture *fixture, const char *name);

/* Run it in the sandbox, in a process of its own, and serve meanwhile: what it returns, or -ETIME. */
typedef int fixture_action(const char *host, const char *argument);
int fixture_run(struct fixture *fixture, fixture_action *action, const char *argument);
/* The same beside others; fixture_wait waits for the result of the one that was started n-th (from 0). */
size_t fixture_begin(struct fixture *fixture, fixture_action *action, const char *argument);
int fixture_wait(struct fixture *fixture, size_t which);
size_t fixture_begun(const struct fixture *fixture);
size_t fixture_finished(const struct fixture *fixture);
pid_t fixture_pid(struct fixture *fixture, size_t which); /* as we see it; 0 until it runs */

void fixture_serve(struct fixture *fixture, int ms); /* for so long */
bool fixture_serve_until(struct fixture *fixture, bool (*holds)(struct fixture *fixture, size_t wanted), size_t wanted);
bool held_reach(struct fixture *fixture, size_t wanted);
bool interrupts_reach(struct fixture *fixture, size_t wanted);

struct fixture_counts {
	size_t asked;       /* calls that were held, ever */
	size_t held;        /* now */
	size_t interrupted; /* that the kernel said so of */
	size_t ended;
	size_t sights;   /* how often the server looked at what the sandbox may see */
	char last[4200]; /* "fs:read /path", "fs:write /path by folder", "… listing" */
};
const struct fixture_counts *fixture_counts(const struct fixture *fixture);
void fixture_settle(struct fixture *fixture, enum held_end end); /* all that are held */
/* What is held and has been interrupted ends with EINTR, as held.c would have it. */
void fixture_heed_interrupts(struct fixture *fixture, bool on);
struct event_base *fixture_base(struct fixture *fixture);
struct curtain *fixture_curtain(struct fixture *fixture);
pid_t fixture_init(const struct fixture *fixture);
int fixture_abort(struct fixture *fixture); /* as an administrator would; errno */
