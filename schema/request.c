#include "schema/request.h"

#include <stdlib.h>

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
	*request = (struct request){0};
}
