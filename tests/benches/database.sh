# Shared functions of the benchmarks on PostgreSQL: start, SQL, processor time. To be sourced.
database_cpu=${SERVER_CPU:-1}
node_cpu=${CLIENT_CPU:-0}
export SERVER_CPU=$node_cpu CLIENT_CPU=$node_cpu
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
seconds=${SECONDS_EACH:-2} rounds=${ROUNDS:-12} pets=100000

# Debian keeps the programs of each version in a folder of its own.
programs=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
: "${programs:=$(dirname "$(readlink -f "$(command -v postgres)")")}"
[ "$(id -u)" != 0 ] || as_user=(setpriv --reuid postgres --regid postgres --clear-groups)
database='' database_port=''

# start_database: starts an empty PostgreSQL, and sets `database` to its process and `database_port` to its port.
start_database() {
  free_port
  database_port=$port
  chmod 755 "$folder"
  mkdir "$folder/pg"
  [ -z "${as_user+x}" ] || chown postgres "$folder/pg"
  (cd "$folder/pg" && "${as_user[@]}" "$programs/initdb" -D data -A trust -U petstore -E UTF8 --locale=C >/dev/null)
  (cd "$folder/pg" && exec taskset -c "$database_cpu" "${as_user[@]}" "$programs/postgres" -D data -p "$database_port" -k "$folder/pg" \
    -c listen_addresses=127.0.0.1 -c max_connections=200 >"$folder/pg/log" 2>&1) &
  database=$!
  until sql 'select 1' >/dev/null 2>&1; do
    kill -0 "$database" 2>/dev/null || { cat "$folder/pg/log" >&2; return 1; }
    sleep 0.1
  done
  url=postgres://petstore@127.0.0.1:$database_port/postgres
}

sql() { "$programs/psql" -h 127.0.0.1 -p "$database_port" -U petstore -d postgres -Atqc "$1"; }

# database_busy: processor time of PostgreSQL's processes that live, in nanoseconds.
database_busy() {
  # A process that ends meanwhile has no time any more.
  { cat /proc/"$database"/schedstat $(pgrep -P "$database" | sed 's|.*|/proc/&/schedstat|') 2>/dev/null || true; } |
    awk '{ sum += $1 } END { printf "%.0f", sum }'
}

# demand NAME OPTIONS...: runs the generator; sets `line`, and `node_takes` and `database_takes` to the processor time of a request.
demand() {
  local node_before database_before requests
  node_before=$(busy) database_before=$(database_busy)
  line=$(told --seconds "$seconds" --pets "$pets" "$@")
  requests=$(value requests <<<"$line")
  node_takes=$((($(busy) - node_before) / requests))
  database_takes=$((($(database_busy) - database_before) / requests))
}

# last NAME: the figure that was noted last.
last() { echo "${series[$1]##* }"; }
