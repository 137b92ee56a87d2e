#include "scope.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/text.h"
#include "schema/home.h"
#include "schema/host.h"
#include "schema/limits.h"
#include "schema/pattern.h"

static bool folder_may_be_offered(const char *folder, const struct scope_bounds *bounds) {
	const char *home = bounds->home;
	if (path_depth(folder) < bounds->depth) return false;
	if (path_is_below(home, folder)) return strcmp(home, folder) == 0 && path_depth(home) >= 1;
	return path_depth(folder) >= 2;
}

static void offer_folders(const char *target, const struct scope_bounds *bounds, struct strings *scopes) {
	CLEANUP_FREE char *folder = path_parent(target);
	bool offered = folder_may_be_offered(folder, bounds),
	     first = offered && bounds->replaced && !home_has_folder(bounds->home, folder);
	if (first) strings_add(scopes, "folder");
	strings_add(scopes, "exact");
	if (!offered) return;
	if (!first) strings_add(scopes, "folder");
	while (scopes->count < LIMIT_SCOPES) {
		char *parent = path_parent(folder);
		free(folder);
		folder = parent;
		if (!folder_may_be_offered(folder, bounds)) return;
		strings_add(scopes, folder);
	}
}

/*
 * What is behind the first label, when that can't be a registry's own suffix: at least two labels, and three where the
 * last two look like a country's "co.uk". Without the public suffix list this errs on the narrow side; NULL = none.
 */
static const char *domain_of(const char *host) {
	const char *dot = strchr(host, '.');
	const char *domain = dot ? dot + 1 : NULL;
	if (!domain) return NULL;
	size_t dots = 0;
	for (const char *p = domain; *p; p++) dots += *p == '.';
	if (dots == 0) return NULL;
	const char *second = strchr(domain, '.');
	bool country = dots == 1 && strlen(second + 1) == 2 && second - domain <= 3;
	return country ? NULL : domain;
}

static bool take_host(const char *target, struct host *ret_host) {
	uint16_t port;
	return host_port_parse(target, strlen(target), ret_host, &port, NULL) == 0;
}

void scopes_offered(const struct permission *permission, const char *target, const struct scope_bounds *bounds,
		    struct strings *ret_scopes) {
	struct host host;
	if (permission_is_of_files(permission)) {
		offer_folders(target, bounds, ret_scopes);
		return;
	}
	strings_add(ret_scopes, "exact");
	if (permission->kind != PERMISSION_NET_ACCESS) return;
	/* Any port of this machine's loopback is many services, not one. */
	if (!take_host(target, &host) || host.class == HOST_LOCALHOST || strcmp(host.name, "::1") == 0) return;
	strings_add(ret_scopes, "host");
	if (host.class == HOST_NAME && domain_of(host.name)) strings_add(ret_scopes, "domain");
}

static char *host_pattern(const char *target, bool domain) {
	struct host host = {0};
	if (!take_host(target, &host)) return string_copy(target);
	if (domain) return string_format("*.%s", domain_of(host.name));
	return host.class == HOST_IPV6 ? string_format("[%s]", host.name) : string_copy(host.name);
}

int scope_pattern(const struct permission *permission, const char *target, const struct strings *offered,
		  const char *scope, char **ret_pattern, struct error *error) {
	if (strcmp(scope, target) == 0 && strings_contain(offered, "exact")) scope = "exact";
	if (!strings_contain(offered, scope)) {
		CLEANUP_STRING struct string list = {0};
		CLEANUP_FREE char *shown = text_visible_cut(scope, 80);
		for (size_t i = 0; i < offered->count && list.size < 300; i++) {
			CLEANUP_FREE char *item = text_visible_cut(offered->items[i], 80);
			string_appendf(&list, "%s%s", i == 0 ? "" : ", ", item);
		}
		return error_set(error, EINVAL, "this prompt has no scope '%s'; it offers %s", shown,
				 list.data ? list.data : "none");
	}
	if (strcmp(scope, "host") == 0 || strcmp(scope, "domain") == 0) {
		*ret_pattern = host_pattern(target, strcmp(scope, "domain") == 0);
		return 0;
	}
	CLEANUP_FREE char *parent = path_parent(target);
	const char *meant = strcmp(scope, "exact") == 0 ? target : strcmp(scope, "folder") == 0 ? parent : scope;
	*ret_pattern = pattern_quote(permission, meant);
	return 0;
}
