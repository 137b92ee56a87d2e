#include "keys.h"

#include <curses.h>
#include <limits.h>

#include "base/memory.h"
#include "base/text.h"

#define CONTROL(letter) ((letter)&0x1f)
enum { KEY_ESCAPE = 27, KEY_RUBOUT = 127, NAME_COLUMNS = 12 };

enum {
	IN_LIST = 1 << MODE_LIST,
	IN_DETAILS = 1 << MODE_DETAILS,
	IN_HELP = 1 << MODE_HELP,
	IN_FORM = 1 << MODE_FORM,
	IN_TEXT = IN_DETAILS | IN_HELP,
	IN_ALL = IN_LIST | IN_TEXT | IN_FORM,

	OF_PROMPTS = 1 << PANE_PROMPTS,
	OF_GRANTS = 1 << PANE_GRANTS,
	OF_ALL = (1 << PANE_COUNT) - 1,
};

struct key {
	int code;
	unsigned modes, panes;
	void (*act)(struct monitor_model *model, int code);
	const char *name, *label; /* for the line at the bottom, in which those with a label stand */
	const char *help;         /* NULL: it does what another one does, too */
};

/* In the order of the helps. */
static const struct key keys[] = {
	{'a', IN_LIST | IN_DETAILS, OF_PROMPTS, act_allow, "a", "allow",
	 "Allow what is chosen: first for how long and how much of it. On the first line of a bundle: all of it."},
	{'d', IN_LIST | IN_DETAILS, OF_PROMPTS, act_deny, "d", "deny", "Deny it, this once or for longer."},
	{'r', IN_LIST | IN_DETAILS, OF_GRANTS, act_revoke, "r", "revoke",
	 "End the chosen grant; you are asked once more."},
	{'y', IN_FORM, OF_ALL, act_yes, "y", "yes",
	 "In a form: do it. What must be confirmed in a terminal wants the whole word instead."},
	{KEY_ESCAPE, IN_FORM | IN_TEXT, OF_ALL, act_back, "Esc", "back", "Back; nothing is decided."},
	{'n', IN_FORM, OF_ALL, act_back, NULL, NULL, NULL},
	{'q', IN_FORM | IN_TEXT, OF_ALL, act_back, NULL, NULL, NULL},
	{CONTROL('c'), IN_FORM | IN_TEXT, OF_ALL, act_back, NULL, NULL, NULL},
	{KEY_LEFT, IN_FORM, OF_ALL, act_change_less, "←/→", "change",
	 "In a form: another value. In a list: another pane."},
	{KEY_RIGHT, IN_FORM, OF_ALL, act_change_more, NULL, NULL, NULL},
	{'\r', IN_FORM, OF_ALL, act_enter, NULL, NULL, NULL},
	{KEY_ENTER, IN_FORM, OF_ALL, act_enter, NULL, NULL, NULL},
	{KEY_BACKSPACE, IN_FORM, OF_ALL, act_erase, NULL, NULL, NULL},
	{KEY_RUBOUT, IN_FORM, OF_ALL, act_erase, NULL, NULL, NULL},
	{CONTROL('h'), IN_FORM, OF_ALL, act_erase, NULL, NULL, NULL},
	{'\r', IN_LIST, OF_ALL, act_details, "Enter", "details", "All that is known of the chosen line."},
	{KEY_ENTER, IN_LIST, OF_ALL, act_details, NULL, NULL, NULL},
	{'\r', IN_TEXT, OF_ALL, act_back, NULL, NULL, NULL},
	{KEY_ENTER, IN_TEXT, OF_ALL, act_back, NULL, NULL, NULL},
	{'\t', IN_LIST | IN_TEXT, OF_ALL, act_next_pane, "Tab", "pane", "The next pane, as →; 1 to 4: one of them."},
	{KEY_RIGHT, IN_LIST | IN_TEXT, OF_ALL, act_next_pane, NULL, NULL, NULL},
	{KEY_BTAB, IN_LIST | IN_TEXT, OF_ALL, act_previous_pane, NULL, NULL, NULL},
	{KEY_LEFT, IN_LIST | IN_TEXT, OF_ALL, act_previous_pane, NULL, NULL, NULL},
	{'1', IN_LIST | IN_TEXT, OF_ALL, act_pane, NULL, NULL, NULL},
	{'2', IN_LIST | IN_TEXT, OF_ALL, act_pane, NULL, NULL, NULL},
	{'3', IN_LIST | IN_TEXT, OF_ALL, act_pane, NULL, NULL, NULL},
	{'4', IN_LIST | IN_TEXT, OF_ALL, act_pane, NULL, NULL, NULL},
	{KEY_UP, IN_ALL, OF_ALL, act_up, "↑/↓", NULL,
	 "Another line (also k, j); PgUp and PgDn a screen, Home and End to the ends."},
	{KEY_DOWN, IN_ALL, OF_ALL, act_down, NULL, NULL, NULL},
	{'k', IN_LIST | IN_TEXT, OF_ALL, act_up, NULL, NULL, NULL},
	{'j', IN_LIST | IN_TEXT, OF_ALL, act_down, NULL, NULL, NULL},
	{'\t', IN_FORM, OF_ALL, act_down, NULL, NULL, NULL},
	{KEY_PPAGE, IN_LIST | IN_TEXT, OF_ALL, act_page_up, NULL, NULL, NULL},
	{KEY_NPAGE, IN_LIST | IN_TEXT, OF_ALL, act_page_down, NULL, NULL, NULL},
	{' ', IN_LIST | IN_TEXT, OF_ALL, act_page_down, NULL, NULL, NULL},
	{KEY_HOME, IN_LIST | IN_TEXT, OF_ALL, act_first, NULL, NULL, NULL},
	{KEY_END, IN_LIST | IN_TEXT, OF_ALL, act_last, NULL, NULL, NULL},
	{'g', IN_LIST | IN_TEXT, OF_ALL, act_first, NULL, NULL, NULL},
	{'G', IN_LIST | IN_TEXT, OF_ALL, act_last, NULL, NULL, NULL},
	{'?', IN_LIST | IN_DETAILS, OF_ALL, act_help, "?", "help", "This page."},
	{'?', IN_HELP, OF_ALL, act_back, NULL, NULL, NULL},
	{'q', IN_LIST, OF_ALL, act_quit, "q", "quit", "End the monitor (also ^C). Prompts go on waiting."},
	{CONTROL('c'), IN_LIST, OF_ALL, act_quit, NULL, NULL, NULL},
	{CONTROL('z'), IN_ALL, OF_ALL, act_suspend, "^Z", NULL, "Suspend it; until it goes on it isn't asked."},
	{CONTROL('l'), IN_ALL, OF_ALL, act_redraw, "^L", NULL, "Draw the screen anew."},
};

static bool is_for(const struct key *key, const struct monitor_model *model) {
	return (key->modes & 1U << model->mode) && (key->panes & 1U << model->pane);
}

/* Does it need a chosen line? */
static bool is_about_line(const struct key *key) {
	return key->panes != OF_ALL || key->act == act_details;
}

/* A word is being typed: letters are nothing else. */
static bool types_word(const struct monitor_model *model, int code) {
	return model->mode == MODE_FORM && model->form.confirm && code >= 'a' && code <= 'z';
}

void keys_press(struct monitor_model *model, int code) {
	model_say(model, NULL);
	if (types_word(model, code)) {
		act_yes(model, code);
		return;
	}
	if (code == '\n') code = '\r';
	for (size_t i = 0; i < ARRAY_LENGTH(keys); i++) {
		if (keys[i].code != code || !is_for(&keys[i], model)) continue;
		keys[i].act(model, code);
		return;
	}
	/* Who types text that is meant for another window isn't looking at the form. */
	if (model->mode == MODE_FORM) model->form.since_ms = model->boot_ms;
}

char *keys_line(const struct monitor_model *model, size_t width) {
	struct string line = {0};
	size_t columns = 0;
	for (size_t i = 0; i < ARRAY_LENGTH(keys); i++) {
		const struct key *key = &keys[i];
		if (!key->label || !is_for(key, model)) continue;
		if (is_about_line(key) && pane_count(model, model->pane) == 0) continue;
		bool word = model->mode == MODE_FORM && model->form.confirm && key->act == act_yes;
		CLEANUP_FREE char *item =
			word ? string_copy("the word and Enter") : string_format("%s %s", key->name, key->label);
		size_t needed = text_columns(item) + (columns > 0 ? 2 : 0);
		if (columns + needed > width) continue;
		string_appendf(&line, "%s%s", columns > 0 ? "  " : "", item);
		columns += needed;
	}
	return string_steal(&line);
}

void keys_help(struct string *out) {
	for (size_t i = 0; i < ARRAY_LENGTH(keys); i++)
		if (keys[i].help) string_appendf(out, "%s\t%s\n", keys[i].name, keys[i].help);
}
