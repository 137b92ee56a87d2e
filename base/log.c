#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

static const char *const prefixes[] = {[LOG_LEVEL_ERROR] = "",
				       [LOG_LEVEL_WARNING] = "warning: ",
				       [LOG_LEVEL_NOTICE] = "",
				       [LOG_LEVEL_DEBUG] = "debug: "};

bool log_needs_return(int fd) {
	struct termios modes;
	const tcflag_t cooked = OPOST | ONLCR;
	return tcgetattr(fd, &modes) == 0 && (modes.c_oflag & cooked) != cooked;
}

void log_line(enum log_level level, const char *format, ...) {
	if (level == LOG_LEVEL_DEBUG && !getenv("SBX_DEBUG")) return;
	int saved = errno;
	char line[4096];
	int head = snprintf(line, sizeof line, "%s: %s", program_invocation_short_name, prefixes[level]);
	size_t size = head > 0 && (size_t)head < sizeof line ? (size_t)head : 0;
	va_list arguments;
	va_start(arguments, format);
	int body = vsnprintf(line + size, sizeof line - size, format, arguments);
	va_end(arguments);
	if (body > 0) size += (size_t)body;
	if (size > sizeof line - 3) size = sizeof line - 3;
	if (log_needs_return(STDERR_FILENO)) line[size++] = '\r';
	line[size++] = '\n';
	if (write(STDERR_FILENO, line, size) < 0) errno = saved;
	errno = saved;
}
