#include "schema/target.h"

#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/string.h"
#include "base/text.h"
#include "schema/host.h"

static int parse_path(const char *text, const char *directory, const char *home, char **ret_target,
		      struct error *error) {
	if (text[0] == '~' && (text[1] == '\0' || text[1] == '/')) {
		if (!home) return error_set(error, EINVAL, "~ has no meaning here");
		CLEANUP_FREE char *path = string_format("%s/%s", home, text + 1);
		return path_normalise(NULL, path, ret_target, error);
	}
	return path_normalise(directory, text, ret_target, error);
}

static int parse_net(const char *text, char **ret_target, struct error *error) {
	struct host host;
	uint16_t port;
	int r = host_port_parse(text, strlen(text), &host, &port, error);
	if (r == 0) *ret_target = host_port_format(&host, port);
	return r;
}

static int parse_port(const char *text, char **ret_target, struct error *error) {
	uint16_t port;
	int r = port_parse(text, strlen(text), &port, error);
	if (r == 0) *ret_target = string_format("%u", port);
	return r;
}

static int parse_variable(const char *text, char **ret_target, struct error *error) {
	if (*text == '\0' || strchr(text, '='))
		return error_set(error, EINVAL, "expected the name of an environment variable");
	*ret_target = string_copy(text);
	return 0;
}

int target_parse(const struct permission *permission, const char *text, const char *directory, const char *home,
		 char **ret_target, struct error *error) {
	int r = 0;
	if (*text == '\0') return error_set(error, EINVAL, "the target of %s is empty", permission->name);
	if (strlen(text) >= LIMIT_TARGET) {
		CLEANUP_FREE char *shown = text_visible_cut(text, 80);
		return error_set(error, ENAMETOOLONG, "the target '%s' is longer than %d bytes", shown,
				 LIMIT_TARGET - 1);
	}
	switch (permission_traits(permission)->form) {
	case FORM_TREE:
	case FORM_PATH:
		r = parse_path(text, directory, home, ret_target, error);
		break;
	case FORM_NET:
		r = parse_net(text, ret_target, error);
		break;
	case FORM_PORT:
		r = parse_port(text, ret_target, error);
		break;
	case FORM_VARIABLE:
		r = parse_variable(text, ret_target, error);
		break;
	case FORM_TEXT:
		*ret_target = string_copy(text);
		break;
	}
	if (r == 0) return 0;
	CLEANUP_FREE char *shown = text_visible_cut(text, 80);
	return error_prefix(error, "%s %s", permission->name, shown);
}
