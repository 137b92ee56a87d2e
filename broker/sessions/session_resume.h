/*
 * session_resume: a session whose sandbox ran before its runner came to this broker.
 *
 * Promises: its runner hears all that was withdrawn meanwhile, and lets no call go on before it has confirmed.
 */
#pragma once

struct session;

void session_resume(struct session *session);
