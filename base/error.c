#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int(error_set)(struct error *error, int code, const char *format, ...) {
	if (code <= 0) code = EIO;
	if (error) {
		va_list arguments;
		va_start(arguments, format);
		vsnprintf(error->message, sizeof error->message, format, arguments);
		va_end(arguments);
		error->code = code;
	}
	return -code;
}

int(error_errno)(struct error *error, const char *format, ...) {
	int code = errno > 0 ? errno : EIO;
	if (error) {
		char what[ERROR_MESSAGE_MAX];
		va_list arguments;
		va_start(arguments, format);
		vsnprintf(what, sizeof what, format, arguments);
		va_end(arguments);
		error_set(error, code, "%s: %s", what, strerror(code));
	}
	return -code;
}

int(error_prefix)(struct error *error, const char *format, ...) {
	if (!error || error->code == 0) return -EIO;
	char before[ERROR_MESSAGE_MAX];
	memcpy(before, error->message, sizeof before);
	char context[ERROR_MESSAGE_MAX];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(context, sizeof context, format, arguments);
	va_end(arguments);
	return error_set(error, error->code, "%s: %s", context, before);
}
