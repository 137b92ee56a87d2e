/*
 * exec: checks that wait for the program of an `exec` line (design section 4): the head of programs/.
 *
 * For: running an administrator's programs in a process of their own (executor, exec_keeper) and reading what they say.
 * Guarantees: sbxd never waits itself; LIMIT_EXEC_RUNNING programs run at once, LIMIT_EXEC_WAITING checks wait for
 * their turn, whoever has the fewest running first, and past that they are denied. Whatever goes wrong is the program's
 * denial, with a why that says what. A check that is cancelled, or whose client or session ends, ends its program. May
 * be called by: the check flow (prompts/check_flow.h), which is called back by what exec_new was given. In: a check
 * that needs a program. Out: the same check, with what the program said.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "checking.h"
#include "core/broker.h"
#include "policies/decision.h"

struct exec;

/* `go_on` takes a check over when its program has answered. */
typedef void exec_go_on(struct checking *checking);
struct exec *exec_new(struct broker *broker, exec_go_on *go_on);
/* Our end of the executor's socket (executor.h), taken over; until then, or with -1, nothing is run. */
void exec_use(struct exec *exec, int socket);
void exec_free(struct exec *exec);
bool exec_is_there(const struct exec *exec); /* can programs be run? */

/* True when it waits now (`checking` was taken over); false: `decision` is a denial. */
bool exec_ask(struct checking *checking, struct decision *decision);

/* True when that check was waiting: it gets an ECANCELED reply. */
bool exec_cancel(struct client *client, int64_t check);
void exec_forget_client(struct broker *broker, const struct client *client);
void exec_forget_session(struct broker *broker, int64_t session); /* likewise, for all of its checks */
