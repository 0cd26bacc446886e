-- `said` in lower case, without what separates words, as config/guesses.txt has it.
lower(regexp_replace(said COLLATE "C", '(?=[\u0001-\u007f])[^0-9A-Za-z]', '', 'g'))
