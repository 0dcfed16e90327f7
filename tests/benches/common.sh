# Shared functions of the benchmarks over HTTP: build, start, load, stop. To be sourced.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# The server's processor, and the generator's.
server_cpu=${SERVER_CPU:-0} client_cpu=${CLIENT_CPU:-$(($(nproc) > 1 ? 1 : 0))}
if [ -z "${BUILT:-}" ]; then
  echo 'building; the first build takes some minutes' >&2
  cargo build --release --locked -q -p petstore -p petstore-bench
fi
target=$(cd "${CARGO_TARGET_DIR:-target}/release" && pwd)
folder=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$folder"' EXIT
PETSTORE_INITIAL_KEY=$("$target/petstore" keys generate)
export PETSTORE_INITIAL_KEY
server='' port=''

# petstore STORE PETS [WRAPPER...]: starts a server with this number of pets, and lifts the quota of its account.
petstore() {
  launch "$@"
  administer accounts update default --plan enterprise --minute 2147483647 --day 2147483647 >/dev/null
}

# administer COMMAND...: runs a command against the server that was started last. Without an answer it would open a data
# file, of which this folder has none.
administer() { (cd "$folder" && "$target/petstore" "$@" --admin-socket "$folder/$port.sock"); }

# launch STORE PETS [WRAPPER...]: starts the server, and waits until it answers.
launch() {
  local store=$1 pets=$2
  shift 2
  free_port
  taskset -c "$server_cpu" "$@" "$target/petstore" --db "$store" --listen "127.0.0.1:$port" --threads 1 --demo "$pets" \
    --admin-socket "$folder/$port.sock" >/dev/null 2>"$folder/$port.err" &
  server=$!
  answers ready
}

# Sets `port` to a port without a listener.
free_port() {
  port=$((10000 + RANDOM % 15000))
  while (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do port=$((10000 + RANDOM % 15000)); done
}

# answers PATH: waits until the server answers. Fails if it ends, or gives no answer within five minutes.
answers() {
  local last=$((SECONDS + 300))
  until curl -sf -m 10 -o /dev/null "http://127.0.0.1:$port/$1"; do
    kill -0 "$server" 2>/dev/null || { echo "the server ended before it answered: $(cat "$folder/$port.err")" >&2; return 1; }
    [ "$SECONDS" -lt "$last" ] || { echo "the server does not answer: $(cat "$folder/$port.err")" >&2; return 1; }
    sleep 0.01
  done
}

# record [PATH [OPTIONS...]]: stores an answer as raw bytes; by default that of GET of a pet.
record() {
  local path=${1:-/pets/1234}
  shift || true
  curl -si -H "x-api-key: $PETSTORE_INITIAL_KEY" "http://127.0.0.1:$port/v1$path" "$@" >"$folder/answer"
}

# baseline [WRAPPER...]: starts bare hyper with the recorded answer.
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

# load [OPTIONS...]: runs the generator and prints its line. A refused request is an error.
load() {
  local line
  line=$(offer "$@")
  [[ $line == *' refused=0 '* ]] || { echo "refused: $line" >&2; return 1; }
  echo "$line"
}

# offer [OPTIONS...]: the same, with refusals allowed: a slow machine refuses some requests of many connections.
offer() { taskset -c "$client_cpu" "$target/load" --port "$port" --key "$PETSTORE_INITIAL_KEY" "$@"; }

# told [OPTIONS...]: the same, and reports refused requests.
told() {
  local line
  line=$(offer "$@")
  [ "$(value refused <<<"$line")" = 0 ] || echo "this machine is too slow, some requests were refused: $line" >&2
  echo "$line"
}

# value NAME: prints one figure of the generator's line.
value() { sed -n "s/.*\b$1=\([0-9.]*\).*/\1/p"; }

divide() { awk "BEGIN { printf \"%.${3:-2}f\", $1 / $2 }"; }
median() { printf '%s\n' "$@" | sort -g | sed -n "$((($# + 1) / 2))p"; }

# keep NAME: names the server that was started last. turn NAME: selects it for the next requests.
declare -A servers ports
keep() { servers[$1]=$server ports[$1]=$port; }
turn() { server=${servers[$1]} port=${ports[$1]}; }
stop_all() {
  local name
  for name in "${!servers[@]}"; do
    turn "$name"
    stop
  done
  servers=() ports=()
}

# note NAME FIGURE: adds to a series. middle NAME: its median. spread NAME: median, lowest and highest.
declare -A series
note() { series[$1]+=" $2"; }
middle() { median ${series[$1]}; }
spread() {
  local sorted
  mapfile -t sorted < <(printf '%s\n' ${series[$1]} | sort -g)
  echo "$(middle "$1") (${sorted[0]} to ${sorted[-1]})"
}

resident() { awk '/^VmRSS/ { printf "%.0f", $2 * 1024 }' "/proc/$server/status"; }

# Processor time of the server in nanoseconds.
busy() { cat /proc/"$server"/task/*/schedstat | awk '{ sum += $1 } END { printf "%.0f", sum }'; }
