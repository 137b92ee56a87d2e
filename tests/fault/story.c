#include "story.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/string.h"
#include "core/broker.h"
#include "handlers/dispatch.h"
#include "schema/limits.h"
#include "schema/message.h"
#include "service.h"
#include "support/home.h"
#include "wire/client.h"

#define COPY(to, from) snprintf((to), sizeof(to), "%s", (from))

enum who { RUNNER, AGENT, COMMAND, WHO_COUNT };

struct scene {
	struct broker *broker;
	struct client *clients[WHO_COUNT];
	int ends[WHO_COUNT];
	int64_t last_id;
	json_t *prompt; /* the last that the agent was shown */
	struct story *story;
};

static const char policy[] = "version: 1\nprompt: {timeout: 60s, without-agent: wait}\n"
			     "permissions: {db:access: use the database, api:call: call the interface}\n"
			     "profiles:\n  default:\n    allow: {api:call: [\"free-*\"]}\n    ask: {db:access: "
			     "[\"*\"], env:read: [WANTED]}\n"
			     "    deny: {api:call: [\"never-*\"]}\n";

static char *database;
static struct story *shared;
static void (*at_end)(void);

/* In the place of the C library's: the system's journal needn't know of these thousands of sessions. */
void syslog(int priority, const char *format, ...) {
	(void)priority;
	(void)format;
}

static void demand(bool holds, const char *what) {
	if (holds) return;
	perror(what);
	_exit(70);
}

/* Talking. A broker that is gone, or a client that it has closed, answers nothing. */

static json_t *receive(int end) {
	static char bytes[LIMIT_MESSAGE + 1];
	ssize_t size = recv(end, bytes, sizeof bytes, MSG_DONTWAIT);
	json_t *message = NULL;
	if (size > 0) demand(message_decode(bytes, (size_t)size, &message, NULL) == 0, "a message of the broker");
	return message;
}

static bool is_there(const struct scene *scene, enum who who) {
	const struct client *client;
	TAILQ_FOREACH(client, &scene->broker->clients, link) {
		if (client == scene->clients[who]) return !client->dead && !client->leaving;
	}
	return false;
}

static int64_t say(struct scene *scene, enum who who, const char *type, json_t *body) {
	if (!body) body = json_object();
	json_object_set_new(body, "type", json_string(type));
	json_object_set_new(body, "id", json_integer(++scene->last_id));
	CLEANUP_FREE char *text = json_dumps(body, JSON_COMPACT);
	json_decref(body);
	demand(text, "a request");
	if (is_there(scene, who)) dispatch(scene->clients[who], text, strlen(text));
	return scene->last_id;
}

/* The reply to `id`; a prompt that comes before it is kept. */
static json_t *hear(struct scene *scene, enum who who, int64_t id) {
	json_t *message;
	event_base_loop(scene->broker->base, EVLOOP_NONBLOCK);
	while ((message = receive(scene->ends[who]))) {
		const char *type = json_string_value(json_object_get(message, "type"));
		bool prompt = string_equal(type, "prompt");
		if (!prompt && !string_equal(type, "prompt-gone") &&
		    json_integer_value(json_object_get(message, "id")) == id)
			return message;
		if (prompt) json_object_update(scene->prompt, message);
		json_decref(message);
	}
	return NULL;
}

static json_t *ask(struct scene *scene, enum who who, const char *type, json_t *body) {
	return hear(scene, who, say(scene, who, type, body));
}

/* Takes the reply; the step's result is set last, when everything it stands for has been noted. */
static enum story_answer conclude(struct scene *scene, enum who who, json_t *reply) {
	const char *type = json_string_value(json_object_get(reply, "type"));
	const char *effect = json_string_value(json_object_get(json_object_get(reply, "verdict"), "effect"));
	enum story_answer answer = STORY_DONE;
	if (!reply)
		answer = is_there(scene, who) ? STORY_SILENCE : STORY_CLOSED;
	else if (string_equal(type, "error"))
		answer = STORY_ERROR;
	else if (effect)
		answer = string_equal(effect, "allow") ? STORY_ALLOW : STORY_DENY;
	json_decref(reply);
	scene->story->steps[scene->story->count++] = answer;
	return answer;
}

static void skip(struct scene *scene) {
	scene->story->steps[scene->story->count++] = STORY_SKIPPED;
}

static void revive(struct scene *scene);

static json_t *check_body(const char *permission, const char *target, const char *process) {
	return json_pack("{s:s, s:s, s:s}", "permission", permission, "target", target, "process", process);
}

static void note_allowed(struct scene *scene, const char *process, bool durable) {
	struct story *story = scene->story;
	COPY(story->allowed[story->allowed_count].process, process);
	story->allowed[story->allowed_count].durable = durable;
	story->allowed_count++;
}

static enum story_answer check(struct scene *scene, const char *target, const char *process, bool durable) {
	revive(scene);
	json_t *reply = ask(scene, RUNNER, "check", check_body("api:call", target, process));
	enum story_answer answer = conclude(scene, RUNNER, reply);
	if (answer == STORY_ALLOW) note_allowed(scene, process, durable);
	return answer;
}

/* The id of the grant that was made, or 0. */
static int64_t grant(struct scene *scene, const char *target, const char *effect, const char *lifetime) {
	struct story *story = scene->story;
	revive(scene);
	json_t *reply = ask(scene, COMMAND, "grant",
			    json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:b}", "permission", "api:call", "target", target,
				      "effect", effect, "profile", "default", "project", "/p", "lifetime", lifetime,
				      "at_once", 1));
	int64_t id = json_integer_value(json_object_get(json_object_get(reply, "grant"), "id"));
	if (id && string_equal(lifetime, "always")) story->granted[story->granted_count++] = id;
	return conclude(scene, COMMAND, reply) == STORY_DONE ? id : 0;
}

static bool end_grant(struct scene *scene, int64_t id) {
	struct story *story = scene->story;
	revive(scene);
	story->revoking[story->revoking_count++] = id;
	json_t *reply = ask(scene, COMMAND, "revoke", json_pack("{s:[I], s:b}", "ids", (json_int_t)id, "at_once", 1));
	bool done = string_equal(json_string_value(json_object_get(reply, "type")), "revoke");
	if (done) story->revoked[story->revoked_count++] = id;
	return conclude(scene, COMMAND, reply) == STORY_DONE;
}

/* A question, its answer, and what the one who asked is told. */
static enum story_answer question(struct scene *scene, const char *type, json_t *body, const char *effect,
				  const char *lifetime) {
	struct story *story = scene->story;
	json_object_clear(scene->prompt);
	int64_t asked = say(scene, RUNNER, type, body);
	json_decref(hear(scene, AGENT, 0));
	/* It could not even be asked: then the asker is told so. */
	if (json_object_size(scene->prompt) == 0) {
		skip(scene);
		return conclude(scene, RUNNER, hear(scene, RUNNER, asked));
	}
	json_t *reply = ask(scene, AGENT, "answer",
			    json_pack("{s:O, s:O, s:s, s:s, s:b}", "prompt", json_object_get(scene->prompt, "id"),
				      "token", json_object_get(scene->prompt, "token"), "effect", effect, "lifetime",
				      lifetime, "terminal", 1));
	int64_t id = json_integer_value(json_object_get(json_object_get(reply, "grant"), "id"));
	if (id && string_equal(lifetime, "always")) story->granted[story->granted_count++] = id;
	/* An answer that could not be written leaves the question open. */
	if (conclude(scene, AGENT, reply) == STORY_DONE) return conclude(scene, RUNNER, hear(scene, RUNNER, asked));
	skip(scene);
	return STORY_SILENCE;
}

static void prompt(struct scene *scene, const char *target, const char *effect, const char *lifetime) {
	revive(scene);
	if (question(scene, "check", check_body("db:access", target, target), effect, lifetime) == STORY_ALLOW)
		note_allowed(scene, target, true);
}

/* Of a bundle; a session may ask for it once. */
static void want(struct scene *scene) {
	revive(scene);
	question(scene, "want", json_pack("{s:[i]}", "items", 0), "allow", "always");
}

int story_open(struct broker **ret_broker, struct error *error) {
	struct places places;
	int r = places_find(&places, error);
	if (r == 0) r = places_make(&places, error);
	if (r < 0) return r;
	r = broker_new(&places, clock_system(), 60000, NULL, ret_broker, error);
	/* It looks after the socket's name, and there is none. */
	if (r == 0) event_del((*ret_broker)->tick);
	return r;
}

static void seat(struct scene *scene) {
	for (int who = 0; who < WHO_COUNT; who++) {
		int pair[2];
		demand(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0, "socketpair");
		client_accept(scene->broker, pair[0]);
		scene->ends[who] = pair[1];
		scene->clients[who] = TAILQ_LAST(&scene->broker->clients, client_list);
		demand(scene->clients[who], "a client is refused");
	}
}

static json_t *hello_body(void) {
	return json_pack("{s:i, s:s}", "protocol", PROTOCOL_VERSION, "version", "f");
}

static json_t *session_body(void) {
	return json_pack("{s:[s], s:s, s:s, s:s, s:s, s:[s], s:[s]}", "command", "tool", "executable", "/usr/bin/tool",
			 "project", "/p", "root", "/p", "cwd", "/p", "allow", "api:call=for-this-run", "deny",
			 "api:call=free-but-not-now");
}

/* What sbxd does in its tick: after a failure that leaves open what is on the disk another broker takes over. */
static void revive(struct scene *scene) {
	struct error error = ERROR_NONE;
	if (!store_is_doubtful(scene->broker->store)) return;
	for (int who = 0; who < WHO_COUNT; who++) fd_close(scene->ends[who]);
	broker_free(scene->broker);
	if (story_open(&scene->broker, &error) < 0) {
		COPY(scene->story->why, error.message);
		if (at_end) at_end();
		_exit(0);
	}
	seat(scene);
	for (int who = 0; who < WHO_COUNT; who++) json_decref(ask(scene, (enum who)who, "hello", hello_body()));
	json_decref(ask(scene, AGENT, "agent", json_pack("{s:s}", "kind", "terminal")));
	json_decref(ask(scene, RUNNER, "session-open", session_body()));
}

static void greet(struct scene *scene) {
	for (int who = 0; who < WHO_COUNT; who++)
		conclude(scene, (enum who)who, ask(scene, (enum who)who, "hello", hello_body()));
	conclude(scene, AGENT, ask(scene, AGENT, "agent", json_pack("{s:s}", "kind", "terminal")));
	conclude(scene, RUNNER, ask(scene, RUNNER, "session-open", session_body()));
}

static void tell(struct scene *scene) {
	greet(scene);
	check(scene, "free-1", "by-rule", false);
	check(scene, "never-1", "by-rule-not", false);
	check(scene, "free-but-not-now", "by-run-not", false);
	check(scene, "for-this-run", "by-run", false);
	want(scene);
	int64_t granted = grant(scene, "made-1", "allow", "always");
	check(scene, "made-1", "first-use", false);
	check(scene, "made-1", "second-use", false);
	if (grant(scene, "free-2", "deny", "always"))
		check(scene, "free-2", "denied", false);
	else
		skip(scene);
	grant(scene, "made-once", "allow", "once");
	if (check(scene, "made-once", "once", true) == STORY_ALLOW)
		check(scene, "made-once", "not-twice", false);
	else
		skip(scene);
	prompt(scene, "asked-always", "allow", "always");
	prompt(scene, "asked-once", "allow", "once");
	prompt(scene, "asked-session", "allow", "session");
	prompt(scene, "asked-denied", "deny", "once");
	prompt(scene, "asked-never", "deny", "always");
	for (int i = 0; i < 4; i++) check(scene, "free-3", i % 2 ? "odd" : "even", false);
	if (granted && end_grant(scene, granted))
		check(scene, "made-1", "revoked", false);
	else
		skip(scene);
	grant(scene, "made-2", "allow", "always");
	conclude(scene, COMMAND, ask(scene, COMMAND, "policy", NULL));
	conclude(scene, RUNNER, ask(scene, RUNNER, "session-close", json_pack("{s:i}", "exit", 0)));
}

static void tell_all(void) {
	struct scene scene = {.story = shared, .prompt = json_object()};
	struct error error = ERROR_NONE;
	if (story_open(&scene.broker, &error) < 0) {
		COPY(shared->why, error.message);
		return;
	}
	shared->opened = true;
	seat(&scene);
	tell(&scene);
	if (at_end) at_end();
	broker_free(scene.broker);
}

static int run(void (*prepare)(void *argument), void *argument, void (*body)(void)) {
	int status;
	fflush(NULL);
	pid_t child = fork();
	if (child == 0) {
		/* What it logs of each fault is what a user would read; nobody reads thousands. */
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
		if (!getenv("SBX_FAULT_LOG")) dup2(null, STDERR_FILENO);
		if (prepare) prepare(argument);
		body();
		_exit(0);
	}
	while (waitpid(child, &status, 0) < 0) demand(errno == EINTR, "waitpid");
	return status;
}

int story_tell(void (*prepare)(void *argument), void (*end)(void), void *argument, const struct story **ret_story) {
	memset(shared, 0, sizeof *shared);
	at_end = end;
	*ret_story = shared;
	return run(prepare, argument, tell_all);
}

/* Afterwards */

static const struct story *judged;
static bool judged_power;

static int lose(const char *what, int64_t id) {
	fprintf(stderr, "LOST: %s %lld\n", what, (long long)id);
	return 1;
}

static int64_t query(sqlite3 *db, const char *sql, int64_t id, const char *text) {
	sqlite3_stmt *statement;
	demand(sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK, sqlite3_errmsg(db));
	if (id) sqlite3_bind_int64(statement, 1, id);
	if (text) sqlite3_bind_text(statement, 1, text, -1, SQLITE_STATIC);
	int64_t value = sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : -1;
	sqlite3_finalize(statement);
	return value;
}

static bool contains(const int64_t *ids, size_t count, int64_t id) {
	for (size_t i = 0; i < count; i++)
		if (ids[i] == id) return true;
	return false;
}

static int count_losses(sqlite3 *db) {
	int losses = 0;
	for (size_t i = 0; i < judged->granted_count; i++) {
		int64_t id = judged->granted[i];
		int64_t active = query(db, "SELECT active FROM grants WHERE id = ?1", id, NULL);
		if (active < 0 || (active == 0 && !contains(judged->revoking, judged->revoking_count, id)))
			losses += lose("a grant", id);
	}
	for (size_t i = 0; i < judged->revoked_count; i++)
		if (query(db, "SELECT active FROM grants WHERE id = ?1", judged->revoked[i], NULL) != 0)
			losses += lose("a revocation", judged->revoked[i]);
	for (size_t i = 0; i < judged->allowed_count; i++)
		if ((judged->allowed[i].durable || !judged_power) &&
		    query(db, "SELECT 1 FROM events WHERE verdict = 'allow' AND process = ?1", 0,
			  judged->allowed[i].process) != 1)
			losses += lose(judged->allowed[i].process, -1);
	/* No half of anything: a grant has the event that made it, a session its start, and the reverse. */
	if (query(db,
		  "SELECT count(*) FROM grants g WHERE NOT EXISTS"
		  " (SELECT 1 FROM events e WHERE e.grant_id = g.id AND e.kind IN ('grant', 'answer', "
		  "'session-start'))",
		  0, NULL) != 0)
		losses += lose("grants without an event", 0);
	if (query(db,
		  "SELECT count(*) FROM sessions s WHERE NOT EXISTS"
		  " (SELECT 1 FROM events e WHERE e.session = s.id AND e.kind = 'session-start')",
		  0, NULL) != 0)
		losses += lose("sessions without a start", 0);
	if (query(db, "SELECT count(*) FROM sessions WHERE ended_ms = 0", 0, NULL) != 0) losses += lose("an end", 0);
	return losses;
}

static int verify(struct broker *broker) {
	struct history_check check = {0};
	struct history_walk walk = {0};
	do {
		if (history_verify(broker->history, &walk, check.next, &check, NULL) < 0)
			return lose("verifying", check.next);
		if (check.bad) return lose(check.what, check.bad);
	} while (check.next != 0);
	return 0;
}

static void judge(void) {
	struct broker *broker;
	struct error error = ERROR_NONE;
	if (story_open(&broker, &error) < 0) {
		lose(error.message, 0);
		_exit(1);
	}
	int losses = broker_write_history(broker, &error) < 0 ? lose(error.message, 0) : 0;
	losses += verify(broker);
	losses += count_losses(sqlite3_db_handle(store_statement(broker->store, STORE_STATE_READ)));
	_exit(losses > 0);
}

static void keep_stderr(void *argument) {
	dup2(*(int *)argument, STDERR_FILENO);
}

int story_losses(const struct story *story, bool power) {
	judged = story;
	judged_power = power;
	int own = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	int status = run(keep_stderr, &own, judge);
	fd_close(own);
	return status != 0;
}

int story_wrong_allows(const struct story *story, const struct story *sound) {
	int wrong = 0;
	for (size_t i = 0; i < story->count; i++)
		if (story->steps[i] == STORY_ALLOW && sound->steps[i] != STORY_ALLOW) wrong++;
	return wrong;
}

int story_silences(const struct story *story) {
	int silences = 0;
	for (size_t i = 0; i < story->count; i++) silences += story->steps[i] == STORY_SILENCE;
	return silences;
}

void story_reset(void) {
	static const char *const suffixes[] = {"", "-wal", "-shm", "-journal", "-tail"};
	for (size_t i = 0; i < ARRAY_LENGTH(suffixes); i++) {
		CLEANUP_FREE char *path = string_format("%s%s", database, suffixes[i]);
		demand(unlink(path) == 0 || errno == ENOENT, path);
	}
}

const char *story_database(void) {
	return database;
}

void story_begin(void) {
	if (access("/dev/shm", W_OK) == 0) setenv("TMPDIR", "/dev/shm", 1);
	home_make(NULL);
	home_write(".config/sbx/policy.yaml", policy);
	database = home_path(".local/state/sbx/sbx.db");
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	demand(shared != MAP_FAILED, "mmap");
}

void story_end(void) {
	munmap(shared, sizeof *shared);
	free(database);
	home_remove();
}
