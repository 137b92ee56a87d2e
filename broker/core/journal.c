#include "journal.h"

#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "base/string.h"

#define IDENTIFIER "sbxd"

static bool send_to(const char *path, const struct string *datagram) {
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t length = strlen(path);
	if (length >= sizeof address.sun_path) return false;
	memcpy(address.sun_path, path, length + 1);
	CLEANUP_FD int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof address) < 0) return false;
	return send(fd, datagram->data, datagram->size, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)datagram->size;
}

static bool write_native(const char *path, const char *message, const struct journal_field *fields, size_t count) {
	CLEANUP_STRING struct string text = {0};
	string_appendf(&text, "MESSAGE=%s\nPRIORITY=%d\nSYSLOG_FACILITY=%d\nSYSLOG_IDENTIFIER=" IDENTIFIER "\n",
		       message, LOG_INFO, LOG_FAC(LOG_USER));
	for (size_t i = 0; i < count; i++) string_appendf(&text, "%s=%s\n", fields[i].name, fields[i].value);
	return send_to(path, &text);
}

static bool write_syslog(const char *path, const char *message) {
	CLEANUP_STRING struct string text = {0};
	char stamp[32] = "";
	time_t now = time(NULL);
	struct tm local;
	if (localtime_r(&now, &local)) strftime(stamp, sizeof stamp, "%b %e %H:%M:%S", &local);
	string_appendf(&text, "<%d>%s " IDENTIFIER "[%d]: %s", LOG_USER | LOG_INFO, stamp, (int)getpid(), message);
	return send_to(path, &text);
}

enum journal_place journal_write(const struct journal_sockets *sockets, const char *message,
				 const struct journal_field *fields, size_t count) {
	if (write_native(sockets->native, message, fields, count)) return JOURNAL_NATIVE;
	return write_syslog(sockets->syslog, message) ? JOURNAL_SYSLOG : JOURNAL_NOWHERE;
}
