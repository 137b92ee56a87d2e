#include "store/grant_row.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/string.h"

void grant_list_finish(struct grant_list *list) {
	for (size_t i = 0; i < list->count; i++) grant_finish(&list->items[i]);
	free(list->items);
	*list = (struct grant_list){0};
}

static char *column_or_null(sqlite3_stmt *row, int column) {
	const char *text = store_column(row, column);
	return text && *text ? string_copy(text) : NULL;
}

void grant_list_take(struct grant_list *list, struct grant *grant) {
	list->items = array_grow(list->items, list->count, sizeof *list->items);
	list->items[list->count++] = *grant;
	*grant = (struct grant){0};
}

bool grant_list_has(const struct grant_list *list, int64_t id) {
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].id == id) return true;
	return false;
}

int grant_row_read(sqlite3_stmt *row, struct grant *ret_grant, struct error *error) {
	struct grant grant = {0};
	const char *permission = store_column(row, 1), *effect = store_column(row, 3), *lifetime = store_column(row, 7);
	const char *origin = store_column(row, 12), *boot_id = store_column(row, 11);
	grant.id = sqlite3_column_int64(row, 0);
	if (!permission || permission_parse(permission, &grant.permission, NULL) < 0 || !effect ||
	    effect_parse(effect, &grant.effect, NULL) < 0 || !lifetime ||
	    lifetime_parse(lifetime, &grant.lifetime, NULL) < 0 || !origin ||
	    grant_origin_parse(origin, &grant.origin, NULL) < 0 || !store_column(row, 2))
		return error_set(error, EUCLEAN, "grant %lld in the database is damaged", (long long)grant.id);
	grant.pattern = string_copy(store_column(row, 2));
	grant.profile = column_or_null(row, 4);
	grant.project = column_or_null(row, 5);
	grant.session = sqlite3_column_int64(row, 6);
	grant.created_ms = sqlite3_column_int64(row, 8);
	grant.expires_ms = sqlite3_column_int64(row, 9);
	grant.expires_boot_ms = sqlite3_column_int64(row, 10);
	size_t size = boot_id ? strnlen(boot_id, sizeof grant.boot_id - 1) : 0;
	if (size > 0) memcpy(grant.boot_id, boot_id, size);
	grant.prompt = sqlite3_column_int64(row, 13);
	grant.reason = column_or_null(row, 14);
	grant.uses = sqlite3_column_int64(row, 15);
	grant.last_used_ms = sqlite3_column_int64(row, 16);
	grant.revoked_ms = sqlite3_column_int64(row, 17);
	grant.revoked_by = column_or_null(row, 18);
	grant.resolved = column_or_null(row, 19);
	*ret_grant = grant;
	return 0;
}

int grant_rows_collect(struct store *store, sqlite3_stmt *rows, struct grant_list *list, struct error *error) {
	int step, r = 0;
	while (r == 0 && (step = sqlite3_step(rows)) == SQLITE_ROW) {
		struct grant grant;
		r = grant_row_read(rows, &grant, error);
		if (r < 0) break;
		grant_list_take(list, &grant);
	}
	if (r == 0 && step != SQLITE_DONE) r = store_error(store, error, "reading the grants");
	sqlite3_reset(rows);
	return r;
}
