/* The profiles that sbx brings along: policy/profiles, put into the library by profiles.S. */
#include <stdlib.h>

#include "base/log.h"
#include "document.h"

#define PROFILE(name) extern const char profile_##name[], profile_##name##_end[]
PROFILE(base);
PROFILE(default);
PROFILE(npm);
PROFILE(node);
PROFILE(git);
PROFILE(python);
PROFILE(aider);
#undef PROFILE

struct policy_document *policy_load_builtin(void) {
#define PROFILE(name)                                                                                                  \
	{ "built-in/" #name ".yaml", profile_##name, profile_##name##_end }
	static const struct {
		const char *file, *text, *end;
	} files[] = {PROFILE(base), PROFILE(default), PROFILE(npm),  PROFILE(node),
		     PROFILE(git),  PROFILE(python),  PROFILE(aider)};
#undef PROFILE
	struct policy_document *document = document_new(POLICY_LAYER_BUILTIN);
	for (size_t i = 0; i < ARRAY_LENGTH(files); i++) {
		struct problems problems = {.file = files[i].file};
		CLEANUP_STRINGS struct strings errors = {0};
		document_read(document, files[i].text, (size_t)(files[i].end - files[i].text), &problems);
		problems_finish(&problems, &errors);
		for (size_t k = 0; k < errors.count; k++) log_error("%s", errors.items[k]);
		/* A build like this must not judge anything (the tests load them all). */
		if (errors.count > 0) abort();
	}
	return document;
}
