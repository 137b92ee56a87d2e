#include "ui/socket_words.h"

#include <fnmatch.h>

#include "base/memory.h"
#include "base/string.h"

/* By where the packages put them; the first that fits. `*` stands for any text, slashes included. */
static const struct {
	const char *path, *meaning;
} socket_table[] = {
	{"*/docker.sock",
	 "Docker: who talks to it can do on this machine whatever Docker can, mostly all that root can"},
	{"*/podman/podman.sock", "Podman: who talks to it can start containers with any of your files in them"},
	{"*/containerd/*.sock", "containerd: who talks to it can do whatever root can on this machine"},
	{"/run/libvirt/*", "libvirt: who talks to it can start machines with any disk or folder of this one"},
	{"/run/user/*/bus", "D-Bus of your session: who talks to it can start programs outside the sandbox"},
	{"/run/dbus/*", "D-Bus of the system: who talks to it can ask its services whatever you can"},
	{"/run/user/*/systemd/*", "your systemd: who talks to it can start programs outside the sandbox"},
	{"/run/systemd/*", "systemd: who talks to it can ask its services whatever you can"},
	{"*/S.gpg-agent*", "gpg-agent: who talks to it can sign and decrypt with your keys"},
	{"*/keyring/*", "the keyring: who talks to it can use the keys and secrets that are unlocked"},
	{"*ssh*agent*",
	 "ssh-agent: who talks to it can log in wherever your keys are accepted, as long as it is connected"},
	{"/tmp/ssh-*",
	 "ssh-agent: who talks to it can log in wherever your keys are accepted, as long as it is connected"},
	{"*/gcr/ssh",
	 "ssh-agent: who talks to it can log in wherever your keys are accepted, as long as it is connected"},
	{"*/tmux-*", "tmux: who talks to it can type into your terminals outside the sandbox"},
	{"/run/screen/*", "screen: who talks to it can type into your terminals outside the sandbox"},
	{"/tmp/.X11-unix/*", "X11: who talks to it can see your screen, and type and click in every window"},
	{"*/wayland-*", "Wayland: who talks to it can open windows, and use the clipboard"},
	{"*/pipewire-*", "PipeWire: who talks to it can listen to the microphone and look through the camera"},
	{"*/pulse/native", "PulseAudio: who talks to it can listen to the microphone"},
};

const char *socket_meaning(const char *path) {
	for (size_t i = 0; i < ARRAY_LENGTH(socket_table); i++)
		if (fnmatch(socket_table[i].path, path, 0) == 0) return socket_table[i].meaning;
	return NULL;
}
