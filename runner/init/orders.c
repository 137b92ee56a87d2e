#include "orders.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

/* The memfd: this head, the filter's bytes, then the texts one after the other, each with its NUL. */
struct orders_head {
	uint32_t argument_count, environment_count, filter_count, limit_count, listener;
	struct {
		uint32_t resource, unused;
		uint64_t soft;
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

int orders_pack(const struct launch_orders *orders, int *ret_fd, struct error *error) {
	struct orders_head head = {.argument_count = (uint32_t)orders->arguments.count,
				   .environment_count = (uint32_t)orders->environment.count,
				   .filter_count = orders->filter_count,
				   .limit_count = orders->limit_count,
				   .listener = orders->listener};
	for (uint32_t i = 0; i < orders->limit_count; i++) {
		head.limits[i].resource = orders->limits[i].resource;
		head.limits[i].soft = orders->limits[i].soft;
	}
	CLEANUP_STRING struct string bytes = {0};
	string_append_bytes(&bytes, (const char *)&head, sizeof head);
	string_append_bytes(&bytes, orders->filter, orders->filter_count * sizeof(struct sock_filter));
	append_text(&bytes, orders->program);
	append_text(&bytes, orders->directory);
	for (size_t i = 0; i < orders->arguments.count; i++) append_text(&bytes, orders->arguments.items[i]);
	for (size_t i = 0; i < orders->environment.count; i++) append_text(&bytes, orders->environment.items[i]);
	if (bytes.size > ORDERS_SIZE_MAX)
		return error_set(error, E2BIG, "the command line and environment are larger than %d bytes",
				 ORDERS_SIZE_MAX);

	CLEANUP_FD int fd = memfd_create("sbx-orders", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0) return error_errno(error, "making a memfd");
	int r = fd_write_all(fd, bytes.data, bytes.size, error);
	if (r < 0) return r;
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
		return error_errno(error, "sealing a memfd");
	*ret_fd = fd_steal(&fd);
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

int orders_unpack(int fd, struct launch_orders *ret_orders, struct error *error) {
	struct stat status;
	if (fstat(fd, &status) < 0) return error_errno(error, "reading the orders");
	if (status.st_size <= 0 || status.st_size > ORDERS_SIZE_MAX)
		return error_set(error, EINVAL, "the orders have a bad size");
	const size_t size = (size_t)status.st_size;
	const char *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED) return error_errno(error, "reading the orders");
	struct reader reader = {.at = bytes, .end = bytes + size};
	struct launch_orders orders = {0};
	bool good = parse(&reader, &orders);
	munmap((void *)bytes, size);
	if (!good) {
		orders_finish(&orders);
		return error_set(error, EINVAL, "the orders are malformed");
	}
	*ret_orders = orders;
	return 0;
}
