/*
 * Lines "N MESSAGE" to a broker: N is who says it: 0 a session's runner, 1 a terminal that answers prompts, others a
 * client that has said nothing yet. What must hold: whoever says something malformed is closed, and nothing else is;
 * no message gets two replies; nothing is allowed but by a rule or a grant; queues and prompts stay within their
 * bounds.
 */
#include <string.h>

#include "base/fd.h"
#include "fixture.h"
#include "fuzz.h"
#include "handlers/dispatch.h"
#include "prompts/prompts.h"
#include "schema/limits.h"
#include "schema/message.h"

enum { RUNNER, AGENT, STRANGER, CLIENT_COUNT, LINES_MAX = 64 };

struct speaker {
	struct client *client; /* borrowed; NULL once it has been closed */
	int end;
	size_t said, replies;
};

static const char hello[] = "{\"type\":\"hello\",\"id\":1,\"protocol\":7,\"version\":\"f\"}";
static const char open_session[] =
	"{\"type\":\"session-open\",\"id\":2,\"command\":[\"tool\"],\"executable\":\"/usr/"
	"bin/tool\",\"project\":\"/p\","
	"\"root\":\"/p\",\"cwd\":\"/p\",\"environment\":[\"TERM\"],\"policy\":\"version: 1\\n"
	"profiles: {default: {ask: {fs:read: [/w/a, /w/b], env:read: [W]}}}\"}";
static const char agent[] = "{\"type\":\"agent\",\"id\":2,\"kind\":\"terminal\",\"session\":null}";

static void check_verdict(const json_t *verdict) {
	const char *effect = json_string_value(json_object_get(verdict, "effect"));
	if (!effect || strcmp(effect, "allow") != 0) return;
	demand(json_is_string(json_object_get(verdict, "rule")) || json_is_integer(json_object_get(verdict, "grant")) ||
		       json_is_integer(json_object_get(verdict, "prompt")) ||
		       json_is_true(json_object_get(verdict, "once")),
	       "allowed by nothing");
}

static void check_reply(struct speaker *speaker, const json_t *reply) {
	enum message_type type;
	const char *name = json_string_value(json_object_get(reply, "type"));
	const char *text = json_string_value(json_object_get(reply, "message"));
	demand(name && message_type_parse(name, &type, NULL) == 0, "a message of no type");
	if (message_info(type)->flow == MESSAGE_PUSH) return;
	demand(++speaker->replies <= speaker->said, "%zu replies to %zu requests", speaker->replies, speaker->said);
	check_verdict(json_object_get(reply, "verdict"));
	if (type == MESSAGE_ERROR && string_starts(text, "malformed message"))
		demand(speaker->client->leaving || speaker->client->dead, "'%s', and it goes on", text);
}

static void hear(struct speaker speakers[CLIENT_COUNT]) {
	for (int i = 0; i < CLIENT_COUNT; i++) {
		json_t *reply;
		while (speakers[i].client && (reply = fixture_receive(speakers[i].end))) {
			check_reply(&speakers[i], reply);
			json_decref(reply);
		}
	}
}

static void check_bounds(const struct broker *broker, const struct speaker speakers[CLIENT_COUNT]) {
	demand(broker->prompt_count <= LIMIT_PROMPTS, "%zu prompts", broker->prompt_count);
	demand(broker->session_count <= CLIENT_COUNT, "%zu sessions", broker->session_count);
	for (int i = 0; i < CLIENT_COUNT; i++) {
		const struct client *client = speakers[i].client;
		if (!client) continue;
		demand(client->queued <= LIMIT_QUEUE + LIMIT_MESSAGE, "%zu bytes wait", client->queued);
		demand(client->pending <= LIMIT_PENDING, "%zu checks wait", client->pending);
	}
}

static void say(struct speaker *speaker, const char *bytes, size_t size) {
	if (!speaker->client || speaker->client->leaving || speaker->client->dead) return;
	speaker->said++;
	dispatch(speaker->client, bytes, size);
}

/* Who is dead is freed in the broker's turn. */
static bool is_there(const struct broker *broker, const struct client *client) {
	const struct client *other;
	TAILQ_FOREACH(other, &broker->clients, link) {
		if (other == client) return true;
	}
	return false;
}

static void take_turn(struct broker *broker, struct speaker speakers[CLIENT_COUNT]) {
	hear(speakers);
	fixture_turn(broker);
	for (int i = 0; i < CLIENT_COUNT; i++)
		if (!is_there(broker, speakers[i].client)) speakers[i].client = NULL;
	check_bounds(broker, speakers);
}

/* A new one for each input takes most of the time, so a search does with one for many: what it finds may have its cause
 * in an input before. */
#ifdef SBX_FUZZ
enum { INPUTS_EACH = 200 };
#else
enum { INPUTS_EACH = 1 };
#endif

static struct broker *the_broker;

static void end_broker(void) {
	fixture_free(the_broker);
}

static struct broker *take_broker(void) {
	static int inputs;
	if (!the_broker) {
		the_broker = fixture_new();
		atexit(end_broker);
	} else if (++inputs % INPUTS_EACH == 0) {
		fixture_free(the_broker);
		the_broker = fixture_new();
	}
	return the_broker;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	struct speaker speakers[CLIENT_COUNT] = {0};
	struct broker *broker = take_broker();
	for (int i = 0; i < CLIENT_COUNT; i++) speakers[i].client = fixture_client(broker, &speakers[i].end);
	say(&speakers[RUNNER], hello, strlen(hello));
	say(&speakers[RUNNER], open_session, strlen(open_session));
	say(&speakers[AGENT], hello, strlen(hello));
	say(&speakers[AGENT], agent, strlen(agent));
	for (int i = 0; i < LINES_MAX && size > 0; i++) {
		/* Not fuzz_line: a NUL in a message is the message's. */
		const uint8_t *end = memchr(data, '\n', size);
		size_t length = end ? (size_t)(end - data) : size;
		CLEANUP_FREE char *line = mem_copy(data, length);
		if (length > 2) {
			int who = line[0] >= '0' && line[0] < '0' + STRANGER ? line[0] - '0' : STRANGER;
			say(&speakers[who], line + 2, length - 2);
			take_turn(broker, speakers);
		}
		data += end ? length + 1 : length;
		size -= end ? length + 1 : length;
	}
	take_turn(broker, speakers);
	for (int i = 0; i < CLIENT_COUNT; i++) fd_close(speakers[i].end);
	/* Once to see that they have gone, once to forget them. */
	for (int i = 0; i < 2; i++) fixture_turn(broker);
	demand(broker->client_count == 0, "%zu clients stay", broker->client_count);
	return 0;
}
