#include "schema/home.h"

#include <string.h>

#include "base/path.h"
#include "base/string.h"

const char *const home_folders[HOME_FOLDER_COUNT] = {
	"", "/.cache", "/.config", "/.local", "/.local/bin", "/.local/share", "/.local/state"};

bool home_has_folder(const char *home, const char *path) {
	if (!path_is_below(path, home)) return false;
	for (size_t i = 0; i < HOME_FOLDER_COUNT; i++)
		if (string_equal(path + strlen(home), home_folders[i])) return true;
	return false;
}
