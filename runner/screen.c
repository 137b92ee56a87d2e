/*
 * Theory of operation
 *
 * A terminal can't be asked what it shows, but it can be made to show it again: by the same bytes. So what a
 * full-screen program has written since its picture began (the alternate screen was entered, or the screen cleared from
 * its first place on) is kept, and written again when the question is over. That needs no knowledge of how wide a
 * letter is or what a terminal makes of a tab. It is bounded, since a program that never clears its screen writes
 * without end: past LIMIT_PICTURE the picture is given up, and the program is made to draw it anew, which nearly all do
 * for a new size.
 *
 * What depends on where the cursor was when the picture began can't be written again, with one exception, since `less`
 * is one: lines written from a first column on end at the lowest line, wherever they began, if they are as many as the
 * screen has (`floating` until then).
 *
 * Of what is written again only what draws is kept (`drawn`): a query would be answered twice, a bell ring twice. What
 * says how the keyboard, the mouse and the cursor behave is kept as values and not as bytes, as is how letters look
 * (the pen), since a picture may begin at any time.
 *
 * The bytes are taken apart as vt100.net/emu/dec_ansi_parser does. What the terminal has got of a control that isn't
 * complete yet is lost to the question's first bytes; it is sent again, too.
 */
#include "screen.h"

#include <string.h>

#include "schema/limits.h"
#include "screen_modes.h"
#include "screen_style.h"

enum {
	BEL = 7,
	SO = 14,
	SI = 15,
	CAN = 0x18,
	SUB = 0x1a,
	ESC = 0x1b,
	DEL = 0x7f,
	SETS = 4,
	UNSAID = -1,
	MODE_INSERT = 4,
	MODE_NEWLINE = 20,
};

enum state { GROUND, POINT, ESCAPE, CONTROL, STRING, STRING_ESCAPE };

struct pen {
	struct screen_style style;
	char sets[SETS][4]; /* G0 … G3 as they are designated, without ESC; "": ASCII */
	unsigned shift;     /* which of them is typed with */
};

struct margins {
	unsigned top, bottom, left, right; /* 0: none */
};

struct screen {
	enum state state;
	struct string sequence; /* since it began, while state isn't GROUND */
	bool cut;               /* there was more of it */
	unsigned point_left;    /* bytes of a letter in UTF-8 */

	unsigned alternate; /* the mode by which it was entered: 47, 1047, 1049; 0: the main screen */
	bool addressed;     /* the main one: the cursor went to places */
	bool aside;         /* the question is on the alternate screen */

	struct screen_modes modes;
	struct pen pen, pen_saved; /* DECSC */
	struct margins margins;
	bool insert, newline; /* IRM, LNM */
	bool kitty;           /* its keyboard protocol was spoken */
	int keys, shape;      /* modifyOtherKeys; of the cursor */

	unsigned rows;
	struct string picture; /* of the alternate screen */
	bool whole;            /* it is all */
	bool placed, home;     /* where the cursor is, is known; it is at the first place */
	bool floating;         /* only its column is known */
	unsigned feeds;        /* so many lines down, then */
	bool saved;            /* DECSC is in the picture */
};

static void reset(struct screen *screen) {
	string_finish(&screen->sequence);
	string_finish(&screen->picture);
	*screen = (struct screen){.rows = screen->rows, .keys = UNSAID, .shape = UNSAID};
}

struct screen *screen_new(unsigned rows) {
	struct screen *screen = mem_new(struct screen);
	reset(screen);
	screen->rows = rows;
	return screen;
}

void screen_free(struct screen *screen) {
	if (!screen) return;
	reset(screen);
	free(screen);
}

/* How letters appear, and where: put into words */

static void append_pen(const struct pen *pen, struct string *out) {
	static const char *const shifts[SETS] = {"", "\x0e", "\x1bn", "\x1bo"};
	screen_style_append(&pen->style, out);
	for (size_t i = 0; i < SETS; i++)
		if (*pen->sets[i]) string_appendf(out, "\x1b%s", pen->sets[i]);
	string_append(out, shifts[pen->shift]);
}

static void append_margins(const struct margins *margins, struct string *out) {
	if (margins->top) string_appendf(out, "\x1b[%u;%ur", margins->top, margins->bottom);
	if (margins->left) string_appendf(out, "\x1b[%u;%us", margins->left, margins->right);
}

/* All that a picture depends on, from what a terminal has when it is switched on. It may move the cursor. */
static void append_drawing(const struct screen *screen, struct string *out) {
	screen_modes_append(&screen->modes, true, out);
	append_margins(&screen->margins, out);
	if (screen_modes_on(&screen->modes, SCREEN_MODE_ORIGIN)) string_append(out, "\x1b[?6h");
	if (screen->insert) string_append(out, "\x1b[4h");
	if (screen->newline) string_append(out, "\x1b[20h");
	append_pen(&screen->pen, out);
}

/* The picture */

static void give_up(struct screen *screen) {
	screen->whole = screen->floating = false;
	string_finish(&screen->picture);
}

static void draw(struct screen *screen, const char *bytes, size_t size) {
	if (!screen->whole) return;
	if (screen->picture.size + size > LIMIT_PICTURE)
		give_up(screen);
	else
		string_append_bytes(&screen->picture, bytes, size);
}

/* What depends on where the cursor is. */
static void draw_there(struct screen *screen, const char *bytes, size_t size) {
	screen->home = false;
	if (!screen->alternate) return;
	if (!screen->placed) give_up(screen);
	draw(screen, bytes, size);
}

/* Letters, and what goes about in a line or to the next. */
static void draw_line(struct screen *screen, const char *bytes, size_t size) {
	const bool down = *bytes >= '\n' && *bytes <= '\f', back = *bytes == '\r';
	if (!screen->placed && !screen->floating && back && screen->whole && !screen->margins.top) {
		screen->floating = true;
		screen->feeds = 0;
		draw(screen, "\x1b[H", 3);
	}
	if (screen->floating && down && ++screen->feeds + 1 >= screen->rows) {
		screen->placed = true;
		screen->floating = false;
	}
	if (screen->floating)
		draw(screen, bytes, size);
	else
		draw_there(screen, bytes, size);
}

static void draw_sequence(struct screen *screen, bool there) {
	if (there)
		draw_there(screen, screen->sequence.data, screen->sequence.size);
	else
		draw(screen, screen->sequence.data, screen->sequence.size);
}

/* Nothing is on the alternate screen but what comes now. */
static void begin_picture(struct screen *screen) {
	string_finish(&screen->picture);
	screen->whole = true;
	screen->floating = screen->saved = false;
	append_drawing(screen, &screen->picture);
}

static void alternate(struct screen *screen, unsigned mode, bool on) {
	if (!on) {
		screen->alternate = 0;
		give_up(screen);
		return;
	}
	const bool fresh = screen->alternate == 0 && mode != 47; /* 47 shows what was there before */
	if (screen->alternate == 0) screen->alternate = mode;
	screen->placed = screen->home = screen->floating = false;
	if (fresh)
		begin_picture(screen);
	else
		give_up(screen);
}

/* Controls. `parameters` of CSI: digits, semicolons, colons. */

static unsigned number_at(const char *parameters, size_t index) {
	while (index-- > 0) {
		parameters += strcspn(parameters, ";");
		if (*parameters) parameters++;
	}
	unsigned number = 0;
	for (; *parameters >= '0' && *parameters <= '9' && number < 100 * 1000; parameters++)
		number = number * 10 + (unsigned)(*parameters - '0');
	return number;
}

static size_t count_of(const char *parameters) {
	size_t count = 1;
	for (; *parameters; parameters++)
		if (*parameters == ';') count++;
	return count;
}

static void save_pen(struct screen *screen) {
	screen->pen_saved = screen->pen;
	screen->saved = true;
	draw_there(screen, "\x1b\x37", 2);
}

static void restore_pen(struct screen *screen) {
	screen->pen = screen->pen_saved;
	if (!screen->saved) give_up(screen);
	draw_there(screen, "\x1b\x38", 2);
}

static void set_mode(struct screen *screen, unsigned number, bool on) {
	switch (number) {
	case 47:
	case 1047:
	case 1049:
		alternate(screen, number, on);
		return;
	case 1048:
		if (on)
			save_pen(screen);
		else
			restore_pen(screen);
		return;
	default:
		screen_modes_set(&screen->modes, number, on);
	}
	if (number == SCREEN_MODE_MARGINS && !on) screen->margins.left = screen->margins.right = 0;
	if (number == SCREEN_MODE_ORIGIN) {
		if (screen->floating) give_up(screen);
		screen->placed = true;
		screen->home = false;
	}
	if (!screen_modes_draw(number)) return;
	CLEANUP_FREE char *bytes = string_format("\x1b[?%u%c", number, on ? 'h' : 'l');
	draw(screen, bytes, strlen(bytes));
}

static void restore_mode(struct screen *screen, unsigned number) {
	if (!screen_modes_known(number)) return;
	struct screen_modes modes = screen->modes;
	screen_modes_restore(&modes, number);
	set_mode(screen, number, screen_modes_on(&modes, number));
}

static void private_mode(struct screen *screen, const char *parameters, char final) {
	const size_t count = count_of(parameters);
	for (size_t i = 0; i < count; i++) {
		const unsigned number = number_at(parameters, i);
		if (final == 's') screen_modes_save(&screen->modes, number);
		if (final == 'r') restore_mode(screen, number);
		if (final == 'h' || final == 'l') set_mode(screen, number, final == 'h');
	}
	if (final == 'J' || final == 'K') draw_sequence(screen, true);
}

static void ansi_mode(struct screen *screen, const char *parameters, bool on) {
	const size_t count = count_of(parameters);
	for (size_t i = 0; i < count; i++) {
		const unsigned number = number_at(parameters, i);
		if (number != MODE_INSERT && number != MODE_NEWLINE) continue;
		if (number == MODE_INSERT) screen->insert = on;
		if (number == MODE_NEWLINE) screen->newline = on;
		CLEANUP_FREE char *bytes = string_format("\x1b[%u%c", number, on ? 'h' : 'l');
		draw(screen, bytes, strlen(bytes));
	}
}

static void go_to(struct screen *screen, const char *parameters) {
	if (screen->floating) give_up(screen);
	screen->placed = screen->addressed = true;
	draw_sequence(screen, true);
	screen->home = number_at(parameters, 0) <= 1 && number_at(parameters, 1) <= 1 &&
		       !screen_modes_on(&screen->modes, SCREEN_MODE_ORIGIN);
}

static void erase(struct screen *screen, unsigned what) {
	if (what == 3) return; /* what has left the screen */
	if (!screen->alternate || !screen->home || (what != 0 && what != 2)) {
		draw_sequence(screen, what != 2);
		return;
	}
	begin_picture(screen);
	draw(screen, "\x1b[H\x1b[2J", 7);
	screen->placed = true;
}

static void take_margins(struct screen *screen, const char *parameters, bool lines) {
	const unsigned first = number_at(parameters, 0), last = number_at(parameters, 1);
	const bool none = last == 0 && first <= 1;
	unsigned *from = lines ? &screen->margins.top : &screen->margins.left;
	unsigned *to = lines ? &screen->margins.bottom : &screen->margins.right;
	*from = none ? 0 : first ? first : 1;
	*to = none ? 0 : last;
	if (screen->floating) give_up(screen);
	screen->placed = true; /* the cursor goes to the first place */
	draw_sequence(screen, true);
}

static void soft_reset(struct screen *screen) {
	screen_modes_soft_reset(&screen->modes);
	screen->pen = screen->pen_saved = (struct pen){0};
	screen->margins = (struct margins){0};
	screen->insert = false;
	give_up(screen); /* terminals differ in what else it does */
}

/* With nothing but digits between CSI and its last letter. */
static void plain_control(struct screen *screen, const char *parameters, char final) {
	static const char moves_and_erases[] = "@ABCDEFGILMPSTXZ`abdeg";
	switch (final) {
	case 'H':
	case 'f':
		go_to(screen, parameters);
		return;
	case 'J':
		erase(screen, number_at(parameters, 0));
		return;
	case 'h':
	case 'l':
		ansi_mode(screen, parameters, final == 'h');
		return;
	case 'm':
		screen_style_take(&screen->pen.style, parameters);
		draw_sequence(screen, false);
		return;
	case 'r':
		take_margins(screen, parameters, true);
		return;
	case 's':
		if (screen_modes_on(&screen->modes, SCREEN_MODE_MARGINS))
			take_margins(screen, parameters, false);
		else
			save_pen(screen);
		return;
	case 'u':
		restore_pen(screen);
		return;
	case 'K':
		draw_line(screen, screen->sequence.data, screen->sequence.size);
		return;
	default:
		if (!strchr(moves_and_erases, final)) return;
		if (final == 'd') screen->addressed = true;
		draw_sequence(screen, true);
	}
}

/* With something between its numbers and its last letter. */
static void marked_control(struct screen *screen, const char *parameters, char mark, char final) {
	if (mark == '!' && final == 'p') soft_reset(screen);
	if (mark == ' ' && final == 'q') screen->shape = (int)number_at(parameters, 0);
	const bool draws = (mark == '"' && final == 'q') || (mark == ' ' && strchr("@A", final)) ||
			   (mark == '$' && strchr("rtvxz{", final)) || (mark == '\'' && strchr("}~", final));
	if (draws) draw_sequence(screen, true);
}

/* xterm's and kitty's words about the keyboard. */
static void key_control(struct screen *screen, const char *parameters, char prefix, char final) {
	if (final == 'u' && prefix != '?') screen->kitty = true;
	if (prefix != '>' || final != 'm') return;
	const bool all = !*parameters, ours = number_at(parameters, 0) == 4;
	if (all || ours) screen->keys = UNSAID;
	if (ours && count_of(parameters) > 1) screen->keys = (int)number_at(parameters, 1);
}

/* ESC [ PREFIX? PARAMETERS MARK* FINAL */
static void control(struct screen *screen) {
	const char *text = screen->sequence.data + 2;
	const char prefix = strchr("<=>?", *text) ? *text++ : '\0';
	const size_t size = strspn(text, "0123456789;:");
	CLEANUP_FREE char *parameters = string_copy_bytes(text, size);
	const char *rest = text + size;
	if (rest[0] == '\0' || screen->cut) return;
	if (rest[1] == '\0' && prefix == '\0')
		plain_control(screen, parameters, rest[0]);
	else if (rest[1] == '\0' && prefix == '?')
		private_mode(screen, parameters, rest[0]);
	else if (rest[1] == '\0')
		key_control(screen, parameters, prefix, rest[0]);
	else if (rest[2] == '\0' && prefix == '\0')
		marked_control(screen, parameters, rest[0], rest[1]);
}

static void shift(struct screen *screen, unsigned set, const char *bytes) {
	screen->pen.shift = set;
	draw(screen, bytes, strlen(bytes));
}

static void designate(struct screen *screen, const char *text) {
	static const char marks[] = "()*+-./";
	static const uint8_t sets[] = {0, 1, 2, 3, 1, 2, 3};
	const char *mark = strchr(marks, text[0]);
	if (!mark || strlen(text) >= sizeof screen->pen.sets[0]) return;
	char *set = screen->pen.sets[sets[mark - marks]];
	memcpy(set, text, strlen(text) + 1);
	if (text[1] == 'B' && text[2] == '\0' && mark - marks < SETS) *set = '\0';
	draw_sequence(screen, false);
}

/* ESC and what isn't the beginning of something longer. */
static void escape(struct screen *screen) {
	const char *text = screen->sequence.data + 1;
	if (screen->cut || text[0] == '\0') return;
	if (text[1] != '\0') {
		if (text[0] == '#')
			draw_sequence(screen, true);
		else
			designate(screen, text);
		return;
	}
	switch (text[0]) {
	case '7':
		save_pen(screen);
		return;
	case '8':
		restore_pen(screen);
		return;
	case '=':
	case '>':
		screen_modes_set(&screen->modes, SCREEN_MODE_KEYPAD, text[0] == '=');
		return;
	case 'c':
		reset(screen);
		return;
	case 'n':
	case 'o':
		shift(screen, text[0] == 'n' ? 2 : 3, text[0] == 'n' ? "\x1bn" : "\x1bo");
		return;
	case 'D':
	case 'E':
	case 'H':
	case 'M':
	case 'N':
	case 'O':
		draw_sequence(screen, true);
		return;
	default:
		return;
	}
}

/* Nothing that acts is in it, but for what ends it: BEL, or ESC and a backslash. */
static bool is_plain(const char *text) {
	const char *end = text;
	while ((unsigned char)*end >= ' ') end++;
	return strcmp(end, "\a") == 0 || strcmp(end, "\x1b\\") == 0;
}

/* OSC, DCS and the like: links belong to letters; pictures of other kinds are not kept. */
static void control_string(struct screen *screen) {
	const char *text = screen->sequence.data + 1;
	if (string_starts(text, "]8;") && !screen->cut && is_plain(text)) {
		draw_sequence(screen, false);
	} else if (string_starts(text, "]1337;") || string_starts(text, "_G")) {
		give_up(screen);
	} else if (text[0] == 'P') {
		const size_t parameters = 1 + strspn(text + 1, "0123456789;");
		if (text[parameters] == 'q') give_up(screen); /* sixel */
	}
}

/* The bytes one by one */

static void enter(struct screen *screen, enum state state, char byte) {
	screen->state = state;
	screen->cut = false;
	screen->sequence.size = 0;
	string_append_char(&screen->sequence, byte);
}

static void add(struct screen *screen, char byte) {
	if (screen->sequence.size < LIMIT_SEQUENCE)
		string_append_char(&screen->sequence, byte);
	else
		screen->cut = true;
}

static void complete(struct screen *screen, void (*act)(struct screen *screen)) {
	screen->state = GROUND;
	act(screen);
}

static void text(struct screen *screen) {
	draw_line(screen, screen->sequence.data, screen->sequence.size);
}

/* BS … CR: they act at once, also in the middle of a control. */
static void act_at_once(struct screen *screen, char byte) {
	if (byte == SO || byte == SI)
		shift(screen, byte == SO, byte == SO ? "\x0e" : "\x0f");
	else if (byte >= '\b' && byte <= '\r')
		draw_line(screen, &byte, 1);
}

static void see_ground(struct screen *screen, unsigned char byte) {
	if (byte < ' ') {
		act_at_once(screen, (char)byte);
	} else if (byte >= 0xc2 && byte < 0xf5) {
		enter(screen, POINT, (char)byte);
		screen->point_left = byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : 1;
	} else if (byte != DEL) {
		const char letter = (char)byte;
		draw_line(screen, &letter, 1);
	}
}

static void see_point(struct screen *screen, unsigned char byte) {
	if ((byte & 0xc0) != 0x80) { /* as it stands, whatever the terminal shows for it */
		complete(screen, text);
		see_ground(screen, byte);
		return;
	}
	add(screen, (char)byte);
	if (--screen->point_left == 0) complete(screen, text);
}

static void see_escape(struct screen *screen, unsigned char byte) {
	if (byte < ' ') {
		act_at_once(screen, (char)byte);
		return;
	}
	add(screen, (char)byte);
	if (byte < '0') return; /* more comes */
	const bool first = screen->sequence.size == 2;
	if (first && byte == '[')
		screen->state = CONTROL;
	else if (first && strchr("P]X^_k", byte))
		screen->state = STRING;
	else
		complete(screen, escape);
}

static void see_control(struct screen *screen, unsigned char byte) {
	if (byte < ' ') {
		act_at_once(screen, (char)byte);
		return;
	}
	if (byte == DEL) return;
	add(screen, (char)byte);
	if (byte >= '@') complete(screen, control);
}

static void see_string(struct screen *screen, unsigned char byte) {
	add(screen, (char)byte);
	if (byte == BEL && screen->sequence.data[1] == ']') complete(screen, control_string);
}

static void see(struct screen *screen, unsigned char byte) {
	if (byte == CAN || byte == SUB) {
		screen->state = GROUND;
		return;
	}
	if (screen->state == STRING_ESCAPE && byte == '\\') {
		add(screen, (char)byte);
		complete(screen, control_string);
		return;
	}
	if (screen->state == STRING_ESCAPE) { /* it ended the string and begins something else */
		add(screen, '\\');
		complete(screen, control_string);
		enter(screen, ESCAPE, ESC);
	}
	if (byte == ESC && screen->state == STRING) {
		add(screen, ESC);
		screen->state = STRING_ESCAPE;
		return;
	}
	if (byte == ESC) {
		if (screen->state == POINT) complete(screen, text);
		enter(screen, ESCAPE, ESC);
		return;
	}
	switch (screen->state) {
	case GROUND:
		see_ground(screen, byte);
		return;
	case POINT:
		see_point(screen, byte);
		return;
	case ESCAPE:
		see_escape(screen, byte);
		return;
	case CONTROL:
		see_control(screen, byte);
		return;
	case STRING:
	case STRING_ESCAPE:
		see_string(screen, byte);
		return;
	}
}

void screen_see(struct screen *screen, const char *bytes, size_t size) {
	while (size > 0) {
		size_t plain = 0;
		if (screen->state == GROUND)
			while (plain < size && bytes[plain] >= ' ' && bytes[plain] < DEL) plain++;
		if (plain > 0)
			draw_line(screen, bytes, plain);
		else
			see(screen, (unsigned char)bytes[plain++]);
		bytes += plain;
		size -= plain;
	}
}

void screen_resized(struct screen *screen, unsigned rows) {
	give_up(screen);
	screen->rows = rows;
	screen->margins = (struct margins){0};
}

/* There and back */

void screen_leave(struct screen *screen, bool reads_keys, struct string *out) {
	/* CAN and ST end whatever is open; out of VT52's mode, which knows none of the rest. */
	string_append(out, "\x18\x1b\\\x1b<");
	screen->aside = !screen->alternate && reads_keys && screen->addressed;
	if (screen->alternate) string_appendf(out, "\x1b[?%ul", screen->alternate);
	if (screen->alternate && screen->alternate != 1049) string_append(out, "\0338"); /* as these tools do */
	if (screen->aside) string_append(out, "\x1b[?1049h");
	if (screen->kitty) string_append(out, "\x1b[>0u"); /* on top of the tool's own */
}

/* On the main screen, below the question: what lies under the lower margin is the tool's. */
static void append_main(const struct screen *screen, struct string *out) {
	const unsigned bottom = screen->margins.bottom;
	if (screen->aside) string_append(out, "\x1b[?1049l");
	if (!screen->aside && bottom > 0 && bottom < screen->rows) {
		for (unsigned i = bottom; i < screen->rows; i++) string_append_char(out, '\n');
		string_appendf(out, "\x1b[%uA", screen->rows - bottom);
	}
	if (screen->margins.top || screen->margins.left) { /* margins move the cursor */
		string_append(out, "\0337");
		if (screen_modes_on(&screen->modes, SCREEN_MODE_MARGINS)) string_append(out, "\x1b[?69h");
		append_margins(&screen->margins, out);
		string_append(out, "\0338");
	}
	screen_modes_append(&screen->modes, true, out);
	if (screen->insert) string_append(out, "\x1b[4h");
	if (screen->newline) string_append(out, "\x1b[20h");
	append_pen(&screen->pen, out);
}

static bool is_whole(const struct screen *screen) {
	return screen->whole && !screen->floating;
}

static void append_alternate(const struct screen *screen, struct string *out) {
	if (screen->alternate != 1049) string_append(out, "\0337");
	string_appendf(out, "\x1b[?%uh", screen->alternate);
	if (is_whole(screen))
		string_append_bytes(out, screen->picture.data, screen->picture.size);
	else
		append_drawing(screen, out);
}

/* What the terminal had got of a control. Of one that was too long to be kept, another that comes to nothing. */
static void append_sequence(const struct screen *screen, struct string *out) {
	if (screen->state == GROUND) return;
	if (!screen->cut) {
		string_append_bytes(out, screen->sequence.data, screen->sequence.size);
		return;
	}
	const char kind = screen->sequence.data[1];
	string_append(out, screen->state == CONTROL || screen->state == ESCAPE ? "\x1b[<"
			   : kind == ']'                                       ? "\x1b]9999;"
									       : "\x1b_");
	if (screen->state == STRING_ESCAPE) string_append_char(out, ESC);
}

enum screen_back screen_return(const struct screen *screen, struct string *out) {
	if (screen->kitty) string_append(out, "\x1b[<u");
	if (screen->alternate)
		append_alternate(screen, out);
	else
		append_main(screen, out);
	screen_modes_append(&screen->modes, false, out);
	if (screen->keys != UNSAID) string_appendf(out, "\x1b[>4;%dm", screen->keys);
	if (screen->shape != UNSAID) string_appendf(out, "\x1b[%d q", screen->shape);
	append_sequence(screen, out);
	if (screen->alternate) return is_whole(screen) ? SCREEN_AS_IT_WAS : SCREEN_LOST;
	return screen->aside ? SCREEN_AS_IT_WAS : SCREEN_BELOW;
}

void screen_end(struct screen *screen, struct string *out) {
	if (screen->state != GROUND) string_append(out, "\x18\x1b\\");
	screen->state = GROUND;
}
