#include "portal_wire.h"

#include <errno.h>
#include <linux/limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"

/* Steps: the number of them, then each one's head, path and source. */
struct step_head {
	uint32_t kind, mount_kind, mode;
	uint32_t id, on;
	uint32_t path_size, source_size; /* with the NUL; source 0: none */
	uint32_t under;
	uint64_t device, inode;
};

/* The results of a request: the numbers, then the lists. */
struct applied_head {
	uint32_t failed_count, taken_count, put_count;
};

struct reader {
	const char *bytes;
	size_t size, at;
	bool bad;
};

static int check_size(const struct string *bytes, struct error *error) {
	return bytes->size > PORTAL_WIRE_MAX ? error_set(error, E2BIG, "too much to do at once") : 0;
}

static void read_bytes(struct reader *reader, void *to, size_t size) {
	if (reader->bad || reader->size - reader->at < size) {
		reader->bad = true;
		memset(to, 0, size);
		return;
	}
	memcpy(to, reader->bytes + reader->at, size);
	reader->at += size;
}

/* Owned; NULL when there is none or it is bad. */
static char *read_text(struct reader *reader, uint32_t size) {
	if (size == 0) return NULL;
	if (reader->bad || size > PATH_MAX || reader->size - reader->at < size ||
	    memchr(reader->bytes + reader->at, '\0', size) != reader->bytes + reader->at + size - 1) {
		reader->bad = true;
		return NULL;
	}
	char *text = string_copy(reader->bytes + reader->at);
	reader->at += size;
	return text;
}

static uint32_t text_size(const char *text) {
	return text ? (uint32_t)strlen(text) + 1 : 0;
}

int portal_steps_pack(const struct steps *steps, struct string *ret_bytes, struct error *error) {
	const uint32_t count = (uint32_t)steps->count;
	if (steps->count > PORTAL_STEPS_MAX)
		return error_set(error, E2BIG, "more than %d steps at once", PORTAL_STEPS_MAX);
	string_append_bytes(ret_bytes, (const char *)&count, sizeof count);
	for (size_t i = 0; i < steps->count; i++) {
		const struct step *step = &steps->items[i];
		const struct step_head head = {.kind = step->kind,
					       .mount_kind = step->mount.kind,
					       .mode = step->mount.mode,
					       .under = step->under,
					       .id = step->mount.id,
					       .on = step->mount.on,
					       .path_size = text_size(step->mount.path),
					       .source_size = text_size(step->mount.source),
					       .device = step->mount.device,
					       .inode = step->mount.inode};
		string_append_bytes(ret_bytes, (const char *)&head, sizeof head);
		string_append_bytes(ret_bytes, step->mount.path, head.path_size);
		string_append_bytes(ret_bytes, step->mount.source, head.source_size);
	}
	return check_size(ret_bytes, error);
}

static bool is_normal(const char *path) {
	CLEANUP_FREE char *normal = NULL;
	return path && path_normalise(NULL, path, &normal, NULL) == 0 && string_equal(path, normal);
}

/* Which of the host's files a kind of mount is made of. */
static bool has_good_source(const struct mount *mount) {
	switch (mount->kind) {
	case MOUNT_READ:
	case MOUNT_WRITE:
	case MOUNT_OWN:
	case MOUNT_PIN:
		return is_normal(mount->source) &&
		       (!string_equal(mount->source, "/") || string_equal(mount->path, "/"));
	case MOUNT_TEXT:
		return mount->source;
	case MOUNT_LINK:
		return mount->source && mount->source[0] != '\0';
	case MOUNT_HELD: /* onto itself */
	case MOUNT_FRESH:
	case MOUNT_HIDE_FOLDER:
	case MOUNT_HIDE_FILE:
	case MOUNT_CURTAIN:
	case MOUNT_PROC:
	case MOUNT_DEV:
		return true;
	}
	return false;
}

static bool read_step(struct reader *reader, struct step *step) {
	struct step_head head;
	read_bytes(reader, &head, sizeof head);
	step->kind = (enum step_kind)head.kind;
	step->mount.kind = (enum mount_kind)head.mount_kind;
	step->mount.mode = head.mode;
	step->under = head.under;
	step->mount.id = head.id;
	step->mount.on = head.on;
	step->mount.device = head.device;
	step->mount.inode = head.inode;
	step->mount.path = read_text(reader, head.path_size);
	step->mount.source = read_text(reader, head.source_size);
	if (reader->bad || head.kind >= STEP_KIND_COUNT || head.mount_kind >= MOUNT_KIND_COUNT) return false;
	if (!is_normal(step->mount.path)) return false;
	return (step->kind != STEP_PUT && step->kind != STEP_PUT_UNDER) || has_good_source(&step->mount);
}

int portal_steps_unpack(const char *bytes, size_t size, struct steps *ret_steps, struct error *error) {
	struct reader reader = {.bytes = bytes, .size = size};
	uint32_t count;
	read_bytes(&reader, &count, sizeof count);
	bool good = !reader.bad && count <= PORTAL_STEPS_MAX;
	struct steps steps = {.items = mem_array(struct step, good ? count + 1 : 1)};
	while (good && steps.count < count) good = read_step(&reader, &steps.items[steps.count++]);
	good = good && reader.at == reader.size;
	if (!good) {
		steps_finish(&steps);
		return error_set(error, EINVAL, "malformed steps");
	}
	*ret_steps = steps;
	return 0;
}

int portal_applied_pack(const struct portal_applied *applied, struct string *ret_bytes, struct error *error) {
	const struct applied_head head = {(uint32_t)applied->failed_count, (uint32_t)applied->taken_count,
					  (uint32_t)applied->put_count};
	string_append_bytes(ret_bytes, (const char *)&head, sizeof head);
	string_append_bytes(ret_bytes, (const char *)applied->failed, head.failed_count * sizeof *applied->failed);
	string_append_bytes(ret_bytes, (const char *)applied->taken, head.taken_count * sizeof *applied->taken);
	string_append_bytes(ret_bytes, (const char *)applied->puts, head.put_count * sizeof *applied->puts);
	return check_size(ret_bytes, error);
}

int portal_applied_unpack(const char *bytes, size_t size, struct portal_applied *ret_applied, struct error *error) {
	struct reader reader = {.bytes = bytes, .size = size};
	struct applied_head head;
	read_bytes(&reader, &head, sizeof head);
	const size_t failed_size = head.failed_count * sizeof *ret_applied->failed;
	const size_t taken_size = head.taken_count * sizeof *ret_applied->taken;
	const size_t put_size = head.put_count * sizeof *ret_applied->puts;
	if (reader.bad || reader.size - reader.at != failed_size + taken_size + put_size)
		return error_set(error, EINVAL, "malformed reply");
	*ret_applied = (struct portal_applied){.failed = mem_alloc(1, failed_size + 1),
					       .failed_count = head.failed_count,
					       .taken = mem_alloc(1, taken_size + 1),
					       .taken_count = head.taken_count,
					       .puts = mem_alloc(1, put_size + 1),
					       .put_count = head.put_count};
	read_bytes(&reader, ret_applied->failed, failed_size);
	read_bytes(&reader, ret_applied->taken, taken_size);
	read_bytes(&reader, ret_applied->puts, put_size);
	return 0;
}
