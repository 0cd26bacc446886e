# Makes the commands of the program for MariaDB and MySQL: those of cli/commands.txt, the second file, with the blocks of
# the first file in place of theirs. A block of the first file that is only a head is of a command that is not there.

/^# / {
    name = $2
    is_there = !(name in own)
}
FNR == NR {
    if (/^# /)
        head[name] = $0
    else if (name != "")
        own[name] = own[name] $0 "\n"
    if (/^# /)
        own[name] = own[name] ""
    next
}
/^# / && !is_there && own[name] ~ /[^\n]/ { printf "%s\n%s", head[name], own[name] }
name == "" || is_there {
    gsub(/outbox-relay /, "outbox-relay-mysql ")
    print
}
