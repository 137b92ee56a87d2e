/* base: texts, files, paths, hashes, times. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/string.h"
#include "base/text.h"
#include "unit.h"

static void use_strings(void) {
	CLEANUP_STRING struct string text = {0};
	CLEANUP_STRINGS struct strings list = {0};
	for (int i = 0; i < 60; i++) {
		string_appendf(&text, "%s%d", i ? "," : "", i);
		strings_addf(&list, "item %d", (i * 37) % 60);
	}
	string_append_integer(&text, INT64_MIN);
	strings_sort(&list);
	unit_tell("%s", text.data);
	for (size_t i = 0; i < list.count; i++) unit_tell("%s", list.items[i]);
	CLEANUP_FREE char *copy = string_copy_bytes(text.data, 5), *formed = string_format("%080d %s", 7, copy);
	CLEANUP_FREE char *taken = string_steal(&text);
	unit_tell("%s %zu", formed, strlen(taken));
}

static void use_text(void) {
	CLEANUP_FREE char *visible = text_visible("a\x1b[31m\xe2\x80\xae\xff tab\t \xc3\xa4"), *cut = NULL,
			  *word = NULL;
	cut = text_visible_cut("/a/very/long/path/that/does/not/fit/at/all/into/a/line", 20);
	word = text_shell_word("it's $HOME\n");
	unit_tell("%s %s %s %zu", visible, cut, word, text_columns(visible));
}

static void use_paths(void) {
	static const char *const paths[] = {"a/./b/../c", "/..//x/", "", "/", "../../../../.."};
	for (size_t i = 0; i < ARRAY_LENGTH(paths); i++) {
		CLEANUP_FREE char *normal = NULL;
		struct error error = ERROR_NONE;
		if (unit_failed(path_normalise("/home/u", paths[i], &normal, &error), &error)) continue;
		CLEANUP_FREE char *parent = path_parent(normal), *joined = path_join(normal, "name");
		unit_tell("%s %s %s", normal, parent, joined);
	}
}

static void use_files(void) {
	CLEANUP_FREE char *bytes = NULL, *deep = string_format("%s/deep", unit_file("tree"));
	struct error error = ERROR_NONE;
	size_t size;
	if (unit_failed(file_make_directories(deep, &error), &error)) return;
	if (unit_failed(file_write(unit_file("text"), "0123456789", 10, 0600, &error), &error)) return;
	unit_tell("written");
	if (unit_failed(file_read(unit_file("text"), 10, &bytes, &size, &error), &error)) return;
	unit_tell("%s %zu", bytes, size);
	CLEANUP_FREE char *none = NULL;
	unit_failed(file_read(unit_file("text"), 9, &none, &size, &error), &error);
	unit_failed(file_read(unit_file("absent"), 9, &none, &size, &error), &error);
	CLEANUP_FD int fd = file_open_private_directory(deep, &error);
	if (!unit_failed(fd, &error)) unit_tell("opened");
}

/* Whole or not at all, and nothing beside it. */
static void look_at_files(void) {
	CLEANUP_FREE char *bytes = NULL;
	if (file_read(unit_file("text"), 100, &bytes, NULL, NULL) == 0)
		unit_tell("the file is %s", bytes);
	else if (unit_told("written"))
		unit_lose("a file that was written");
}

static void use_hash(void) {
	char one[HASH_HEX_SIZE], two[HASH_HEX_SIZE];
	CLEANUP_FREE char *bytes = mem_alloc(1, 70000);
	hash_hex(one, bytes, 70000);
	hash_hex_two(two, "a", 1, bytes, 70000);
	unit_tell("%s %s", one, two);
}

static void use_clock(void) {
	static const char *const texts[] = {"90s", "15m", "7d", "0s", "1 h", ""};
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		struct error error = ERROR_NONE;
		int64_t ms;
		if (unit_failed(duration_parse(texts[i], &ms, &error), &error)) continue;
		CLEANUP_FREE char *text = duration_format(ms);
		unit_tell("%s", text);
	}
}

static const struct unit units[] = {
	{.what = "strings", .use = use_strings}, {.what = "text", .use = use_text},
	{.what = "paths", .use = use_paths},     {.what = "files", .use = use_files, .look = look_at_files},
	{.what = "hash", .use = use_hash},       {.what = "clock", .use = use_clock},
};

const struct unit_room units_base = UNIT_ROOM("base: strings, text, paths, files, hashes, durations", units);
