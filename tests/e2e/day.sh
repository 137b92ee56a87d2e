#!/bin/bash
# A day's work, as its user types it, each tool behind `sbx run`. day.bats makes what it meets (a registry, a git server, three
# hosts, ten notes, all on this machine) and counts what is asked; what the tools could do shows in what is printed and made.
#
# Set by day.bats: DAY (a word, new each day) and the ports API, DOCS, FILES of the three hosts.
set -euo pipefail
: "${DAY:?} ${API:?} ${DOCS:?} ${FILES:?}"

cd ~/app

echo "== npm install"
rm -rf node_modules package-lock.json
sbx run -- npm install --no-audit --no-fund

echo "== the tests"
sbx run -- npm test
sbx run -- make check

echo "== git push over ssh"
echo "$DAY" >>diary
sbx run -- git add diary package.json Makefile test.js
sbx run -- git commit -q -m "work of $DAY"
sbx run -- git push -q origin HEAD:main

echo "== three hosts"
sbx run -- curl -sS "http://api.test:$API/$DAY"
sbx run -- curl -sS "http://docs.example.test:$DOCS/$DAY"
sbx run -- curl -sS "http://files.example.org.test:$FILES/$DAY"

echo "== an agent reads ten files"
sbx run -- python3 agent.py
