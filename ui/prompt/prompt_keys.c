#include "prompt_keys.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"

enum { CTRL_C = 3, CTRL_D = 4, BACKSPACE = 8, ESCAPE = 0x1b, DELETE = 0x7f, MORE = KEY_DETAILS + 1 };

static void put_back(void *argument) {
	const struct prompt_keys *keys = argument;
	tcsetattr(keys->fd, TCSADRAIN, &keys->before);
}

/* Signals from keys are off, so that Ctrl-C is an answer (deny) and not the end of the whole run. */
void prompt_keys_begin(struct prompt_keys *keys, int fd, int gone_fd) {
	*keys = (struct prompt_keys){.fd = fd, .gone_fd = gone_fd};
	keys->is_terminal = tcgetattr(fd, &keys->before) == 0;
	if (!keys->is_terminal) return;
	struct termios mode = keys->before;
	mode.c_lflag &= (tcflag_t) ~(ICANON | ECHO | ISIG | IEXTEN);
	mode.c_iflag |= ICRNL;
	mode.c_iflag &= (tcflag_t) ~(IGNCR | INLCR | ISTRIP);
	mode.c_oflag |= OPOST | ONLCR;
	mode.c_cc[VMIN] = 1;
	mode.c_cc[VTIME] = 0;
	mem_before_end(put_back, keys);
	tcsetattr(fd, TCSADRAIN, &mode);
}

void prompt_keys_end(struct prompt_keys *keys) {
	if (!keys->is_terminal) return;
	put_back(keys);
	mem_before_end(NULL, NULL);
}

static int wait_for_input(const struct prompt_keys *keys, bool input, int ms, struct error *error) {
	struct pollfd fds[] = {{.fd = keys->gone_fd, .events = POLLIN}, {.fd = keys->fd, .events = POLLIN}};
	int ready;
	do ready = poll(fds, input ? 2 : 1, ms);
	while (ready < 0 && errno == EINTR);
	if (ready < 0) return error_errno(error, "waiting for an answer on the terminal");
	if (fds[0].revents) return error_set(error, ECANCELED, "the prompt is gone");
	return 0;
}

int prompt_keys_wait(const struct prompt_keys *keys, int ms, struct error *error) {
	return wait_for_input(keys, false, ms, error);
}

void prompt_keys_forget(struct prompt_keys *keys) {
	tcflush(keys->fd, TCIFLUSH);
	keys->size = 0;
	keys->spoilt = false;
	keys->control = 0;
}

static void echo(const struct prompt_keys *keys, const char *text) {
	fd_write_all(keys->fd, text, strlen(text), NULL);
}

static void erase(struct prompt_keys *keys, bool all) {
	while (keys->size > 0) {
		keys->size--;
		echo(keys, "\b \b");
		if (!all) return;
	}
	keys->spoilt = false;
}

static int end_line(struct prompt_keys *keys) {
	echo(keys, "\n");
	keys->line[keys->spoilt ? 0 : keys->size] = '\0';
	keys->size = 0;
	keys->spoilt = false;
	return KEY_LINE;
}

static bool is_key(const struct prompt_keys *keys, int which, char byte) {
	return byte != _POSIX_VDISABLE && (char)keys->before.c_cc[which] == byte;
}

static void add(struct prompt_keys *keys, char byte) {
	const unsigned char value = (unsigned char)byte;
	if (value < ' ' || (value & 0xc0) == 0x80) return; /* of a letter in UTF-8 its first byte stands for it */
	if (keys->size == PROMPT_LINE_MAX) {
		keys->spoilt = true;
		return;
	}
	keys->line[keys->size++] = byte;
	const char shown[] = {value < DELETE ? byte : '?', '\0'};
	echo(keys, shown);
}

/*
 * Keys of cursors and functions write nothing: ESC [ … letter, ESC O letter, ESC letter. Nor does what a slow terminal
 * replies only now to what the tool has asked it, with words of the tool's perhaps: ESC, one of P]X^_, …, ESC.
 */
static bool is_of_sequence(struct prompt_keys *keys, char byte) {
	static const char forms[] = "[OP]X^_";
	const char control = keys->control;
	if (byte == ESCAPE) {
		keys->control = ESCAPE;
		return true;
	}
	if (control == 0 || (unsigned char)byte < ' ') {
		keys->control = 0;
		return false;
	}
	if (control == ESCAPE)
		keys->control = strchr(forms, byte) ? byte : 0;
	else if (control == 'O' || (control == '[' && byte >= '@'))
		keys->control = 0;
	return true;
}

static int take(struct prompt_keys *keys, char byte, struct error *error) {
	if (is_of_sequence(keys, byte)) return MORE;
	if (byte == CTRL_C || is_key(keys, VINTR, byte)) return KEY_DENY;
	if (is_key(keys, VSUSP, byte)) return error_set(error, EINTR, "the question is put off");
	if (byte == '\n' || byte == '\r') return end_line(keys);
	if (byte == CTRL_D || is_key(keys, VEOF, byte)) {
		if (keys->size == 0) return KEY_DENY;
		keys->spoilt = true;
		return end_line(keys);
	}
	if (byte == BACKSPACE || byte == DELETE || is_key(keys, VERASE, byte))
		erase(keys, false);
	else if (is_key(keys, VKILL, byte) || is_key(keys, VWERASE, byte))
		erase(keys, true);
	else if (byte == '?' && keys->size == 0)
		return KEY_DETAILS;
	else
		add(keys, byte);
	return MORE;
}

/* Byte by byte, so that nothing behind a line's end is lost or taken for a part of it. */
int prompt_keys_read(struct prompt_keys *keys, struct error *error) {
	for (;;) {
		int r = wait_for_input(keys, true, -1, error);
		if (r < 0) return r;
		char byte;
		ssize_t got = read(keys->fd, &byte, 1);
		if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
		if (got <= 0 && keys->is_terminal) return error_set(error, EIO, "the terminal is gone");
		if (got <= 0) return KEY_DENY;
		r = take(keys, byte, error);
		if (r != MORE) return r;
	}
}
