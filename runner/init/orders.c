#include "orders.h"

#include <errno.h>
#include <linux/filter.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"

/* The bytes: this head, the filter's bytes, then the texts one after the other, each with its NUL. */
struct orders_head {
	uint32_t argument_count, environment_count, filter_count, limit_count, listener;
	struct {
		uint32_t resource, unused;
		uint64_t soft, hard;
	} limits[ORDERS_RLIMIT_MAX];
};

void orders_finish(struct launch_orders *orders) {
	strings_finish(&orders->arguments);
	strings_finish(&orders->environment);
	free(orders->program);
	free(orders->directory);
	free((void *)orders->filter);
	*orders = (struct launch_orders){0};
}

static void append_text(struct string *bytes, const char *text) {
	string_append_bytes(bytes, text, strlen(text) + 1);
}

int orders_pack(const struct launch_orders *orders, struct string *ret_bytes, struct error *error) {
	struct orders_head head = {.argument_count = (uint32_t)orders->arguments.count,
				   .environment_count = (uint32_t)orders->environment.count,
				   .filter_count = orders->filter_count,
				   .limit_count = orders->limit_count,
				   .listener = orders->listener};
	for (uint32_t i = 0; i < orders->limit_count; i++) {
		head.limits[i].resource = orders->limits[i].resource;
		head.limits[i].soft = orders->limits[i].soft;
		head.limits[i].hard = orders->limits[i].hard;
	}
	string_append_bytes(ret_bytes, (const char *)&head, sizeof head);
	string_append_bytes(ret_bytes, orders->filter, orders->filter_count * sizeof(struct sock_filter));
	append_text(ret_bytes, orders->program);
	append_text(ret_bytes, orders->directory);
	for (size_t i = 0; i < orders->arguments.count; i++) append_text(ret_bytes, orders->arguments.items[i]);
	for (size_t i = 0; i < orders->environment.count; i++) append_text(ret_bytes, orders->environment.items[i]);
	if (ret_bytes->size > ORDERS_SIZE_MAX)
		return error_set(error, E2BIG, "the command line and environment are larger than %d bytes",
				 ORDERS_SIZE_MAX);
	return 0;
}

struct reader {
	const char *at, *end;
	bool bad;
};

static const char *read_bytes(struct reader *reader, size_t size) {
	const char *bytes = reader->at;
	if ((size_t)(reader->end - reader->at) < size) {
		reader->bad = true;
		return NULL;
	}
	reader->at += size;
	return bytes;
}

static const char *read_text(struct reader *reader) {
	const char *text = reader->at;
	const char *nul = memchr(text, '\0', (size_t)(reader->end - text));
	if (!nul) {
		reader->bad = true;
		return "";
	}
	reader->at = nul + 1;
	return text;
}

static bool parse(struct reader *reader, struct launch_orders *orders) {
	struct orders_head head;
	const char *bytes = read_bytes(reader, sizeof head);
	if (!bytes) return false;
	memcpy(&head, bytes, sizeof head);
	if (head.limit_count > ORDERS_RLIMIT_MAX || head.filter_count > BPF_MAXINSNS) return false;
	for (uint32_t i = 0; i < head.limit_count; i++) {
		orders->limits[i].resource = head.limits[i].resource;
		orders->limits[i].soft = head.limits[i].soft;
		orders->limits[i].hard = head.limits[i].hard;
	}
	orders->limit_count = head.limit_count;
	const size_t filter_size = head.filter_count * sizeof(struct sock_filter);
	const char *filter = read_bytes(reader, filter_size);
	if (!filter) return false;
	orders->filter = mem_copy(filter, filter_size);
	orders->filter_count = head.filter_count;
	orders->listener = head.listener;
	orders->program = string_copy(read_text(reader));
	orders->directory = string_copy(read_text(reader));
	for (uint32_t i = 0; i < head.argument_count && !reader->bad; i++)
		strings_add(&orders->arguments, read_text(reader));
	for (uint32_t i = 0; i < head.environment_count && !reader->bad; i++)
		strings_add(&orders->environment, read_text(reader));
	return !reader->bad && orders->arguments.count > 0;
}

int orders_unpack(const char *bytes, size_t size, struct launch_orders *ret_orders, struct error *error) {
	struct reader reader = {.at = bytes, .end = bytes + size};
	struct launch_orders orders = {0};
	if (!parse(&reader, &orders)) {
		orders_finish(&orders);
		return error_set(error, EINVAL, "the orders are malformed");
	}
	*ret_orders = orders;
	return 0;
}

static size_t chunk_at(size_t size, size_t at) {
	return size - at < ORDERS_CHUNK ? size - at : ORDERS_CHUNK;
}

int orders_send(int socket, const struct order *prepare, const struct launch_orders *orders, struct error *error) {
	CLEANUP_STRING struct string bytes = {0};
	struct order order = *prepare;
	int r = orders_pack(orders, &bytes, error);
	if (r < 0) return r;
	order.kind = ORDER_PREPARE;
	order.bytes = (uint32_t)bytes.size;
	r = fd_send(socket, &order, sizeof order, error);
	for (size_t at = 0; r == 0 && at < bytes.size; at += ORDERS_CHUNK)
		r = fd_send(socket, bytes.data + at, chunk_at(bytes.size, at), error);
	return r == -EAGAIN ? error_set(error, ETIMEDOUT, "the sandbox doesn't take its orders") : r;
}

int orders_receive(int socket, struct order *ret_prepare, struct launch_orders *ret_orders, struct error *error) {
	ssize_t got = fd_receive(socket, ret_prepare, sizeof *ret_prepare, error);
	if (got != sizeof *ret_prepare || ret_prepare->kind != ORDER_PREPARE || ret_prepare->bytes > ORDERS_SIZE_MAX)
		return error_set(error, EPROTO, "no orders came");
	const size_t size = ret_prepare->bytes;
	CLEANUP_FREE char *bytes = mem_alloc(1, size + 1);
	for (size_t at = 0; at < size; at += ORDERS_CHUNK) {
		got = fd_receive(socket, bytes + at, chunk_at(size, at), error);
		if (got != (ssize_t)chunk_at(size, at)) return error_set(error, EPROTO, "the orders end early");
	}
	return orders_unpack(bytes, size, ret_orders, error);
}
