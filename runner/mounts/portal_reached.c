#include "portal_reached.h"

#include <stdlib.h>

#include "base/fd.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/string.h"
#include "portal_spaces.h"
#include "portal_tree.h"

void reached_forget(struct reached *reached) {
	fd_close(reached->fd);
	free(reached->path);
	*reached = (struct reached)REACHED_NONE;
}

int reached_folder(struct reached *reached, int root, const char *folder) {
	if (reached->fd < 0 || !string_equal(reached->path, folder)) {
		struct place place;
		reached_forget(reached);
		reached->fd = spaces_reach(root, folder);
		reached->mount = reached->fd >= 0 && place_of(reached->fd, &place) == 0 ? place.mount : 0;
		reached->path = string_copy(folder);
	}
	reached->uses++;
	return reached->fd;
}

void reached_covered(struct reached *reached, const char *path) {
	if (reached->path && path_is_below(reached->path, path)) reached_forget(reached);
}
