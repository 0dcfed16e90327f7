# Reads the event stream with curl, and connects again after the last id whenever a stream ends.
place=$AFTER
echo "$place" >place
while :; do
  curl -sfN -H "X-API-Key: $PETSTORE_KEY" -H "Last-Event-ID: $place" "$PETSTORE_URL/events/stream?limit=5" |
    while IFS= read -r line; do
      case $line in
        'id: '*) echo "${line#id: }" >place ;;
        'data: {"id"'*) line=${line#*'"sequence":'} && echo "${line%%,*}" ;;
      esac
    done
  place=$(cat place)
done
