#!/usr/bin/env bash
# polkit.sh FOLDER: polkitd on a bus of its own, for bench/check.sh to be compared with, as root. The bus is at FOLDER/bus.
# An action that everybody is allowed, org.sbx.bench, is seen in a mount namespace of its own; the machine's own polkitd and
# system bus are left alone. Serves until it is ended.
set -euo pipefail
[[ ${SBX_BENCH_UNSHARED:-} ]] || SBX_BENCH_UNSHARED=1 exec unshare --mount --propagation private "$0" "$@"

folder=$1 actions=/usr/share/polkit-1/actions
polkitd=$(sed -n 's/^Exec=\([^ ]*\).*/\1/p' /usr/share/dbus-1/system-services/org.freedesktop.PolicyKit1.service)
cat >"$folder/bus.conf" <<-END
	<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
	 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
	<busconfig>
	  <type>system</type>
	  <listen>unix:path=$folder/bus</listen>
	  <auth>EXTERNAL</auth>
	  <policy context="default">
	    <allow user="*"/>
	    <allow own="*"/>
	    <allow send_type="method_call"/>
	    <allow send_type="signal"/>
	    <allow send_requested_reply="true" send_type="method_return"/>
	    <allow send_requested_reply="true" send_type="error"/>
	    <allow receive_type="method_call"/>
	    <allow receive_type="method_return"/>
	    <allow receive_type="error"/>
	    <allow receive_type="signal"/>
	  </policy>
	</busconfig>
END
cp -r "$actions" "$folder/actions"
cat >"$folder/actions/org.sbx.bench.policy" <<-'END'
	<?xml version="1.0" encoding="UTF-8"?>
	<!DOCTYPE policyconfig PUBLIC "-//freedesktop//DTD PolicyKit Policy Configuration 1.0//EN"
	 "http://www.freedesktop.org/standards/PolicyKit/1/policyconfig.dtd">
	<policyconfig>
	  <action id="org.sbx.bench">
	    <description>Measure</description>
	    <message>Measure</message>
	    <defaults><allow_any>yes</allow_any><allow_inactive>yes</allow_inactive><allow_active>yes</allow_active></defaults>
	  </action>
	</policyconfig>
END
chmod -R a+rX "$folder"
mount --bind "$folder/actions" "$actions"

pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true' EXIT
trap 'exit' TERM INT
dbus-daemon --config-file="$folder/bus.conf" --nofork --nopidfile 2>"$folder/bus.log" &
pids+=($!)
for _ in {1..100}; do
	[[ ! -S $folder/bus ]] || break
	sleep 0.05
done
DBUS_SYSTEM_BUS_ADDRESS=unix:path=$folder/bus "$polkitd" --no-debug >"$folder/polkitd.log" 2>&1 &
pids+=($!)
wait
