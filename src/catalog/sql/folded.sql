-- Part: a name as those compare who care neither for capitals nor for underscores.
lower(replace({argument}::text, '_', '') COLLATE "C")
