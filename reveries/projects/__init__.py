"""Something the owner wants done or understood: goals, tasks, questions, orientation, and the work on them."""
