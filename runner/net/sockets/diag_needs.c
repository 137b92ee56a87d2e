#include "runner/diag_needs.h"

#include <fcntl.h>
#include <linux/netlink.h>
#include <sys/socket.h>

#include "net/sockets/diag.h"

struct diag_needs diag_needs_look(void) {
	const int kind = SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
	const int folder = open("/proc/self/net", O_PATH | O_DIRECTORY | O_CLOEXEC);
	CLEANUP_DIAG struct diag *diag = NULL;
	if (diag_new(socket(AF_NETLINK, kind, NETLINK_SOCK_DIAG), folder, &diag, NULL) < 0)
		return (struct diag_needs){.listeners = false};
	return (struct diag_needs){
		.listeners = true, .tables = diag_reads_tables(diag), .bound = diag_knows_unix(diag)};
}
