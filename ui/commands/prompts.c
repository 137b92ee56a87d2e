#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/memory.h"
#include "base/text.h"
#include "commands/commands.h"
#include "schema/prompt.h"
#include "ui/broker.h"
#include "ui/human.h"
#include "ui/output.h"
#include "ui/prompt_ending.h"
#include "ui/prompt_text.h"
#include "ui/records.h"
#include "ui/table.h"

struct values {
	bool json, follow;
};

static const struct option_info options[] = {
	{"json", OPTION_FLAG, NULL, "One JSON array; with --follow one object a line (keys: sbx(1), JSON).",
	 offsetof(struct values, json)},
	{"follow", OPTION_FLAG, NULL,
	 "Stay, and show prompts as they come and go. While it stays you count as somebody who can be asked, but not "
	 "while it is "
	 "suspended.",
	 offsetof(struct values, follow)},
};

enum { NARROW_COLUMNS = 70 }; /* below that each prompt is a block: a row has no room for its target */

struct output {
	struct table *table; /* or NULL: blocks, or JSON */
	bool json;
	struct json_list list;
	int64_t now_ms;
	size_t width, count;
};

static void print_block(const struct prompt *prompt, int64_t now_ms, size_t width) {
	CLEANUP_STRING struct string text = {0};
	prompt_describe(prompt, now_ms, width, &text);
	printf("%s  answer   sbx allow %lld   or   sbx deny %lld\n\n", text.data, (long long)prompt->id,
	       (long long)prompt->id);
}

static int each(void *context, const json_t *item, struct error *error) {
	struct output *output = context;
	output->count++;
	if (output->table) return records_prompts.add_row(output->table, item, output->now_ms, error);
	CLEANUP_PROMPT struct prompt prompt = {0};
	int r = prompt_from_json(item, &prompt, error);
	if (r < 0) return r;
	if (!output->json) {
		prompt_shorten(&prompt);
		print_block(&prompt, output->now_ms, output->width);
		return 0;
	}
	prompt.token[0] = '\0';
	json_t *json = prompt_to_json(&prompt);
	json_list_item(&output->list, json);
	json_decref(json);
	return 0;
}

static void print_end(struct output *output) {
	if (output->json) {
		json_list_end(&output->list);
	} else if (output->count == 0) {
		puts(records_prompts.none);
	} else if (output->table) {
		table_print(output->table, stdout, output->width, true);
		puts("\nAnswer with: sbx allow ID, sbx deny ID");
	}
}

static int list(bool json, struct error *error) {
	CLEANUP_CHANNEL struct channel *channel = NULL;
	CLEANUP_TABLE struct table *table = records_table(&records_prompts);
	struct output output = {.json = json,
				.list = {.out = stdout},
				.now_ms = clock_ms(CLOCK_REALTIME),
				.width = terminal_width(stdout)};
	if (!json && (output.width == 0 || output.width >= NARROW_COLUMNS)) output.table = table;
	struct listing listing = {.what = records_prompts.what, .each = each, .context = &output};
	int r = broker_connect(NULL, &channel, error);
	if (r == 0) r = broker_list(channel, &listing, error);
	if (r < 0) return r;
	print_end(&output);
	return EXIT_DONE;
}

/* A push without its envelope. */
static json_t *push_body(const json_t *push) {
	json_t *body = json_copy((json_t *)push);
	json_object_del(body, "type");
	return body;
}

static int show_prompt(const json_t *push, bool json, struct error *error) {
	CLEANUP_PROMPT struct prompt prompt = {0};
	json_t *body = push_body(push);
	int r = prompt_from_json(body, &prompt, error);
	json_decref(body);
	if (r < 0) return r;
	if (json) {
		prompt.token[0] = '\0';
		json_t *line = prompt_to_json(&prompt);
		json_line(stdout, line);
		json_decref(line);
		return 0;
	}
	const size_t width = terminal_width(stdout);
	print_block(&prompt, clock_ms(CLOCK_REALTIME), width ? width : 80);
	return 0;
}

static int show_gone(const json_t *push, bool json) {
	if (json) {
		json_t *body = push_body(push);
		json_line(stdout, body);
		json_decref(body);
		return 0;
	}
	CLEANUP_FREE char *ending = prompt_ending(push);
	printf("prompt %lld is settled: %s\n\n", (long long)json_integer_value(json_object_get(push, "id")), ending);
	return 0;
}

struct following {
	struct channel *channel;
	int stops; /* readable when we are to stop, as by ^Z */
	bool json;
};

static int become_agent(struct following *following, struct error *error) {
	json_t *reply = NULL;
	int r = broker_connect(NULL, &following->channel, error);
	if (r == 0)
		r = channel_call(following->channel, "agent", json_pack("{s:s, s:n}", "kind", "terminal", "session"),
				 &reply, error);
	json_decref(reply);
	return r;
}

static void stop_set(sigset_t *ret_set) {
	sigemptyset(ret_set);
	sigaddset(ret_set, SIGTSTP);
}

static int open_stops(struct error *error) {
	sigset_t stop;
	stop_set(&stop);
	sigprocmask(SIG_BLOCK, &stop, NULL);
	const int fd = signalfd(-1, &stop, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? error_errno(error, "waiting for signals") : fd;
}

/* Who is stopped can't be asked: it hangs up before, and is told again afterwards of what waits then. */
static int rest(struct following *following, struct error *error) {
	sigset_t stop;
	stop_set(&stop);
	channel_free(following->channel);
	following->channel = NULL;
	sigprocmask(SIG_UNBLOCK, &stop, NULL); /* the signal is still there: we stop here */
	sigprocmask(SIG_BLOCK, &stop, NULL);
	return become_agent(following, error);
}

static int show_push(const json_t *push, bool json, struct error *error) {
	const char *type = json_string_value(json_object_get(push, "type"));
	if (string_equal(type, "prompt")) return show_prompt(push, json, error);
	return string_equal(type, "prompt-gone") ? show_gone(push, json) : 0;
}

/* All that has come. */
static int show_pushes(const struct following *following, struct error *error) {
	for (;;) {
		json_t *push = NULL;
		int r = channel_receive(following->channel, false, &push, error);
		if (r == -EAGAIN) return 0;
		if (r == 0) r = show_push(push, following->json, error);
		json_decref(push);
		if (r == 0 && ferror(stdout)) return EXIT_NO;
		if (r != 0) return r;
	}
}

static int follow_until_lost(struct following *following, struct error *error) {
	int r = become_agent(following, error);
	while (r == 0) {
		r = show_pushes(following, error);
		if (r != 0) return r;
		if (fflush(stdout) != 0) return EXIT_NO;
		struct pollfd fds[] = {{.fd = following->stops, .events = POLLIN},
				       {.fd = channel_fd(following->channel), .events = POLLIN}};
		if (poll(fds, ARRAY_LENGTH(fds), -1) > 0 && fds[0].revents) r = rest(following, error);
	}
	return r;
}

static int follow(bool json, struct error *error) {
	CLEANUP_FD int stops = open_stops(error);
	if (stops < 0) return stops;
	struct following following = {.stops = stops, .json = json};
	int r = follow_until_lost(&following, error);
	channel_free(following.channel);
	return r;
}

static int run(struct command_call *call, struct error *error) {
	const struct values *values = call->values;
	return values->follow ? follow(values->json, error) : list(values->json, error);
}

const struct command command_prompts = {
	.name = "prompts",
	.operands = "",
	.summary = "List what waits for your answer.",
	.options = OPTION_TABLE(options),
	.values_size = sizeof(struct values),
	.refuses_root = true,
	.run = run,
};
