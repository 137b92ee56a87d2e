#include "own_lines.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/string.h"

struct own_lines {
	int file;   /* in memory; descriptor 2 leads there while they are held */
	int outlet; /* descriptor 2 as it was given; -1: nothing is held */
	unsigned reasons;
};

/* It can't grow: a write past its end fails, and is left out (memfd_create(2)). */
int own_lines_new(struct own_lines **ret_lines, struct error *error) {
	CLEANUP_FD int file = memfd_create("own lines", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (file < 0 || ftruncate(file, OWN_LINES_MAX) < 0 || fcntl(file, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) < 0)
		return error_errno(error, "a memory file for what sbx says");
	struct own_lines *lines = mem_new(struct own_lines);
	*lines = (struct own_lines){.file = fd_steal(&file), .outlet = -1};
	*ret_lines = lines;
	return 0;
}

static void begin(struct own_lines *lines) {
	const int outlet = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	if (outlet < 0 || lseek(lines->file, 0, SEEK_SET) < 0 || dup2(lines->file, STDERR_FILENO) < 0)
		fd_close(outlet);
	else
		lines->outlet = outlet;
}

static void append_file(const struct own_lines *lines, off_t size, struct string *out) {
	char bytes[4096];
	ssize_t got = 1;
	for (off_t at = 0; at < size && got > 0; at += got) {
		const off_t left = size - at;
		got = pread(lines->file, bytes, left < (off_t)sizeof bytes ? (size_t)left : sizeof bytes, at);
		if (got > 0) string_append_bytes(out, bytes, (size_t)got);
	}
}

/* As each would have been said at once. */
static void say(struct own_lines *lines) {
	CLEANUP_STRING struct string kept = {0}, out = {0};
	append_file(lines, lseek(lines->file, 0, SEEK_CUR), &kept);
	dup2(lines->outlet, STDERR_FILENO);
	fd_close_p(&lines->outlet);
	const bool raw = log_needs_return(STDERR_FILENO);
	for (size_t i = 0; i < kept.size; i++) {
		if (raw && kept.data[i] == '\n') string_append_char(&out, '\r');
		string_append_char(&out, kept.data[i]);
	}
	fd_write_all(STDERR_FILENO, out.data, out.size, NULL);
}

void own_lines_hold(struct own_lines *lines, enum output_reason why, bool held) {
	if (!lines) return;
	lines->reasons = held ? lines->reasons | why : lines->reasons & ~(unsigned)why;
	if (lines->reasons != 0 && lines->outlet < 0) begin(lines);
	if (lines->reasons == 0 && lines->outlet >= 0) say(lines);
}

bool own_lines_have_more(const struct own_lines *lines) {
	return lines && lines->outlet >= 0 && lseek(lines->file, 0, SEEK_CUR) > 0;
}

void own_lines_drop(struct own_lines *lines) {
	if (!lines) return;
	if (lines->outlet < 0) begin(lines);
	fd_close_p(&lines->outlet);
}

void own_lines_free(struct own_lines *lines) {
	if (!lines) return;
	if (lines->outlet >= 0) say(lines);
	fd_close(lines->file);
	free(lines);
}
