"""The distributed machine without Ray: tasks, queue, jobset, session, drive."""
