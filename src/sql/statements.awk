# Checks the files of SQL and prints, in C, the lists that their heads make. Its arguments are first commands.txt, which
# names parameters and statements, then the C files, of which those with lists of facts name them, and then the files of SQL.
#
# A head's line "-- use: lane claim if by_slice with levels" says who uses the statement, its name, which facts must hold,
# and which facts are true in it besides.

BEGIN {
    split("lane desk server run check figures answers attention storage", list)
    for (i in list)
        users[list[i]] = 1
    # What a head may say behind "with". The first two are for the list of a lane's statements alone.
    split("levels blocked first from_parked from_refused unsent_from borrowed shown changed changes drops newest_first " \
          "of_none numbers few_rows lean", list)
    for (i in list)
        given[list[i]] = 1
    # What init makes by files of config/sql.
    split("makes_outbox in_transaction ordered makes_index concurrently makes_others makes_function makes_trigger", list)
    for (i in list)
        known[list[i]] = 1
    # Parameters that the desk makes (src/desk/run.h).
    split("dry_run event_ids ids name place since_ms step terminal topic_regex verb", list)
    for (i in list)
        known["$" list[i]] = 1
}

# ---- the commands, whose options are parameters, and whose steps name statements

FILENAME ~ /commands\.txt$/ && /^@/ {
    for (i = 1; i <= NF; i++) {
        if ($i ~ /=/ && $i !~ /=(N|D|TEXT|REASON)(\||$)/)
            complain("an option wants N, D, TEXT or REASON")
        for (rest = $i; match(rest, /--[a-z-]+/); rest = substr(rest, RSTART + RLENGTH)) {
            name = substr(rest, RSTART + 2, RLENGTH - 2)
            gsub(/-/, "_", name)
            known["$" name] = 1
        }
    }
}

FILENAME ~ /commands\.txt$/ {
    if (/^  (values|rows|record|text|run|replay) [a-z_]+$/)
        step[$2] = FILENAME ":" FNR
    next
}

function complain(what) {
    printf "%s:%d: %s\n", FILENAME, FNR, what > "/dev/stderr"
    failed = 1
}

function note(fact, is_value) {
    sub(/^!/, "", fact)
    if (!(fact in wanted) || !is_value)
        wanted[fact] = FILENAME ":" FNR
    if (!is_value)
        asked[fact] = 1
}

function check_end() {
    if (depth > 0)
        printf "%s:%d: {if} without {end}\n", file, opened[depth] > "/dev/stderr"
    failed = failed || depth > 0
    depth = 0
}

# ---- the C files

FILENAME ~ /\.c$/ && /struct sql_(fact|truth) [a-z_]+\[[0-9]*\] = \{/ { in_list = 1 }

FILENAME ~ /\.c$/ {
    if (in_list)
        for (rest = $0; match(rest, /\{(\.name = )?"[a-z_]+"/); rest = substr(rest, RSTART + RLENGTH)) {
            name = substr(rest, RSTART, RLENGTH - 1)
            sub(/.*"/, "", name)
            known[name] = 1
        }
    if (/^ *};|}};$/)
        in_list = 0
    if (match($0, /table_(sql|query)_with\([^"]*"[a-z_]+"/)) {
        name = substr($0, RSTART, RLENGTH - 1)
        sub(/.*"/, "", name)
        known[name] = 1
    }
    next
}

# ---- the files of SQL

FNR == 1 {
    check_end()
    file = FILENAME
    name = FILENAME
    sub(/.*\//, "", name)
    sub(/\.sql$/, "", name)
    if (FILENAME ~ /sql\/shared\//)
        shared[++shared_count] = name
    in_head = 1
}

/^--\[/ { check_end() }

in_head && /^-- use: [a-z]+ [a-z0-9_]+( |$)/ {
    part = "name"
    words["if"] = words["with"] = ""
    if (!($3 in users))
        complain("\"" $3 "\" uses no statement")
    for (i = 5; i <= NF; i++) {
        if ($i == "if" || $i == "with")
            part = $i
        else if (part == "name")
            complain("\"" $i "\" stands before if and with")
        else
            words[part] = words[part] (words[part] == "" ? "" : " ") $i
        if (part == "with" && $i ~ /^\$/)
            note($i)
        else if (part == "with" && words["with"] ~ /\$/)
            complain("\"" $i "\" stands before the parameters")
        else if (part == "with" && $i != "with" && !($i in given))
            complain("\"" $i "\" is nothing that a statement may be used with")
        else if (part == "if" && $i != "if")
            note($i)
    }
    named[name] = 1
    if ($3 ~ /^(figures|answers|attention|storage)$/)
        section[name] = FILENAME ":" FNR
    is_use[$4] = 1
    uses = uses sprintf("    {\"%s\", \"%s\", statement_%s, \"%s\", \"%s\"},\n", $3, $4, name, words["if"], words["with"])
    next
}

in_head && /^-- section: ./ { titled[name] = 1 }

/^-- *uses?:/ { complain("a line that says who uses the statement stands in its head, as \"-- use: lane NAME\"") }

in_head && /^--/ { next }

{
    in_head = 0
    if (FILENAME ~ /desk\/sql/) # columns may be parameters of later statements
        for (rest = $0; match(rest, / AS [a-z_]+/); rest = substr(rest, RSTART + RLENGTH))
            known["$" substr(rest, RSTART + 4, RLENGTH - 4)] = 1
    for (rest = $0; match(rest, /\{[A-Za-z!$][^}]*\}/); rest = substr(rest, RSTART + RLENGTH)) {
        word = substr(rest, RSTART + 1, RLENGTH - 2)
        if (word ~ /^if !?\$?[a-z_]+$/) {
            opened[++depth] = FNR
            has_else[depth] = 0
            note(substr(word, 4))
        } else if (word == "else") {
            if (depth == 0 || has_else[depth]++)
                complain("{else} without {if}")
        } else if (word == "end") {
            if (depth == 0 || depth-- == 0)
                complain("{end} without {if}")
        } else if (word ~ /^\$?[a-z_]+$/)
            note(word, 1)
        else if (word !~ /,/) # an array
            complain("{" word "} is no fact")
    }
}

END {
    check_end()
    for (i = 1; i <= shared_count; i++) {
        if (shared[i] in known || shared[i] in asked) {
            printf "%s: {%s} is no fact, but a shared file\n", wanted[shared[i]], shared[i] > "/dev/stderr"
            failed = 1
        }
        known[shared[i]] = 1
    }
    for (fact in given)
        known[fact] = 1
    for (i = 1; i <= shared_count; i++)
        if (!(shared[i] in wanted) && !(shared[i] in named)) {
            printf "src/sql/shared/%s.sql is put in nowhere\n", shared[i] > "/dev/stderr"
            failed = 1
        }
    for (name in step)
        if (!(name in is_use)) {
            printf "%s: there is no statement \"%s\"\n", step[name], name > "/dev/stderr"
            failed = 1
        }
    for (fact in wanted)
        if (!(fact in known)) {
            printf "%s: {%s} is no fact\n", wanted[fact], fact > "/dev/stderr"
            failed = 1
        }
    for (name in section)
        if (!(name in titled)) {
            printf "%s: a section of status says what it is called, as \"-- section: the backlog\"\n", section[name] > "/dev/stderr"
            failed = 1
        }
    print "const struct sql_use sql_uses[] = {\n" uses "    {0, 0, 0, 0, 0}};"
    print "const struct sql_shared sql_shared[] = {"
    for (i = 1; i <= shared_count; i++)
        printf "    {\"%s\", statement_%s},\n", shared[i], shared[i]
    print "    {0, 0}};"
    exit failed
}
