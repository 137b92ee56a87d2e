#include "view.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/memory.h"
#include "base/text.h"
#include "keys.h"
#include "ui/flow.h"
#include "words.h"

enum {
	TEXT_WIDTH_MIN = 40, /* of what words are laid out for; a narrower window cuts them */
	GUTTER = 2,          /* the marks before a list's lines */
	NARROW = 64,         /* columns below which panes have their short names */
	SPLIT_LINES = 17,    /* of a body that shows details below its list */
	SPLIT_DETAILS = 10,  /* of them at least these */
	FORM_LINES = 4,      /* title, lifetime, scope, what to press; besides what it is about */
	MESSAGE_SHARE = 8,   /* of the lines, that a message may have */
	LINE_COLUMNS_MAX = 512,
};
enum { COLOUR_ACCENT = 1, COLOUR_WAITS };

struct area {
	WINDOW *window;
	int y, height, width;
};

void view_colours(bool wanted) {
	if (!wanted || !has_colors() || start_color() == ERR) return;
	use_default_colors();
	init_pair(COLOUR_ACCENT, COLOR_CYAN, -1);
	init_pair(COLOUR_WAITS, COLOR_YELLOW, -1);
}

/* Nothing without view_colours. */
static attr_t colour(short pair) {
	return pair < COLOR_PAIRS ? (attr_t)COLOR_PAIR(pair) : A_NORMAL;
}

/* As much of the visible text as fits; a wide character that doesn't fit whole is left out. The rest of the text. */
static const char *draw_part(WINDOW *window, int y, int x, int width, attr_t attributes, const char *text) {
	wchar_t line[LINE_COLUMNS_MAX + 1];
	size_t count = 0;
	int columns = 0;
	while (*text && count < LINE_COLUMNS_MAX) {
		wchar_t character = L'?'; /* text_visible leaves nothing else that isn't a letter */
		mbstate_t state = {0};
		size_t size = mbrtowc(&character, text, strlen(text), &state);
		int wide = size > strlen(text) ? -1 : wcwidth(character);
		if (wide < 0) character = L'?';
		if (columns + (wide < 0 ? 1 : wide) > width) break;
		line[count++] = character;
		columns += wide < 0 ? 1 : wide;
		text += size > strlen(text) ? 1 : size;
	}
	line[count] = L'\0';
	wattr_set(window, attributes, (short)PAIR_NUMBER(attributes), NULL);
	mvwaddwstr(window, y, x, line);
	wattr_set(window, A_NORMAL, 0, NULL);
	return text;
}

static void draw_text(WINDOW *window, int y, int x, int width, attr_t attributes, const char *text) {
	draw_part(window, y, x, width, attributes, text);
}

static void fill(WINDOW *window, int y, int width, attr_t attributes) {
	wattr_set(window, attributes, 0, NULL);
	mvwhline(window, y, 0, ' ' | (chtype)attributes, width);
	wattr_set(window, A_NORMAL, 0, NULL);
}

/* The two lines at the top */

static char *tab_words(const struct monitor_model *model, enum monitor_pane pane, bool narrow) {
	const struct pane_info *info = pane_info(pane);
	const struct monitor_rows *rows = &model->rows[pane];
	bool chosen = model->pane == pane, more = pane != PANE_PROMPTS && (rows->older != 0 || rows->newer != 0);
	CLEANUP_FREE char *number = narrow ? string_copy("") : string_format("%d ", (int)pane + 1);
	CLEANUP_FREE char *count =
		pane == PANE_HISTORY
			? string_copy("")
			: string_format(" %zu%s", pane == PANE_PROMPTS ? model->prompts.count : rows_count(rows),
					more ? "+" : "");
	return string_format("%s%s%s%s%s",
			     chosen   ? "["
			     : narrow ? ""
				      : " ",
			     number, narrow ? info->short_name : info->name, count,
			     chosen   ? "]"
			     : narrow ? ""
				      : " ");
}

static void draw_tabs(const struct area *area, const struct monitor_model *model) {
	int x = 0;
	bool narrow = area->width < NARROW;
	for (size_t i = 0; i < PANE_COUNT && x < area->width; i++) {
		enum monitor_pane pane = (enum monitor_pane)i;
		CLEANUP_FREE char *words = tab_words(model, pane, narrow);
		bool waits = pane == PANE_PROMPTS && model->prompts.count > 0;
		attr_t attributes = model->pane == pane ? A_REVERSE | A_BOLD : A_NORMAL;
		if (waits) attributes |= A_BOLD | colour(COLOUR_WAITS);
		draw_text(area->window, area->y, x, area->width - x, attributes, words);
		x += (int)text_columns(words) + 1;
	}
}

static void draw_state(const struct area *area, const struct monitor_model *model) {
	CLEANUP_FREE char *state = words_state(model);
	attr_t attributes = model->connected ? colour(COLOUR_ACCENT) : A_REVERSE;
	draw_text(area->window, area->y, 0, area->width, attributes, state);
}

/* The list */

/* A bundle as one line: what its members have in common, and how many they are. */
static void add_bundle(struct table *table, const struct monitor_prompts *prompts, const struct waiting_line *line) {
	const struct prompt *first = &prompts->items[line->first].prompt;
	CLEANUP_STRING struct string targets = {0};
	for (size_t i = 0; i < line->count; i++) {
		const char *target = prompts->items[line->first + i].prompt.target;
		string_appendf(&targets, "%s%s", i > 0 ? ", " : "", target ? target : "");
	}
	table_cellf(table, "%lld", (long long)first->id);
	table_cell(table, first->profile);
	table_cell(table, "");
	table_cellf(table, "%zu things", line->count);
	table_cell(table, targets.data);
	table_cell(table, "");
	table_cell(table, "");
	table_cell(table, "");
}

static void add_line(struct table *table, const struct monitor_model *model, size_t index) {
	const struct records *records = pane_info(model->pane)->records;
	const json_t *item = rows_item(&model->rows[model->pane], index);
	size_t before = table_rows(table);
	if (model->pane == PANE_PROMPTS) {
		const struct waiting_line *line = &model->prompts.lines[index];
		item = model->prompts.items[line->first].json;
		if (line->count > 1) {
			add_bundle(table, &model->prompts, line);
			return;
		}
	}
	records->add_row(table, item, model->wall_ms, NULL);
	/* Lines and rows stay one and the same, whatever a record is like. */
	for (size_t c = 0; table_rows(table) == before && c < records->column_count; c++) table_cell(table, "?");
}

/* The lines of the pane's list from `top` on: a heading, then the records. Freed by the caller. */
static char *list_text(const struct monitor_model *model, size_t top, size_t count, size_t width) {
	const struct records *records = pane_info(model->pane)->records;
	CLEANUP_TABLE struct table *table = records_table(records);
	char *text = NULL;
	size_t size = 0;
	for (size_t i = top; i < pane_count(model, model->pane) && i < top + count; i++) add_line(table, model, i);
	FILE *out = mem_expect(open_memstream(&text, &size));
	table_print(table, out, width, true);
	bool failed = ferror(out) != 0;
	failed |= fclose(out) != 0;
	if (failed || !text) mem_exhausted(); /* as in command_help.c: a list that waits isn't to look empty */
	return text;
}

static char *next_line(char **rest) {
	return *rest && **rest ? strsep(rest, "\n") : NULL;
}

static char bundle_mark(const struct monitor_model *model, size_t index) {
	if (model->pane != PANE_PROMPTS) return ' ';
	const struct waiting_line *line = &model->prompts.lines[index];
	return line->count > 1 ? '*' : line->member ? '|' : ' ';
}

static void draw_line(const struct area *area, int y, const char *marks, attr_t attributes, const char *line) {
	if (attributes & A_REVERSE) fill(area->window, y, area->width, attributes);
	draw_text(area->window, y, 0, area->width, attributes, marks);
	if (area->width > GUTTER) draw_text(area->window, y, GUTTER, area->width - GUTTER, attributes, line);
}

static void keep_in_view(size_t *top, size_t chosen, size_t count, size_t room) {
	if (chosen < *top) *top = chosen;
	if (chosen >= *top + room) *top = chosen - room + 1;
	if (*top + room > count) *top = count > room ? count - room : 0;
}

static void draw_none(const struct area *area, const struct monitor_model *model) {
	bool known = model->pane == PANE_PROMPTS || model->rows[model->pane].loaded;
	const char *words = known ? pane_info(model->pane)->none : "…";
	draw_text(area->window, area->y, 0, area->width, A_NORMAL, model->connected ? words : "");
}

/* The heading gives way where there is one line alone. */
static void draw_list(const struct area *area, struct monitor_model *model) {
	size_t count = pane_count(model, model->pane), chosen = pane_chosen(model, model->pane);
	size_t width = area->width > GUTTER ? (size_t)(area->width - GUTTER) : 1, *top = &model->top[model->pane];
	int heading = area->height > 1, y = area->y + heading;
	model->page = (size_t)(area->height - heading);
	if (count == 0) {
		draw_none(area, model);
		return;
	}
	keep_in_view(top, chosen, count, model->page);
	CLEANUP_FREE char *text = list_text(model, *top, model->page, width);
	char *rest = text, *line = next_line(&rest);
	if (heading) draw_line(area, area->y, "  ", A_UNDERLINE, line ? line : "");
	for (size_t i = *top; (line = next_line(&rest)); i++, y++) {
		char marks[GUTTER + 1] = {i == chosen ? '>' : ' ', bundle_mark(model, i), '\0'};
		draw_line(area, y, marks, i == chosen ? A_REVERSE : A_NORMAL, line);
	}
}

/* Text */

static size_t text_width(const struct area *area) {
	return area->width > TEXT_WIDTH_MIN ? (size_t)area->width : TEXT_WIDTH_MIN;
}

/* From line `top` on; the number of all lines. The last one says when there are more. */
static size_t draw_lines(const struct area *area, char *text, size_t top) {
	size_t count = 0;
	char *line, *rest = text;
	while ((line = next_line(&rest))) {
		int y = (int)count - (int)top;
		if (count >= top && y < area->height)
			draw_text(area->window, area->y + y, 0, area->width, A_NORMAL, line);
		count++;
	}
	if (area->height > 1 && count > top + (size_t)area->height) {
		fill(area->window, area->y + area->height - 1, area->width, A_NORMAL);
		draw_text(area->window, area->y + area->height - 1, 0, area->width, A_BOLD, "  … more below");
	}
	return count;
}

static void draw_details(const struct area *area, const struct monitor_model *model, size_t top, size_t *ret_count) {
	CLEANUP_STRING struct string text = {0};
	words_details(model, text_width(area), &text);
	size_t count = text.data ? draw_lines(area, text.data, top) : 0;
	if (ret_count) *ret_count = count;
}

static void draw_help(const struct area *area, struct monitor_model *model) {
	CLEANUP_STRING struct string text = {0};
	words_help(text_width(area), &text);
	model->text_count = draw_lines(area, text.data, model->text_top);
}

/* The form stands at the lower end; above it, what it is about. */

static char *field_words(bool chosen, const char *label, const char *value) {
	return string_format("%c %-8s < %s >", chosen ? '>' : ' ', label, value);
}

static void draw_field(const struct area *area, int y, bool chosen, const char *label, const char *value) {
	CLEANUP_FREE char *words = field_words(chosen, label, value);
	draw_text(area->window, y, 0, area->width, chosen ? A_REVERSE : A_NORMAL, words);
}

static char *form_question(const struct monitor_form *form) {
	if (form->unseen && form->effect == EFFECT_ALLOW) return string_copy("Too little room to allow it; Esc: back");
	if (form->confirm) return string_format("Type the word allow, then Enter: %s_", form->typed);
	if (form->kind == FORM_REVOKE) return string_copy("y: end it now   Esc: back");
	return string_format("y: %s   Esc: back", form->effect == EFFECT_ALLOW ? "allow" : "deny");
}

/* Whole, in as many lines as it takes; with what an answer covers where its field has no room for it. The lines. */
static int append_subjects(const struct monitor_form *form, const struct area *area, struct string *out) {
	int lines = 0;
	for (size_t i = 0; i < form->subjects.count; i++) {
		CLEANUP_FREE char *visible = text_visible(form->subjects.items[i]);
		flow_append(out, visible, 0, text_width(area));
	}
	if (form->kind == FORM_ANSWER) {
		CLEANUP_FREE char *field = field_words(false, "covers", form_scope_words(form));
		CLEANUP_FREE char *covers = string_format("covers %s", form_scope_words(form));
		if (text_columns(field) > (size_t)area->width) flow_append(out, covers, 0, text_width(area));
	}
	for (size_t i = 0; i < out->size; i++) lines += out->data[i] == '\n';
	return lines;
}

static void draw_form(const struct area *area, struct monitor_model *model) {
	struct monitor_form *form = &model->form;
	CLEANUP_STRING struct string subjects = {0};
	const int frame = form->kind == FORM_ANSWER ? FORM_LINES : FORM_LINES - 2;
	const int lines = frame + append_subjects(form, area, &subjects);
	form->unseen = lines > area->height || area->width < TEXT_WIDTH_MIN;
	const int height = lines < area->height ? lines : area->height;
	int y = area->y + area->height - height;
	char *rest = subjects.data;
	struct area above = {area->window, area->y, y - area->y, area->width};
	if (above.height > 0) draw_details(&above, model, 0, NULL);
	fill(area->window, y, area->width, A_REVERSE);
	draw_text(area->window, y, 0, area->width, A_REVERSE | A_BOLD, form->title);
	for (int left = height - frame; left > 0; left--)
		draw_text(area->window, ++y, 0, area->width, A_BOLD, next_line(&rest));
	if (form->kind == FORM_ANSWER) {
		CLEANUP_FREE char *lifetime = form_lifetime_words(form);
		draw_field(area, ++y, form->field == FORM_FIELD_LIFETIME, "for", lifetime);
		draw_field(area, ++y, form->field == FORM_FIELD_SCOPE, "covers", form_scope_words(form));
	}
	CLEANUP_FREE char *question = form_question(form);
	draw_text(area->window, ++y, 0, area->width, A_BOLD, question);
}

static void draw_split(const struct area *area, struct monitor_model *model) {
	struct area list = *area, details = *area;
	details.height = area->height / 2 > SPLIT_DETAILS ? area->height / 2 : SPLIT_DETAILS;
	list.height = area->height - details.height - 1;
	details.y = list.y + list.height + 1;
	draw_list(&list, model);
	mvwhline_set(area->window, details.y - 1, 0, WACS_HLINE, area->width);
	draw_details(&details, model, 0, NULL);
}

static void draw_body(const struct area *area, struct monitor_model *model) {
	if (area->height < 1) return;
	switch (model->mode) {
	case MODE_LIST:
		if (area->height >= SPLIT_LINES && pane_count(model, model->pane) > 0)
			draw_split(area, model);
		else
			draw_list(area, model);
		break;
	case MODE_DETAILS:
		model->page = (size_t)area->height;
		draw_details(area, model, model->text_top, &model->text_count);
		break;
	case MODE_HELP:
		model->page = (size_t)area->height;
		draw_help(area, model);
		break;
	case MODE_FORM:
		draw_form(area, model);
		break;
	}
}

/* What was done last; else, that somebody waits. Freed by the caller. */
static char *message_words(const struct monitor_model *model) {
	size_t waiting = model->prompts.count;
	if (model->message) return string_copy(model->message);
	if (model->pane == PANE_PROMPTS || waiting == 0) return string_copy("");
	return string_format("%zu prompt%s wait%s for an answer: press 1", waiting, waiting == 1 ? "" : "s",
			     waiting == 1 ? "s" : "");
}

/* More than one only where a list keeps more. */
static int message_lines(const char *words, int height, int width) {
	int wanted = width > 0 ? ((int)text_columns(words) + width - 1) / width : 1, most = height / MESSAGE_SHARE;
	return wanted < 2 || most < 2 ? 1 : wanted < most ? wanted : most;
}

void view_draw(WINDOW *window, struct monitor_model *model) {
	int height = getmaxy(window), width = getmaxx(window);
	struct area top = {window, 0, 1, width}, second = {window, 1, 1, width};
	CLEANUP_FREE char *message = message_words(model);
	CLEANUP_FREE char *keys = keys_line(model, (size_t)width);
	int lines = message_lines(message, height, width);
	struct area body = {window, 2, height - 3 - lines, width};
	werase(window);
	draw_tabs(&top, model);
	if (height > 1) draw_state(&second, model);
	draw_body(&body, model);
	const char *rest = message;
	for (int i = 0; i < lines && height > 3; i++)
		rest = draw_part(window, height - 1 - lines + i, 0, width, A_BOLD, rest);
	if (height > 2) draw_text(window, height - 1, 0, width, A_DIM, keys);
}
