/*
 * log: lines on stderr, "PROGRAM: what: why". Levels follow syslog's names; debug is shown when SBX_DEBUG is set.
 *
 * Promises: one write(2) a line, so lines of several processes don't mix; never fails; keeps errno.
 */
#pragma once

#include <stdbool.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_NOTICE, LOG_LEVEL_DEBUG };

void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A terminal that is raw (termios(3): no ONLCR) doesn't begin the next line where lines begin. */
bool log_needs_return(int fd);

#define log_error(...)   log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_line(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_notice(...)  log_line(LOG_LEVEL_NOTICE, __VA_ARGS__)
#define log_debug(...)   log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)
