/*
 * For an sshd that isn't root's: it gives a terminal's device to the group tty by chown(2), which only root may where
 * devpts is mounted without gid=5, and gives up. Preloaded into it, that is left out for the user's own device.
 */
#include <stddef.h>
#include <sys/types.h>

int chown(const char *path, uid_t user, gid_t group);

int chown(const char *path, uid_t user, gid_t group) {
	(void)path, (void)user, (void)group;
	return 0;
}
