/* Where questions can be asked: the session bus and its notification server, and this terminal. */
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/string.h"
#include "base/text.h"
#include "doctor/doctor.h"
#include "ui/broker.h"
#include "ui/output.h"

enum { COLUMNS_LEAST = 80 };

static bool is_set(const char *name) {
	const char *value = getenv(name);
	return value && *value;
}

/* What sbx-notify says of the desktop (sbx-notify(1)); NULL: why not is in the finding. */
static json_t *ask_notify(struct doctor_finding *finding) {
	CLEANUP_FREE char *path = NULL;
	CLEANUP_FREE char *output = NULL;
	if (!is_set("DISPLAY") && !is_set("WAYLAND_DISPLAY")) {
		doctor_find(
			finding, DOCTOR_OK,
			string_copy("no desktop here (neither DISPLAY nor WAYLAND_DISPLAY is set): the terminal asks"),
			NULL);
		return NULL;
	}
	if (program_find("sbx-notify", &path, NULL) < 0) {
		doctor_find(finding, DOCTOR_WARN, string_copy("sbx-notify is not installed: the terminal asks"),
			    "Build and install sbx with libnotify, and sbx-notify with it.");
		return NULL;
	}
	char *const argv[] = {path, (char *)"--check", (char *)"--json", NULL};
	int status = doctor_run(argv, &output);
	json_t *said = output ? json_loads(output, 0, NULL) : NULL;
	if (json_is_object(said)) return said;
	json_decref(said);
	CLEANUP_FREE char *shown = text_visible_cut(output ? output : "", 200);
	doctor_find(finding, DOCTOR_WARN,
		    string_format("sbx-notify --check ended with %d: %s", WIFEXITED(status) ? WEXITSTATUS(status) : -1,
				  shown),
		    "Run it in a terminal to see what it says.");
	return NULL;
}

void doctor_bus(struct doctor_finding *finding) {
	json_t *said = ask_notify(finding);
	if (!said) return;
	bool bus = json_is_true(json_object_get(said, "bus"));
	json_decref(said);
	if (bus) return doctor_find(finding, DOCTOR_OK, string_copy("the session bus answers"), NULL);
	doctor_find(finding, DOCTOR_WARN,
		    string_copy("no session bus: nothing is asked on the desktop, the terminal asks"),
		    "Start sbx within the desktop's session, or set DBUS_SESSION_BUS_ADDRESS as there; on a machine "
		    "without one, dbus-run-session.");
}

static void find_server(struct doctor_finding *finding, const json_t *said) {
	CLEANUP_FREE char *server = json_visible(said, "server");
	CLEANUP_FREE char *version = json_visible(said, "version");
	CLEANUP_FREE char *problem = json_visible(said, "problem");
	bool quiet = json_is_true(json_object_get(said, "inhibited"));
	if (!json_is_true(json_object_get(said, "bus")))
		return doctor_find(finding, DOCTOR_WARN, string_copy("no session bus to find one on"), "See 'bus'.");
	if (!json_is_string(json_object_get(said, "server")))
		return doctor_find(
			finding, DOCTOR_WARN, string_format("none that answers: %s; the terminal asks", problem),
			"Start the one of your desktop, or another (notification-daemon, xfce4-notifyd, dunst, "
			"mako).");
	if (!json_is_true(json_object_get(said, "buttons")))
		return doctor_find(
			finding, DOCTOR_WARN,
			string_format("%s %s shows no buttons: its notifications say how to answer in a "
				      "terminal",
				      server, version),
			"Answer with 'sbx allow ID', 'sbx deny ID' or 'sbx monitor', or use a server that has "
			"buttons.");
	if (quiet)
		return doctor_find(finding, DOCTOR_WARN,
				   string_format("%s %s doesn't want to disturb: questions wait", server, version),
				   "Switch that off to be asked on the desktop; 'sbx prompts' lists what waits.");
	doctor_find(finding, DOCTOR_OK, string_format("%s %s, with buttons", server, version), NULL);
}

void doctor_notifications(struct doctor_finding *finding) {
	json_t *said = ask_notify(finding);
	if (said) find_server(finding, said);
	json_decref(said);
}

/* As programs see it that set their locale. */
static bool is_utf8(void) {
	locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
	if (!locale) return false;
	bool utf8 = strcmp(nl_langinfo_l(CODESET, locale), "UTF-8") == 0;
	freelocale(locale);
	return utf8;
}

/* Is TERM in terminfo's database? */
static bool is_known(void) {
	CLEANUP_FREE char *path = NULL, *said = NULL;
	if (program_find("sbx-monitor", &path, NULL) < 0) return true; /* no monitor, nothing to know */
	char *const check[] = {path, (char *)"--check", NULL};
	return doctor_run(check, &said) == 0;
}

/* The first that holds. */
static void find_terminal(struct doctor_finding *finding, const char *shown, unsigned columns) {
	const char *name = getenv("TERM");
	if (!name || strcmp(name, "dumb") == 0 || !is_known())
		return doctor_find(
			finding, DOCTOR_WARN,
			string_format("%s; what it can do is not known, so 'sbx monitor' can't use it and a "
				      "question can't give back the screen of a full-screen program",
				      shown),
			"Set TERM to what the terminal is (in tmux tmux-256color), or install its description "
			"(ncurses-term, ncurses-base).");
	if (!is_utf8())
		return doctor_find(finding, DOCTOR_WARN,
				   string_format("%s; the locale is not one of UTF-8, in which sbx writes", shown),
				   "Set LANG to one that 'locale -a' lists with utf8, such as C.UTF-8.");
	if (columns != 0 && columns < COLUMNS_LEAST)
		return doctor_find(finding, DOCTOR_WARN, string_format("%s: tables and questions are cut", shown),
				   "Make it 80 columns wide.");
	doctor_find(finding, DOCTOR_OK, string_copy(shown), NULL);
}

void doctor_terminal(struct doctor_finding *finding) {
	struct winsize size = {0};
	if (!isatty(STDERR_FILENO) || !isatty(STDIN_FILENO))
		return doctor_find(
			finding, DOCTOR_OK,
			string_copy("none here: 'sbx allow', 'sbx deny' and 'sbx monitor' in another answer"), NULL);
	ioctl(STDERR_FILENO, TIOCGWINSZ, &size);
	CLEANUP_FREE char *name = text_visible_cut(is_set("TERM") ? getenv("TERM") : "without TERM", 40);
	CLEANUP_FREE char *shown =
		string_format("%s, %u columns%s%s", name, size.ws_col, is_set("TMUX") ? ", in tmux" : "",
			      is_set("SSH_CONNECTION") || is_set("SSH_TTY") ? ", over ssh: this terminal asks" : "");
	find_terminal(finding, shown, size.ws_col);
}
