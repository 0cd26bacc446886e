-- Part: whether the table's file node is this one.
coalesce({file} = {argument}, false)
