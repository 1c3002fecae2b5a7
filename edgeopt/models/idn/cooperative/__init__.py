"""The cooperative upper bound on every static placement, proven from capacity prices."""
