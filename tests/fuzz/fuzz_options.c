/*
 * A command line of `sbx history`, one argument a line, and each of them as a time, a duration and an id: what comes
 * out is within its bounds, and what is refused is refused with a sentence.
 */
#include <string.h>

#include "base/clock.h"
#include "commands/commands.h"
#include "fuzz.h"

enum { ARGUMENTS_MAX = 32 };

static void check_words(const char *text) {
	int64_t value = 0, again = 0;
	struct error error = ERROR_NONE;
	if (duration_parse(text, &value, &error) == 0) {
		CLEANUP_FREE char *shown = duration_format(value);
		demand(value >= 0 && value <= LIMIT_TTL_MS, "%s is %lld ms", text, (long long)value);
		demand(duration_parse(shown, &again, &error) == 0 && again == value, "%s becomes %s", text, shown);
	} else {
		demand(*error.message, "refused without a word");
	}
	if (id_parse(text, "grant", &value, &error) == 0) demand(value >= 1, "an id of %lld", (long long)value);
}

static void check_line(char **argv) {
	CLEANUP_STRINGS struct strings operands = {0};
	struct error error = ERROR_NONE;
	void *values = mem_alloc(1, command_history.values_size);
	int r = options_parse(&command_history.options, argv, values, &operands, &error);
	demand(r >= 0 || *error.message, "refused without a word");
	for (size_t i = 0; r == 0 && i < command_history.options.count; i++) {
		const struct option_info *option = &command_history.options.options[i];
		const int64_t *number = (const int64_t *)((const char *)values + option->offset);
		if (option->kind == OPTION_NUMBER || option->kind == OPTION_DURATION || option->kind == OPTION_TIME)
			demand(*number >= 0, "--%s is %lld", option->name, (long long)*number);
	}
	options_finish(&command_history.options, values);
	free(values);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	CLEANUP_STRINGS struct strings argv = {0};
	while (size > 0 && argv.count < ARGUMENTS_MAX) strings_take(&argv, fuzz_line(&data, &size));
	if (argv.count == 0) return 0;
	for (size_t i = 0; i < argv.count; i++) check_words(argv.items[i]);
	check_line(argv.items);
	return 0;
}
