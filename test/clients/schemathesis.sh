#!/usr/bin/env bash
# Tries all operations of the OpenAPI document with schemathesis (https://schemathesis.io): once
# with an administrator's token of a world, and once with ADMIN_TOKEN. It fails if anything is
# found beside the refusals that schemathesis.py lists. Needs schemathesis 4, curl and a build:
#   pip install schemathesis==4.32.5 && npm run -s build && test/clients/schemathesis.sh [options]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

place=$(mktemp -d)
export DATA_DIR=$place/data PORT=${PORT:-8376} LOG_LEVEL=error
export ADMIN_TOKEN=administrator-of-the-whole-server-0001 BASE_URL=http://127.0.0.1:$PORT
node dist/bundle/foyer.js serve --demo --json >"$place/out" &
server=$!
trap 'kill $server; wait $server; rm -rf "$place"' EXIT
until curl -fs -o "$place/openapi.json" "$BASE_URL/api/v1/openapi.json"; do
  kill -0 $server
  sleep 0.2
done

TOKEN=$(node dist/bundle/foyer.js token sample --uid tester --trait admin --trait api)
export TOKEN
world=$BASE_URL/api/v1/worlds/sample

# call <path> [<body>]
call() {
  curl -fs -H "authorization: Bearer $TOKEN" -H 'content-type: application/json' \
    ${2:+-d "$2"} "$world/$1/"
}
id() { python3 -c 'import json, sys; print(json.load(sys.stdin)["id"])'; }

modules='[{"type":"chat.native"},{"type":"question"},{"type":"poll"}]'
ROOM_ID=$(call rooms "{\"name\":\"Hall\",\"module_config\":$modules}" | id)
SESSION_ID=$(call sessions '{"title":"Talk"}' | id)
SPEAKER_ID=$(call speakers '{"name":"Ada"}' | id)
ANNOUNCEMENT_ID=$(call announcements '{"text":"Lunch"}' | id)
WEBHOOK_ID=$(call webhooks '{"url":"https://1.1.1.1/","enabled":false}' | id)
call "rooms/$ROOM_ID/messages" '{"content":{"type":"text","body":"Hello"}}' >"$place/message"
USER_ID=$(call users | python3 -c '
import json, sys
print(next(user["id"] for user in json.load(sys.stdin)["results"] if user["token_id"] != "tester"))')
export ROOM_ID SESSION_ID SPEAKER_ID ANNOUNCEMENT_ID WEBHOOK_ID

cat >"$place/schemathesis.toml" <<END
base-url = "$BASE_URL"
[checks.negative_data_rejection]
# A condition is checked before the data of a record that changed is.
expected-statuses = [400, 401, 403, 404, 405, 406, 409, 412, 413, 415, 429, "5xx"]
[parameters]
"path.world_id" = "sample"
"path.room_id" = "$ROOM_ID"
"path.session_id" = "$SESSION_ID"
"path.speaker_id" = "$SPEAKER_ID"
"path.announcement_id" = "$ANNOUNCEMENT_ID"
"path.webhook_id" = "$WEBHOOK_ID"
"path.user_id" = "$USER_ID"
"path.event_id" = "1"
END
cp test/clients/schemathesis.py "$place/foyer_hooks.py"
cd "$place"
failed=0
for token in "$TOKEN" "$ADMIN_TOKEN"; do
  # The check that known_refusals stands for would find them all.
  PYTHONPATH=$place SCHEMATHESIS_HOOKS=foyer_hooks schemathesis \
    --config-file schemathesis.toml run "$place/openapi.json" \
    --header "Authorization: Bearer $token" --no-color --continue-on-failure \
    --checks all --exclude-checks positive_data_acceptance "$@" || failed=1
done
exit $failed
