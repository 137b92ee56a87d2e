#!/bin/sh
# Runs schema.py with Debian's python3, which has python3-jsonschema and python3-yaml. Without them the test is skipped
# aloud (77), and fails where CI=true.
python=/usr/bin/python3
if ! "$python" -c 'import jsonschema, yaml; jsonschema.Draft202012Validator' 2>/dev/null; then
	echo "SKIPPED: $python with jsonschema and yaml is missing (apt install python3-jsonschema python3-yaml)" >&2
	[ "$CI" = true ] && exit 1
	exit 77
fi
exec "$python" -W ignore "$(dirname "$0")/schema.py" "$@"
