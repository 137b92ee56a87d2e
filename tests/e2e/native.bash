# shellcheck shell=bash
# Real servers for the tests of the native network, on the host's loopback, as the user who runs the tests. Loaded after
# helper. Whoever is started here is ended with the home.

# A certificate for NAME… in $HOME/project/cert.pem; its key in $HOME/run/key.pem.
certificate() {
	local names
	names=$(printf ',DNS:%s' "$@")
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "/CN=$1" \
		-addext "subjectAltName=${names#,}" -keyout "$HOME/run/key.pem" -out "$HOME/project/cert.pem" 2>/dev/null
}

# on_free_port NAME CHECK COMMAND…: start a server that can't choose a port by itself (PORT in COMMAND and CHECK stands for it)
# and wait until CHECK succeeds; prints the port. A port that somebody else has taken meanwhile is given up for another.
on_free_port() {
	local name=$1 check=$2 port attempt end
	shift 2
	for attempt in 1 2 3; do
		port=$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
		"${@//PORT/$port}" >"$HOME/run/$name.log" 2>&1 3>&- &
		echo $! >"$HOME/run/$name.pid"
		end=$((SECONDS + 60))
		while kill -0 "$(<"$HOME/run/$name.pid")" 2>/dev/null && ((SECONDS < end)); do
			if bash -c "${check//PORT/$port}" >/dev/null 2>&1; then
				echo "$port"
				return
			fi
			sleep 0.1
		done
		echo "attempt $attempt: $name doesn't listen" >&2
	done
	cat "$HOME/run/$name.log" >&2
	return 1
}

# inetd NAME COMMAND…: COMMAND serves each connection on its standard input and output; prints the port.
inetd() {
	local name=$1
	shift
	server "$name" inetd.py "$@"
}

# A bare repository in $HOME/served/repo.git with one commit whose file says "from the repository".
repository() {
	local work=$HOME/run/work
	git init -q --bare "$HOME/served/repo.git"
	git init -q "$work"
	echo "from the repository" >"$work/file"
	git -C "$work" add file
	git -C "$work" -c user.name=tester -c user.email=tester@example.test commit -qm one
	git -C "$work" push -q "$HOME/served/repo.git" HEAD:refs/heads/main
	git -C "$HOME/served/repo.git" symbolic-ref HEAD refs/heads/main
}

# sshd as it is, for one user and one key ($HOME/project/key); prints the port. The user's shell has to be one.
ssh_server() {
	local folder=$HOME/run/sshd
	mkdir -p "$folder"
	ssh-keygen -q -t ed25519 -N '' -f "$folder/host"
	ssh-keygen -q -t ed25519 -N '' -f "$HOME/project/key"
	cp "$HOME/project/key.pub" "$folder/authorized"
	cat >"$folder/config" <<-END
		HostKey $folder/host
		AuthorizedKeysFile $folder/authorized
		PidFile none
		StrictModes no
		UsePAM no
		PasswordAuthentication no
		KbdInteractiveAuthentication no
	END
	echo "git.test $(cut -d' ' -f1,2 "$folder/host.pub")" >"$HOME/project/known_hosts"
	inetd sshd "$(PATH=$PATH:/usr/sbin:/sbin command -v sshd)" -i -f "$folder/config" -E "$folder/log"
}

# PostgreSQL with a database postgres that needs no password; prints the port.
postgres_server() {
	local folder=$HOME/run/postgres programs
	programs=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -1)
	[[ -x $programs/initdb ]] || programs=$(dirname "$(command -v initdb)")
	"$programs/initdb" -A trust -U postgres --no-locale -E UTF8 --no-sync -D "$folder" >"$HOME/run/initdb.log" 2>&1 || {
		cat "$HOME/run/initdb.log" >&2
		return 1
	}
	on_free_port postgres 'psql -h 127.0.0.1 -p PORT -U postgres -c "select 1"' "$programs/postgres" -D "$folder" -p PORT \
		-c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off -c shared_buffers=8MB -c max_connections=20
}

# Redis without a file; prints the port. Debian's redis-tools has the server by another name (it goes by the name that it is
# called by), without the service of redis-server.
redis_server() {
	local program
	program=$(command -v redis-server || command -v valkey-server || command -v redis-check-rdb)
	# shellcheck disable=SC2016 # expanded in there
	on_free_port redis 'redis-cli -p PORT ping | grep -q PONG' bash -c 'exec -a redis-server "$@"' bash "$program" --port PORT \
		--bind 127.0.0.1 --save '' --appendonly no --dir "$HOME/run"
}
