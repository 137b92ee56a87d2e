#include "environment.h"

#include <fnmatch.h>
#include <string.h>

#define PROXY_HTTP  "http://127.0.0.1:61080"
#define PROXY_SOCKS "socks5h://127.0.0.1:61080"
#define PROXY_NOT   "localhost,127.0.0.1,::1"
_Static_assert(ENVIRONMENT_PROXY_PORT == 61080, "the port in the addresses above");

static const struct {
	const char *name, *value;
} proxies[] = {
	{"HTTP_PROXY", PROXY_HTTP},  {"http_proxy", PROXY_HTTP},  {"HTTPS_PROXY", PROXY_HTTP},
	{"https_proxy", PROXY_HTTP}, {"ALL_PROXY", PROXY_SOCKS},  {"all_proxy", PROXY_SOCKS},
	{"NO_PROXY", PROXY_NOT},     {"no_proxy", PROXY_NOT},     {"FTP_PROXY", NULL},
	{"ftp_proxy", NULL},         {"NODE_USE_ENV_PROXY", "1"}, /* node's own fetch follows the others only with this,
								     since 22.21 and 24 */
};

/* Names that a tool may well be looking for when it finds nothing: keys, tokens, where a service is. The rest of what
 * shells and desktops leave lying about is not worth a line in every run. */
static const char *const wanted[] = {
	"*_API_KEY",     "*_APIKEY",   "*_TOKEN",     "*_ACCESS_KEY", "*_ACCESS_KEY_ID", "*_SECRET",     "*_SECRET_KEY",
	"*_CREDENTIALS", "*_PASSWORD", "*_API_BASE",  "*_BASE_URL",   "*_API_URL",       "DATABASE_URL", "AWS_PROFILE",
	"KUBECONFIG",    "OPENAI_*",   "ANTHROPIC_*", "GEMINI_*",     "OLLAMA_*",        "AIDER_*",
};

static bool has_name(const char *entry, const char *name) {
	size_t size = strlen(name);
	return strncmp(entry, name, size) == 0 && entry[size] == '=';
}

static bool is_proxy(const char *name) {
	for (size_t i = 0; i < ARRAY_LENGTH(proxies); i++)
		if (string_equal(proxies[i].name, name)) return true;
	return false;
}

/* Sets or replaces. */
static void set(struct strings *environment, const char *name, const char *value) {
	char *entry = string_format("%s=%s", name, value);
	for (size_t i = 0; i < environment->count; i++) {
		if (!has_name(environment->items[i], name)) continue;
		free(environment->items[i]);
		environment->items[i] = entry;
		return;
	}
	strings_take(environment, entry);
}

static const char *outside_value(char *const *outside, const char *name) {
	for (; outside && *outside; outside++)
		if (has_name(*outside, name)) return *outside + strlen(name) + 1;
	return NULL;
}

static void pass(const struct environment_options *options, struct strings *environment, const char *name) {
	const char *value = outside_value(options->outside, name);
	if (value) set(environment, name, value);
}

static bool is_set(const struct strings *environment, const char *name) {
	for (size_t i = 0; i < environment->count; i++)
		if (has_name(environment->items[i], name)) return true;
	return false;
}

static void list_left_out(const struct environment_options *options, const struct strings *environment,
			  struct strings *left_out) {
	for (char *const *entry = options->outside; entry && *entry; entry++) {
		CLEANUP_FREE char *name = string_copy_bytes(*entry, strcspn(*entry, "="));
		bool named = false;
		for (size_t i = 0; i < ARRAY_LENGTH(wanted) && !named; i++) named = fnmatch(wanted[i], name, 0) == 0;
		if (named && !is_set(environment, name)) strings_add(left_out, name);
	}
	strings_sort(left_out);
}

void environment_build(const struct environment_options *options, struct strings *environment,
		       struct strings *left_out) {
	const struct view *view = options->view;
	pass(options, environment, "USER");
	pass(options, environment, "LOGNAME");
	for (size_t i = 0; i < view->environment.count; i++)
		if (!is_proxy(view->environment.items[i])) pass(options, environment, view->environment.items[i]);
	for (size_t i = 0; i < view->set_count; i++) set(environment, view->set[i].name, view->set[i].value);
	set(environment, "HOME", options->home);
	set(environment, "PATH", options->path);
	set(environment, "PWD", options->directory);
	set(environment, "SBX_SANDBOX", view->profile);
	for (size_t i = 0; options->proxied && i < ARRAY_LENGTH(proxies); i++)
		if (proxies[i].value) set(environment, proxies[i].name, proxies[i].value);
	for (size_t i = 0; options->asked && i < options->asked->count;
	     i++) { /* last: what the user said for this run */
		const char *asked = options->asked->items[i], *equals = strchr(asked, '=');
		CLEANUP_FREE char *name = string_copy_bytes(asked, equals ? (size_t)(equals - asked) : strlen(asked));
		if (equals)
			set(environment, name, equals + 1);
		else
			pass(options, environment, name);
	}
	list_left_out(options, environment, left_out);
}
