#include "publishing.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/string.h"
#include "core/broker.h"
#include "endings/endings.h"
#include "grants/granting.h"
#include "prompts.h"
#include "schema/limits.h"
#include "sessions/session.h"
#include "sessions/session_tell.h"
#include "wire/client.h"

struct publishing {
	TAILQ_ENTRY(publishing) link;
	struct broker *broker;
	struct publication publication;
	struct grant grant;
	int64_t number, session;
	struct client *client; /* who waits; NULL: it has gone */
	int64_t id;
	struct event *deadline;
};

static void publishing_free(struct publishing *publishing) {
	TAILQ_REMOVE(&publishing->broker->publishings, publishing, link);
	event_free(publishing->deadline);
	grant_finish(&publishing->grant);
	free(publishing);
}

static struct publishing *find(const struct broker *broker, int64_t session, int64_t number) {
	struct publishing *publishing;
	TAILQ_FOREACH(publishing, &broker->publishings, link) {
		if (publishing->session == session && publishing->number == number) return publishing;
	}
	return NULL;
}

/* What was granted for it ends with it. */
static void take_back(struct broker *broker, int64_t grant) {
	const struct ending_wish wish = {.mass = {.what = GRANT_MASS_LISTED, .ids = &grant, .id_count = 1},
					 .kind = EVENT_REVOKE,
					 .why = "the port could not be published"};
	struct error error = ERROR_NONE;
	if (endings_start(broker, &wish, &error) < 0) log_error("taking a grant back: %s", error.message);
}

static void fail(struct publishing *publishing, const struct error *error) {
	struct broker *broker = publishing->broker;
	const int64_t grant = publishing->grant.id;
	if (publishing->client) client_reply_error(publishing->client, publishing->id, error);
	publishing_free(publishing);
	take_back(broker, grant);
}

static void on_deadline(evutil_socket_t fd, short what, void *argument) {
	(void)fd;
	(void)what;
	struct publishing *publishing = argument;
	struct error error = ERROR_NONE;
	error_set(&error, ETIMEDOUT, "session %lld doesn't answer (is it stopped?): port %u is not published",
		  (long long)publishing->session, publishing->publication.port);
	fail(publishing, &error);
}

static void tell_runner(const struct session *session, const struct publishing *publishing) {
	json_t *push = json_object();
	json_object_set_new(push, "session", json_integer(session->record.id));
	json_object_set_new(push, "number", json_integer(publishing->number));
	json_object_set_new(push, "port", json_integer(publishing->publication.port));
	json_object_set_new(push, "host_port", json_integer(publishing->publication.host_port));
	json_object_set_new(push, "grant", json_integer(publishing->grant.id));
	client_push(session->client, "publishing", push);
}

/* The grant is the one that it is given: the runner is told when it is there. */
static void add(struct session *session, const struct publishing_wish *wish, struct grant *grant) {
	const struct timeval wait = clock_timeval(LIMIT_PUBLISH_MS);
	struct broker *broker = session->broker;
	struct publishing *publishing = mem_new(struct publishing);
	*publishing = (struct publishing){.broker = broker,
					  .publication = wish->publication,
					  .grant = *grant,
					  .number = ++broker->last_publishing,
					  .session = session->record.id,
					  .client = wish->client,
					  .id = wish->id};
	*grant = (struct grant){0};
	publishing->deadline = evtimer_new(broker->base, on_deadline, publishing);
	if (!publishing->deadline) mem_exhausted();
	event_add(publishing->deadline, &wait);
	TAILQ_INSERT_TAIL(&broker->publishings, publishing, link);
	tell_runner(session, publishing);
}

int publishing_start(struct session *session, const struct publishing_wish *wish, struct error *error) {
	static const struct pattern_scope nowhere = {.home = NULL}; /* a port means the same everywhere */
	CLEANUP_FREE char *target = string_format("%u", wish->publication.port);
	const struct granting granting = {.permission = permission_of(PERMISSION_NET_LISTEN),
					  .target = target,
					  .effect = EFFECT_ALLOW,
					  .profile = session->subject.profile,
					  .project = session->subject.project,
					  .session = session->record.id,
					  .lifetime = wish->ttl_ms > 0 ? LIFETIME_UNTIL : LIFETIME_SESSION,
					  .ttl_ms = wish->ttl_ms,
					  .origin = GRANT_ORIGIN_CLI,
					  .reason = "sbx publish"};
	CLEANUP_PATTERN struct pattern *pattern = NULL;
	CLEANUP_GRANT struct grant grant = {0};
	int r = granting_compile(session->broker, &granting, &nowhere, session->ruleset, &pattern, error);
	if (r == 0) r = granting_make(session->broker, &granting, pattern, &grant, error);
	if (r < 0) return r;
	session_tell_new(session, &grant, NULL);
	prompts_recheck(session->broker);
	add(session, wish, &grant);
	return 0;
}

void publishing_settled(const struct session *session, int64_t number, uint16_t host_port, const char *failed) {
	struct publishing *publishing = find(session->broker, session->record.id, number);
	if (!publishing) return;
	if (failed) {
		struct error error = ERROR_NONE;
		error_set(&error, EADDRINUSE, "%s", failed);
		fail(publishing, &error);
		return;
	}
	if (publishing->client) {
		json_t *reply = json_object();
		json_object_set_new(reply, "grant", grant_to_json(&publishing->grant));
		json_object_set_new(reply, "port", json_integer(publishing->publication.port));
		json_object_set_new(reply, "host_port", json_integer(host_port));
		client_reply(publishing->client, "publish", publishing->id, reply);
	}
	publishing_free(publishing);
}

/* Its grants end with it. */
void publishings_forget_session(struct broker *broker, const struct session *session) {
	for (struct publishing *publishing = TAILQ_FIRST(&broker->publishings), *next; publishing; publishing = next) {
		struct error error = ERROR_NONE;
		next = TAILQ_NEXT(publishing, link);
		if (publishing->session != session->record.id) continue;
		error_set(&error, ESRCH, "session %lld has ended", (long long)publishing->session);
		if (publishing->client) client_reply_error(publishing->client, publishing->id, &error);
		publishing_free(publishing);
	}
}

void publishings_forget_client(struct broker *broker, const struct client *client) {
	struct publishing *publishing;
	TAILQ_FOREACH(publishing, &broker->publishings, link) {
		if (publishing->client == client) publishing->client = NULL;
	}
}

void publishings_free(struct broker *broker) {
	for (struct publishing *publishing = TAILQ_FIRST(&broker->publishings), *next; publishing; publishing = next) {
		next = TAILQ_NEXT(publishing, link);
		publishing_free(publishing);
	}
}
