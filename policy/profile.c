/* What a profile says. */
#include <arpa/inet.h>
#include <limits.h>
#include <string.h>

#include "base/text.h"
#include "item.h"
#include "keys.h"
#include "schema/host.h"
#include "schema/limits.h"

static void read_commands(struct reader *reader, const struct node *value) {
	static const char what[] = "a command's name such as npm, without a folder";
	if (!reader_is(reader, value, NODE_LIST, "a list of commands such as [npm, npx]") ||
	    !reader_fits(reader, value, LIMIT_COMMANDS))
		return;
	for (size_t i = 0; i < value->count; i++) {
		const struct node *node = value->items[i];
		const char *text = reader_text(reader, node, what);
		if (!text) continue;
		SHOWN(shown, text);
		if (strchr(text, '/') || strlen(text) > NAME_MAX) {
			problems_add(reader->problems, node->place, "\"%s\", expected %s", shown, what);
			continue;
		}
		for (size_t k = 0; k < reader->document->profile_count; k++) {
			const struct profile *other = &reader->document->profiles[k];
			const struct name *same = names_find(&other->commands, text);
			if (same)
				problems_add(reader->problems, node->place,
					     "\"%s\" picks the profile %s already (line %u), expected one profile for "
					     "a command",
					     shown, other->name, same->place.line);
		}
		names_add(&reader->profile->commands, text, node->place);
	}
}

static void read_extends(struct reader *reader, const struct node *value) {
	if (!reader_is(reader, value, NODE_LIST, "a list of profiles such as [base]") ||
	    !reader_fits(reader, value, LIMIT_EXTENDS))
		return;
	for (size_t i = 0; i < value->count; i++) {
		const char *text = reader_text(reader, value->items[i], "a profile's name such as base");
		if (text) names_add(&reader->profile->extends, text, value->items[i]->place);
	}
}

static void read_allow(struct reader *reader, const struct node *value) {
	rules_read(reader, EFFECT_ALLOW, value);
}

static void read_ask(struct reader *reader, const struct node *value) {
	rules_read(reader, EFFECT_ASK, value);
}

static void read_deny(struct reader *reader, const struct node *value) {
	rules_read(reader, EFFECT_DENY, value);
}

static bool is_variable(const char *name) {
	static const char characters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
	size_t size = strlen(name);
	return size > 0 && strspn(name, characters) == size && (name[0] < '0' || name[0] > '9');
}

static void read_env(struct reader *reader, const struct node *value) {
	if (!reader_is(reader, value, NODE_MAP, "a map of variables such as {CI: \"1\"}") ||
	    !reader_fits(reader, value, LIMIT_ENVIRONMENT))
		return;
	for (size_t i = 0; i < value->count; i++) {
		const struct node *key = value->keys[i], *item = value->items[i];
		if (!is_variable(key->text)) {
			SHOWN(shown, key->text);
			problems_add(reader->problems, key->place,
				     "\"%s\", expected the name of a variable: letters, digits and _", shown);
		} else if (item->kind == NODE_TEXT) {
			pairs_add(&reader->profile->set, key->text, item->text); /* "" is a value */
		} else {
			reader_text(reader, item, "the variable's value as text");
		}
	}
}

static void read_hosts(struct reader *reader, const struct node *value) {
	if (!reader_is(reader, value, NODE_MAP, "a map of names such as {registry.test: 127.0.0.1}") ||
	    !reader_fits(reader, value, LIMIT_ENVIRONMENT))
		return;
	for (size_t i = 0; i < value->count; i++) {
		const struct node *key = value->keys[i], *item = value->items[i];
		struct host host;
		SHOWN(shown, key->text);
		if (host_parse(key->text, strlen(key->text), &host, NULL) < 0 || host.class != HOST_NAME) {
			problems_add(reader->problems, key->place,
				     "\"%s\", expected a host's name such as registry.test", shown);
			continue;
		}
		const char *text = reader_text(reader, item, "an address such as 127.0.0.1 or \"::1\"");
		unsigned char bytes[16];
		char address[INET6_ADDRSTRLEN];
		if (!text) continue;
		int family = strchr(text, ':') ? AF_INET6 : AF_INET;
		if (inet_pton(family, text, bytes) != 1) {
			SHOWN(shown_address, text);
			problems_add(reader->problems, item->place,
				     "\"%s\", expected an address such as 127.0.0.1 or \"::1\"", shown_address);
			continue;
		}
		inet_ntop(family, bytes, address, sizeof address);
		pairs_add(&reader->profile->hosts, host.name, address);
	}
}

/* "512M" */
static void read_memory(struct reader *reader, const struct node *value) {
	static const char units[] = "KMGT", what[] = "a size such as 512M or 4G";
	unsigned long long count = 0;
	if (!reader_is(reader, value, NODE_TEXT, what)) return;
	size_t digits = strspn(value->text, "0123456789");
	CLEANUP_FREE char *number = string_copy_bytes(value->text, digits);
	const char *unit = value->text[digits] ? strchr(units, value->text[digits]) : NULL;
	int64_t bytes = 0;
	bool good = unit && value->text[digits + 1] == '\0' && value->text[0] != '0' &&
		    string_to_u64(number, &count) == 0 && count <= INT64_MAX &&
		    !__builtin_mul_overflow((int64_t)count, INT64_C(1) << (10 * (unit - units + 1)), &bytes);
	SHOWN(shown, value->text);
	if (!good) problems_add(reader->problems, value->place, "\"%s\", expected %s", shown, what);
	reader->profile->limits.memory = bytes;
}

static void read_processes(struct reader *reader, const struct node *value) {
	reader_count(reader, value, &reader->profile->limits.processes);
}

static void read_open_files(struct reader *reader, const struct node *value) {
	reader_count(reader, value, &reader->profile->limits.open_files);
}

static void read_cpu_time(struct reader *reader, const struct node *value) {
	reader_duration(reader, value, &reader->profile->limits.cpu_time_ms);
}

static void read_kernel_aio(struct reader *reader, const struct node *value) {
	reader_bool(reader, value, &reader->profile->limits.kernel_aio);
}

static const struct key limits_items[] = {
	{"memory", read_memory, 0, false},         {"processes", read_processes, 0, false},
	{"open-files", read_open_files, 0, false}, {"cpu-time", read_cpu_time, 0, false},
	{"kernel-aio", read_kernel_aio, 0, false},
};
const struct keys limits_keys = {"limits", limits_items, ARRAY_LENGTH(limits_items)};

static void read_limits(struct reader *reader, const struct node *value) {
	keys_read(reader, &limits_keys, value);
}

static void read_home(struct reader *reader, const struct node *value) {
	enum view_home home;
	static const char what[] = "own, project, ephemeral or hidden";
	const char *text = reader_text(reader, value, what);
	if (!text) return;
	if (view_home_parse(text, &home, NULL) == 0) {
		reader->profile->home = (int)home;
		return;
	}
	SHOWN(shown, text);
	problems_add(reader->problems, value->place, "\"%s\", expected %s", shown, what);
}

static void read_network(struct reader *reader, const struct node *value) {
	enum view_network network;
	static const char what[] = "native, proxy, none or host";
	const char *text = reader_text(reader, value, what);
	if (!text) return;
	SHOWN(shown, text);
	if (view_network_parse(text, &network, NULL) < 0)
		problems_add(reader->problems, value->place, "\"%s\", expected %s", shown, what);
	else if (network == VIEW_NETWORK_HOST && reader->document->layer == POLICY_LAYER_PROJECT)
		problems_add(reader->problems, value->place,
			     "\"host\" can't be set by a project's file, expected native, proxy or none");
	else
		reader->profile->network = (int)network;
}

static void read_doorbell(struct reader *reader, const struct node *value) {
	enum view_doorbell doorbell;
	static const char what[] = "auto, traps or none";
	const char *text = reader_text(reader, value, what);
	if (!text) return;
	if (view_doorbell_parse(text, &doorbell, NULL) == 0) {
		reader->profile->doorbell = (int)doorbell;
		return;
	}
	SHOWN(shown, text);
	problems_add(reader->problems, value->place, "\"%s\", expected %s", shown, what);
}

static void read_upstream(struct reader *reader, const struct node *value) {
	reader_upstream(reader, value, &reader->profile->upstream);
}

static const struct key profile_items[] = {
	{"commands", read_commands, 0, false},
	{"extends", read_extends, 0, false},
	{"allow", read_allow, 0, false},
	{"ask", read_ask, 0, false},
	{"deny", read_deny, 0, false},
	{"env", read_env, 0, false},
	{"hosts", read_hosts, NOT_PROJECT, false},
	{"limits", read_limits, 0, false},
	{"home", read_home, 0, false},
	{"network", read_network, 0, false},
	{"doorbell", read_doorbell, 0, false},
	{"upstream", read_upstream, NOT_PROJECT, false},
};
const struct keys profile_keys = {"a profile", profile_items, ARRAY_LENGTH(profile_items)};
