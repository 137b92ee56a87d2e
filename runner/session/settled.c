#include "settled.h"

#include <stdlib.h>

void holders_finish(struct holders *holders) {
	for (size_t i = 0; i < holders->count; i++) {
		free(holders->items[i].command);
		free(holders->items[i].path);
	}
	free(holders->items);
	*holders = (struct holders){0};
}
