#include "git_config.h"

#include <ctype.h>
#include <pwd.h>
#include <string.h>

#include "base/path.h"
#include "calls/regular.h"

enum {
	GIT_CONFIG_SIZE_MAX = 1024 * 1024,
	GIT_CONFIG_DEPTH_MAX = 10, /* git's own MAX_INCLUDE_DEPTH */
	GIT_CONFIG_FILES_MAX = 64,
};

struct config_reader {
	const char *at;
	struct string section; /* lower case, without subsection */
};

static void skip_blank(struct config_reader *reader) {
	while (*reader->at == ' ' || *reader->at == '\t' || *reader->at == '\r') reader->at++;
}

static void skip_line(struct config_reader *reader) {
	while (*reader->at != '\0' && *reader->at != '\n') reader->at++;
}

/* "[core]", "[includeIf "gitdir:~/x"]" or, as it once was, "[filter.x]": the subsection doesn't matter to anyone here.
 */
static void read_section(struct config_reader *reader) {
	reader->at++;
	string_finish(&reader->section);
	while (isalnum((unsigned char)*reader->at) || *reader->at == '-') {
		string_append_char(&reader->section, (char)tolower((unsigned char)*reader->at++));
	}
	bool quoted = false;
	for (; *reader->at != '\0' && *reader->at != '\n'; reader->at++) {
		if (*reader->at == '\\' && reader->at[1] != '\0' && reader->at[1] != '\n') {
			reader->at++;
		} else if (*reader->at == '"') {
			quoted = !quoted;
		} else if (*reader->at == ']' && !quoted) {
			reader->at++;
			return;
		}
	}
}

/* One character after a backslash; false for the line's continuation. */
static bool read_escape(struct config_reader *reader, struct string *value) {
	switch (*reader->at) {
	case '\n':
		return false;
	case 'n':
		string_append_char(value, '\n');
		return true;
	case 't':
		string_append_char(value, '\t');
		return true;
	case 'b':
		if (value->size > 0) value->data[--value->size] = '\0';
		return true;
	default:
		string_append_char(value, *reader->at);
		return true;
	}
}

static char *read_value(struct config_reader *reader) {
	CLEANUP_STRING struct string value = {0};
	size_t kept = 0; /* without trailing blanks outside quotes */
	bool quoted = false;
	for (; *reader->at != '\0'; reader->at++) {
		char c = *reader->at;
		if (c == '\n' || (!quoted && (c == '#' || c == ';'))) break;
		if (c == '\\' && reader->at[1] != '\0') {
			reader->at++;
			if (!read_escape(reader, &value)) continue;
			kept = value.size;
		} else if (c == '"') {
			quoted = !quoted;
			kept = value.size;
		} else {
			string_append_char(&value, c);
			if (quoted || (c != ' ' && c != '\t' && c != '\r')) kept = value.size;
		}
	}
	skip_line(reader);
	return string_copy_bytes(value.data ? value.data : "", kept);
}

char *git_config_expand(const char *value, const char *home) {
	const size_t size = strcspn(value, "/");
	if (value[0] != '~') return string_copy(value);
	CLEANUP_FREE char *name = string_copy_bytes(value + 1, size - 1);
	const struct passwd *account = name[0] ? getpwnam(name) : NULL;
	if (name[0] && !account) return string_copy(value);
	return string_format("%s%s", account ? account->pw_dir : home, value + size);
}

/* What a file includes is named from its folder. */
static char *included_path(const char *value, const char *home, const char *file) {
	CLEANUP_FREE char *path = git_config_expand(value, home), *folder = path_parent(file);
	return path[0] == '/' ? STEAL(path) : path_join(folder, path);
}

/* Sections and names of git-config(1) whose values are programs or lines for a shell; "": any name. */
static const struct {
	const char *section, *name;
} commands[] = {
	{"alias", ""},
	{"browser", "cmd"},
	{"browser", "path"},
	{"core", "alternaterefscommand"},
	{"core", "askpass"},
	{"core", "attributesfile"},
	{"core", "editor"},
	{"core", "fsmonitor"},
	{"core", "gitproxy"},
	{"core", "pager"},
	{"core", "sshcommand"},
	{"credential", "helper"},
	{"diff", "command"},
	{"diff", "external"},
	{"diff", "textconv"},
	{"difftool", "cmd"},
	{"difftool", "path"},
	{"filter", "clean"},
	{"filter", "process"},
	{"filter", "smudge"},
	{"gc", "recentobjectshook"},
	{"gpg", "defaultkeycommand"},
	{"gpg", "program"},
	{"guitool", "cmd"},
	{"hook", "command"},
	{"imap", "tunnel"},
	{"instaweb", "httpd"},
	{"interactive", "difffilter"},
	{"lfs", "clean"},
	{"lfs", "path"},
	{"lfs", "smudge"},
	{"man", "cmd"},
	{"man", "path"},
	{"merge", "driver"},
	{"mergetool", "cmd"},
	{"mergetool", "path"},
	{"pager", ""},
	{"remote", "receivepack"},
	{"remote", "uploadpack"},
	{"sendemail", "cccmd"},
	{"sendemail", "headercmd"},
	{"sendemail", "sendmailcmd"},
	{"sendemail", "smtpserver"},
	{"sendemail", "tocmd"},
	{"sequence", "editor"},
	{"submodule", "update"},
	{"tar", "command"},
	{"trailer", "cmd"},
	{"trailer", "command"},
	{"uploadpack", "packobjectshook"},
};

/* "filter.clean" */
static bool is_command(const char *key) {
	const char *dot = strchr(key, '.');
	for (size_t i = 0; dot && i < ARRAY_LENGTH(commands); i++) {
		const size_t size = strlen(commands[i].section);
		if (size != (size_t)(dot - key) || memcmp(commands[i].section, key, size) != 0) continue;
		if (!commands[i].name[0] || string_equal(commands[i].name, dot + 1)) return true;
	}
	return false;
}

/* What is looked for: the key, or (NULL) all that are commands. */
struct search {
	const char *home, *key;
	struct strings *values, *files;
};

static void read_file(const struct search *search, const char *file, int depth) {
	const char *home = search->home;
	struct strings *files = search->files;
	if (depth > GIT_CONFIG_DEPTH_MAX || files->count >= GIT_CONFIG_FILES_MAX || strings_contain(files, file))
		return;
	strings_add(files, file);
	CLEANUP_FREE char *bytes = NULL;
	if (regular_read(file, GIT_CONFIG_SIZE_MAX, &bytes, NULL, NULL) < 0) return;

	struct config_reader reader = {.at = bytes};
	while (*reader.at != '\0') {
		skip_blank(&reader);
		if (*reader.at == '[') {
			read_section(&reader);
			continue; /* a key may follow on the same line */
		}
		if (!isalpha((unsigned char)*reader.at)) {
			skip_line(&reader);
			if (*reader.at == '\n') reader.at++;
			continue;
		}
		CLEANUP_STRING struct string name = {0};
		string_appendf(&name, "%s.", reader.section.data ? reader.section.data : "");
		while (isalnum((unsigned char)*reader.at) || *reader.at == '-') {
			string_append_char(&name, (char)tolower((unsigned char)*reader.at++));
		}
		skip_blank(&reader);
		if (*reader.at != '=') continue; /* a key alone is "true": no path */
		reader.at++;
		skip_blank(&reader);
		CLEANUP_FREE char *value = read_value(&reader);
		if (search->key ? string_equal(name.data, search->key) : is_command(name.data))
			strings_add(search->values, value);
		if (string_equal(name.data, "include.path") || string_equal(name.data, "includeif.path")) {
			CLEANUP_FREE char *included = included_path(value, home, file);
			read_file(search, included, depth + 1);
		}
	}
	string_finish(&reader.section);
}

void git_config_values(const char *file, const char *home, const char *key, struct strings *values,
		       struct strings *files) {
	const struct search search = {home, key, values, files};
	read_file(&search, file, 0);
}

void git_config_commands(const char *file, const char *home, struct strings *lines, struct strings *files) {
	const struct search search = {home, NULL, lines, files};
	read_file(&search, file, 0);
}
