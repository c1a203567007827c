# Keeps one private Postgres: makes it, runs it, ends it and removes its folder.
# Standard input is a pipe whose other end only the parent holds. It ends when
# the parent closes it or dies, however it dies. All of it is one process that
# the parent starts, so there is no moment at which a killed parent leaves a
# server without a keeper.
#
# $1 the folder of the programs, $2 the folder of the server, $3 superuser, $4 port, then settings for postgres
programs=$1 folder=$2 superuser=$3 port=$4
shift 4
trap '' HUP INT TERM
PATH=$PATH:/usr/bin:/bin # it must be able to clean up, whatever the parent's PATH
exec 3<&0 </dev/null

if "$programs/initdb" --pgdata="$folder/data" --username="$superuser" --pwfile="$folder/password" \
	--auth=scram-sha-256 --encoding=UTF8 --no-locale --no-sync >/dev/null; then
	"$programs/postgres" -D "$folder/data" -h 127.0.0.1 -p "$port" -c unix_socket_directories= \
		-c timezone=UTC -c log_timezone=UTC "$@" 3<&- &
	server=$!
	{
		read -r _ <&3
		# Once is not enough: a server that is only just starting ignores the signal.
		while kill -QUIT "$server" 2>/dev/null; do sleep 1; done
	} &
	waiter=$!
	wait "$server"
	kill -KILL "$waiter" 2>/dev/null # ignores TERM, as we do
fi
rm -rf "$folder"
