#include "checking.h"

bool checking_decides(const struct checking *checking) {
	return !checking->again && (!checking->wanted || checking->request.permission.kind == PERMISSION_ENV_READ);
}

void checking_finish(struct checking *checking) {
	request_finish(&checking->request);
	stack_exec_answers_finish(&checking->said);
	*checking = (struct checking){0};
}
