# Checks the files of SQL and prints, in C, the lists that their heads make. Its arguments are first the C files, of which
# those with facts name them, and then the files of SQL.
#
# A head's line "-- use: lane claim if by_slice with levels" says who uses the statement, its name, which facts must hold,
# and which facts are true in it besides.

function complain(what) {
    printf "%s:%d: %s\n", FILENAME, FNR, what > "/dev/stderr"
    failed = 1
}

function check_end() {
    if (depth > 0)
        printf "%s:%d: {if} without {end}\n", file, opened[depth] > "/dev/stderr"
    failed = failed || depth > 0
    depth = 0
}

FILENAME ~ /\.c$/ {
    if (/struct sql_fact /)
        has_facts = FILENAME
    if (has_facts == FILENAME)
        for (rest = $0; match(rest, /\{(\.name = )?"[a-z_]+"/); rest = substr(rest, RSTART + RLENGTH)) {
            name = substr(rest, RSTART, RLENGTH - 1)
            sub(/.*"/, "", name)
            known[name] = 1
        }
    if (match($0, /_with\([^"]*"[a-z_]+"/)) {
        name = substr($0, RSTART, RLENGTH - 1)
        sub(/.*"/, "", name)
        known[name] = 1
    }
    next
}

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

in_head && /^-- use: / {
    part = "name"
    words["if"] = words["with"] = ""
    for (i = 5; i <= NF; i++) {
        if ($i == "if" || $i == "with")
            part = $i
        else
            words[part] = words[part] (words[part] == "" ? "" : " ") $i
        if ($i != "if" && part == "with")
            known[$i] = 1
        else if ($i != "if" && part == "if")
            note($i)
    }
    uses = uses sprintf("    {\"%s\", \"%s\", statement_%s, \"%s\", \"%s\"},\n", $3, $4, name, words["if"], words["with"])
    next
}

in_head && /^--/ { next }

function note(fact) {
    sub(/^!/, "", fact)
    if (!(fact in wanted))
        wanted[fact] = FILENAME ":" FNR
}

{
    in_head = 0
    for (rest = $0; match(rest, /\{[a-z!][a-z_! ]*\}/); rest = substr(rest, RSTART + RLENGTH)) {
        word = substr(rest, RSTART + 1, RLENGTH - 2)
        if (word ~ /^if !?[a-z_]+$/) {
            opened[++depth] = FNR
            has_else[depth] = 0
            note(substr(word, 4))
        } else if (word == "else") {
            if (depth == 0 || has_else[depth]++)
                complain("{else} without {if}")
        } else if (word == "end") {
            if (depth-- == 0)
                complain("{end} without {if}")
        } else if (word ~ /^[a-z_]+$/) {
            note(word)
        } else
            complain("{" word "} is no fact")
    }
}

END {
    check_end()
    for (i = 1; i <= shared_count; i++)
        known[shared[i]] = 1
    for (fact in wanted)
        if (!(fact in known)) {
            printf "%s: {%s} is no fact\n", wanted[fact], fact > "/dev/stderr"
            failed = 1
        }
    print "const struct sql_use sql_uses[] = {\n" uses "    {0, 0, 0, 0, 0}};"
    print "const struct sql_shared sql_shared[] = {"
    for (i = 1; i <= shared_count; i++)
        printf "    {\"%s\", statement_%s},\n", shared[i], shared[i]
    print "    {0, 0}};"
    exit failed
}
