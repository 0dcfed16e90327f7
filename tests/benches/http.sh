#!/usr/bin/env bash
# The petstore over HTTP: user instructions a GET, and GETs and durable orders a second, the file against memory in turns.
#
#   cargo build --release && bash tests/benches/http.sh
#
# Needs curl, h2load (Debian: nghttp2-client) and valgrind. Nothing here fails: a benchmark is no test. Server and
# generator share one processor (CPU), so absolute figures are those of half a core; ratios decide.
set -euo pipefail
cd "$(dirname "$0")/../.."
binary=${BIN:-$PWD/target/release/petstore}
cpu=${CPU:-0}
folder=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"
export PETSTORE_INITIAL_KEY
PETSTORE_INITIAL_KEY=$("$binary" keys generate)
key="x-api-key: $PETSTORE_INITIAL_KEY"

# start STORE PORT [WRAPPER...]: a server with 2,000 pets, whose account may ask without end.
start() {
  local store=$1 port=$2
  shift 2
  "$@" "$binary" --db "$store" --listen "127.0.0.1:$port" --threads 1 --demo 2000 --admin-socket "$folder/$port.sock" >/dev/null 2>"$folder/$port.err" &
  server=$!
  until curl -s -o /dev/null "http://127.0.0.1:$port/ready"; do sleep 0.2; done
  "$binary" accounts update default --minute 2147483647 --day 2147483647 --admin-socket "$folder/$port.sock" >/dev/null
  curl -s -o /dev/null -X PATCH -H "$key" -H 'content-type: application/json' -d '{"quantity":1000000}' "http://127.0.0.1:$port/v1/inventory/1"
}
stop() { kill "$server"; wait "$server" || true; }

# rate PORT PATH [h2load options...]: requests a second on 64 connections.
rate() {
  local port=$1 path=$2
  shift 2
  taskset -c "$cpu" h2load --h1 -c 64 -t 1 -D 4 --warm-up-time 1 -H "$key" "$@" "http://127.0.0.1:$port$path" | sed -n 's/^finished in .*, \([0-9.]*\) req\/s.*/\1/p'
}

echo '| what | memory | file | file / memory |'
echo '|---|---|---|---|'
printf '{"petId":1}' >order
for round in 1 2 3; do
  for what in GET order; do
    figures=()
    for store in memory "$folder/$round-$what.db"; do
      port=$((10000 + RANDOM % 15000))
      start "$store" "$port" taskset -c "$cpu"
      case $what in
        GET) figures+=("$(rate "$port" /v1/pets/1234)") ;;
        order) figures+=("$(rate "$port" /v1/store/orders -d order -H 'content-type: application/json')") ;;
      esac
      stop
    done
    echo "| $what, a second, round $round | ${figures[0]} | ${figures[1]} | $(awk "BEGIN { printf \"%.2f\", ${figures[1]} / ${figures[0]} }") |"
  done
done

# The difference of two runs that differ in their number of requests alone: the start cancels out.
instructions() {
  local port=$((10000 + RANDOM % 15000))
  start memory "$port" valgrind --tool=callgrind --callgrind-out-file=/dev/null
  h2load --h1 -n "$1" -c 16 -t 1 -H "$key" "http://127.0.0.1:$port/v1/pets/1234" >/dev/null
  stop
  sed -n 's/.*Collected : \([0-9]*\).*/\1/p' "$folder/$port.err"
}
few=$(instructions 2000)
many=$(instructions 12000)
echo "| user instructions a GET | $(((many - few) / 10000)) | | |"
