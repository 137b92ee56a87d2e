#include "layer.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/path.h"

void layer_init(struct layer *layer, enum policy_layer kind, const struct places *places, struct watch *watch) {
	bool admin = kind == POLICY_LAYER_ADMIN;
	*layer = (struct layer){.source = {.layer = kind,
					   .folder = admin ? places->admin : places->config,
					   .owner = admin ? places->admin_owner : geteuid()},
				.path = admin ? places->admin : places->policy};
	layer->folder = watch_folder(watch, layer->source.folder);
	if (!admin) return;
	CLEANUP_FREE char *parts = path_join(layer->source.folder, POLICY_PARTS_FOLDER);
	layer->parts = watch_folder(watch, parts);
}

void layer_finish(struct layer *layer) {
	policy_reading_finish(&layer->now);
	free(layer->seen);
	watched_free(layer->folder);
	watched_free(layer->parts);
}

bool layer_is_stirred(const struct layer *layer) {
	return watched_is_stirred(layer->folder) || (layer->parts && watched_is_stirred(layer->parts));
}

static bool strings_same(const struct strings *a, const struct strings *b) {
	if (a->count != b->count) return false;
	for (size_t i = 0; i < a->count; i++)
		if (strcmp(a->items[i], b->items[i]) != 0) return false;
	return true;
}

/* True when documents or errors are other ones. */
static bool put_in_force(struct layer *layer, struct policy_reading *reading) {
	bool good = reading->errors.count == 0;
	bool changed =
		!strings_same(&reading->errors, &layer->now.errors) || (good && reading->count + layer->now.count > 0);
	struct policy_reading before = layer->now;
	layer->now = *reading;
	if (!good) { /* the documents stay */
		layer->now.documents = before.documents;
		layer->now.count = before.count;
		before.documents = reading->documents;
		before.count = reading->count;
	}
	layer->known = layer->known || good;
	policy_reading_finish(&before);
	return changed;
}

bool layer_look(struct layer *layer, bool anew, struct policy_document *const *others, size_t other_count) {
	watched_take(layer->folder);
	if (layer->parts) watched_take(layer->parts);
	CLEANUP_FREE char *seen = policy_source_look(&layer->source);
	if (!anew && string_equal(seen, layer->seen)) return false;
	free(layer->seen);
	layer->seen = STEAL(seen);
	struct policy_reading reading;
	policy_source_read(&layer->source, others, other_count, &reading);
	return put_in_force(layer, &reading);
}
