/*
 * Theory of operation.
 *
 * Leaking buckets of a session (the generic cell rate algorithm of ITU-T I.371: all that is kept is when the bucket
 * will be empty). A question fills the one, LIMIT_QUESTION_MS empty it by one, and one that the user allows is taken
 * out again: so a tool whose questions are answered with yes asks as long as it likes, and no honest one has
 * LIMIT_QUESTIONS open or denied within minutes. Time is the boot clock's; nothing of this outlives sbxd.
 *
 * Two more bound its rows: of denials, and of what its runner tells of; what is past them is counted, and written as
 * one row a second. An allow can't be counted so: it must have its row before it is answered, and a row that tells how
 * many there were can be written only after them. So past LIMIT_ALLOWS an allow is a denial.
 *
 * When the bucket of questions is full the session floods: its open questions are taken down (prompts_recheck walks the
 * stack for them, and `flood` denies), and one summary takes their place. Yes to it: the bucket is empty. No: silence
 * till the session's end; who has no session shares one bucket, and for them it ends after LIMIT_SILENCE_MS. No answer:
 * the flood stays, and the summary comes again with a question after LIMIT_FLOOD_MS.
 */
#include "flood.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/string.h"
#include "base/text.h"
#include "core/broker.h"
#include "schema/limits.h"
#include "schema/verdict.h"
#include "session.h"

enum flood_state { FLOOD_NONE, FLOOD_RISING, FLOOD_SILENT };

struct bucket {
	int64_t empty_ms; /* by the boot clock, as all times here but one */
};

/* Rows that were not written. */
struct together {
	int64_t count, since_ms; /* wall clock */
};

struct flood {
	struct bucket questions, denials, allows, told, findings;
	int64_t since_ms; /* when the first of the questions was put */
	enum flood_state state;
	char *why;                                  /* unless FLOOD_NONE: the sentence that verdicts carry */
	int64_t shown_ms;                           /* when the summary was shown last; 0 = not yet */
	int64_t until_ms;                           /* the end of FLOOD_SILENT; 0 = with the session */
	struct together together[EVENT_KIND_COUNT]; /* decisions: denials */
};

struct flood *flood_new(void) {
	return mem_new(struct flood);
}

void flood_free(struct flood *flood) {
	if (!flood) return;
	free(flood->why);
	free(flood);
}

static struct flood *flood_of(const struct broker *broker, const struct session *session) {
	return session ? session->flood : broker->flood;
}

static int64_t boot_now(const struct broker *broker) {
	struct moment now;
	clock_read(broker->clock, &now);
	return now.boot_ms;
}

/* One more, when fewer than `most` are in it. */
static bool bucket_fill(struct bucket *bucket, int64_t now_ms, int64_t each_ms, int64_t most) {
	if (bucket->empty_ms < now_ms) bucket->empty_ms = now_ms;
	if (bucket->empty_ms - now_ms > (most - 1) * each_ms) return false;
	bucket->empty_ms += each_ms;
	return true;
}

static void calm(struct flood *flood) {
	free(flood->why);
	flood->why = NULL;
	flood->state = FLOOD_NONE;
	flood->questions.empty_ms = 0;
}

const char *flood_reason(struct broker *broker, const struct session *session) {
	struct flood *flood = flood_of(broker, session);
	if (flood->state == FLOOD_SILENT && flood->until_ms != 0 && boot_now(broker) >= flood->until_ms) calm(flood);
	return flood->why;
}

static char *describe(const struct broker *broker, const struct request *request, int64_t within_ms) {
	CLEANUP_FREE char *within = duration_format((within_ms / 1000 + 1) * 1000);
	if (request->session == 0)
		return string_format("commands outside of a sandbox have asked for %d different things within %s; "
				     "such questions are denied",
				     LIMIT_QUESTIONS, within);
	const char *home = broker->places.home, *project = request->subject.project;
	bool in_home = string_starts(project, home) && project[strlen(home)] == '/';
	CLEANUP_FREE char *place = in_home ? string_format("~%s", project + strlen(home)) : string_copy(project);
	CLEANUP_FREE char *shown = text_visible_cut(place, 120);
	return string_format("%s in %s has asked for %d different things within %s; its questions are denied",
			     request->subject.profile, shown, LIMIT_QUESTIONS, within);
}

bool flood_question(struct broker *broker, const struct session *session, const struct request *request, size_t open) {
	struct flood *flood = flood_of(broker, session);
	int64_t now_ms = boot_now(broker);
	if (flood->questions.empty_ms <= now_ms) flood->since_ms = now_ms;
	if (open < LIMIT_QUESTIONS && bucket_fill(&flood->questions, now_ms, LIMIT_QUESTION_MS, LIMIT_QUESTIONS))
		return true;
	free(flood->why);
	flood->why = describe(broker, request, now_ms - flood->since_ms);
	flood->state = FLOOD_RISING;
	flood->shown_ms = 0;
	return false;
}

void flood_allowed(struct broker *broker, const struct session *session) {
	flood_of(broker, session)->questions.empty_ms -= LIMIT_QUESTION_MS;
}

bool flood_wants_summary(struct broker *broker, const struct session *session) {
	struct flood *flood = flood_of(broker, session);
	int64_t now_ms = boot_now(broker);
	if (flood->state != FLOOD_RISING || (flood->shown_ms != 0 && now_ms - flood->shown_ms < LIMIT_FLOOD_MS))
		return false;
	flood->shown_ms = now_ms;
	return true;
}

void flood_answer(struct broker *broker, const struct session *session, bool allowed, int64_t prompt) {
	struct flood *flood = flood_of(broker, session);
	calm(flood);
	if (allowed) return;
	flood->state = FLOOD_SILENT;
	flood->until_ms = session ? 0 : boot_now(broker) + LIMIT_SILENCE_MS;
	flood->why =
		string_format("it asked too much, and you denied that it asks on (prompt %lld)", (long long)prompt);
}

/* Rows */

bool flood_allow(struct broker *broker, const struct session *session) {
	return !session || bucket_fill(&session->flood->allows, boot_now(broker), LIMIT_ALLOW_MS, LIMIT_ALLOWS);
}

static void count_together(struct broker *broker, struct flood *flood, enum event_kind kind) {
	struct together *together = &flood->together[kind];
	if (together->count++ == 0) together->since_ms = broker_now_ms(broker);
}

bool flood_told(struct broker *broker, const struct session *session, enum event_kind kind) {
	/* A tool that connects until its rows are counted together can't have what came of its run counted so, too. */
	struct flood *flood = session->flood;
	struct bucket *bucket = kind == EVENT_FINDING ? &flood->findings : &flood->told;
	if (bucket_fill(bucket, boot_now(broker), LIMIT_ALLOW_MS, LIMIT_ALLOWS)) return true;
	count_together(broker, flood, kind);
	return false;
}

bool flood_denial(struct broker *broker, const struct session *session) {
	struct flood *flood = flood_of(broker, session);
	if (bucket_fill(&flood->denials, boot_now(broker), LIMIT_DENIAL_MS, LIMIT_DENIALS)) return true;
	count_together(broker, flood, EVENT_DECISION);
	return false;
}

static int write_together(struct broker *broker, const struct session *session, enum event_kind kind,
			  const struct together *together, struct error *error) {
	bool denials = kind == EVENT_DECISION;
	char since[CLOCK_STAMP_SIZE];
	stamp_format(together->since_ms, since);
	/* Borrowed: broker_record frees only the detail. */
	struct event event = {.kind = kind,
			      .session = session ? session->record.id : 0,
			      .profile = session ? session->subject.profile : NULL,
			      .project = session ? session->subject.project : NULL,
			      .verdict = denials ? EFFECT_DENY : -1,
			      .by = denials ? (char *)"flood" : NULL,
			      .why = denials ? (char *)"too many denials: these are recorded together"
					     : (char *)"too many of them: these are recorded together",
			      .detail = json_object()};
	json_object_set_new(event.detail, "count", json_integer(together->count));
	json_object_set_new(event.detail, "since", json_string(since));
	int r = broker_begin(broker, STORE_NORMAL, error);
	if (r < 0) {
		json_decref(event.detail);
		return r;
	}
	r = broker_record(broker, &event, error);
	if (r == 0) return broker_commit(broker, error);
	broker_rollback(broker);
	return r;
}

void flood_flush(struct broker *broker, const struct session *session) {
	struct flood *flood = flood_of(broker, session);
	for (int kind = 0; kind < EVENT_KIND_COUNT; kind++) {
		struct together *together = &flood->together[kind];
		struct error error = ERROR_NONE;
		if (together->count == 0) continue;
		if (write_together(broker, session, (enum event_kind)kind, together, &error) < 0)
			log_error("recording %lld rows together: %s", (long long)together->count, error.message);
		else
			together->count = 0;
	}
}
