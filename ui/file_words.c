#include "ui/file_words.h"

#include <fnmatch.h>

#include "base/memory.h"

static const char git[] = "git's: git runs what is written there outside the sandbox, when you use it";
static const char shell[] = "a shell's: your next shell runs what is written there, outside the sandbox";
static const char agent[] = "a coding agent's: the agent runs what is written there, maybe outside the sandbox";

/* The best known of those that the profile base masks (policy/profiles/base.yaml). `*` stands for any text, slashes
 * included; what lies below a path means the same. */
static const struct {
	const char *path, *meaning;
} file_table[] = {
	{"*/.git/hooks", git},
	{"*/.git/config", git},
	{"*/.git/config.worktree", git},
	{"*/.git/commondir", git},
	{"*/.git/info/attributes", git},
	{"*/.git/modules/*/hooks", git},
	{"*/.git/modules/*/config", git},
	{"*/.git/worktrees/*/commondir", git},
	{"*/.git/worktrees/*/gitdir", git},
	{"*/.git/worktrees/*/config.worktree", git},
	{"*/.gitconfig", git},
	{"*/.config/git", git},
	{"*/.envrc", "direnv's: once you let it, direnv runs what is written there in your shell"},
	{"*/.bashrc", shell},
	{"*/.bash_profile", shell},
	{"*/.bash_login", shell},
	{"*/.bash_aliases", shell},
	{"*/.profile", shell},
	{"*/.zshrc", shell},
	{"*/.zshenv", shell},
	{"*/.zprofile", shell},
	{"*/.zlogin", shell},
	{"*/.config/fish", shell},
	{"*/.claude", agent},
	{"*/.cursor", agent},
	{"*/.codex", agent},
	{"*/.gemini", agent},
	{"*/.mcp.json", agent},
};

const char *file_meaning(const char *path) {
	for (size_t i = 0; i < ARRAY_LENGTH(file_table); i++)
		if (fnmatch(file_table[i].path, path, FNM_LEADING_DIR) == 0) return file_table[i].meaning;
	return NULL;
}
