#include "schema/request.h"

#include <stdlib.h>
#include <string.h>

#include "schema/host.h"

bool request_names_address(const struct request *request) {
	struct host host;
	uint16_t port;
	return request->permission.kind == PERMISSION_NET_ACCESS &&
	       host_port_parse(request->target, strlen(request->target), &host, &port, NULL) == 0 &&
	       host.class != HOST_NAME;
}

bool request_opens_folder(const struct request *request) {
	return request->permission.kind == PERMISSION_FS_READ && request->folder;
}

const char *request_link(const struct request *request) {
	return request->permission.kind == PERMISSION_FS_LINK ? request->name : NULL;
}

void subject_finish(struct subject *subject) {
	free(subject->profile);
	free(subject->project);
	*subject = (struct subject){0};
}

void request_finish(struct request *request) {
	subject_finish(&request->subject);
	free(request->target);
	free(request->process);
	strings_finish(&request->parents);
	free(request->reason);
	free(request->walk);
	free(request->name);
	*request = (struct request){0};
}
