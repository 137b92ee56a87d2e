/*
 * polkit_load: how long polkit's CheckAuthorization takes, to compare with a check of sbx.
 *
 *     polkit_load ADDRESS CLIENTS COUNT    over the bus at ADDRESS (bench/polkit.sh), about an action that is allowed
 */
#include <dbus/dbus.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/string.h"
#include "load.h"

enum { WARM_UP = 20, TIMEOUT_MS = 10000 };

struct asker {
	DBusConnection *bus;
	dbus_uint32_t pid;
	dbus_uint64_t start;
};

/* Field 22 of /proc/PID/stat (proc(5)): what polkit tells a process by, besides its id. */
static int start_time(dbus_uint64_t *ret_start, struct error *error) {
	CLEANUP_FREE char *stat = NULL;
	int r = file_read("/proc/self/stat", 4096, &stat, NULL, error);
	if (r < 0) return r;
	const char *field = strrchr(stat, ')');
	for (int number = 2; field && number < 22; number++) field = strchr(field + 1, ' ');
	if (!field) return error_set(error, EIO, "/proc/self/stat has another form");
	*ret_start = strtoull(field + 1, NULL, 10);
	return 0;
}

static int open_asker(const struct load *load, size_t client, void **ret_client, struct error *error) {
	(void)client;
	struct asker *asker = mem_new(struct asker);
	DBusError fault = DBUS_ERROR_INIT;
	asker->bus = dbus_connection_open_private(load->context, &fault);
	if (!asker->bus || !dbus_bus_register(asker->bus, &fault))
		return error_set(error, EIO, "connecting to the bus: %s", fault.message);
	asker->pid = (dbus_uint32_t)getpid();
	*ret_client = asker;
	return start_time(&asker->start, error);
}

static void append_detail(DBusMessageIter *details, const char *key, int type, const char *signature,
			  const void *value) {
	DBusMessageIter entry, variant;
	dbus_message_iter_open_container(details, DBUS_TYPE_DICT_ENTRY, NULL, &entry);
	dbus_message_iter_append_basic(&entry, DBUS_TYPE_STRING, &key);
	dbus_message_iter_open_container(&entry, DBUS_TYPE_VARIANT, signature, &variant);
	dbus_message_iter_append_basic(&variant, type, value);
	dbus_message_iter_close_container(&entry, &variant);
	dbus_message_iter_close_container(details, &entry);
}

/* CheckAuthorization ((sa{sv}) subject, s action_id, a{ss} details, u flags, s cancellation_id) */
static DBusMessage *question(const struct asker *asker) {
	static const char *const kind = "unix-process", *const action = "org.sbx.bench", *const none = "";
	const dbus_uint32_t flags = 0;
	DBusMessageIter all, subject, details;
	DBusMessage *message =
		dbus_message_new_method_call("org.freedesktop.PolicyKit1", "/org/freedesktop/PolicyKit1/Authority",
					     "org.freedesktop.PolicyKit1.Authority", "CheckAuthorization");
	if (!message) mem_exhausted();
	dbus_message_iter_init_append(message, &all);
	dbus_message_iter_open_container(&all, DBUS_TYPE_STRUCT, NULL, &subject);
	dbus_message_iter_append_basic(&subject, DBUS_TYPE_STRING, &kind);
	dbus_message_iter_open_container(&subject, DBUS_TYPE_ARRAY, "{sv}", &details);
	append_detail(&details, "pid", DBUS_TYPE_UINT32, "u", &asker->pid);
	append_detail(&details, "start-time", DBUS_TYPE_UINT64, "t", &asker->start);
	dbus_message_iter_close_container(&subject, &details);
	dbus_message_iter_close_container(&all, &subject);
	dbus_message_iter_append_basic(&all, DBUS_TYPE_STRING, &action);
	dbus_message_iter_open_container(&all, DBUS_TYPE_ARRAY, "{ss}", &details);
	dbus_message_iter_close_container(&all, &details);
	dbus_message_iter_append_basic(&all, DBUS_TYPE_UINT32, &flags);
	dbus_message_iter_append_basic(&all, DBUS_TYPE_STRING, &none);
	return message;
}

static int ask(void *client, size_t number, struct error *error) {
	(void)number;
	const struct asker *asker = client;
	DBusError fault = DBUS_ERROR_INIT;
	DBusMessage *asked = question(asker);
	DBusMessage *reply = dbus_connection_send_with_reply_and_block(asker->bus, asked, TIMEOUT_MS, &fault);
	dbus_message_unref(asked);
	if (!reply) {
		error_set(error, EIO, "CheckAuthorization: %s", fault.message);
		dbus_error_free(&fault);
		return -EIO;
	}
	DBusMessageIter all, result;
	dbus_bool_t allowed = FALSE;
	if (dbus_message_iter_init(reply, &all) && dbus_message_iter_get_arg_type(&all) == DBUS_TYPE_STRUCT) {
		dbus_message_iter_recurse(&all, &result);
		dbus_message_iter_get_basic(&result, &allowed);
	}
	dbus_message_unref(reply);
	return allowed ? 0 : error_set(error, EPROTO, "polkit did not allow it");
}

int main(int argc, char **argv) {
	struct error error = ERROR_NONE;
	unsigned long long clients, count;
	if (argc != 4 || string_to_u64(argv[2], &clients) < 0 || string_to_u64(argv[3], &count) < 0 || clients < 1 ||
	    count < 1 || clients > 1000 || count > 1000000) {
		log_error("usage: polkit_load ADDRESS CLIENTS COUNT");
		return 2;
	}
	const struct load load = {"polkit CheckAuthorization", argv[1], open_asker, NULL, ask, WARM_UP};
	if (load_run(&load, (size_t)clients, (size_t)count, &error) == 0) return 0;
	log_error("%s", error.message);
	return 1;
}
