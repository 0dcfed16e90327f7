# What the benchmarks over HTTP share: build, start, load, stop. To be sourced.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# One processor for the server, the next for the generator.
server_cpu=${SERVER_CPU:-0} client_cpu=${CLIENT_CPU:-$(($(nproc) > 1 ? 1 : 0))}
if [ -z "${BUILT:-}" ]; then
  echo 'building; the first time that takes some minutes' >&2
  cargo build --release --locked -q -p petstore -p petstore-bench
fi
target=$(cd "${CARGO_TARGET_DIR:-target}/release" && pwd)
folder=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$folder"' EXIT
PETSTORE_INITIAL_KEY=$("$target/petstore" keys generate)
export PETSTORE_INITIAL_KEY
server='' port=''

# petstore STORE PETS [WRAPPER...]: a server with so many pets, whose account may ask without end.
petstore() {
  launch "$@"
  administer accounts update default --plan enterprise --minute 2147483647 --day 2147483647 >/dev/null
}

# administer COMMAND...: a command to the server that was started last. Where none answers it would open a file itself: in
# this folder that is nobody's.
administer() { (cd "$folder" && "$target/petstore" "$@" --admin-socket "$folder/$port.sock"); }

# launch STORE PETS [WRAPPER...]: the server alone, once it answers.
launch() {
  local store=$1 pets=$2
  shift 2
  free_port
  taskset -c "$server_cpu" "$@" "$target/petstore" --db "$store" --listen "127.0.0.1:$port" --threads 1 --demo "$pets" \
    --admin-socket "$folder/$port.sock" >/dev/null 2>"$folder/$port.err" &
  server=$!
  answers ready
}

# A port that nobody serves, into `port`.
free_port() {
  port=$((10000 + RANDOM % 15000))
  while (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do port=$((10000 + RANDOM % 15000)); done
}

# answers PATH: waits until the server does, and fails if it ends, or lives and answers nothing for five minutes.
answers() {
  local last=$((SECONDS + 300))
  until curl -sf -m 10 -o /dev/null "http://127.0.0.1:$port/$1"; do
    kill -0 "$server" 2>/dev/null || { echo "what was started has ended before it answered: $(cat "$folder/$port.err")" >&2; return 1; }
    [ "$SECONDS" -lt "$last" ] || { echo "what was started lives, and does not answer: $(cat "$folder/$port.err")" >&2; return 1; }
    sleep 0.01
  done
}

# record [PATH [OPTIONS...]]: an answer as it comes over the wire, that to GET of a pet if nothing else is asked.
record() {
  local path=${1:-/pets/1234}
  shift || true
  curl -si -H "x-api-key: $PETSTORE_INITIAL_KEY" "http://127.0.0.1:$port/v1$path" "$@" >"$folder/answer"
}

# baseline [WRAPPER...]: bare hyper with the answer that was recorded.
baseline() {
  free_port
  taskset -c "$server_cpu" "$@" "$target/baseline" "$port" "$folder/answer" >/dev/null 2>"$folder/$port.err" &
  server=$!
  answers ''
}

stop() {
  kill "$server"
  wait "$server" || true
}

# load [OPTIONS...]: the generator's line. A refused request is an error: it is not what was to be measured.
load() {
  local line
  line=$(offer "$@")
  [[ $line == *' refused=0 '* ]] || { echo "refused: $line" >&2; return 1; }
  echo "$line"
}

# offer [OPTIONS...]: the same where refusals may be: a slow machine sheds some of the load of many connections.
offer() { taskset -c "$client_cpu" "$target/load" --port "$port" --key "$PETSTORE_INITIAL_KEY" "$@"; }

# value NAME: one figure of the line that is read.
value() { sed -n "s/.*\b$1=\([0-9.]*\).*/\1/p"; }

divide() { awk "BEGIN { printf \"%.${3:-2}f\", $1 / $2 }"; }
median() { printf '%s\n' "$@" | sort -g | sed -n "$((($# + 1) / 2))p"; }
