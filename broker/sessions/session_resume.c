#include "session_resume.h"

#include "sandbox.h"
#include "session.h"
#include "session_tell.h"
#include "spent.h"

void session_resume(struct session *session) {
	struct sandbox *sandbox = session->sandbox;
	sandbox_take_up(sandbox);
	if (!spent_tell(session)) return; /* it is being ended, and its calls wait for that */
	session_push_rules_changed(session, sandbox_is_to_be_killed(sandbox)); /* it may not have heard so */
	sandbox->whole = sandbox->broker->last_settling;
}
