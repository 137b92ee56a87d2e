/*
 * "PERMISSION\nTEXT": a target's normal form is its own normal form; a host's too, and it holds none of what attack N3
 * is made of. `sbx check`, the proxy, SOCKS and the policy all go through these.
 */
#include <string.h>

#include "base/path.h"
#include "base/text.h"
#include "fuzz.h"
#include "schema/host.h"
#include "schema/limits.h"
#include "schema/permission.h"
#include "schema/target.h"

static void check_target(const struct permission *permission, const char *text) {
	CLEANUP_FREE char *target = NULL, *again = NULL;
	struct error error = ERROR_NONE;
	if (target_parse(permission, text, "/home/u/app", "/home/u", &target, &error) < 0) {
		demand(*error.message && text_is_utf8(error.message, strlen(error.message)), "an error like that");
		return;
	}
	demand(strlen(target) <= LIMIT_TARGET, "a target of %zu bytes", strlen(target));
	demand(target_parse(permission, target, NULL, NULL, &again, &error) == 0, "%s: %s", target, error.message);
	demand(strcmp(target, again) == 0, "%s becomes %s", target, again);
	if (*target == '/' && permission->kind != PERMISSION_CUSTOM && permission->kind != PERMISSION_ENV_READ)
		demand(!strstr(target, "//") && !strstr(target, "/../") && !strstr(target, "/./"), "%s", target);
}

static void check_host(const char *bytes, size_t size) {
	struct host host, again;
	if (host_parse(bytes, size, &host, NULL) < 0) return;
	size_t length = strlen(host.name);
	demand(length > 0 && length <= LIMIT_HOST, "a host of %zu bytes", length);
	demand(strspn(host.name, "abcdefghijklmnopqrstuvwxyz0123456789-_.:") == length, "%s", host.name);
	demand(host.name[length - 1] != '.', "%s", host.name);
	demand(host_parse(host.name, length, &again, NULL) == 0 && strcmp(host.name, again.name) == 0 &&
		       host.class == again.class,
	       "%s becomes %s", host.name, again.name);
}

static void check_host_port(const char *bytes, size_t size) {
	struct host host, again;
	uint16_t port, port_again;
	if (host_port_parse(bytes, size, &host, &port, NULL) < 0) return;
	CLEANUP_FREE char *text = host_port_format(&host, port);
	demand(port != 0 && host_port_parse(text, strlen(text), &again, &port_again, NULL) == 0, "%s", text);
	demand(port == port_again && strcmp(host.name, again.name) == 0, "%s", text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	struct permission permission;
	CLEANUP_FREE char *word = fuzz_line(&data, &size);
	CLEANUP_FREE char *bytes = mem_copy(data, size);
	CLEANUP_FREE char *text = string_copy_bytes(bytes, size);
	check_host(bytes, size);
	check_host_port(bytes, size);
	(void)host_refuse_url(bytes, size, NULL);
	if (permission_parse(word, &permission, NULL) == 0) check_target(&permission, text);
	return 0;
}
