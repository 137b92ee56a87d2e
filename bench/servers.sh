# shellcheck shell=bash
# Servers that are started for a measurement. Sourced.

listening() { # listening FILE: the port that a server printed there
	for _ in {1..200}; do
		[[ ! -s $1 ]] || break
		sleep 0.05
	done
	cat "$1"
}

free_port() { # free_port [FROM]: one below 19000 that nobody listens at
	local port
	for ((port = ${1:-18080}; port < 19000; port++)); do
		if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then echo "$port" && return; fi
	done
}

serves() { # serves PORT: soon
	for _ in {1..200}; do
		if (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; then return 0; fi
		sleep 0.05
	done
	return 1
}
