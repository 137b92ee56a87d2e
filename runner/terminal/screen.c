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
 * Of what is written again only what draws is kept: a query would be answered twice, a bell ring twice. What
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
#include "screen_parse.h"
#include "screen_picture.h"
#include "screen_style.h"

enum { SO = 14, SI = 15, SETS = 4, UNSAID = -1, MODE_INSERT = 4, MODE_NEWLINE = 20 };

struct pen {
	struct screen_style style;
	char sets[SETS][4]; /* G0 … G3 as they are designated, without ESC; "": ASCII */
	unsigned shift;     /* which of them is typed with */
};

struct margins {
	unsigned top, bottom, left, right; /* 0: none */
};

struct screen {
	struct screen_parse parse;
	struct picture picture; /* of the alternate screen */

	unsigned alternate; /* the mode by which it was entered: 47, 1047, 1049; 0: the main screen */
	bool addressed;     /* the main one: the cursor went to places */
	bool aside;         /* the question is on the alternate screen */

	struct screen_modes modes;
	struct pen pen, pen_saved; /* DECSC */
	struct margins margins;
	bool insert, newline; /* IRM, LNM */
	bool kitty;           /* its keyboard protocol was spoken */
	bool bytes;           /* letters are bytes, not UTF-8 */
	bool images;          /* its graphics protocol, too: they may lie above letters */
	int keys, shape;      /* modifyOtherKeys; of the cursor */
};

static void forget(struct screen *screen) {
	screen_parse_finish(&screen->parse);
	picture_give_up(&screen->picture);
}

static void take(void *context, enum screen_piece piece, const char *bytes, size_t size);

static void begin(struct screen *screen, unsigned rows) {
	*screen = (struct screen){
		.parse = {.take = take, .context = screen}, .picture = {.rows = rows}, .keys = UNSAID, .shape = UNSAID};
}

struct screen *screen_new(unsigned rows) {
	struct screen *screen = mem_new(struct screen);
	begin(screen, rows);
	return screen;
}

void screen_free(struct screen *screen) {
	if (!screen) return;
	forget(screen);
	free(screen);
}

/* How letters appear, and where: put into words */

static const char *const shifts[SETS] = {"\x0f", "\x0e", "\x1bn", "\x1bo"};

static void append_pen(const struct pen *pen, struct string *out) {
	screen_style_append(&pen->style, out);
	for (size_t i = 0; i < SETS; i++)
		if (*pen->sets[i]) string_appendf(out, "\x1b%s", pen->sets[i]);
	if (pen->shift != 0) string_append(out, shifts[pen->shift]);
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

static void begin_picture(struct screen *screen) {
	picture_begin(&screen->picture);
	CLEANUP_STRING struct string drawing = {0};
	append_drawing(screen, &drawing);
	picture_add(&screen->picture, drawing.data, drawing.size);
}

static void alternate(struct screen *screen, unsigned mode, bool on) {
	const bool fresh = on && screen->alternate == 0 && mode != 47 && !screen->margins.top; /* 47 doesn't clear it */
	if (!on) screen->alternate = 0;
	if (on && screen->alternate == 0) screen->alternate = mode;
	if (fresh)
		begin_picture(screen);
	else
		picture_give_up(&screen->picture);
	screen->picture.placed = screen->picture.home = false;
}

/* Controls. `parameters` of CSI: digits, semicolons, colons. */

struct sequence {
	const char *bytes;
	size_t size;
};

static void draw(struct screen *screen, struct sequence sequence) {
	picture_add_there(&screen->picture, sequence.bytes, sequence.size);
}

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

/* The next of all, in time that doesn't grow with how many there are; *at is NULL behind the last one. */
static bool take_number(const char **at, unsigned *ret_number) {
	if (!*at) return false;
	const char *end = strchr(*at, ';');
	*ret_number = number_at(*at, 0);
	*at = end ? end + 1 : NULL;
	return true;
}

static void save_pen(struct screen *screen) {
	screen->pen_saved = screen->pen;
	screen->picture.saved = true;
	picture_add_there(&screen->picture, "\0337", 2);
}

static void restore_pen(struct screen *screen) {
	screen->pen = screen->pen_saved;
	if (!screen->picture.saved) picture_give_up(&screen->picture);
	picture_add_there(&screen->picture, "\0338", 2);
}

static void draw_mode(struct screen *screen, const char *prefix, unsigned number, bool on) {
	CLEANUP_FREE char *bytes = string_format("\x1b[%s%u%c", prefix, number, on ? 'h' : 'l');
	picture_add(&screen->picture, bytes, strlen(bytes));
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
	if (number == SCREEN_MODE_ORIGIN) picture_place(&screen->picture);
	if (screen_modes_draw(number)) draw_mode(screen, "?", number, on);
}

static void restore_mode(struct screen *screen, unsigned number) {
	if (!screen_modes_known(number)) return;
	struct screen_modes modes = screen->modes;
	screen_modes_restore(&modes, number);
	set_mode(screen, number, screen_modes_on(&modes, number));
}

static void private_mode(struct screen *screen, struct sequence sequence, const char *parameters, char final) {
	unsigned number;
	for (const char *at = parameters; take_number(&at, &number);) {
		if (final == 's') screen_modes_save(&screen->modes, number);
		if (final == 'r') restore_mode(screen, number);
		if (final == 'h' || final == 'l') set_mode(screen, number, final == 'h');
	}
	if (final == 'J' || final == 'K') draw(screen, sequence);
}

static void ansi_mode(struct screen *screen, const char *parameters, bool on) {
	unsigned number;
	for (const char *at = parameters; take_number(&at, &number);) {
		if (number == MODE_INSERT) screen->insert = on;
		if (number == MODE_NEWLINE) screen->newline = on;
		if (number == MODE_INSERT || number == MODE_NEWLINE) draw_mode(screen, "", number, on);
	}
}

static void go_to(struct screen *screen, struct sequence sequence, const char *parameters) {
	screen->addressed = true;
	picture_place(&screen->picture);
	draw(screen, sequence);
	screen->picture.home = number_at(parameters, 0) <= 1 && number_at(parameters, 1) <= 1 &&
			       !screen_modes_on(&screen->modes, SCREEN_MODE_ORIGIN);
}

static void erase(struct screen *screen, struct sequence sequence, unsigned what) {
	if (what == 3) return; /* what has left the screen */
	if (screen->alternate && screen->picture.home && (what == 0 || what == 2)) {
		begin_picture(screen);
		picture_place(&screen->picture);
		picture_add(&screen->picture, "\x1b[H\x1b[2J", 7);
	} else if (what == 2) {
		picture_add(&screen->picture, sequence.bytes, sequence.size);
	} else {
		draw(screen, sequence);
	}
}

static void take_margins(struct screen *screen, struct sequence sequence, const char *parameters, bool lines) {
	const unsigned first = number_at(parameters, 0), last = number_at(parameters, 1);
	const bool none = last == 0 && first <= 1;
	unsigned *from = lines ? &screen->margins.top : &screen->margins.left;
	unsigned *to = lines ? &screen->margins.bottom : &screen->margins.right;
	*from = none ? 0 : first ? first : 1;
	*to = none ? 0 : last;
	picture_place(&screen->picture);
	draw(screen, sequence);
}

static void soft_reset(struct screen *screen) {
	screen_modes_soft_reset(&screen->modes);
	screen->pen = screen->pen_saved = (struct pen){0};
	screen->margins = (struct margins){0};
	screen->insert = false;
	picture_give_up(&screen->picture); /* terminals differ in what else it does */
}

/* With nothing but digits between CSI and its last letter. */
static void plain_control(struct screen *screen, struct sequence sequence, const char *parameters, char final) {
	static const char moves_and_erases[] = "@ABCDEFGILMPSTXZ`abdeg";
	switch (final) {
	case 'H':
	case 'f':
		go_to(screen, sequence, parameters);
		return;
	case 'J':
		erase(screen, sequence, number_at(parameters, 0));
		return;
	case 'K':
		picture_add_line(&screen->picture, sequence.bytes, sequence.size);
		return;
	case 'h':
	case 'l':
		ansi_mode(screen, parameters, final == 'h');
		return;
	case 'm':
		screen_style_take(&screen->pen.style, parameters);
		picture_add(&screen->picture, sequence.bytes, sequence.size);
		return;
	case 'r':
		take_margins(screen, sequence, parameters, true);
		return;
	case 's':
		if (screen_modes_on(&screen->modes, SCREEN_MODE_MARGINS))
			take_margins(screen, sequence, parameters, false);
		else
			save_pen(screen);
		return;
	case 'u':
		restore_pen(screen);
		return;
	default:
		if (final == 'd') screen->addressed = true;
		if (strchr(moves_and_erases, final)) draw(screen, sequence);
	}
}

/* With something between its numbers and its last letter. */
static void marked_control(struct screen *screen, struct sequence sequence, unsigned number, char mark, char final) {
	if (mark == '!' && final == 'p') soft_reset(screen);
	if (mark == ' ' && final == 'q') screen->shape = (int)number;
	const bool draws = (mark == '"' && final == 'q') || (mark == ' ' && strchr("@A", final)) ||
			   (mark == '$' && strchr("rtvxz{", final)) || (mark == '\'' && strchr("}~", final));
	if (draws) draw(screen, sequence);
}

/* xterm's and kitty's words about the keyboard. */
static void key_control(struct screen *screen, const char *parameters, char prefix, char final) {
	if (final == 'u' && prefix != '?') screen->kitty = true;
	if (prefix != '>' || final != 'm') return;
	const bool all = !*parameters, ours = number_at(parameters, 0) == 4;
	if (all || ours) screen->keys = UNSAID;
	if (ours && strchr(parameters, ';')) screen->keys = (int)number_at(parameters, 1);
}

/* ESC [ PREFIX? PARAMETERS MARK* FINAL */
static void take_control(struct screen *screen, struct sequence sequence) {
	const char *text = sequence.bytes + 2;
	const char prefix = strchr("<=>?", *text) ? *text++ : '\0';
	const size_t size = strspn(text, "0123456789;:");
	char parameters[LIMIT_SEQUENCE]; /* it ends before the sequence does */
	memcpy(parameters, text, size);
	parameters[size] = '\0';
	const char *rest = text + size;
	if (rest[0] == '\0') return;
	if (rest[1] == '\0' && prefix == '\0')
		plain_control(screen, sequence, parameters, rest[0]);
	else if (rest[1] == '\0' && prefix == '?')
		private_mode(screen, sequence, parameters, rest[0]);
	else if (rest[1] == '\0')
		key_control(screen, parameters, prefix, rest[0]);
	else if (rest[2] == '\0' && prefix == '\0')
		marked_control(screen, sequence, number_at(parameters, 0), rest[0], rest[1]);
}

static void shift(struct screen *screen, unsigned set) {
	screen->pen.shift = set;
	picture_add(&screen->picture, shifts[set], strlen(shifts[set]));
}

/* ESC % @ and ESC % G (ISO 2022, console_codes(4)), or others for UTF-8 that is never left. */
static void take_coding(struct screen *screen, struct sequence sequence) {
	screen->bytes = string_equal(sequence.bytes + 1, "%@");
	picture_give_up(&screen->picture);
}

static void designate(struct screen *screen, struct sequence sequence) {
	static const char marks[] = "()*+-./";
	static const uint8_t sets[] = {0, 1, 2, 3, 1, 2, 3};
	const char *text = sequence.bytes + 1, *mark = strchr(marks, text[0]);
	if (!mark || strlen(text) >= sizeof screen->pen.sets[0]) return;
	char *set = screen->pen.sets[sets[mark - marks]];
	memcpy(set, text, strlen(text) + 1);
	if (text[1] == 'B' && text[2] == '\0' && mark - marks < SETS) *set = '\0';
	picture_add(&screen->picture, sequence.bytes, sequence.size);
}

/* ESC and what isn't the beginning of something longer. */
static void take_escape(struct screen *screen, struct sequence sequence) {
	const char *text = sequence.bytes + 1;
	const unsigned rows = screen->picture.rows;
	const bool in_bytes = screen->bytes; /* not every terminal takes it for a thing to reset */
	if (text[0] == '#') draw(screen, sequence);
	if (text[1] != '\0' && text[0] == '%')
		take_coding(screen, sequence);
	else if (text[1] != '\0')
		designate(screen, sequence);
	if (text[1] != '\0') return;
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
		forget(screen);
		begin(screen, rows);
		screen->bytes = in_bytes;
		return;
	case 'n':
	case 'o':
		shift(screen, text[0] == 'n' ? 2 : 3);
		return;
	default:
		if (strchr("DEHMNO", text[0])) draw(screen, sequence);
	}
}

/* Nothing that acts is in it, but for what ends it: BEL, or ESC and a backslash. */
static bool is_plain(const char *text) {
	const char *end = text;
	while ((unsigned char)*end >= ' ') end++;
	return strcmp(end, "\a") == 0 || strcmp(end, "\x1b\\") == 0;
}

/* Links belong to letters; pictures of other kinds are not kept. */
static void take_string(struct screen *screen, struct sequence sequence) {
	const char *text = sequence.bytes + 1;
	const size_t parameters = strspn(text + 1, "0123456789;");
	const bool sixel = text[0] == 'P' && text[1 + parameters] == 'q', image = string_starts(text, "_G");
	screen->images |= image;
	if (string_starts(text, "]8;") && is_plain(text))
		picture_add(&screen->picture, sequence.bytes, sequence.size);
	else if (sixel || image || string_starts(text, "]1337;"))
		picture_give_up(&screen->picture);
}

static void take_at_once(struct screen *screen, char byte) {
	if (byte == SO || byte == SI)
		shift(screen, byte == SO);
	else if (byte >= '\b' && byte <= '\r')
		picture_add_line(&screen->picture, &byte, 1);
}

static void take(void *context, enum screen_piece piece, const char *bytes, size_t size) {
	struct screen *screen = context;
	const struct sequence sequence = {.bytes = bytes, .size = size};
	switch (piece) {
	case PIECE_TEXT:
		picture_add_line(&screen->picture, bytes, size);
		return;
	case PIECE_AT_ONCE:
		take_at_once(screen, *bytes);
		return;
	case PIECE_ESCAPE:
		take_escape(screen, sequence);
		return;
	case PIECE_CONTROL:
		take_control(screen, sequence);
		return;
	case PIECE_CUT: /* what it says is unknown: not what its keys are, then */
		screen->kitty |= *bytes == 'u';
		return;
	case PIECE_STRING:
		take_string(screen, sequence);
		return;
	}
}

void screen_see(struct screen *screen, const char *bytes, size_t size) {
	screen_parse_see(&screen->parse, bytes, size);
}

void screen_resized(struct screen *screen, unsigned rows) {
	picture_give_up(&screen->picture);
	screen->picture.rows = rows;
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
	/* A picture of another question, say: erasing letters leaves it, this takes all that are seen away, unanswered.
	 */
	if (screen->images) string_append(out, "\x1b_Ga=d,q=2\x1b\\");
}

/* On the main screen, below the question: what lies under the lower margin is the tool's. */
static void append_main(const struct screen *screen, struct string *out) {
	const unsigned bottom = screen->margins.bottom;
	if (screen->aside) string_append(out, "\x1b[?1049l");
	if (!screen->aside && bottom > 0 && bottom < screen->picture.rows) {
		for (unsigned i = bottom; i < screen->picture.rows; i++) string_append_char(out, '\n');
		string_appendf(out, "\x1b[%uA", screen->picture.rows - bottom);
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

static void append_alternate(const struct screen *screen, struct string *out) {
	if (screen->alternate != 1049) string_append(out, "\0337");
	string_appendf(out, "\x1b[?%uh", screen->alternate);
	if (picture_is_whole(&screen->picture))
		string_append_bytes(out, screen->picture.bytes.data, screen->picture.bytes.size);
	else
		append_drawing(screen, out);
}

enum screen_back screen_return(const struct screen *screen, struct string *out) {
	if (screen->kitty) string_append(out, "\x1b[<u");
	if (screen->bytes) string_append(out, "\x1b%@");
	if (screen->alternate)
		append_alternate(screen, out);
	else
		append_main(screen, out);
	screen_modes_append(&screen->modes, false, out);
	if (screen->keys != UNSAID) string_appendf(out, "\x1b[>4;%dm", screen->keys);
	if (screen->shape != UNSAID) string_appendf(out, "\x1b[%d q", screen->shape);
	screen_parse_resume(&screen->parse, out);
	if (screen->alternate) return picture_is_whole(&screen->picture) ? SCREEN_AS_IT_WAS : SCREEN_LOST;
	return screen->aside ? SCREEN_AS_IT_WAS : SCREEN_BELOW;
}

static void append_usual(const struct screen *screen, struct string *out) {
	const bool margins = screen->margins.top || screen->margins.left;
	CLEANUP_STRING struct string pen = {0};
	append_pen(&screen->pen, &pen);
	if (screen->kitty) string_append(out, "\x1b[<9u"); /* as many as it may have put there */
	if (screen->alternate) string_appendf(out, "\x1b[?%ul", screen->alternate);
	if (margins) string_append(out, "\0337\x1b[r\0338");
	screen_modes_append_usual(&screen->modes, out);
	if (screen->insert) string_append(out, "\x1b[4l");
	if (screen->newline) string_append(out, "\x1b[20l");
	if (screen->keys != UNSAID) string_append(out, "\x1b[>4m");
	if (screen->shape != UNSAID) string_append(out, "\x1b[0 q");
	if (pen.size > 0) string_append(out, "\x1b[0m\x1b(B\x1b)B\x0f");
}

void screen_end(const struct screen *screen, bool killed, struct string *out) {
	if (screen->parse.state != GROUND) string_append(out, "\x18\x1b\\");
	if (screen->bytes) string_append(out, "\x1b%G");
	if (killed) append_usual(screen, out);
}
