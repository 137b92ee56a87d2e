/*
 * home: an ordinary user and a fresh home directory for a test program.
 *
 * Promises: run as root the process becomes an ordinary user for good ($SBX_TEST_USER, else the first of /etc/passwd
 * from 1000 on, else "nobody"), so that what refuses root is tested as it is; run as anybody else it stays that. The
 * home lies below $TMPDIR or /tmp, HOME, XDG_RUNTIME_DIR (a folder in it) and the working directory point there, the
 * other XDG variables are unset. A step that fails ends the test program.
 */
#pragma once

/* Also copies the program files named (NULL-terminated list) to $HOME/bin while it still may. Freed by home_remove. */
const char *home_make(const char *const *programs);
void home_remove(void); /* with all that is in it */

/* A file below the home, its folders made. */
void home_write(const char *name, const char *content);
char *home_path(const char *name); /* freed by the caller */
