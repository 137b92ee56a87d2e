#!/usr/bin/env bats
# Tools where people really install them, and repositories as people really have them.
# shellcheck disable=SC2016,SC2030,SC2031 # expanded inside the sandbox; each test has its own PATH

load helper

setup_file() {
	home_make
	git config --global user.name tester
	git config --global user.email tester@example.test
	git config --global init.defaultBranch main
}

@test "node and npm in ~/.nvm/versions" {
	home=$HOME/.nvm/versions/node/v20.0.0
	mkdir -p "$home/bin" "$home/lib/node_modules/hello/bin"
	cp "$(command -v node)" "$home/bin/node"
	printf '#!/usr/bin/env node\nconsole.log("hello from", process.execPath);\n' >"$home/lib/node_modules/hello/bin/cli.js"
	chmod +x "$home/lib/node_modules/hello/bin/cli.js"
	ln -s ../lib/node_modules/hello/bin/cli.js "$home/bin/hello"
	echo "nobody's business" >"$HOME/.nvm/other"
	export PATH=$home/bin:$PATH
	run sbx run -- node -p process.execPath
	[ "$output" = "$home/bin/node" ]
	run sbx run -- hello
	echo "$output"
	[ "$output" = "hello from $home/bin/node" ]
	run sbx run -- sh -c "touch '$home/bin/node'; touch '$home/lib/x'"
	[ "$status" != 0 ]
	[ ! -e "$home/lib/x" ]
}

@test "a tool in a venv under ~/.local/share/uv, started through ~/.local/bin" {
	python=$HOME/.local/share/uv/python/cpython-3-linux
	tool=$HOME/.local/share/uv/tools/greeter
	version=$(/usr/bin/python3 -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
	mkdir -p "$python/bin" "$python/lib" "$tool/bin" "$tool/lib/$version/site-packages" "$HOME/.local/bin"
	cp "$(readlink -f /usr/bin/python3)" "$python/bin/$version"
	ln -s "/usr/lib/$version" "$python/lib/$version"
	ln -s "$python/bin/$version" "$tool/bin/python"
	printf 'home = %s\ninclude-system-site-packages = false\n' "$python/bin" >"$tool/pyvenv.cfg"
	printf 'def main():\n    import sys\n    print("greetings from", sys.prefix)\n' >"$tool/lib/$version/site-packages/greeter.py"
	printf '#!%s/bin/python\nfrom greeter import main\nmain()\n' "$tool" >"$tool/bin/greeter"
	chmod +x "$tool/bin/greeter"
	ln -s ../share/uv/tools/greeter/bin/greeter "$HOME/.local/bin/greeter"
	export PATH=$HOME/.local/bin:$PATH
	run greeter
	[ "$output" = "greetings from $tool" ]
	run sbx run -- greeter
	echo "$output"
	[ "$output" = "greetings from $tool" ]
}

@test "a script of the project with its own virtual environment" {
	python3 -m venv --without-pip .venv 2>/dev/null || skip "python3 has no venv module here"
	run sbx run -- .venv/bin/python -c 'import sys; print(sys.prefix)'
	[ "$output" = "$HOME/project/.venv" ]
}

@test "git in a project: status, commit, branch, stash" {
	git init -q repo && cd repo
	echo one >file
	run sbx run --profile git -- sh -e -c 'git add file; git commit -qm one; git status --short; git branch side; echo two >file; git stash -q; git log --oneline'
	echo "$output"
	[ "$status" = 0 ]
	[ "$(git log --format=%s)" = one ]
}

@test "git in a linked worktree: the repository it belongs to is there" {
	git init -q main-repo && cd main-repo
	git commit -q --allow-empty -m zero
	git worktree add -q "$HOME/linked" -b linked
	cd "$HOME/linked"
	run sbx run --profile git -- sh -e -c 'git status --short --branch; echo x >new; git add new; git commit -qm "from inside"; pwd'
	echo "$output"
	[ "$status" = 0 ]
	contains "$output" "## linked"
	contains "$output" "$HOME/linked"
	[ "$(git log -1 --format=%s)" = "from inside" ]
	sbx sessions --all --json | jq -e "map(select(.project == \"$HOME/project/main-repo\")) | length >= 1"
}

@test "a project below /tmp works" {
	directory=$(mktemp -d /tmp/sbx-e2e-XXXXXX)
	cd "$directory"
	run sbx run -- sh -c 'pwd; echo made >file; ls /tmp'
	made=$(cat file)
	rm -r "$directory"
	[ "${lines[0]}" = "$directory" ]
	[ "${lines[1]}" = "${directory#/tmp/}" ]
	[ "$made" = made ]
}

@test "a project that is reached through a link" {
	mkdir -p "$HOME/real-place"
	ln -sfn "$HOME/real-place" "$HOME/by-link"
	cd "$HOME/by-link"
	run sbx run -- sh -c 'echo made >file; cat file'
	echo "$output"
	[ "$output" = made ]
	[ "$(<"$HOME/real-place/file")" = made ]
}

@test "python, perl, sh and a compiler run" {
	[ "$(sbx run -- python3 -c 'import ssl, json; print("ok")')" = ok ]
	[ "$(sbx run -- perl -e 'print "ok"')" = ok ]
	printf 'int main(void) { return 6; }\n' >six.c
	run sbx run -- sh -c 'cc six.c -o six && ./six'
	[ "$status" = 6 ]
}

@test "names resolve inside for the user's own account and host" {
	[ "$(sbx run -- id -un)" = "$(id -un)" ]
	[ "$(sbx run -- sh -c 'id -u; id -g')" = "$(id -u; id -g)" ]
}
