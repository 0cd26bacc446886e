# Checks the files of SQL and prints, in C, the lists that their heads make. Its arguments are first commands.txt, which
# names parameters and statements, then the C files, of which those with lists of facts name them, and then the files of SQL.
#
# A head's line "-- use: lane claim if by_slice with levels" says who uses the statement, its name, which facts must hold,
# and which facts are true in it besides.

BEGIN {
    split("lane desk server run check figures answers attention health storage last", list)
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
    split("dry_run event_ids guesses ids name place presets since_ms step terminal topic_regex verb", list)
    for (i in list)
        known["$" list[i]] = 1
}

# ---- the commands, whose options are parameters, and whose steps name statements

FILENAME ~ /commands\.txt$/ && /^# / { command = $2 }

FILENAME ~ /commands\.txt$/ && /^@/ {
    rule[++rules] = $0
    command_of[rules] = command
    place_of[rules] = FILENAME ":" FNR
    in_rules = 1
    for (i = 1; i <= NF; i++) {
        if ($i ~ /=/ && $i !~ /=(N(:[a-z]+)?|D|TEXT|REASON)(\||$)/)
            complain("an option wants N, N:UNIT, D, TEXT or REASON")
        for (rest = $i; match(rest, /--[a-z-]+=?/); rest = substr(rest, RSTART + RLENGTH)) {
            name = substr(rest, RSTART + 2, RLENGTH - 2)
            gsub(/-/, "_", name)
            if (sub(/=/, "", name))
                has_value[name] = 1
            known["$" name] = 1
            options[rules] = options[rules] " " name
            if ($i ~ /\|/)
                chooses[rules] = chooses[rules] " " name
        }
    }
}

FILENAME ~ /commands\.txt$/ {
    in_rules = in_rules && NF > 0
    if (in_rules && /^  [a-z-]+( |$)/)
        steps[rules] = steps[rules] (steps[rules] == "" ? "" : "\n") $1 " " $2
    if (/^  (values|query|rows|record|text|toml|run|replay) [a-z_]+$/)
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

# The first column of a section's SELECT, which is not indented.
function check_level(line) {
    if (!sub(/ AS level.*/, "", line))
        line = match(line, /^\(?SELECT '[^']*'/) ? substr(line, 1, RLENGTH) : ""
    for (; match(line, /(SELECT |THEN |ELSE |\})'[^']*'/); line = substr(line, RSTART + RLENGTH))
        if (substr(line, RSTART, RLENGTH) !~ /'(ok|note|warning|error)'$/)
            complain(substr(line, RSTART, RLENGTH) " is no level of a finding, which is ok, note, warning or error")
}

# ---- the C files

FILENAME ~ /\.c$/ && /struct sql_(fact|truth) [a-z_]+\[[0-9]*\] = \{/ { in_list = 1 }

FILENAME ~ /cli\/options\.c$/ && /^ *\{"[a-z-]+", (TEXT|NOT_EMPTY|MOMENT|DURATION|COUNT), / { # options of several commands
    name = $1
    gsub(/[^a-z-]/, "", name)
    gsub(/-/, "_", name)
    has_value[name] = 1
}

FILENAME ~ /\.c$/ {
    for (rest = $0; match(rest, /statement_[a-z0-9_]+/); rest = substr(rest, RSTART + RLENGTH))
        named[substr(rest, RSTART + 10, RLENGTH - 10)] = 1
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
    if ($3 ~ /^(figures|answers|attention|health|storage)$/)
        section[name] = FILENAME ":" FNR
    is_use[$4] = 1
    file_of[$4] = name
    facts_of[$4] = " " words["with"] " "
    uses = uses sprintf("    {\"%s\", \"%s\", statement_%s, \"%s\", \"%s\"},\n", $3, $4, name, words["if"], words["with"])
    next
}

in_head && /^-- section: ./ { titled[name] = 1 }

/^-- *uses?:/ { complain("a line that says who uses the statement stands in its head, as \"-- use: lane NAME\"") }

in_head && /^--/ { next }

{
    if (in_head) {
        in_head = 0
        lines_before[name] = FNR - 1
        path[name] = FILENAME
    }
    if (FILENAME ~ /catalog\/sql\/check_|status\/sql\/(attention|relays_differ)/)
        check_level($0)
    line = $0
    sub(/--.*/, "", line)
    gsub(/'[^']*'/, "''", line) # a text may hold brackets
    body[name] = body[name] line "\n"
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

# ---- what a command's statements read of its parameters

function say(where, what) {
    print where ": " what > "/dev/stderr"
    failed = 1
}

# The guard, which refuses to act when nothing is chosen, reads no parameter: "coalesce({$a}, {$b}) IS NULL".
function mark_guards(text, marked, guard) {
    while (match(text, /coalesce\((\{\$[a-z_]+\}(::[a-z0-9]+)?[, \n]*)+\) IS (NOT )?NULL/)) {
        guard = substr(text, RSTART, RLENGTH)
        gsub(/\{\$/, "{?", guard)
        marked = marked substr(text, 1, RSTART - 1) guard
        text = substr(text, RSTART + RLENGTH)
    }
    return marked text
}

# Goes through the variants of a file that the use's facts leave, and the files that it puts in, and notes in used[] how
# parameters are read, and in columns[] what it returns.
function go_through(name, facts, text, token, line, before) {
    line = lines_before[name] + 1
    text = mark_guards(body[name])
    while (match(text, /\{[a-z!$?][^}]*\}/)) {
        before = substr(text, 1, RSTART - 1)
        token = substr(text, RSTART + 1, RLENGTH - 2)
        text = substr(text, RSTART + RLENGTH)
        note_columns(before)
        line += gsub(/\n/, "", before)
        if (token ~ /^if /)
            begin_variant(substr(token, 4), facts, path[name] ":" line)
        else if (token == "else")
            is_taken[ifs] = is_other_taken[ifs]
        else if (token == "end")
            ifs--
        else if (is_taken[ifs] && token ~ /^[$?]/)
            note_use(substr(token, 2), token ~ /^\?/ ? "guard" : "value", path[name] ":" line)
        else if (is_taken[ifs] && token in body)
            go_through(token, facts)
    }
    note_columns(text)
}

# Whether a fact of heads holds is known; any other may hold or not.
function begin_variant(fact, facts, where, is_not) {
    is_not = sub(/^!/, "", fact)
    ifs++
    is_taken[ifs] = is_other_taken[ifs] = is_taken[ifs - 1]
    if (is_taken[ifs] && fact in given) {
        is_taken[ifs] = (index(facts, " " fact " ") > 0) != is_not
        is_other_taken[ifs] = !is_taken[ifs]
    } else if (is_taken[ifs] && fact ~ /^\$/)
        note_use(substr(fact, 2), "asked", where)
}

function note_use(name, how, where) {
    used[name, how] = 1
    if (!(name in may_be))
        say(where, "{$" name "} is no option or argument of \"" command "\", and no column of a statement before")
}

# Of the statement itself, outside brackets.
function note_columns(text) {
    for (; is_taken[ifs] && match(text, /[()]| AS [a-z_]+/); text = substr(text, RSTART + RLENGTH)) {
        token = substr(text, RSTART, RLENGTH)
        if (token == "(")
            brackets++
        else if (token == ")")
            brackets--
        else if (brackets == 0)
            columns[substr(token, 5)] = 1
    }
}

# A topic with wildcards and a duration are parameters of their own.
function forms_of(option) {
    return option (option == "topic" ? " topic_regex" : option == "since" ? " since_ms" : "")
}

# Each step of a rule reads only what is there, and each option is read: a condition that is lacking would choose
# every row. An option that a statement returns as a column is to be read once more.
function check_rule(r, lines, count, list, i, n, name, words) {
    split("", may_be)
    split("", used)
    split("verb place step terminal guesses presets sampled", list)
    for (i in list)
        may_be[list[i]] = 1
    split(rule[r], words, " ")
    may_be[rule[r] ~ /[@a-z] ID/ ? "ids" : "name"] = 1
    n = split(options[r], list)
    for (i = 1; i <= n; i++) {
        split(forms_of(list[i]), words)
        for (name in words)
            may_be[words[name]] = 1
    }
    count = split(steps[r], lines, "\n")
    for (i = 1; i <= count; i++) {
        split(lines[i], words)
        split("", columns)
        used["limit", "value"] = used["limit", "value"] || words[1] == "rows"
        used["rate", "value"] = used["rate", "value"] || words[1] == "replay"
        is_taken[0] = 1
        ifs = brackets = 0
        if (words[1] ~ /^(values|query|rows|record|text|toml|run|replay)$/ && words[2] in file_of)
            go_through(file_of[words[2]], facts_of[words[2]])
        if (words[1] == "values")
            for (name in columns) {
                may_be[name] = 1
                delete used[name, "value"]
            }
    }
    for (i = 1; i <= n; i++)
        check_option(r, list[i])
}

function check_option(r, option, list, i, n, name) {
    n = split(forms_of(option), list)
    for (i = 1; i <= n; i++) {
        name = list[i]
        if (option != "all" && !((name, "value") in used && used[name, "value"]) &&
            (option in has_value || !((name, "asked") in used)))
            say(place_of[r], "no statement of \"" command "\" has a condition with {$" name "}")
        if (index(chooses[r] " ", " " option " ") > 0 && name != "since_ms" && !((name, "guard") in used))
            say(place_of[r], "the guard of \"" command "\", coalesce(...) IS NULL, lacks {$" name "}")
    }
}

END {
    check_end()
    for (r = rules; r > 0; r--) {
        if (steps[r] == "" && r < rules && command_of[r] == command_of[r + 1])
            steps[r] = steps[r + 1]
        command = command_of[r]
        if (rule[r] ~ /^@ [a-z]/) {
            split(rule[r], list)
            command = command " " list[2]
        }
        if (steps[r] != "")
            check_rule(r)
    }
    for (i = 1; i <= shared_count; i++) {
        if (shared[i] in known || shared[i] in asked) {
            printf "%s: {%s} is no fact, but a shared file\n", wanted[shared[i]], shared[i] > "/dev/stderr"
            failed = 1
        }
        known[shared[i]] = 1
    }
    for (fact in given)
        known[fact] = 1
    for (name in path)
        if (!(name in wanted) && !(name in named)) {
            printf "%s:1: neither a head, a C file nor another statement uses the file\n", path[name] > "/dev/stderr"
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
