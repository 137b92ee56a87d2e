#include "completion/complete.h"

#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "schema/limits.h"

enum { DESCRIPTION_COLUMNS = 72 };

void complete_offer(struct completion *completion, const char *value, const char *description) {
	if (!string_starts(value, completion->typed) || completion->offered >= LIMIT_COMPLETIONS) return;
	CLEANUP_FREE char *visible = text_visible(value);
	if (strcmp(visible, value) != 0) return;
	completion->offered++;
	fprintf(completion->out, "%.*s%s", (int)(completion->typed - completion->word), completion->word, value);
	CLEANUP_FREE char *shown = description ? text_visible_cut(description, DESCRIPTION_COLUMNS) : NULL;
	fprintf(completion->out, "%s%s\n", shown ? "\t" : "", shown ? shown : "");
}

/* Commands */

static void offer_commands(struct completion *completion, const struct command *const *list) {
	for (; *list; list++)
		if (!(*list)->hidden) complete_offer(completion, command_word(*list), (*list)->summary);
}

static void offer_first(struct completion *completion, const struct command *const *commands) {
	offer_commands(completion, commands);
	if (*completion->word != '-') return;
	complete_offer(completion, "--help", "Show help.");
	complete_offer(completion, "--version", "Show the version.");
}

/* Options */

struct walk {
	const struct command *command;
	char *const *words;   /* all after "sbx" */
	size_t first, last;   /* of the command's own; the last one is being typed */
	struct strings given; /* options */
	const char *value;    /* what help calls the value that is being typed; NULL: it is an option or an operand */
	bool operands_only;   /* after "--" */
	size_t foreign;       /* the word from which on it isn't ours, or SIZE_MAX */
	struct completion *completion;
};

/* "How long, such as 90s. Default: 1h." → "How long, such as 90s" */
static char *first_sentence(const char *help) {
	const char *end = strstr(help, ". ");
	size_t size = end ? (size_t)(end - help) : strlen(help);
	while (size > 0 && help[size - 1] == '.') size--;
	return string_copy_bytes(help, size);
}

static void offer_options(const struct walk *walk) {
	const struct option_table *table = &walk->command->options;
	for (size_t i = 0; i < table->count; i++) {
		const struct option_info *option = &table->options[i];
		CLEANUP_FREE char *name = string_format("--%s", option->name);
		CLEANUP_FREE char *help = first_sentence(option->help);
		if (option_repeats(option) || !strings_contain(&walk->given, option->name))
			complete_offer(walk->completion, name, help);
	}
	complete_offer(walk->completion, "--help", "Show help");
}

/* Moves *index past the option there and what of its values stands before the word that is being typed. */
static void pass_option(struct walk *walk, size_t *index) {
	const char *word = walk->words[(*index)++], *equals = strchr(word, '=');
	const size_t size = equals ? (size_t)(equals - word) : strlen(word);
	const struct option_info *option = size > 2 ? option_find(&walk->command->options, word + 2, size - 2) : NULL;
	if (!option) return;
	strings_add(&walk->given, option->name);
	if (!option->value) return;
	const char *value = equals ? equals + 1 : walk->words[*index];
	if (strcmp(option->value, "PROFILE") == 0) walk->completion->profile = value;
	if (!equals && (*index)++ == walk->last) {
		walk->value = option->value;
		return;
	}
	if (option->kind != OPTION_PERMISSION || strchr(value, '=')) return;
	if (*index == walk->last && walk->words[walk->last][0] == '-') return; /* as it is parsed: no target */
	if ((*index)++ != walk->last) return;
	walk->value = "TARGET";
	walk->completion->permission = value;
}

static void pass_words(struct walk *walk) {
	for (size_t i = walk->first; i < walk->last;) {
		const char *word = walk->words[i];
		if (walk->operands_only || word[0] != '-' || word[1] == '\0') {
			strings_add(&walk->completion->operands, word);
			if (walk->command->options.stop_at_operand) {
				walk->foreign = i;
				return;
			}
			i++;
		} else if (strcmp(word, "--") == 0) {
			walk->operands_only = true;
			i++;
		} else {
			pass_option(walk, &i);
		}
	}
}

/* "--name=val": the value is typed behind the "=". */
static bool typed_in_option(struct walk *walk) {
	const char *word = walk->completion->word, *equals = strchr(word, '=');
	if (walk->operands_only || !string_starts(word, "--") || !equals) return false;
	const struct option_info *option = option_find(&walk->command->options, word + 2, (size_t)(equals - word) - 2);
	if (!option || !option->value) return false;
	walk->completion->typed = equals + 1;
	walk->value = option->value;
	return true;
}

/* Operands */

/* What help calls the operand of that number in "[--] COMMAND [ARG]..." or "GRANT... | --all", of which the first form
 * counts. NULL: there is none. Freed by the caller. */
static char *operand_name(const char *operands, size_t number) {
	const char *found = NULL;
	size_t size = 0, next = 0;
	for (const char *word = operands; *word && *word != '|' && next <= number; word += strspn(word, " ")) {
		const bool counts = !string_starts(word, "[--]");
		if (counts) {
			found = word;
			size = strcspn(word, " ");
			next++;
		}
		word += strcspn(word, " ");
	}
	if (!found) return NULL;
	CLEANUP_FREE char *text = string_copy_bytes(found, size);
	if (next <= number && !string_ends(text, "...")) return NULL;
	const char *bare = text + strspn(text, "[");
	return string_copy_bytes(bare, strcspn(bare, "]."));
}

static void offer_operand(struct walk *walk) {
	struct completion *completion = walk->completion;
	const struct strings *before = &completion->operands;
	CLEANUP_FREE char *name = operand_name(walk->command->operands, before->count);
	if (walk->command->options.stop_at_operand && before->count == 0) {
		fprintf(completion->out, ":command %zu\n", walk->last);
		return;
	}
	if (name && strcmp(name, "TARGET") == 0) {
		completion->permission = before->count > 0 ? before->items[before->count - 1] : "";
		if (strchr(completion->permission, '=')) return;
	}
	if (name)
		complete_value(completion, name);
	else if (before->count == 0 && !walk->operands_only)
		offer_options(walk);
}

static void complete_command(const struct command *command, char *const *words, size_t first, size_t last,
			     struct completion *completion) {
	const bool options = command->run && words[first][0] == '-';
	if (command->commands && !options) {
		const struct command *sub = first < last ? command_lookup(command->commands, words[first]) : NULL;
		if (sub)
			complete_command(sub, words, first + 1, last, completion);
		else if (first == last)
			offer_commands(completion, command->commands);
		return;
	}
	struct walk walk = {.command = command,
			    .words = words,
			    .first = first,
			    .last = last,
			    .foreign = SIZE_MAX,
			    .completion = completion};
	pass_words(&walk);
	if (walk.foreign != SIZE_MAX)
		fprintf(completion->out, ":command %zu\n", walk.foreign);
	else if (walk.value || typed_in_option(&walk))
		complete_value(completion, walk.value);
	else if (*completion->word == '-' && !walk.operands_only)
		offer_options(&walk);
	else
		offer_operand(&walk);
	strings_finish(&walk.given);
}

void complete_words(const struct command *const *commands, char *const *words, size_t count, FILE *out) {
	if (count == 0) return;
	const size_t last = count - 1;
	struct completion completion = {.word = words[last], .typed = words[last], .out = out};
	const struct command *command = last > 0 ? command_lookup(commands, words[0]) : NULL;
	if (last == 0)
		offer_first(&completion, commands);
	else if (last == 1 && strcmp(words[0], "help") == 0)
		offer_commands(&completion, commands);
	else if (command)
		complete_command(command, words, 1, last, &completion);
	strings_finish(&completion.operands);
}
