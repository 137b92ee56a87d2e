/*
 * ask: prompts in the terminal that the tool is using, those that wait together as one question.
 *
 * Promises: the question is put by a process of its own (run_terminal's `ask`), so the loop goes on serving other
 * connections and the broker. All by which the tool and the runner write to a terminal is held meanwhile (outlets.h),
 * and where others may write there an allow is asked for twice (twice.h).
 *
 * A question whose process ends without an answer (^C, a crash) is denied; one whose terminal is gone stays open; one
 * that is gone before its turn is never shown, nor is one that the desktop shows, for the first LIMIT_DESKTOP_MS. What
 * waits while we are in the background is asked when we are in the foreground again, whether or not the shell sends a
 * signal then. Before we stop, a question is taken down, and it is asked anew when we go on; an answer that was given
 * while we were stopped from outside counts only if nobody else could write there in between.
 */
#pragma once

#include <jansson.h>

#include "outlets.h"
#include "runner/options.h"
#include "session/session.h"

struct asker;

struct asker_options {
	struct event_base *base;
	const struct run_terminal *user; /* borrowed, as are the next two; or NULL */
	const struct outlets *outlets;   /* held while a question stands */
	struct session *session;         /* is told the answers */
	void (*suspend)(void *context);  /* stop as ^Z does; back when we go on */
	void *context;
};

/* NULL where the user has no terminal to be asked in; all below take that. */
struct asker *asker_new(const struct asker_options *options);
void asker_add(struct asker *asker, const json_t *prompt); /* push `prompt`, also of a known one */
void asker_gone(struct asker *asker, const json_t *gone);  /* push `prompt-gone` */
void asker_forget(struct asker *asker);                    /* the broker is gone, and its questions with it */
void asker_pause(struct asker *asker, bool paused);        /* another run asks on the terminal */
void asker_wake(struct asker *asker);                      /* we may be in the foreground now */
void asker_put_off(struct asker *asker);                   /* we are about to stop: no question stands after this */
/* SIGCONT: asked anew, unless the question still stands. Its event has the priority LOOP_FIRST, so that no answer is
 * read before this, which came while we were stopped. */
void asker_continued(struct asker *asker);
bool asker_is_asking(const struct asker *asker); /* the terminal is the question's now */
bool asker_waits(const struct asker *asker);     /* something is to be asked, and isn't on the screen */
void asker_free(struct asker *asker);
