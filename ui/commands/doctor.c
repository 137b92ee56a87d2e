#include <string.h>

#include "base/memory.h"
#include "commands/commands.h"
#include "doctor/doctor.h"
#include "schema/message.h"
#include "ui/output.h"

enum { NAME_COLUMNS = 12, DETAIL_COLUMN = 6 + NAME_COLUMNS + 1 };

struct values {
	bool json;
};

static const struct option_info options[] = {
	{"json", OPTION_FLAG, NULL, "One JSON array of {check, status, detail, advice}.",
	 offsetof(struct values, json)},
};

static const char *const status_names[] = {[DOCTOR_OK] = "ok", [DOCTOR_WARN] = "warn", [DOCTOR_FAIL] = "fail"};

static void print_finding(const char *name, const struct doctor_finding *finding) {
	printf("%-5s %-*s %s\n", status_names[finding->status], NAME_COLUMNS, name, finding->detail);
	if (finding->advice) print_wrapped(stdout, DETAIL_COLUMN, finding->advice);
}

static int run(struct command_call *call, struct error *error) {
	(void)error;
	const struct values *values = call->values;
	struct json_list list = {.out = stdout};
	size_t count;
	const struct doctor_check *checks = doctor_checks(&count);
	int status = EXIT_DONE;
	for (size_t i = 0; i < count; i++) {
		struct doctor_finding finding = {0};
		checks[i].look(&finding);
		if (finding.status == DOCTOR_FAIL) status = EXIT_NO;
		if (values->json) {
			json_t *item = json_pack("{s:s, s:s, s:o, s:o}", "check", checks[i].name, "status",
						 status_names[finding.status], "detail", message_bytes(finding.detail),
						 "advice", message_bytes(finding.advice));
			json_list_item(&list, item);
			json_decref(item);
		} else {
			print_finding(checks[i].name, &finding);
		}
		free(finding.detail);
		free(finding.advice);
	}
	if (values->json) json_list_end(&list);
	return status;
}

const struct command command_doctor = {
	.name = "doctor",
	.operands = "",
	.summary = "Say what this machine gives sbx, what it lacks, and what to do.",
	.details = "Works as root and without a broker. Exit status 1 when something fails.",
	.options = OPTION_TABLE(options),
	.values_size = sizeof(struct values),
	.run = run,
};
